// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// A sequencer leads by its MIDI clock: the loop smooths its clocks, and what it shows goes into the session by the
/// rules for a leading host, for a sequencer is one with coarser ticks (`HostFollower`).
///
/// The tempo is told in steps of 0.1 BPM with some hysteresis: the last digits of a clock that comes by USB are noise,
/// and each change goes to every peer. What the steps leave is taken up where phase is corrected.
struct ClockIn: BitwiseCopyable {
  /// Beats per minute.
  static var step: Double { @_noLocks @_noAllocation get { 0.1 } }
  static var hysteresis: Double { @_noLocks @_noAllocation get { 0.08 } }

  var loop = ClockLoop()
  /// Lost clocks are the loop's to see, and in a ramp it is some milliseconds behind.
  var follower = HostFollower(jitter: 25_000)
  private(set) var tempo = 0.0
  /// When its Start came; nil: it stands, or went on from elsewhere.
  private(set) var startedAt: Double?
  /// What we put into the session last: a correction, perhaps, and never what somebody else chose.
  private var told = 0.0
  private var echo = EchoWatch()

  /// What is corrected comes back: our own clock is what leads.
  var isEcho: Bool { @_noLocks @_noAllocation get { echo.isEcho } }

  @_noLocks @_noAllocation
  init() {}

  /// One cycle's messages, with the times at which they were sent.
  @_noLocks @_noAllocation
  mutating func hear(
    _ events: borrowing MIDIEvents, _ arrived: FrameLine, frames: UInt32, sessionTempo: Double
  ) {
    let jumps = loop.jumps
    for index in 0..<events.count {
      let event = events[index]
      let time = arrived.time(atFrame: Double(min(event.frame, frames)))
      switch event.status {
      case MIDI.clock: loop.clock(at: time)
      case MIDI.start:
        loop.start()
        echo = EchoWatch()
        startedAt = time
      case MIDI.resume:
        loop.resume()
        echo = EchoWatch()
        startedAt = nil
      case MIDI.stop:
        loop.stop()
        startedAt = nil
      case MIDI.songPosition: loop.locate(sixteenth: Int64(event.data1) | Int64(event.data2) << 7)
      default: break
      }
    }
    if loop.jumps != jumps { follower.hostJumped() }
    loop.tick(at: arrived.time(atFrame: Double(frames)))
    guard case .locked = loop.state else {
      if case .lost = loop.state { tempo = 0 }
      return
    }
    let now = loop.beatsPerMinute
    // Were it our own clock, it would show the grid's own move as a tempo.
    let isUpset = echo.hasJustMoved(at: arrived.start)
    if tempo == 0 || abs(now - tempo) > Self.hysteresis && !isUpset {
      // What the session has already is no news, whichever of the two had it first.
      let isKnown = abs(now - sessionTempo) <= Self.hysteresis && !isTold(sessionTempo)
      tempo = isKnown ? sessionTempo : Double(Int64(rounding: now / Self.step)) * Self.step
      if !isKnown { echo.tempoIsNews() }
    }
  }

  /// The session keeps whole microseconds per beat.
  @_noLocks @_noAllocation
  private func isTold(_ tempo: Double) -> Bool { abs(60e6 / tempo - 60e6 / told) < 1 }

  /// What a host with this clock would show at this time; nil while there is none to rely on.
  @inline(__always) @_noLocks @_noAllocation
  func shown(at time: Double) -> BBT? {
    guard case .locked = loop.state, tempo > 0 else { return nil }
    let beats = Beats(loop.isRunning ? max(0, loop.beat(at: time)) : 0)
    // The finest ticks there are, one a microbeat.
    return BBT(
      bar: Int32(clamping: beats.micros / 4_000_000 &+ 1),
      beat: Int32(truncatingIfNeeded: beats.micros % 4_000_000 / 1_000_000 &+ 1),
      tick: Int32(truncatingIfNeeded: beats.micros % 1_000_000), barStartTick: 0, beatsPerBar: 4, beatType: 4,
      ticksPerBeat: 1_000_000, beatsPerMinute: tempo)
  }

  /// What the session should change to.
  @_noLocks @_noAllocation
  mutating func propose(_ now: HostFollower.Observation) -> Proposal? {
    let proposal = follower.follow(now)
    let wasEcho = echo.isEcho
    echo.look(at: follower.phaseError, now, proposal)
    if echo.isEcho, !wasEcho { return Proposal(.tempo(echo.tempoBefore), at: Micros(rounding: now.heard)) }
    guard !echo.isEcho, let proposal else { return nil }
    if case .tempo(let tempo) = proposal.change {
      if abs(tempo - 60e6 / now.grid.period) < HostFollower.smallestStep { return nil }
      told = tempo
    }
    return proposal
  }
}

extension HostSync {
  /// Its Start and the grid's move to it take no longer than this.
  private static var settling: Double { @_noLocks @_noAllocation get { 2e6 } }

  /// The song of a sequencer that has just begun it, for a start from the song's beginning: that start is its doing.
  @inline(__always) @_noLocks @_noAllocation
  func leader(of cycle: borrowing Cycle, _ grid: Grid, songBeat: Beats, at time: Double) -> Leader {
    guard case .midi = cycle.settings.lead, let startedAt = clockIn.startedAt, clockIn.loop.isRunning,
      !clockIn.isEcho, case .locked = clockIn.loop.state
    else { return .none }
    if case .now = cycle.settings.launch.mode { return .none }
    if case .anothers = timebase { return .none }
    guard launch.isChasing || songBeat == .zero else { return .none }
    let quantum = cycle.settings.quantum > 0 ? cycle.settings.quantum : 1
    let played = clockIn.loop.beat(at: time)
    // Who presses play later wants the next bar.
    guard launch.isHolding || played < quantum else { return .none }
    let away = grid.beat(at: time) - played
    let origin = Double(Int64(rounding: away / quantum)) * quantum
    if abs(away - origin) * grid.period <= HostFollower.largestNudge {
      let framesPerBeat = grid.period * Double(cycle.sampleRate) / 1e6
      return .playing(origin: Beats(origin), framesPerBeat: framesPerBeat)
    }
    return mayForce(cycle) && time - startedAt < Self.settling ? .unsettled : .none
  }
}

/// Notices that our own clock comes back through a device and leads us: then each correction moves what it corrects,
/// and the distance is the same again. Hands that push a sequencer's beat about are not so even. The session has its old
/// tempo back, and nothing is proposed any more until the next Start.
private struct EchoWatch: BitwiseCopyable {
  static var longestChase: Double { @_noLocks @_noAllocation get { 20e6 } }
  /// A grid that has to be moved again so soon was not moved nearer.
  static var soon: Double { @_noLocks @_noAllocation get { 2e6 } }
  static var mostMoves: Int { @_noLocks @_noAllocation get { 4 } }
  /// Distances that differ by less than this share are the same: the loop may be on its way to one still.
  static var alike: Double { @_noLocks @_noAllocation get { 0.25 } }

  private(set) var isEcho = false
  private(set) var tempoBefore = 0.0
  private var chasingSince = 0.0
  private var lastMove = 0.0
  private var lastDistance = 0.0
  private var moves = 0

  @_noLocks @_noAllocation
  init() {}

  @_noLocks @_noAllocation
  func hasJustMoved(at time: Double) -> Bool { moves > 0 && time - lastMove < Self.soon / 2 }

  /// A ramp is chased as long as it lasts.
  @_noLocks @_noAllocation
  mutating func tempoIsNews() { chasingSince = 0 }

  @_noLocks @_noAllocation
  mutating func look(at phaseError: Double, _ now: HostFollower.Observation, _ proposal: Proposal?) {
    let size = abs(phaseError)
    if let proposal, case .forceBeat = proposal.change {
      let isSame = abs(phaseError - lastDistance) <= Self.alike * max(size, abs(lastDistance))
      let isSoon = now.heard - lastMove < Self.soon
      moves = isSoon && isSame ? moves + 1 : 1
      lastMove = now.heard
      lastDistance = phaseError
      if !isSoon { tempoBefore = 60e6 / now.grid.period }
      if moves >= Self.mostMoves { isEcho = true }
    }
    let isChase = now.isRolling && size > 2 * HostFollower.tolerated && size <= HostFollower.largestNudge
    guard isChase else {
      chasingSince = 0
      return
    }
    if chasingSince == 0 {
      chasingSince = now.heard
      tempoBefore = 60e6 / now.grid.period
    }
    if now.heard - chasingSince > Self.longestChase { isEcho = true }
  }
}

extension HostSync {
  /// Carries the sequencer's tempo and beat into the session, if it is to lead.
  @_noLocks @_noAllocation
  mutating func followClock(_ cycle: borrowing Cycle) -> Proposal? {
    guard case .midi = cycle.settings.lead, !cycle.isFreewheeling else {
      if hearsClock { clockIn = ClockIn() }
      hearsClock = false
      return nil
    }
    hearsClock = true
    clockIn.hear(received, arrived, frames: cycle.frames, sessionTempo: cycle.session.tempo)
    return clockIn.propose(
      HostFollower.Observation(
        bbt: clockIn.shown(at: heard.start), isRolling: clockIn.loop.isRunning, heard: heard.start,
        grid: Grid(cycle.session.timeline), quantum: cycle.settings.quantum, mayForce: mayForce(cycle),
        isConnected: cycle.session.isConnected, isSound: times.isSound))
  }
}
