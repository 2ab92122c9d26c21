// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// A sequencer leads by its MIDI clock: the loop smooths its clocks, and what it shows goes into the session by the
/// rules for a leading host, for a sequencer is one with coarser ticks (`HostFollower`).
///
/// The tempo is told in steps of 0.1 BPM with some hysteresis: the last digits of a clock that comes by USB are noise,
/// and each change goes to every peer. What the steps leave is taken up where phase is corrected.
struct ClockIn: BitwiseCopyable {
  /// Beats per minute.
  static let step: Double = 0.1
  static let hysteresis: Double = 0.08

  var loop = ClockLoop()
  /// Lost clocks are the loop's to see, and in a ramp it is some milliseconds behind.
  var follower = HostFollower(jitter: 25_000)
  private(set) var tempo = 0.0
  /// When its Start came; nil: it stands, or went on from elsewhere.
  private(set) var startedAt: Double?
  /// What we put into the session last: a correction, perhaps, and never what somebody else chose.
  private var told = 0.0
  private var echo = EchoWatch()
  private var isInUse = false
  /// Its user may know better than JACK when it was sent: it is so much further than what came in says. Not the clocks' own times are
  /// moved, for a move by half a clock and more would be another clock.
  private var offset = 0.0

  /// Our own clock comes back, and is what leads.
  var isEcho: Bool { echo.isEcho }
  /// It was started, and not by us.
  private var isRunning: Bool { loop.isRunning && !echo.mayBeEcho }

  /// What we sent through `clock` in this cycle, so many microseconds before it is heard. Before `hear`.
  mutating func send(_ events: inout MIDIEvents, _ line: FrameLine, ahead: Double, frames: UInt32) {
    echo.send(ahead: ahead, cycle: Double(frames) * line.frameMicros, at: line.start)
    for index in 0..<events.count {
      echo.send(events[index].status, at: line.time(atFrame: Double(events[index].frame)))
    }
  }

  /// One cycle's messages: `arrived` has the times at which they were sent, `line` those at which they pass through JACK.
  mutating func hear(
    _ events: inout MIDIEvents, _ arrived: FrameLine, passing line: FrameLine, frames: UInt32,
    sessionTempo: Double
  ) {
    let jumps = loop.jumps
    for index in 0..<events.count {
      let event = events[index]
      let frame = Double(min(event.frame, frames))
      let time = arrived.time(atFrame: frame)
      switch event.status {
      case MIDI.clock:
        loop.clock(at: time)
        echo.hear(at: line.time(atFrame: frame), tempo: loop.beatsPerMinute, session: sessionTempo)
      case MIDI.start:
        loop.start()
        echo.hearCommand(at: line.time(atFrame: frame))
        startedAt = time
      case MIDI.resume:
        loop.resume()
        echo.hearCommand(at: line.time(atFrame: frame))
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
    switch loop.state {
    case .locked: readTempo(session: sessionTempo, at: line.start)
    case .lost:
      tempo = 0
      echo.hearNothing()
    case .silent, .acquiring: break
    }
  }

  /// What the session has already is no news, whichever of the two had it first; nor is what we sent ourselves.
  private mutating func readTempo(session: Double, at time: Double) {
    let now = loop.beatsPerMinute
    guard tempo == 0 || abs(now - tempo) > Self.hysteresis else { return }
    if abs(now - session) <= Self.hysteresis, !isTold(session) {
      tempo = session
    } else if echo.hasOwnTempo {
      tempo = Double(Int64(rounding: now / Self.step)) * Self.step
      echo.follow(at: time)
    }
  }

  /// The session keeps whole microseconds per beat.
  private func isTold(_ tempo: Double) -> Bool { abs(60e6 / tempo - 60e6 / told) < 1 }

  /// What it shows in this cycle, while there is a clock to rely on.
  @inline(__always)
  private func reading(_ now: borrowing Now) -> LeaderReading {
    var reading = LeaderReading(shown: .nothing, heard: now.heard.start, isRolling: isRunning)
    guard case .locked = loop.state, tempo > 0 else { return reading }
    let beat = loop.isRunning ? max(0, loop.beat(at: reading.heard + offset)) : 0
    reading.shown = .beat(beat, tempo: tempo, ticksPerBeat: 1_000_000)
    return reading
  }

  /// What the session should change to.
  mutating func propose(_ now: borrowing Now) -> Proposal? {
    let reading = reading(now)
    // What was being corrected is over.
    guard !echo.isEcho else { return follower.pause(now, reading) }
    guard let proposal = follower.follow(now, reading) else { return nil }
    if case .tempo(let tempo) = proposal.change {
      if abs(tempo - 60e6 / now.grid.beatMicros) < HostFollower.smallestStep { return nil }
      told = tempo
    }
    return proposal
  }
}

extension ClockIn {
  /// Its Start and the grid's move to it take no longer than this.
  private static let settling = 2e6

  /// The song of a sequencer that has just begun it, for a start from the song's beginning: that start is its doing.
  @inline(__always)
  func leader(_ now: borrowing Now, _ start: Start?, songBeat: Beats) -> Leader {
    guard case .midi = now.settings.lead, let startedAt, isRunning, case .locked = loop.state
    else { return .none }
    if case .now = now.settings.launch.moment { return .none }
    var isChasing = false
    if let start { isChasing = start.isChasing }
    guard isChasing || songBeat == .zero else { return .none }
    let quantum = now.settings.quantum > 0 ? now.settings.quantum : 1
    let time = now.heard.start + now.cycleMicros
    let played = loop.beat(at: time + offset)
    // Who presses play later wants the next bar.
    guard start != nil || played < quantum else { return .none }
    let away = now.grid.beat(at: time) - played
    let origin = Double(Int64(rounding: away / quantum)) * quantum
    if abs(away - origin) * now.grid.beatMicros <= HostFollower.largestNudge {
      let framesPerBeat = now.grid.beatMicros * Double(now.sampleRate) / 1e6
      return .playing(origin: Beats(origin), framesPerBeat: framesPerBeat)
    }
    return now.mayForce && time - startedAt < Self.settling ? .unsettled : .none
  }

  /// Carries the sequencer's tempo and beat into the session, if it is to lead. The messages are only read, and `inout` so that a
  /// kilobyte of each is not copied in every cycle.
  mutating func follow(
    _ now: borrowing Now, _ received: inout MIDIEvents, sent: inout MIDIEvents
  ) -> Proposal? {
    guard case .midi = now.settings.lead, !now.isFreewheeling else {
      if isInUse { self = ClockIn() }
      return nil
    }
    isInUse = true
    send(&sent, now.line, ahead: now.delay(of: .clock), frames: now.frames)
    hear(&received, now.sent, passing: now.line, frames: now.frames, sessionTempo: now.session.tempo)
    let offset = Double(now.settings.offset(of: .control).count)
    if offset != self.offset, loop.isRunning { follower.hostJumped() }
    self.offset = offset
    return propose(now)
  }

  @inline(__always)
  func report(_ now: borrowing Now, into report: inout Report) {
    if case .midi = now.settings.lead { report.hostPhaseError = follower.phaseError }
    report.clockInState = loop.state
    report.clockInTempo = loop.beatsPerMinute
    report.isClockInEcho = isEcho
  }
}
