// SPDX-License-Identifier: GPL-2.0-or-later

// The rules of the calls that set tempo and beat are facts: link 9.4.

/// A client's view of the session at one moment, which it edits and then commits: LinkKit's "session state".
///
/// A plain value: every function is real-time-safe, and thread-safe as long as each thread has its own copy.
/// Its calls match Ableton's library to the microbeat.
public struct SessionState: Hashable, Sendable, BitwiseCopyable {
  // The order of the properties keeps the size at 120 bytes. An audio thread copies the value in each cycle,
  // and a copy of more than 128 bytes calls memcpy.
  @usableFromInline var storedTimeline: Timeline
  @usableFromInline var storedStartStop: ClientStartStop
  /// The id of the timeline's session, as a number; 0: any session. A change that was made for another
  /// session than the current one is dropped.
  public let session: UInt64
  /// The song line, whose session beat is counted from the origin of `timeline`.
  @usableFromInline var storedSong: SongLine?
  /// Whether the song line was decided since the capture.
  @usableFromInline var isSongDecided = false
  @usableFromInline var storedIsConnected: Bool
  @usableFromInline let capturedIsPlaying: Bool
  /// The number of the newest decision about the song line. It grows with each decision of a peer, and with
  /// each of our own decisions when the session accepts it.
  @usableFromInline package let songDecision: UInt64
  @usableFromInline let capturedTimeline: Timeline
  /// The time of the start or stop at the capture.
  @usableFromInline let capturedTime: Micros

  /// Makes a captured state. Later `change(at:)` compares the edited values with the captured ones.
  @inlinable @_noLocks @_noAllocation
  package init(
    timeline: Timeline, startStop: ClientStartStop, isConnected: Bool, session: UInt64 = 0,
    song: SongLine? = nil, songDecision: UInt64 = 0
  ) {
    storedTimeline = timeline
    storedStartStop = startStop
    storedIsConnected = isConnected
    self.session = session
    storedSong = song
    self.songDecision = songDecision
    capturedTimeline = timeline
    capturedIsPlaying = startStop.isPlaying
    capturedTime = startStop.time
  }

  // The following values are set within the package only: their setters do not refuse absurd values, unlike
  // the functions further below.

  /// The timeline in host time; its origin holds the session's grid.
  public package(set) var timeline: Timeline {
    @inlinable @_noLocks @_noAllocation get { storedTimeline }
    @_noLocks @_noAllocation set { storedTimeline = newValue }
  }

  /// Whether this client plays, and from which time on.
  public package(set) var startStop: ClientStartStop {
    @inlinable @_noLocks @_noAllocation get { storedStartStop }
    @_noLocks @_noAllocation set { storedStartStop = newValue }
  }

  /// Whether there were peers at the capture; `requestBeat` depends on it.
  public package(set) var isConnected: Bool {
    @inlinable @_noLocks @_noAllocation get { storedIsConnected }
    @_noLocks @_noAllocation set { storedIsConnected = newValue }
  }

  /// The changes since the capture, for a commit at `now`; nil if there are none. The result contains changed
  /// parts only, so that a commit does not undo a peer's change.
  @_noLocks @_noAllocation
  public func change(at now: Micros) -> SessionChange? {
    // The tempo and beat count as one part, starts and stops as another (facts: link 9.1).
    let isTurned = !(timeline == capturedTimeline) && timeline.tempo.isNumber
    let isMoved = startStop.isPlaying != capturedIsPlaying || !(startStop.time == capturedTime)
    guard isTurned || isMoved || isSongDecided else { return nil }
    var change = SessionChange(
      timeline: isTurned ? timeline.clamped : nil,
      startStop: isMoved
        ? ClientStartStop(isPlaying: startStop.isPlaying, time: startStop.time, timestamp: now) : nil,
      at: now, session: session)
    if isSongDecided { change.song = storedSong }
    return change
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(timeline)
    hasher.combine(startStop)
    hasher.combine(isConnected)
  }

  /// Compares the present, edited values, and not the values at the capture.
  @_noLocks @_noAllocation
  public static func == (left: SessionState, right: SessionState) -> Bool {
    left.timeline == right.timeline && left.startStop == right.startStop
      && left.isConnected == right.isConnected && left.hasSameSong(as: right)
  }
}

extension SessionState {
  /// The tempo in beats per minute. A peer's tempo has whole microseconds per beat, so it is off by up to
  /// some thousandths: compare rounded values.
  public var tempo: Double {
    @_noLocks @_noAllocation get { timeline.tempo.beatsPerMinute }
  }

  // Absurd arguments change nothing, such as NaN or a time that is centuries away: one client's mistake must
  // not become every peer's tempo. `LinkSession` applies narrower limits later.

  /// Whether the time lies within six hundred years of the session's beat 0.
  @_noLocks @_noAllocation
  private func isMeant(_ time: Micros) -> Bool {
    let (distance, overflows) = time.count.subtractingReportingOverflow(timeline.timeOrigin.count)
    return !overflows && distance.magnitude <= 20_000_000_000_000_000
  }

  /// Whether the beat lies within ten years at 999 BPM; false for NaN.
  @_noLocks @_noAllocation
  private func isMeant(_ beat: Double) -> Bool { beat.magnitude <= 5e9 }

  /// Sets the tempo, clamped to 20...999 BPM, from `time` on; the beat at `time` stays.
  @_noLocks @_noAllocation
  public mutating func setTempo(_ beatsPerMinute: Double, at time: Micros) {
    guard Tempo(beatsPerMinute).isNumber, isMeant(time) else { return }
    let turned = Timeline(
      tempo: Tempo(beatsPerMinute).clamped, beatOrigin: timeline.beats(at: time), timeOrigin: time)
    timeline.timeOrigin = turned.time(at: timeline.beatOrigin)
    timeline.tempo = turned.tempo
  }

  /// The beat at `time`. Its number is this client's own; its phase within `quantum` is the session's.
  @inlinable @_noLocks @_noAllocation
  public func beats(at time: Micros, quantum: Beats) -> Beats {
    timeline.phaseEncodedBeats(at: time, quantum: quantum)
  }

  /// The beat at `time`. Its number is this client's own; its phase within `quantum` is the session's.
  @inlinable @_noLocks @_noAllocation
  public func beat(at time: Micros, quantum: Double) -> Double {
    beats(at: time, quantum: Beats(quantum)).value
  }

  /// The position within the quantum at `time`, in 0 ..< quantum, also before beat 0.
  @_noLocks @_noAllocation
  public func phase(at time: Micros, quantum: Double) -> Double {
    beats(at: time, quantum: Beats(quantum)).phase(in: Beats(quantum)).value
  }

  /// The inverse of `beats(at:quantum:)`, as long as the tempo stays.
  @_noLocks @_noAllocation
  public func time(at beats: Beats, quantum: Beats) -> Micros {
    timeline.time(atPhaseEncoded: beats, quantum: quantum)
  }

  /// The inverse of `beat(at:quantum:)`, as long as the tempo stays.
  @_noLocks @_noAllocation
  public func time(atBeat beat: Double, quantum: Double) -> Micros {
    time(at: Beats(beat), quantum: Beats(quantum))
  }

  /// Requests `beat` at `time`. Without peers, the beat comes at that time. With peers, the beat comes at the
  /// next time with its phase.
  @_noLocks @_noAllocation
  public mutating func requestBeat(_ beat: Double, at time: Micros, quantum: Double) {
    guard isMeant(beat), isMeant(time) else { return }
    var when = time
    if isConnected {
      let grid = Beats(quantum)
      when = self.time(
        at: beats(at: time, quantum: grid).nextMatchingPhase(of: Beats(beat), quantum: grid), quantum: grid)
    }
    forceBeat(beat, at: when, quantum: quantum)
  }

  /// Forces `beat` at `time`, and moves the grid of all peers. Use this only to follow an external clock.
  @_noLocks @_noAllocation
  public mutating func forceBeat(_ beat: Double, at time: Micros, quantum: Double) {
    guard isMeant(beat), isMeant(time) else { return }
    force(Beats(beat), at: time, quantum: Beats(quantum))
    // Because of rounding, the beat at `time` may be a microbeat later than `beat`. Then Link 3.1 and later
    // versions, and this code, use a time that is one microsecond later. Link 3.0.6 does not (facts: link
    // 9.4).
    if beats(at: time, quantum: Beats(quantum)) > Beats(beat) {
      force(Beats(beat), at: time + Micros(1), quantum: Beats(quantum))
    }
  }

  @_noLocks @_noAllocation
  private mutating func force(_ beat: Beats, at time: Micros, quantum: Beats) {
    let current = beats(at: time, quantum: quantum)
    let nearest = current.closestMatchingPhase(of: beat, quantum: quantum)
    timeline.shift(by: nearest - current)
    timeline.beatOrigin = timeline.beatOrigin + (beat - nearest)
  }
}

extension SessionState {
  /// Whether this client plays, or will play from ``timeOfPlaying`` on.
  public var isPlaying: Bool {
    @_noLocks @_noAllocation get { startStop.isPlaying }
  }

  /// The time of the start or stop, in the future or the past.
  public var timeOfPlaying: Micros {
    @_noLocks @_noAllocation get { startStop.time }
  }

  /// Starts or stops at `time`.
  @_noLocks @_noAllocation
  public mutating func setPlaying(_ isPlaying: Bool, at time: Micros) {
    guard isMeant(time) else { return }
    startStop.isPlaying = isPlaying
    startStop.time = time
  }

  /// While playing, requests `beat` at the time of the start (a quantised launch); otherwise does nothing.
  @_noLocks @_noAllocation
  public mutating func requestBeatAtStart(_ beat: Double, quantum: Double) {
    if startStop.isPlaying { requestBeat(beat, at: startStop.time, quantum: quantum) }
  }

  /// Calls `setPlaying` and then `requestBeatAtStart`.
  @_noLocks @_noAllocation
  public mutating func setPlaying(
    _ isPlaying: Bool, at time: Micros, requestingBeat beat: Double, quantum: Double
  ) {
    guard isMeant(time) else { return }
    setPlaying(isPlaying, at: time)
    requestBeatAtStart(beat, quantum: quantum)
  }
}
