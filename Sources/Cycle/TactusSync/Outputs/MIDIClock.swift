// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// MIDI clock, Start, Stop, Continue and song position at one port, where clock k is heard at beat k/24.
///
/// A receiver counts clocks, so no clock is ever left out or doubled while the receiver runs (`Pacer`). The
/// receiver starts on the first clock after Start or Continue, which we send half a clock interval before
/// that clock. At the song's first beat we send Start. From any other place we send a song position and
/// Continue, on a sixteenth, the finest place that MIDI can name. While the receiver runs, a new position
/// takes Stop, position and Continue (facts: jack 13). A tempo change needs no message.
struct MIDIClock: BitwiseCopyable {
  /// The number of clocks that a receiver counts as a sixteenth, even if a beat has more or fewer than 24
  /// clocks.
  static let perSixteenth: Int64 = 6
  /// The least time from a song position to Continue, in microseconds. The three bytes of a position take one
  /// millisecond on a wire, and a sequencer needs time to find the place.
  static let shortestSettle: Double = 5000
  static let wireMargin: Double = 1000
  /// The longest wait of a receiver for Continue, in microseconds, if a sixteenth lies within that time.
  static let longestWait: Double = 150_000

  /// A start of the receiver that is planned or was sent.
  private struct Plan: BitwiseCopyable {
    /// The first clock that the receiver counts.
    var first: Int64
    var command: UInt8
    /// The earliest time for Start or Continue, which is sent half a clock interval before the clock `first`.
    var earliest: Double
    var isSent = false
    /// Whether clocks are also sent before `first`, for another receiver at the port that follows the clocks
    /// alone.
    var keepsClocks = false
  }

  /// A stop of the receiver within this buffer: the clocks from number `first` on are sent up to `frame`.
  private struct Ending: BitwiseCopyable {
    var first: Int64
    var frame: Int
  }

  private var pacer = Pacer()
  private var perBeat: Int64 = 24
  private var plan: Plan?
  /// Whether the user let the receiver play again in the middle of the song. In that case the receiver counts
  /// from the bar line at which it started, until the song stops.
  private var isAlone = false
  private var wasLetPlay = true
  /// Whether the receiver may be playing: it was started, perhaps by an earlier program, and got no Stop.
  private(set) var mayPlay: Bool
  /// Whether Stop must be sent after an export: messages of the export's own cycles reach no hardware.
  private var owesStop = false
  private(set) var figures = ClockFigures()
  private var followedRun: UInt64 = 0
  /// The value of `connections` in the last cycle.
  private var followedConnections: UInt32 = 0
  private var standingFrame: UInt32?
  private var pendingPosition: Double?
  private var framesSincePosition: Int64 = .max / 2
  private var beats = SwungBeats()

  init(mayPlay: Bool = false) { self.mayPlay = mayPlay }

  /// Renders one buffer. The buffer stays empty while the server freewheels, because a receiver cannot follow
  /// a freewheel. `connections` counts how often the port went from no connection to one. A receiver that
  /// connects while the song plays is sent the song's position.
  mutating func run(
    into events: inout MIDIEvents, _ now: inout OutputContext, _ window: Window, _ settings: ClockSettings,
    connections: UInt32, _ missed: SkippedCycles
  ) {
    let window = window.swung(settings.swing, &beats, &now)
    framesSincePosition = min(.max / 2, framesSincePosition &+ missed.frames)
    figures.recent.age(by: missed.frames)
    let wanted = Int64(min(96, max(6, settings.perBeat)))
    let isOtherRate = wanted != perBeat
    perBeat = wanted
    let isNew = pacer.open(window, perBeat: perBeat, missed) || isOtherRate
    let isOn = !now.isFreewheeling && settings.isOn
    let isLetPlay = isOn && settings.plays
    let isHeardAnew = connections != followedConnections
    followedConnections = connections
    let plays = plan?.isSent == true
    let isOwed = owesStop
    if now.isFreewheeling {
      owesStop = owesStop || plays
      plan = nil
    } else if owesStop {
      end(into: &events)
    }
    let keepsClocks = isHeardAnew && now.song.isRolling && plays
    let ending = stopIfDue(
      into: &events, &now, window, isOn: isLetPlay && settings.sendsTransport,
      isNew: isNew || isHeardAnew)
    if isHeardAnew && isOn && settings.sendsTransport {
      stopWhoMayPlay(isTold: plays || isOwed, into: &events)
    }
    followSong(into: &events, &now, window, settings, isLetPlay: isLetPlay, keepsClocks: keepsClocks)
    figures.state =
      isLetPlay && !settings.sendsTransport
      ? stateOfClocks(&now, settings) : plan.map { $0.isSent ? .plays : .waits } ?? .rests
    sendClocks(
      into: &events, &now, window, ending: ending, always: isOn && settings.when == .always,
      inSong: isLetPlay && !settings.sendsTransport)
  }

  /// Plans a start of the receiver and sends song positions, if the settings let the receiver play along with
  /// the song.
  private mutating func followSong(
    into events: inout MIDIEvents, _ now: inout OutputContext, _ window: Window, _ settings: ClockSettings,
    isLetPlay: Bool, keepsClocks: Bool
  ) {
    let isMoving = now.song.isWaiting || now.song.isRolling
    isAlone = isMoving && (isAlone || isLetPlay && !wasLetPlay && now.song.isRolling)
    wasLetPlay = settings.plays
    guard isLetPlay, settings.sendsTransport else {
      standingFrame = nil
      return
    }
    if plan == nil && isMoving {
      plan = makePlan(into: &events, window: window, song: now.song, settings: settings, bars: now.bars)
      plan?.keepsClocks = keepsClocks
      followedRun = now.song.run
    }
    if settings.sendsPosition { followStanding(into: &events, &now, window) }
  }

  /// The time, as heard at this port, until which the MIDI clock has nothing to send. It holds as long as
  /// nothing but time changes.
  func due(in window: Window, _ now: inout OutputContext) -> Double {
    let isBusy = pendingPosition != nil || plan.map { !$0.isSent || now.song.run != followedRun } ?? false
    return isBusy ? -.infinity : pacer.time(in: window)
  }

  /// The state of a receiver that is sent no Start and follows the clocks alone.
  private func stateOfClocks(_ now: inout OutputContext, _ settings: ClockSettings) -> ClockFigures.State {
    if now.song.isRolling || settings.when == .always { return .plays }
    return now.song.isWaiting ? .waits : .rests
  }

  /// Stops the receiver if the song ended or moved.
  private mutating func stopIfDue(
    into events: inout MIDIEvents, _ now: inout OutputContext, _ window: Window, isOn: Bool, isNew: Bool
  ) -> Ending? {
    guard let current = plan, now.song.run != followedRun || !isOn || isNew else { return nil }
    var frame = 0
    if isOn && !isNew && !now.song.isRolling && !now.song.isWaiting {
      frame = Window.nearest(window.line.frame(at: now.song.stopTime))
      // If the stop is heard in a later buffer of this port, the receiver still plays.
      guard frame < window.frames else { return nil }
    }
    end(at: UInt32(frame), into: &events)
    return Ending(first: current.first, frame: frame)
  }

  /// Sends Stop now if a receiver that was disconnected may have missed an earlier Stop.
  private mutating func stopWhoMayPlay(isTold: Bool, into events: inout MIDIEvents) {
    if mayPlay && !isTold { events.insert(MIDIEvent(frame: 0, status: MIDI.stop)) }
    mayPlay = false
  }

  /// Stops the receiver, for instance because the port gets another kind of output.
  mutating func end(at frame: UInt32 = 0, into events: inout MIDIEvents) {
    if plan?.isSent == true || owesStop { events.insert(MIDIEvent(frame: frame, status: MIDI.stop)) }
    (plan, owesStop) = (nil, false)
  }

  private mutating func makePlan(
    into events: inout MIDIEvents, window: Window, song: Song, settings: ClockSettings, bars: Bars
  ) -> Plan {
    let now = window.line.start
    let startTime = max(now, window.time(of: song.startBeat))
    let start = song.songBeat(of: window.beat(at: startTime))
    // The number of the clock at the song's first beat, or of the next clock if none falls on that beat.
    let downbeat = song.boundary(perBeat: perBeat)
    let frameInBeats = window.line.frameMicros / window.grid.beatMicros
    if start <= frameInBeats && pacer.next <= downbeat {
      return Plan(first: downbeat, command: MIDI.start, earliest: now)
    }
    if isAlone || !settings.sendsPosition {
      let soonest = song.songBeat(of: window.beat(at: max(startTime, now + Self.wireMargin)))
      return Plan(
        first: song.boundary(at: bars.line(atOrAfter: soonest), perBeat: perBeat), command: MIDI.start,
        earliest: now)
    }
    let sixteenth = resumption(
      window: window, song: song, start: startTime, settle: Double(settings.settle.count))
    sendPosition(sixteenth, into: &events)
    return Plan(
      first: downbeat &+ sixteenth &* Self.perSixteenth, command: MIDI.resume,
      earliest: now + Self.shortestSettle)
  }

  private var sixteenthsPerBeat: Double { Double(perBeat) / Double(Self.perSixteenth) }

  /// The sixteenth from which the receiver continues: the first one that leaves the receiver time to settle.
  /// If that sixteenth is too late, the last one within the longest wait, or at least the next possible one.
  private func resumption(window: Window, song: Song, start: Double, settle: Double) -> Int64 {
    let now = window.line.start
    let soonest = max(start, now + Self.shortestSettle + Self.wireMargin)
    let halfClock = window.grid.beatMicros / Double(2 * perBeat)
    let extendedWait = max(Self.longestWait, settle + Self.longestWait)
    let latest = start + (settle > Self.longestWait ? extendedWait : Self.longestWait)
    let first =
      0 &- Int64(flooring: 0 - song.songBeat(of: window.beat(at: soonest)) * sixteenthsPerBeat)
    var best = first
    // 64 steps are enough: at 999 BPM, 150 ms are 10 sixteenths, or 40 for a machine with four times as many
    // clocks a beat.
    for step in 0..<64 {
      let candidate = first &+ Int64(step)
      let command =
        window.time(of: song.originBeat + Double(candidate) / sixteenthsPerBeat) - halfClock
      guard command <= latest else { break }
      best = candidate
      if command >= now + settle { break }
    }
    return best
  }

  /// Sends the new position after a locate while the transport stands, at most every 20 ms.
  private mutating func followStanding(
    into events: inout MIDIEvents, _ now: inout OutputContext, _ window: Window
  ) {
    guard plan == nil && !now.song.isRolling && !now.song.isWaiting else {
      standingFrame = nil
      pendingPosition = nil
      return
    }
    if let standingFrame, standingFrame != now.transportFrame { pendingPosition = now.song.standing }
    standingFrame = now.transportFrame
    if let position = pendingPosition, Double(framesSincePosition) * window.line.frameMicros >= 20_000 {
      sendPosition(Int64(rounding: position * sixteenthsPerBeat), into: &events)
      pendingPosition = nil
    }
  }

  private mutating func sendPosition(_ sixteenth: Int64, into events: inout MIDIEvents) {
    // A song position has 14 bits: it wraps after 1024 bars of 4/4, within which the place stays right.
    let position = max(0, sixteenth)
    events.insert(MIDIEvent(frame: 0, position: UInt16(truncatingIfNeeded: position & 0x3fff)))
    framesSincePosition = 0
  }

  /// Sends the planned Start or Continue when it is due. A receiver counts the first clock after this command
  /// as `first`. So if clocks are also sent before the start (`always`), all of them must go out before the
  /// command, even those that are late after lost cycles.
  private mutating func sendCommandIfDue(into events: inout MIDIEvents, window: Window, always: Bool) {
    guard let current = plan, !current.isSent, events.hasRoom else { return }
    if always || current.keepsClocks, pacer.next < current.first { return }
    var first = window.frame(of: Double(current.first) / Double(perBeat))
    if pacer.next == current.first { first = max(first, pacer.place(in: window)) }
    let wanted = max(first - pacer.spacing(in: window) / 2, window.line.frame(at: current.earliest))
    let frame = Window.nearest(min(first, wanted))
    guard frame < window.frames else { return }
    events.insert(MIDIEvent(frame: UInt32(frame), status: current.command))
    plan?.isSent = true
    mayPlay = true
  }

  private mutating func sendClocks(
    into events: inout MIDIEvents, _ now: inout OutputContext, _ window: Window, ending: Ending?,
    always: Bool, inSong: Bool
  ) {
    for _ in 0..<Ticker.limit {
      // Events for which there is no room go into the next buffer.
      guard events.hasRoom else { return }
      sendCommandIfDue(into: &events, window: window, always: always)
      guard events.hasRoom else { return }
      var isHeard = always
      if inSong, !isHeard {
        let beat = Double(pacer.next) / Double(perBeat)
        isHeard = now.song.contains(beat: beat, time: window.time(of: beat))
      }
      if let plan, plan.keepsClocks || pacer.next >= plan.first { isHeard = true }
      let frame = pacer.frame(in: window)
      if let ending, let frame, pacer.next >= ending.first, frame < ending.frame { isHeard = true }
      if isHeard {
        guard let frame else { return }
        figures.count(framesOff: abs(Double(frame) - pacer.exactPlace(in: window)), window)
        pacer.use(in: window)
        events.insert(MIDIEvent(frame: UInt32(frame), status: MIDI.clock))
      } else {
        guard pacer.exactPlace(in: window) < Double(window.frames) - 0.5 else { return }
        pacer.pass()
      }
    }
  }
}
