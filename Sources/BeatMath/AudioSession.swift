// SPDX-License-Identifier: GPL-2.0-or-later

/// A change that an app or an audio thread made to a captured state, on its way to the session.
public struct SessionChange: Hashable, Sendable, BitwiseCopyable {
  /// In host time; nil if it was not changed.
  public var timeline: Timeline?
  /// Nil: left as it was.
  public var startStop: ClientStartStop?
  /// Host time of the commit.
  public var at: Micros
  /// The session that the edited timeline belongs to; 0 if that is of no concern.
  public var session: UInt64
  /// The audio thread's commits are counted, and the thread that works them in says how far it is; 0 for others.
  public var sequence: UInt64

  /// With what is to be changed; nil for what is not.
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
      return true
    }
  }
}

/// The audio thread's own copy of the session (facts: link 9.2).
///
/// What it committed it sees again at once, and for a second after, whatever the network or the app thread say
/// meanwhile: the timeline and the start/stop each for themselves. Later it sees what everybody sees.
///
/// A plain value that one thread owns. A commit that could not be handed on is undone by putting the earlier copy
/// back. [audio]
public struct AudioSession: Sendable, BitwiseCopyable {
  /// Of the last commit.
  public private(set) var sequence: UInt64 = 0
  @usableFromInline var timeline: Timeline
  @usableFromInline var startStop: ClientStartStop
  /// To which `timeline` belongs.
  @usableFromInline var session: UInt64
  @usableFromInline var lastCommit: Micros?
  @usableFromInline var timelineChanged: Micros?
  @usableFromInline var startStopChanged: Micros?

  /// For so long after a commit an audio thread sees its own values, whatever the network says.
  public static var grace: Micros {
    @inlinable @_noLocks @_noAllocation get { Micros(1_000_000) }
  }

  /// Nothing committed yet.
  @_noLocks @_noAllocation
  public init(_ shared: SessionState) {
    timeline = shared.timeline
    startStop = shared.startStop
    session = shared.session
  }

  /// `shared` is what was published last, `workedIn` the last commit that it contains.
  @inlinable @_noLocks @_noAllocation
  public mutating func capture(
    _ shared: SessionState, workedIn: UInt64, at now: Micros
  ) -> SessionState {
    // A commit that is not worked in after a second never will be.
    let isPending = workedIn < sequence && AudioSession.isRecent(lastCommit, at: now)
    if !isPending && !AudioSession.isRecent(timelineChanged, at: now) {
      timeline = shared.timeline
      session = shared.session
    }
    if !isPending && !AudioSession.isRecent(startStopChanged, at: now) { startStop = shared.startStop }
    return SessionState(
      timeline: timeline, startStop: startStop, isConnected: shared.isConnected, session: session)
  }

  /// Whether this thread sees what everybody sees, and will until it commits again.
  @inlinable @_noLocks @_noAllocation
  public func isSettled(at now: Micros) -> Bool {
    !AudioSession.isRecent(lastCommit, at: now)
  }

  /// Nil if nothing was changed since `edited` was captured. While Link is disabled there is nobody to defend the
  /// change against.
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
