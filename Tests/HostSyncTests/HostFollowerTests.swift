// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Testing

@testable import HostSync

/// A host with a crystal of its own that shows bars, beats and cut-off ticks, and a session that does what the
/// follower proposes, some milliseconds later, as over the queue to the network thread.
private struct FakeHost {
  var ticksPerBeat = 1920.0
  /// The host's crystal against Link's clock.
  var drift = 0.0
  /// Each cycle's time is off by up to so many microseconds.
  var jitter = 0.0
  var frames = 256.0, rate = 48_000.0
  var tempo: (Double) -> Double = { _ in 120 }
  /// What is shown, if it is not the truth.
  var shownTempo: ((Double) -> Double)?

  var follower = HostFollower()
  var session: SessionState
  var mayForce = true
  var isRolling = true
  var commits: [(time: Double, change: Proposal.Change)] = []
  private(set) var now = 1e9
  /// Seconds since the beginning, on the host's own clock.
  private(set) var played = 0.0
  private(set) var beats = 0.0
  private var pending: [(due: Double, proposal: Proposal)] = []
  private var dice = Dice(seed: 7)

  init(sessionTempo: Double = 120) {
    session = SessionState(
      timeline: Timeline(tempo: Tempo(sessionTempo), beatOrigin: .zero, timeOrigin: Micros(999_000_123)),
      startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero), isConnected: false)
  }

  /// Host less session at this moment, without any averaging, in microseconds, within a quantum of 4.
  var error: Double {
    let grid = Grid(session.timeline)
    let away = beats - grid.beat(at: now)
    return (away - 4 * (away / 4).rounded()) * grid.period
  }

  mutating func locate(_ beat: Double) { beats = beat }

  mutating func run(seconds: Double, each: (inout FakeHost) -> Void = { _ in }) {
    for _ in 0..<Int(seconds * rate / frames) {
      cycle()
      each(&self)
    }
  }

  private mutating func cycle() {
    let length = frames / rate
    now += length * 1e6 * (1 - drift)
    played += length
    if isRolling { beats += tempo(played) / 60 * length }
    while let first = pending.first, first.due <= now {
      session.apply(first.proposal)
      pending.removeFirst()
    }
    let bar = (beats / 4).rounded(.down), inBar = beats - bar * 4
    let bbt = BBT(
      bar: Int32(bar) + 1, beat: Int32(inBar) + 1,
      tick: Int32((inBar - inBar.rounded(.down)) * ticksPerBeat), barStartTick: 0, beatsPerBar: 4,
      beatType: 4,
      ticksPerBeat: ticksPerBeat, beatsPerMinute: (shownTempo ?? tempo)(played))
    let proposal = follower.follow(
      HostFollower.Observation(
        bbt: bbt, isRolling: isRolling, heard: now + Double.random(in: -jitter...jitter, using: &dice),
        grid: Grid(session.timeline), quantum: 4, mayForce: mayForce, isConnected: session.isConnected))
    if let proposal {
      commits.append((now, proposal.change))
      pending.append((now + 8_000, proposal))
    }
  }
}

@Suite struct HostFollowerTests {
  @Test(arguments: [960.0, 1920])
  func aSteadyHostIsFollowedWithinAMillisecondAndThenInSilence(ticks: Double) {
    var host = FakeHost(sessionTempo: 97)
    host.ticksPerBeat = ticks
    host.jitter = 40
    host.run(seconds: 10)
    let before = host.commits.count
    host.run(seconds: 60) { #expect(abs($0.error) < 1000) }
    #expect(host.commits.count == before, "an echo of our own tempo")
    #expect(abs(host.session.tempo - 120) < 0.01)
  }

  @Test(arguments: [-100e-6, -20e-6, 20e-6, 100e-6])
  func aDriftingCrystalIsLearned(drift: Double) {
    var host = FakeHost()
    host.drift = drift
    host.jitter = 40
    host.run(seconds: 60)
    let before = host.commits.count
    host.run(seconds: 60) { #expect(abs($0.error) < 1000) }
    #expect(host.commits.count - before < 30)
  }

  @Test func aRampIsFollowedWithAtMostTwentyProposalsASecond() {
    var host = FakeHost()
    host.tempo = { seconds in
      switch seconds {
      case ..<5: 120
      case ..<15: 120 - 6 * (seconds - 5)
      case ..<25: 60 + 12.7 * (seconds - 15)
      default: 187
      }
    }
    host.run(seconds: 5)
    var worst = 0.0
    host.run(seconds: 24) { worst = max(worst, abs($0.error)) }
    #expect(worst < 5000, "phase \(worst) us off in the ramp")
    host.run(seconds: 3)
    host.run(seconds: 10) { #expect(abs($0.error) < 1000) }
    for (earlier, later) in zip(host.commits, host.commits.dropFirst()) {
      #expect(later.time - earlier.time >= 50_000)
    }
  }

  @Test func withPeersTheGridIsNeverForcedUnlessTheHostIsTheClock() {
    var host = FakeHost()
    host.session.isConnected = true
    host.mayForce = false
    host.locate(1.3)
    host.run(seconds: 20)
    #expect(!host.commits.contains { if case .forceBeat = $0.change { true } else { false } })

    host.mayForce = true
    host.run(seconds: 3)
    #expect(host.commits.filter { if case .forceBeat = $0.change { true } else { false } }.count == 1)
    #expect(abs(host.error) < 1000)
  }

  @Test func aLocateOfTheClockTakesTheSessionAlong() {
    var host = FakeHost()
    host.run(seconds: 5)
    host.locate(64)
    host.run(seconds: 2)
    #expect(abs(host.error) < 1000)
  }

  @Test func whoJoinsASessionTakesItsTempoUntilTheHostChangesItsOwn() {
    var host = FakeHost()
    host.mayForce = false
    host.isRolling = false
    host.run(seconds: 2)
    host.session.isConnected = true
    host.session.setTempo(97, at: Micros(rounding: host.now))
    let before = host.commits.count
    host.run(seconds: 30)
    #expect(host.commits.count == before)
    host.tempo = { _ in 121 }
    host.run(seconds: 1)
    #expect(host.commits.count == before + 1)
    #expect(host.session.tempo == 121)
  }

  @Test func aHostBeyondLinksRangeGetsAMultiple() {
    for (tempo, session) in [(15.0, 30.0), (6, 24), (1200, 600), (2400, 600)] {
      var host = FakeHost()
      host.tempo = { _ in tempo }
      host.run(seconds: 20)
      #expect(abs(host.session.tempo - session) < 0.1, "\(tempo)")
    }
  }

  @Test func nonsenseIsCountedAndNothingIsProposed() {
    var follower = HostFollower()
    for tempo in [0, .nan, -3, 1e9, .leastNonzeroMagnitude] {
      let bbt = BBT(
        bar: 1, beat: 1, tick: 0, barStartTick: 0, beatsPerBar: 4, beatType: 4, ticksPerBeat: 1920,
        beatsPerMinute: tempo)
      for cycle in 0..<10 {
        let proposal = follower.follow(
          HostFollower.Observation(
            bbt: bbt, isRolling: true, heard: Double(cycle) * 1e5, grid: Grid(origin: 0, period: 500_000),
            quantum: 4, mayForce: true, isConnected: false))
        #expect(proposal == nil)
      }
    }
    #expect(follower.refused == 50)
  }

  @Test func aTempoThatShowsForOneCycleIsNoTempo() {
    var host = FakeHost()
    host.run(seconds: 5)
    let before = host.commits.count
    let start = host.played
    host.shownTempo = { $0 - start < 0.02 && $0 - start > 0.015 ? 300 : 120 }
    host.run(seconds: 1)
    #expect(host.commits.count == before)
  }
}
