// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWorld
import Testing

@testable import LinkSession

/// Compares `FarClock`'s estimate of another relay's clock with the truth, for two simulated host clocks and
/// a network between them.
@Suite struct FarClockTests {
  /// A simulation of pings at their regular times; `delay` gives the delay of each direction.
  private struct Wire {
    var clock = FarClock(at: .zero)
    var here = DriftingClock(host: Micros(7_000_000), at: .zero, partsPerMillion: 30)
    var there = DriftingClock(host: Micros(900_000_000_000), at: .zero, partsPerMillion: -45)
    var now = Micros.zero
    var dice = Dice(seed: 1)

    /// The error of the offset, in microseconds.
    var error: Int64? {
      clock.offset(at: here.host(at: now)).map { (there.host(at: now) - here.host(at: now) - $0).count }
    }

    mutating func run(
      seconds: Int64, loss: Double = 0, delay: (inout Dice) -> (there: Int64, back: Int64)
    ) {
      let end = now + Micros(seconds * 1_000_000)
      var answers: [(host: Micros, relay: Micros, at: Micros)] = []
      while now < end {
        let ping = clock.nextPing
        let arrival = answers.map(\.at).min() ?? end
        now = min(max(now, min(ping, arrival)), end)
        if arrival <= now, let place = answers.firstIndex(where: { $0.at == arrival }) {
          let answer = answers.remove(at: place)
          _ = clock.receive(host: answer.host, relay: answer.relay, at: here.host(at: now), uptime: now)
        } else if ping <= now {
          let host = clock.ping(at: here.host(at: now), uptime: now)
          let (out, home) = delay(&dice)
          guard !dice.chance(loss) else { continue }
          let middle = now + Micros(out)
          answers.append((host, there.host(at: middle), middle + Micros(home)))
        }
      }
    }
  }

  private func uniform(_ least: Int64, _ jitter: Int64) -> (inout Dice) -> (there: Int64, back: Int64) {
    { dice in
      (least + dice.duration(upTo: Micros(jitter)).count, least + dice.duration(upTo: Micros(jitter)).count)
    }
  }

  @Test func `20 ms of jitter leave 0.5 ms of error in another relay's clock`() throws {
    for seed in 1...20 as ClosedRange<UInt64> {
      var wire = Wire()
      wire.dice = Dice(seed: seed)
      wire.run(seconds: 120, loss: 0.1, delay: uniform(60_000, 20_000))
      #expect(abs(try #require(wire.error)) < 700)
    }
  }

  @Test func `unbounded delays leave less than 1 ms of error in a relay's clock`() throws {
    var wire = Wire()
    wire.run(seconds: 60, loss: 0.1) { dice in
      func way() -> Int64 { 10_000 + Int64(48_000 * (1 / (1 - dice.fraction()).squareRoot() - 1)) }
      return (way(), way())
    }
    #expect(abs(try #require(wire.error)) < 1_000)
  }

  @Test func `a relay's clock is wrong by half of the difference of the delays`() throws {
    var wire = Wire()
    wire.run(seconds: 30) { _ in (80_000, 20_000) }
    let error = abs(try #require(wire.error))
    #expect(abs(error - 30_000) < 100)
    #expect(wire.clock.roundTrip.map { abs($0.count - 100_000) < 100 } ?? false)
  }

  @Test func `a relay's clock is measured over a round trip of half a second`() throws {
    var wire = Wire()
    wire.run(seconds: 20, loss: 0.3, delay: uniform(250_000, 0))
    #expect(abs(try #require(wire.error)) < 100)
  }

  @Test func `during a cut a relay's clock goes on at its measured rate`() throws {
    var wire = Wire()
    wire.run(seconds: 120, delay: uniform(30_000, 5_000))
    wire.run(seconds: 30, loss: 1, delay: uniform(30_000, 5_000))
    #expect(abs(try #require(wire.error)) < 500)
  }

  @Test func `a relay's clock that stepped is measured again within seconds`() throws {
    var wire = Wire()
    wire.run(seconds: 60, delay: uniform(30_000, 5_000))
    wire.there.step(by: Micros(20_000), at: wire.now)
    wire.run(seconds: 10, delay: uniform(30_000, 5_000))
    #expect(abs(try #require(wire.error)) < 1_500)
  }

  @Test func `a pong that answers no ping does not change a relay's clock`() {
    var wire = Wire()
    wire.run(seconds: 10, delay: uniform(30_000, 0))
    let before = wire.error
    let stray = wire.clock.receive(
      host: Micros(1), relay: Micros(2), at: wire.here.host(at: wire.now), uptime: wire.now)
    #expect(!stray)
    #expect(wire.error == before)
  }

  @Test func `a relay that does not answer gets four pings a second`() {
    var wire = Wire()
    wire.run(seconds: 60, loss: 1, delay: uniform(30_000, 0))
    #expect(wire.clock.nextPing - wire.now <= Limits.farLook)
    #expect(!wire.clock.isAlive(at: wire.now))
    #expect(wire.error == nil)
  }
}
