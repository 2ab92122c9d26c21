// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import TactusTestSupport
import Testing

/// Senders with measured stamps. Each period's stamp is wrong by some microseconds: one or two for tactus,
/// tens for a program that reads the time in its callback.
struct StampNoiseTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var noise: Double
    var channels: Int
    var rate: Double
    var testDescription: String { "\(noise) us, \(channels) channels at \(rate) Hz" }
  }

  static let cases: [Case] = [0.0, 1, 3, 10, 30].flatMap { noise in
    [1, 2].flatMap { channels in
      [44_100.0, 48_000, 96_000].map { rate in Case(noise: noise, channels: channels, rate: rate) }
    }
  }

  private func world(_ this: Case, period: Int = 256) -> StreamWorld<ExactSender> {
    var sender = ExactSender(Card(rate: this.rate, ppm: 60), period: period, channels: this.channels)
    sender.noise = this.noise
    return StreamWorld(sender, output: Card(rate: 48_000, ppm: -20, start: 777))
  }

  @Test(arguments: campaign(cases))
  func `clicks are at their beats despite noisy stamps`(this: Case) {
    let world = world(this)
    let clicks = world.clicks(from: 5e6)
    world.play(seconds: 30)
    let errors = clicks.framesLate
    print("\(this.testDescription):", spread(errors), "frames late, \(world.figures.senderPPM) ppm")
    #expect(errors.count > 45 && errors.allSatisfy { abs($0) <= 1 })
    #expect(abs(world.figures.senderPPM - 60) < 3)
    #expect(world.figures.reseats == 0 && world.figures.concealed == 0 && world.figures.streams == 1)
  }

  @Test(arguments: campaign(cases))
  func `30 ms of jitter and a corrected clock cause no gap`(this: Case) {
    jitter(world(this), this.testDescription)
  }

  /// Periods that are cut into pieces of several lengths, that share a datagram, or that have unusual
  /// lengths.
  @Test(arguments: campaign([64, 100, 441, 480, 1024, 2048]), campaign(1...2))
  func `30 ms of jitter causes no gap for periods of any length`(period: Int, channels: Int) {
    let this = Case(noise: 30, channels: channels, rate: 48_000)
    jitter(world(this, period: period), "\(period) frames, \(this.testDescription)")
  }

  private func jitter(_ world: StreamWorld<ExactSender>, _ name: String) {
    let (before, after) = world.playOnBadWire(movingTheClock: 5)
    print("30 ms of jitter, \(name):", after)
    #expect(after.concealed == before.concealed && after.dropouts == before.dropouts)
    #expect(after.late == before.late && after.streams == 1 && after.reseats == before.reseats)
    #expect(after.delay < 47 + Double(world.sender.period) / world.sender.card.rate * 1000)
  }

  @Test(arguments: campaign(cases))
  func `a correction of the sender's clock by 300 us is inaudible`(this: Case) {
    let world = world(this)
    world.sound = tone(1000)
    let recording = Recording()
    world.listen = recording.listen
    world.play(seconds: 10)
    recording.isOn = true
    for error in [300.0, 0, -300, 0] {
      world.sender.clockError = error
      world.play(seconds: 3)
    }
    print("300 us, \(this.testDescription):", recording.roughest / smooth(1000), world.figures)
    #expect(recording.roughest < 1.03 * smooth(1000))
    #expect(world.figures.reseats == 0 && world.figures.concealed == 0 && world.figures.streams == 1)
    // The clicks are as late as the sender's clock says, and the estimated rate of the sender's sound card
    // has not changed.
    world.sound = { _ in SIMD2(0, 0) }
    let clicks = world.clicks(from: world.now + 1e6)
    world.sender.clockError = 300
    world.play(seconds: 12)
    let late = clicks.errors.map { $0 - 300 }
    print("300 us, \(this.testDescription):", spread(late), "us from there, \(world.figures.senderPPM) ppm")
    #expect(late.count > 15 && late.allSatisfy { abs($0) <= 1e6 / 48_000 })
    #expect(abs(world.figures.senderPPM - 60) < 5)
  }

  @Test(arguments: campaign([3.0, 10, 30]), campaign(1...2))
  func `a reference peer's clicks are at their beats despite noisy stamps`(noise: Double, channels: Int) {
    var sender = ReferenceSender(Card(rate: 48_000, ppm: 60), channels: channels)
    sender.noise = noise
    let world = StreamWorld(sender, output: Card(rate: 48_000, ppm: -20, start: 777))
    let clicks = world.clicks(from: 20e6)
    world.play(seconds: 90)
    let errors = clicks.framesLate
    print("the reference, \(noise) us, \(channels) channels:", spread(errors), "frames late;", world.figures)
    #expect(errors.count > 130 && errors.allSatisfy { abs($0) <= 1 })
    #expect(world.figures.reseats == 0 && world.figures.concealed == 0 && world.figures.streams == 1)
  }

  @Test func `a move of the session's beats is not taken for a clock correction`() {
    let world = world(Case(noise: 3, channels: 1, rate: 48_000))
    let clicks = world.clicks(from: 5e6)
    world.play(seconds: 10)
    let before = clicks.framesLate
    for moved in [5000.0, -4000, 2500, -2500, 1600] {
      world.senderGrid = world.grid
      world.grid.origin += moved
      world.play(seconds: 0.1)
      world.senderGrid = nil
      world.play(seconds: 3)
      #expect(abs(world.figures.senderPPM - 60) < 3, "\(moved)")
    }
    print("moved beats:", world.figures)
    #expect(before.allSatisfy { abs($0) <= 1 })
    #expect(world.figures.streams == 1 && world.figures.reseats == 0 && world.figures.concealed == 0)
  }
}
