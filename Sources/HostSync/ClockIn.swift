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
  /// The loop overshoots by such a share, and is settled after so long.
  static var overshoot: Double { @_noLocks @_noAllocation get { 0.001 } }
  static var settling: Double { @_noLocks @_noAllocation get { 3e6 } }

  var loop = ClockLoop()
  /// Lost clocks are the loop's to see, and in a ramp it is some milliseconds behind.
  var follower = HostFollower(jitter: 25_000)
  private(set) var tempo = 0.0
  /// When its Start came; nil: it stands, or went on from elsewhere.
  private(set) var startedAt: Double?
  /// What we put into the session last: a correction, perhaps, and never what somebody else chose.
  private var told = 0.0
  private var lastNews = -1e18
  /// The tempo that corrects the beat, and until when our own clock, if it is that, may show it. 0: there is none.
  private var corrector = 0.0
  private var correctedUntil = -1e18
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
    // Were it our own clock, it would show what we do to the session as a tempo.
    let isUpset =
      echo.hasJustMoved(at: arrived.start, clock: loop.period) || isCorrection(now, at: arrived.start)
    if tempo == 0 || abs(now - tempo) > Self.hysteresis && !isUpset {
      // What the session has already is no news, whichever of the two had it first.
      let isKnown = abs(now - sessionTempo) <= Self.hysteresis && !isTold(sessionTempo)
      tempo = isKnown ? sessionTempo : Double(Int64(rounding: now / Self.step)) * Self.step
      lastNews = arrived.start
      corrector = 0
      if !isKnown { echo.tempoIsNews() }
    }
  }

  /// Between the sequencer's tempo and the one that corrects the beat, or just beyond.
  @_noLocks @_noAllocation
  private func isCorrection(_ now: Double, at time: Double) -> Bool {
    let margin = Self.hysteresis + Self.overshoot * tempo
    return corrector > 0 && time < correctedUntil && now > min(tempo, corrector) - margin
      && now < max(tempo, corrector) + margin
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
    echo.look(
      at: follower.phaseError, now, proposal, isCorrecting: follower.isCorrecting, clock: loop.period)
    if echo.isEcho, !wasEcho { return Proposal(.tempo(tempo), at: Micros(rounding: now.heard)) }
    if follower.isCorrecting { correctedUntil = now.heard + EchoWatch.upset }
    guard !echo.isEcho, let proposal else { return nil }
    if case .tempo(let tempo) = proposal.change {
      if abs(tempo - 60e6 / now.grid.period) < HostFollower.smallestStep { return nil }
      told = tempo
      let isSettled = now.heard - lastNews > Self.settling
      if follower.isCorrecting { corrector = isSettled ? tempo : 0 }
    }
    return proposal
  }
}

extension HostSync {
  /// Its Start and the grid's move to it take no longer than this.
  private static var settling: Double { @_noLocks @_noAllocation get { 2e6 } }

  /// The song of a sequencer that has just begun it, for a start from the song's beginning: that start is its doing.
  @inline(__always) @_noLocks @_noAllocation
  func leader(_ now: borrowing Now, songBeat: Beats, at time: Double) -> Leader {
    guard case .midi = now.settings.lead, let startedAt = clockIn.startedAt, clockIn.loop.isRunning,
      !clockIn.isEcho, case .locked = clockIn.loop.state
    else { return .none }
    if case .now = now.settings.launch.mode { return .none }
    if case .anothers = timebase { return .none }
    guard launch.isChasing || songBeat == .zero else { return .none }
    let quantum = now.settings.quantum > 0 ? now.settings.quantum : 1
    let played = clockIn.loop.beat(at: time)
    // Who presses play later wants the next bar.
    guard launch.isHolding || played < quantum else { return .none }
    let away = now.grid.beat(at: time) - played
    let origin = Double(Int64(rounding: away / quantum)) * quantum
    if abs(away - origin) * now.grid.period <= HostFollower.largestNudge {
      let framesPerBeat = now.grid.period * Double(now.sampleRate) / 1e6
      return .playing(origin: Beats(origin), framesPerBeat: framesPerBeat)
    }
    return mayForce(now) && time - startedAt < Self.settling ? .unsettled : .none
  }
}

/// Notices that our own clock comes back through a device and leads us: then a correction moves what it corrects, and the
/// distance is afterwards what it was. A sequencer's is gone, even if hands push its beat about. The session has its tempo
/// back, and nothing is proposed any more until the next Start.
private struct EchoWatch: BitwiseCopyable {
  /// So many moves of the grid in a row changed nothing; a tempo that was to do it, three rounds long, counts for more.
  static var mostFailures: Int { @_noLocks @_noAllocation get { 5 } }
  static var failedTempo: Int { @_noLocks @_noAllocation get { 3 } }
  /// Distances that differ by less than this share are the same: the loop may be on its way to one still.
  static var alike: Double { @_noLocks @_noAllocation get { 0.3 } }
  /// What came of a move is seen after so many clocks, and their way through the device.
  static var settlingClocks: Double { @_noLocks @_noAllocation get { 36 } }
  static var longestWay: Double { @_noLocks @_noAllocation get { 50_000 } }
  /// A correction would show in our own clock as a tempo for so long.
  static var upset: Double { @_noLocks @_noAllocation get { 1e6 } }

  private(set) var isEcho = false
  private var failures = 0
  /// What the correction under way is to bring to nothing, and when it is judged.
  private var distance: Double?
  private var isMove = false
  private var judgedAt = 0.0
  private var lastMove = -1e18

  @_noLocks @_noAllocation
  init() {}

  @_noLocks @_noAllocation
  func hasJustMoved(at time: Double, clock: Double) -> Bool {
    time - lastMove < max(Self.upset, Self.settlingClocks * clock)
  }

  /// A ramp is chased as long as it lasts.
  @_noLocks @_noAllocation
  mutating func tempoIsNews() {
    failures = 0
    distance = nil
  }

  @_noLocks @_noAllocation
  mutating func look(
    at error: Double, _ now: HostFollower.Observation, _ proposal: Proposal?, isCorrecting: Bool,
    clock: Double
  ) {
    guard now.isRolling else { return tempoIsNews() }
    if let proposal, case .forceBeat = proposal.change {
      judge(error)
      lastMove = now.heard
      distance = error
      isMove = true
      judgedAt = now.heard + Self.settlingClocks * clock + Self.longestWay
      return
    }
    if isCorrecting, distance == nil {
      distance = error
      isMove = false
    }
    if isCorrecting, !isMove { judgedAt = now.heard + Self.upset }
    if now.heard >= judgedAt { judge(error) }
  }

  @_noLocks @_noAllocation
  private mutating func judge(_ error: Double) {
    guard let distance else { return }
    let isSame = abs(error - distance) <= Self.alike * max(abs(error), abs(distance))
    failures = isSame ? failures + (isMove ? 1 : Self.failedTempo) : 0
    if failures >= Self.mostFailures { isEcho = true }
    self.distance = nil
  }
}

extension HostSync {
  /// Carries the sequencer's tempo and beat into the session, if it is to lead.
  @_noLocks @_noAllocation
  mutating func followClock(_ now: borrowing Now) -> Proposal? {
    guard case .midi = now.settings.lead, !now.isFreewheeling else {
      if hearsClock { clockIn = ClockIn() }
      hearsClock = false
      return nil
    }
    hearsClock = true
    clockIn.hear(received, arrived, frames: now.frames, sessionTempo: now.session.tempo)
    return clockIn.propose(
      HostFollower.Observation(
        bbt: clockIn.shown(at: now.heard.start), isRolling: clockIn.loop.isRunning, heard: now.heard.start,
        grid: now.grid, quantum: now.settings.quantum, mayForce: mayForce(now),
        isConnected: now.session.isConnected, isSound: times.isSound))
  }
}
