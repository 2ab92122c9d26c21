// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// Lets a sequencer lead by its MIDI clock. `ClockLoop` smooths the times of the clock messages. The
/// resulting tempo and beat go into the session by the rules for a leading host (`HostFollower`), because a
/// sequencer is a host with coarser ticks.
///
/// The tempo changes in steps of 0.1 BPM with some hysteresis: the last digits of a clock that comes by USB
/// are noise, and each change goes to every peer. The corrections of phase remove the error that rounding
/// leaves.
struct ClockIn: BitwiseCopyable {
  /// The step of the tempo in beats per minute. A change below `hysteresis` (beats per minute) is ignored.
  static let step: Double = 0.1
  static let hysteresis: Double = 0.08

  var loop = ClockLoop()
  /// The follower of the beat that `loop` finds. It tolerates a jitter of 25,000 microseconds: `loop` itself
  /// detects lost clock messages, and in a ramp of the tempo `loop` is some milliseconds behind.
  var follower = HostFollower(jitter: 25_000)
  private(set) var tempo = 0.0
  /// The time at which the sequencer's Start came; nil: the sequencer stands, or continued from another
  /// place.
  private(set) var startedAt: Double?
  /// The tempo that we last put into the session. It may be a correction, but is never a peer's choice.
  private var told = 0.0
  private var echo = EchoWatch()
  private var isInUse = false
  /// The microseconds that are added to the sequencer's position: the user may know better than JACK when the
  /// clock messages were sent. The times of the messages stay as they are, because the loop would mistake a
  /// message that is moved by half an interval for its neighbour.
  private var offset = 0.0

  /// Whether the leading MIDI clock is our own clock, which comes back to us through a cable.
  var isEcho: Bool { echo.isEcho }
  /// Whether the sequencer plays, and its Start was certainly not an echo of our own Start.
  private var isRunning: Bool { loop.isRunning && !echo.mayBeEcho }

  /// Notes the messages that we sent through the port `clock` in this cycle, `ahead` microseconds before they
  /// are heard. Call this before `receive`.
  mutating func send(_ events: inout MIDIEvents, _ line: FrameLine, ahead: Double, frames: UInt32) {
    echo.send(ahead: ahead, cycle: Double(frames) * line.frameMicros, at: line.start)
    for index in 0..<events.count {
      echo.send(events[index].status, at: line.time(atFrame: Double(events[index].frame)))
    }
  }

  /// Reads the messages that came in during one cycle. `arrived` gives the times at which the
  /// sequencer sent them, `line` the times at which they pass through JACK.
  mutating func receive(
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
        echo.receive(at: line.time(atFrame: frame), tempo: loop.beatsPerMinute, session: sessionTempo)
      case MIDI.start:
        loop.start()
        echo.receiveCommand(at: line.time(atFrame: frame))
        startedAt = time
      case MIDI.resume:
        loop.resume()
        echo.receiveCommand(at: line.time(atFrame: frame))
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

  /// Reads the loop's tempo. If a peer or the user has put that tempo into the session, the session's exact
  /// value is used. Otherwise the loop's tempo is rounded and used, but only if the received clock is
  /// certainly not our own.
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

  /// Returns whether `tempo` is the tempo that we last put into the session. The session keeps whole
  /// microseconds per beat, so the two tempos may differ by less than one microsecond per beat.
  private func isTold(_ tempo: Double) -> Bool { abs(60e6 / tempo - 60e6 / told) < 1 }

  /// Returns the sequencer's beat and tempo in this cycle, if the sequencer's clock is reliable.
  @inline(__always)
  private func reading(_ now: borrowing CycleContext) -> LeaderReading {
    var reading = LeaderReading(shown: .nothing, heard: now.heard.start, isRolling: isRunning)
    guard case .locked = loop.state, tempo > 0 else { return reading }
    let beat = loop.isRunning ? max(0, loop.beat(at: reading.heard + offset)) : 0
    reading.shown = .beat(beat, tempo: tempo, ticksPerBeat: 1_000_000)
    return reading
  }

  /// Returns the change that the session needs.
  mutating func propose(_ now: borrowing CycleContext) -> Proposal? {
    let reading = reading(now)
    // If the received clock is our own, end a correction that is under way.
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
  /// The microseconds after a sequencer's Start in which the session's grid may still move to that Start.
  private static let settling = 2e6

  /// Returns the sequencer's song, if the transport starts from the song's beginning just after the
  /// sequencer's Start. In that case the sequencer caused the transport's start.
  @inline(__always)
  func leader(_ now: borrowing CycleContext, _ start: Start?, songBeat: Beats) -> Leader {
    guard case .midi = now.settings.lead, let startedAt, isRunning, case .locked = loop.state
    else { return .none }
    if case .now = now.settings.launch.moment { return .none }
    var isChasing = false
    if let start { isChasing = start.isChasing }
    guard isChasing || songBeat == .zero else { return .none }
    let quantum = now.settings.quantum > 0 ? now.settings.quantum : 1
    let time = now.heard.start + now.cycleMicros
    let played = loop.beat(at: time + offset)
    // If the user presses Play later than a quantum after the beginning of the sequencer's song, the start is
    // meant for the next bar.
    guard start != nil || played < quantum else { return .none }
    let away = now.grid.beat(at: time) - played
    let origin = Double(Int64(rounding: away / quantum)) * quantum
    if abs(away - origin) * now.grid.beatMicros <= HostFollower.largestNudge {
      let framesPerBeat = now.grid.beatMicros * Double(now.sampleRate) / 1e6
      return .playing(origin: Beats(origin), framesPerBeat: framesPerBeat)
    }
    return now.mayForce && time - startedAt < Self.settling ? .unsettled : .none
  }

  /// Carries the sequencer's tempo and beat into the session, if the user lets the sequencer lead. `received`
  /// and `sent` are only read; `inout` avoids copying a kilobyte of each in every cycle.
  mutating func follow(
    _ now: borrowing CycleContext, _ received: inout MIDIEvents, sent: inout MIDIEvents
  ) -> Proposal? {
    guard case .midi = now.settings.lead, !now.isFreewheeling else {
      if isInUse { self = ClockIn() }
      return nil
    }
    isInUse = true
    send(&sent, now.line, ahead: now.delay(of: .clock), frames: now.frames)
    receive(&received, now.sent, passing: now.line, frames: now.frames, sessionTempo: now.session.tempo)
    let offset = Double(now.settings.offset(of: .control).count)
    if offset != self.offset, loop.isRunning { follower.hostJumped() }
    self.offset = offset
    return propose(now)
  }

  @inline(__always)
  var report: ClockInReport {
    ClockInReport(state: loop.state, tempo: loop.beatsPerMinute, isEcho: isEcho)
  }
}
