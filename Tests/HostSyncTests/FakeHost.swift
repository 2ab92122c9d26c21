// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

@testable import HostSync

/// A host with a crystal of its own that shows bars, beats and cut-off ticks, and a session that does what the
/// follower proposes, some milliseconds later, as over the queue to the network thread.
struct FakeHost {
  var ticksPerBeat = 1920.0
  /// The host's crystal against Link's clock.
  var drift = 0.0
  /// Each cycle's time is off by up to so many microseconds.
  var jitter = 0.0
  var frames = 256.0, rate = 48_000.0
  /// One cycle in so many is lost by us, or by the host, which then shows what it showed before; 0: none.
  var losesOneIn = 0.0
  /// One cycle in so many is lost by the server, with the host's frames in it; 0: none.
  var stallsOneIn = 0.0
  /// The host plays these beats again and again.
  var loop: (from: Double, to: Double)?
  /// PipeWire carries the beat as a fraction and cuts ticks off a second time.
  var isPipeWire = false
  var tempo: (Double) -> Double = { _ in 120 }
  /// What is shown, if it is not the truth.
  var shownTempo: ((Double) -> Double)?

  var follower = HostFollower()
  var session: SessionState
  var mayForce = true
  var isRolling = true
  var hasLeft = false
  /// Late in every cycle.
  var showsOld = false
  var commits: [(time: Double, change: Proposal.Change)] = []
  private(set) var now = 1e9
  /// Seconds since the beginning, on the host's own clock.
  private(set) var played = 0.0
  private(set) var beats = 0.0
  private var pending: [(due: Double, proposal: Proposal)] = []
  private var dice: Dice
  private var isSound = true
  private(set) var shown: BBT?

  init(sessionTempo: Double = 120, seed: UInt64 = 7) {
    dice = Dice(seed: seed)
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

  /// What it shows is cut off to this, in microseconds.
  var tick: Double { 60e6 / tempo(played) / ticksPerBeat }

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
    let stalls = stallsOneIn > 0 && Double.random(in: 0..<stallsOneIn, using: &dice) < 1
    if isRolling, !stalls { beats += tempo(played) / 60 * length }
    if let loop, beats >= loop.to { beats -= loop.to - loop.from }
    while let first = pending.first, first.due <= now {
      session.apply(first.proposal)
      pending.removeFirst()
    }
    if stalls {
      isSound = false
      return
    }
    // Two cycles in a row now and then.
    if losesOneIn > 0, Double.random(in: 0..<losesOneIn, using: &dice) < (isSound ? 1 : losesOneIn / 3) {
      isSound = false
      return
    }
    let isHostLate = losesOneIn > 0 && Double.random(in: 0..<losesOneIn, using: &dice) < 1
    if let old = shown, isHostLate || showsOld { look(old) } else { look(present()) }
    isSound = true
  }

  private func present() -> BBT {
    let bar = (beats / 4).rounded(.down), inBar = beats - bar * 4
    var ticks = ((inBar - inBar.rounded(.down)) * ticksPerBeat).rounded(.down)
    if isPipeWire {
      let carried = (inBar.rounded(.down) + ticks / ticksPerBeat) + bar * 4
      ticks = ((carried - carried.rounded(.down)) * ticksPerBeat).rounded(.down)
    }
    return BBT(
      bar: Int32(bar) + 1, beat: Int32(inBar) + 1, tick: Int32(ticks), barStartTick: 0, beatsPerBar: 4,
      beatType: 4, ticksPerBeat: ticksPerBeat, beatsPerMinute: (shownTempo ?? tempo)(played))
  }

  private mutating func look(_ bbt: BBT) {
    shown = bbt
    let late = jitter > 0 && Double.random(in: 0..<200, using: &dice) < 1 ? 4 * jitter : 0
    let proposal = follower.follow(
      HostFollower.Observation(
        bbt: hasLeft ? nil : bbt, isRolling: isRolling,
        heard: now + late + Double.random(in: -jitter...jitter, using: &dice),
        grid: Grid(session.timeline), quantum: 4, mayForce: mayForce, isConnected: session.isConnected,
        isSound: isSound))
    if let proposal {
      commits.append((now, proposal.change))
      pending.append((now + 8_000, proposal))
    }
  }
}
