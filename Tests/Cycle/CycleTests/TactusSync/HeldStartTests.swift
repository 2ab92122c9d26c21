// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// Starts that wait long: for a count-in, for a far bar or for a peer.
struct HeldStartTests {
  /// A server that ends a hold `limit` microseconds after the last request to start, as PipeWire does.
  private struct Server {
    let limit: Double
    var left: Double
    init(limit: Double) { (self.limit, left) = (limit, limit) }
    mutating func letsGo(after micros: Double, isAskedAgain: Bool) -> Bool {
      left = isAskedAgain ? limit : left - micros
      return left <= 0
    }
  }

  @Test(arguments: [64, 256, 1024, 4096] as [UInt32])
  func `a four-bar count-in is held though the server holds only five seconds`(period: UInt32) {
    let studio = Studio(tempo: 60)
    studio.asksBeforeRolling = true
    studio.settings.launch.countIn = 4
    studio.play(seconds: 0.7, frames: period)
    studio.pressPlay()
    var (server, renewal, requests) = (Server(limit: 5e6), HoldRenewal(), 0)
    // On a busy machine the control thread looks every 40 ms.
    var nextLook = studio.due
    while !studio.report.song.isRolling, studio.due < 1e9 + 40e6 {
      studio.play(period)
      var isAsked = false
      if studio.due >= nextLook {
        isAsked = renewal.isDue(
          isHolding: studio.report.launch.isHolding, limit: Micros(5_000_000),
          at: Micros(rounding: studio.due))
        nextLook += 40_000
      }
      requests += isAsked ? 1 : 0
      if server.letsGo(after: Double(period) / 0.048, isAskedAgain: isAsked), !studio.report.song.isRolling {
        studio.transport.state = .rolling
      }
    }
    let beat = studio.report.sessionBeat - studio.report.song.beat
    #expect(studio.report.song.isRolling && abs(beat / 4 - (beat / 4).rounded()) < 1e-9 && beat >= 16)
    #expect((3...6).contains(requests))
  }

  @Test func `a server that holds starts as long as asked gets no second request`() {
    var renewal = HoldRenewal()
    var requests = 0
    for second in 0..<60 {
      let now = Micros(Int64(second) * 1_000_000)
      if renewal.isDue(isHolding: true, limit: nil, at: now) { requests += 1 }
      if renewal.isDue(isHolding: false, limit: Micros(5_000_000), at: now) { requests += 1 }
    }
    #expect(requests == 0)
  }

  /// jackd counts its timeout in periods (facts: jack 4), so with a shorter period the hold ends sooner.
  @Test func `a shorter JACK period while a start waits renews the hold`() {
    let studio = Studio(tempo: 60)
    studio.asksBeforeRolling = true
    studio.server = TransportServer(longestHold: nil)
    studio.play(seconds: 0.7, frames: 2048)
    studio.pressPlay()
    studio.play(seconds: 0.5, frames: 2048)
    #expect(studio.report.launch.isHolding && studio.holdRequests == 0)
    studio.play(seconds: 0.5, frames: 16)
    #expect(studio.report.launch.isHolding && studio.holdRequests == 1)
    studio.play(seconds: 0.5, frames: 1024)
    #expect(studio.report.launch.isHolding && studio.holdRequests == 1)
    studio.play(seconds: 4, frames: 1024)
    #expect(studio.report.song.isRolling && abs(studio.report.launch.error) < 10_700)
    // No start waits now.
    studio.play(seconds: 0.1, frames: 64)
    #expect(studio.holdRequests == 1)
  }

  @Test func `PipeWire's five seconds for a held start begin anew with each hold`() {
    var renewal = HoldRenewal()
    var asked: [Int] = []
    for tenth in 0..<200 {
      // The test makes two holds of 8 s, with a pause between them.
      let isHolding = tenth % 100 < 80
      if renewal.isDue(isHolding: isHolding, limit: Micros(5_000_000), at: Micros(Int64(tenth) * 100_000)) {
        asked.append(tenth)
      }
    }
    #expect(asked == [40, 140])
  }

  @Test func `JACK's start timeout allows for a tempo set together with a start`() {
    let studio = Studio(tempo: 120)
    studio.play(seconds: 1)
    var song = Settings()
    song.meter = Meter(beatsPerBar: 3, beatType: 4)
    song.ownQuantum = .bar
    song.launch.countIn = 4
    let usual = Micros(10_000_000)
    // At 72 BPM twelve beats last 10 s. The wait for the bar may add 2.5 s, and the start may miss two bars.
    let limit = studio.report.syncLimit(for: song, beatMicros: 60e6 / 72, usual: usual)
    #expect((limit?.count ?? 0) >= 17_500_000)
    // If the tempo rises (beats become shorter), the timeout for the report's own tempo holds.
    #expect(
      studio.report.syncLimit(for: song, beatMicros: 100_000, usual: usual)
        == studio.report.syncLimit(for: song, usual: usual))
  }

  @Test(arguments: [12.0, 31, 45, 280, 700])
  func `a peer's start begins at the peer's time, however far ahead`(seconds: Double) {
    let studio = Studio(tempo: 120)
    studio.asksBeforeRolling = true
    studio.settings.syncsStartStop = true
    studio.play(seconds: 0.7, frames: 1024)
    // The peer's start is on a bar line.
    let bar = ((studio.report.sessionBeat + seconds * 2) / 4).rounded() * 4
    studio.isPlaying = true
    studio.timeOfPlaying = Micros(rounding: Grid(studio.timeline).time(of: bar))
    let limit = studio.report.moment.heard.start
    while !studio.report.song.isRolling, studio.due < limit + (seconds + 20) * 1e6 {
      if studio.report.startStop.starts, studio.transport.state == .stopped {
        studio.transport.state = .starting
      }
      studio.play(1024)
    }
    #expect(studio.report.song.isRolling)
    #expect(studio.report.sessionBeat - studio.report.song.beat == bar)
    #expect(Double(studio.report.syncLimit(for: studio.settings, usual: .zero)?.count ?? 0) > 0)
    #expect(studio.told.isEmpty)
  }

  @Test func `JACK's start timeout includes the wait for a peer's far start time`() {
    let studio = Studio(tempo: 120)
    studio.play(seconds: 0.1)
    var report = studio.report
    for seconds in [7.0, 45, 700] {
      report.notBefore = report.moment.heard.start + seconds * 1e6
      #expect(report.longestHold(by: Settings()) == seconds * 1e6 + 6e6)
    }
    // The wait must end even if the time of a peer's start is absurd.
    report.notBefore = report.moment.heard.start + 1e12
    #expect(report.longestHold(by: Settings()) == 906e6)
  }
}
