// SPDX-License-Identifier: GPL-2.0-or-later

/// A change that an app or an audio thread made to a captured state, to be applied to the session.
public struct SessionChange: Hashable, Sendable, BitwiseCopyable {
  /// The new timeline, in host time; nil: unchanged.
  public var timeline: Timeline?
  /// The new start or stop, in host time; nil: unchanged.
  public var startStop: ClientStartStop?
  /// The new song line, whose session beat is counted from the origin of the client's timeline; nil:
  /// unchanged.
  package var song: SongLine?
  /// The host time of the commit.
  public var at: Micros
  /// The id of the session that the edited timeline belongs to, as a number; 0: any session.
  public var session: UInt64
  /// The number of an audio thread's commit; 0 for a commit of another thread. The thread that applies
  /// commits reports the last number that it has applied.
  public var sequence: UInt64

  /// Makes a change. A part that is nil stays unchanged in the session.
  @_noLocks @_noAllocation
  public init(
    timeline: Timeline?, startStop: ClientStartStop?, at: Micros, session: UInt64 = 0, sequence: UInt64 = 0
  ) {
    self.timeline = timeline
    self.startStop = startStop
    self.at = at
    self.session = session
    self.sequence = sequence
  }

  var isEmpty: Bool {
    @_noLocks @_noAllocation get {
      if let _ = timeline { return false }
      if let _ = startStop { return false }
      if let _ = song { return false }
      return true
    }
  }
}

// An audio thread keeps its own change for a second, whatever the network says (facts: link 9.2).

/// The audio thread's own copy of the session.
///
/// For a second after a commit, the audio thread sees the values that it committed, whatever the network or
/// an app thread sets meanwhile. Afterwards the thread sees the shared state. This second is counted
/// separately for the timeline and for starts and stops.
///
/// This is a plain value that one thread owns. If a commit could not be handed over to Link's thread, restore
/// the value of this copy from before the commit.
public struct AudioSession: Sendable, BitwiseCopyable {
  /// The number of this thread's last commit.
  public private(set) var sequence: UInt64 = 0
  @usableFromInline var timeline: Timeline
  @usableFromInline var startStop: ClientStartStop
  @usableFromInline var song: SongLine?
  @usableFromInline var songDecision: UInt64
  /// The id of the session that `timeline` belongs to, as a number.
  @usableFromInline var session: UInt64
  @usableFromInline var lastCommit: Micros?
  @usableFromInline var timelineChanged: Micros?
  @usableFromInline var startStopChanged: Micros?

  /// The time after a commit during which an audio thread sees its own values.
  public static var grace: Micros {
    @inlinable @_noLocks @_noAllocation get { Micros(1_000_000) }
  }

  /// Makes a copy of the shared state, without any commit.
  @_noLocks @_noAllocation
  public init(_ shared: SessionState) {
    timeline = shared.timeline
    startStop = shared.startStop
    song = shared.storedSong
    songDecision = shared.songDecision
    session = shared.session
  }

  /// Captures the state. `shared` is the state that was published last, and `workedIn` is the number of the
  /// last commit that this state contains.
  @inlinable @_noLocks @_noAllocation
  public mutating func capture(
    _ shared: SessionState, workedIn: UInt64, at now: Micros
  ) -> SessionState {
    // If the shared state does not contain a commit after a second, it never will.
    let isPending = workedIn < sequence && AudioSession.isRecent(lastCommit, at: now)
    if !isPending && !AudioSession.isRecent(timelineChanged, at: now) {
      timeline = shared.timeline
      session = shared.session
    }
    if !isPending && !AudioSession.isRecent(startStopChanged, at: now) { startStop = shared.startStop }
    // A peer's change of the song line is obeyed at once, also right after our own change.
    if !isPending {
      song = shared.storedSong
      songDecision = shared.songDecision
    }
    return SessionState(
      timeline: timeline, startStop: startStop, isConnected: shared.isConnected, session: session,
      song: song, songDecision: songDecision)
  }

  /// Whether this thread sees the shared state, and will see it until its next commit.
  @inlinable @_noLocks @_noAllocation
  public func isSettled(at now: Micros) -> Bool {
    !AudioSession.isRecent(lastCommit, at: now)
  }

  /// Commits `edited`. Returns nil if nothing has changed since the capture. While Link is disabled, no
  /// peer's change competes with the commit, so the thread sees the shared state again as soon as that state
  /// contains the commit.
  @_noLocks @_noAllocation
  public mutating func commit(_ edited: SessionState, at now: Micros, isEnabled: Bool) -> SessionChange? {
    guard var change = edited.change(at: now) else { return nil }
    if !(now > startStop.timestamp) { change.startStop = nil }
    if let turned = change.timeline {
      timeline = turned
      timelineChanged = isEnabled ? now : nil
    }
    if let moved = change.startStop {
      startStop = moved
      startStopChanged = isEnabled ? now : nil
    }
    if let decided = change.song { song = decided }
    if change.isEmpty { return nil }
    sequence = sequence &+ 1
    lastCommit = now
    change.sequence = sequence
    return change
  }

  @inlinable @_noLocks @_noAllocation
  static func isRecent(_ change: Micros?, at now: Micros) -> Bool {
    guard let change else { return false }
    return now - change <= grace
  }
}
