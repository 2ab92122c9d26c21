// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Testing

@testable import HostSync

/// A leading host whose beats may pass at another tempo than it shows, as Ardour 7.3's do behind a change of tempo.
@Suite struct HostTempoTests {
  private static let ticks = [(960.0, false), (960, true), (1920, false), (1920, true)]

  private func host(_ kind: (ticks: Double, isPipeWire: Bool), seed: UInt64) -> FakeHost {
    var host = FakeHost(seed: seed)
    host.ticksPerBeat = kind.ticks
    host.isPipeWire = kind.isPipeWire
    host.frames = [64, 256, 1024][Int(seed % 3)]
    host.jitter = 40
    host.losesOneIn = 200 * 256 / host.frames
    host.shownTempo = { _ in 120 }
    return host
  }

  /// How far the session is from the host at worst in that time, and how far it may be: a millisecond, unless a tick is
  /// longer than that.
  private func worst(_ host: inout FakeHost, seconds: Double) -> (most: Double, limit: Double) {
    var worst = 0.0
    host.run(seconds: seconds) { worst = max(worst, abs($0.error)) }
    return (worst, max(1000, 1.25 * host.tick))
  }

  @Test(arguments: ticks, [140.0, 133.37, 121, 97, 240, 60, 120.4])
  func `beats that go on at another tempo than is shown take the session along, and then there is silence`(
    kind: (ticks: Double, isPipeWire: Bool), tempo: Double
  ) {
    for seed in 1...6 as ClosedRange<UInt64> {
      var host = host(kind, seed: seed)
      let change = 5 + Double(seed) / 17
      host.tempo = { $0 < change ? 120 : tempo }
      host.run(seconds: 4)
      // From here on the session is not the host's alone.
      host.mayForce = seed % 2 == 0
      host.run(seconds: 4)
      let settling = worst(&host, seconds: 22)
      #expect(settling.most < settling.limit, "seed \(seed)")
      let before = host.commits.count
      #expect(before < 15, "seed \(seed): \(host.commits)")
      let silence = worst(&host, seconds: 30)
      #expect(silence.most < silence.limit, "seed \(seed)")
      #expect(host.commits.count == before, "seed \(seed): \(host.commits.dropFirst(before))")
      // Not 139.998.
      #expect(host.follower.hostTempo == tempo, "seed \(seed)")
    }
  }

  @Test(arguments: ticks)
  func `a ramp of the beats alone is followed, with at most twenty proposals a second`(
    kind: (ticks: Double, isPipeWire: Bool)
  ) {
    for seed in 1...12 as ClosedRange<UInt64> {
      var host = host(kind, seed: seed)
      let length = Double(seed)
      host.tempo = { 120 + 60 * min(1, max(0, ($0 - 5) / length)) }
      host.run(seconds: 4)
      host.mayForce = seed % 2 == 0
      let ramp = worst(&host, seconds: 1 + length)
      #expect(ramp.most < 20_000, "seed \(seed)")
      host.run(seconds: 4)
      let settling = worst(&host, seconds: 22)
      #expect(settling.most < settling.limit, "seed \(seed)")
      let before = host.commits.count
      let silence = worst(&host, seconds: 30)
      #expect(silence.most < silence.limit, "seed \(seed)")
      #expect(host.commits.count == before, "seed \(seed): \(host.commits.dropFirst(before))")
      #expect(host.follower.hostTempo == 180)
      for (earlier, later) in zip(host.commits, host.commits.dropFirst()) {
        #expect(later.time - earlier.time >= 50_000)
      }
    }
  }

  @Test(arguments: ticks) func `a locate back to where the shown tempo is right brings it back, to the bit`(
    kind: (ticks: Double, isPipeWire: Bool)
  ) {
    for seed in 1...12 as ClosedRange<UInt64> {
      var host = host(kind, seed: seed)
      let shown = 117.3
      host.shownTempo = { _ in shown }
      host.tempo = { 5..<12 ~= $0 ? 140 : shown }
      host.run(seconds: 11.99)
      #expect(host.follower.hostTempo == 140)
      host.locate(2.3)
      host.run(seconds: 3)
      #expect(host.follower.hostTempo == shown)
      let before = host.commits.count
      let silence = worst(&host, seconds: 30)
      #expect(silence.most < silence.limit, "seed \(seed)")
      #expect(host.commits.count == before, "seed \(seed): \(host.commits.dropFirst(before))")
      #expect(host.follower.hostTempo == shown)
    }
  }

  @Test func `a shown tempo that is right is never replaced, whatever ticks, losses, locates and loops do`() {
    for seed in 1...200 as ClosedRange<UInt64> {
      var dice = Dice(seed: seed)
      var host = host(Self.ticks.randomElement(using: &dice)!, seed: seed)
      let shown = (Double.random(in: 30...300, using: &dice) * 100).rounded() / 100
      let ramp = seed % 4 == 0 ? Double.random(in: -20...20, using: &dice) : 0
      host.tempo = { shown + min(1, max(0, $0 - 6)) * ramp }
      host.shownTempo = nil
      host.drift = Double.random(in: -200e-6...200e-6, using: &dice)
      host.losesOneIn = [0, 50, 200, 1000].randomElement(using: &dice)!
      host.stallsOneIn = [0, 50, 200, 1000].randomElement(using: &dice)!
      if seed % 5 == 0 { host.loop = (4, 4 + Double.random(in: 0.3...8, using: &dice)) }
      host.run(seconds: 0.1)
      var wrong = 0
      for _ in 1...10 {
        if seed % 3 == 0 { host.locate(Double.random(in: 0...200, using: &dice)) }
        host.run(seconds: Double.random(in: 0.1...4, using: &dice)) {
          if let now = $0.shown, abs($0.follower.hostTempo - now.beatsPerMinute) >= 0.0005 { wrong += 1 }
          if ramp == 0, $0.follower.hostTempo != shown { wrong += 1 }
        }
      }
      #expect(wrong == 0, "seed \(seed): \(shown), \(host.commits)")
    }
  }

  @Test func `a peer's tempo stays while the host's own becomes known better`() {
    var host = host((960, true), seed: 4)
    host.tempo = { $0 < 5 ? 120 : 133.37 }
    host.run(seconds: 5.3)
    host.mayForce = false
    host.session.isConnected = true
    host.session.setTempo(97, at: Micros(rounding: host.now))
    let before = host.commits.count
    host.run(seconds: 60)
    #expect(host.commits.count == before)
    #expect(host.follower.hostTempo == 133.37)
  }

  @Test func `what the beats tell is said in as few decimals as they can tell`() {
    #expect(HostTempo.roundest(139.998, within: 0.01) == 140)
    #expect(HostTempo.roundest(133.372, within: 0.03) == 133.4)
    #expect(HostTempo.roundest(133.372, within: 0.01) == 133.37)
    #expect(HostTempo.roundest(133.37218, within: 0) == 133.3722)
  }
}
