// SPDX-License-Identifier: GPL-2.0-or-later

/// A change that the audio thread committed, on its way to the session.
public struct SessionChange: Hashable, Sendable, BitwiseCopyable {
  /// In host time; nil if it was not changed.
  public var timeline: Timeline?
  public var startStop: ClientStartStop?
  /// Host time of the commit.
  public var at: Micros
  /// The session that the edited timeline belongs to.
  public var session: UInt64
  /// Commits are counted; whoever works them in says how far it is.
  public var sequence: UInt64

  @_noLocks @_noAllocation
  public init(
    timeline: Timeline?, startStop: ClientStartStop?, at: Micros, session: UInt64, sequence: UInt64
  ) {
    self.timeline = timeline
    self.startStop = startStop
    self.at = at
    self.session = session
    self.sequence = sequence
  }
}

/// The audio thread's own copy of the session (link-protocol 9.2).
///
/// What it committed it sees again at once, and for a second after, whatever the network or the app thread say
/// meanwhile: the timeline and the start/stop each for themselves. Later it sees what everybody sees.
///
/// A plain value that one thread owns. A commit that could not be handed on is undone by putting the earlier copy
/// back. [audio]
public struct AudioSession: Sendable, BitwiseCopyable {
  public private(set) var state: SessionState
  /// Of the last commit.
  public private(set) var sequence: UInt64 = 0
  private var session: UInt64
  private var lastCommit: Micros?
  private var timelineChanged: Micros?
  private var startStopChanged: Micros?

  public static var grace: Micros {
    @_noLocks @_noAllocation get { Micros(1_000_000) }
  }

  /// `session` names the session that `state` was captured from.
  @_noLocks @_noAllocation
  public init(_ state: SessionState, session: UInt64) {
    self.state = state
    self.session = session
  }

  /// `shared` is what was published last, `workedIn` the last commit that it contains.
  @_noLocks @_noAllocation
  public mutating func capture(
    _ shared: SessionState, session: UInt64, workedIn: UInt64, at now: Micros
  ) -> SessionState {
    state.isConnected = shared.isConnected
    // A commit that is not worked in after a second never will be.
    if workedIn < sequence && AudioSession.isRecent(lastCommit, at: now) { return state }
    if !AudioSession.isRecent(timelineChanged, at: now) {
      state.timeline = shared.timeline
      self.session = session
    }
    if !AudioSession.isRecent(startStopChanged, at: now) { state.startStop = shared.startStop }
    return state
  }

  /// Nil if nothing was changed. While Link is disabled there is nobody to defend the change against.
  @_noLocks @_noAllocation
  public mutating func commit(
    _ edited: SessionState, captured: SessionState, at now: Micros, isEnabled: Bool
  ) -> SessionChange? {
    let isTurned = !(edited.timeline == captured.timeline)
    let isMoved =
      now > state.startStop.timestamp
      && (edited.startStop.isPlaying != captured.startStop.isPlaying
        || !(edited.startStop.time == captured.startStop.time))
    guard isTurned || isMoved else { return nil }
    if isTurned {
      state.timeline = edited.timeline.clamped
      timelineChanged = isEnabled ? now : nil
    }
    if isMoved {
      state.startStop = ClientStartStop(
        isPlaying: edited.startStop.isPlaying, time: edited.startStop.time, timestamp: now)
      startStopChanged = isEnabled ? now : nil
    }
    sequence = sequence &+ 1
    lastCommit = now
    return SessionChange(
      timeline: isTurned ? state.timeline : nil, startStop: isMoved ? state.startStop : nil, at: now,
      session: session, sequence: sequence)
  }

  @_noLocks @_noAllocation
  private static func isRecent(_ change: Micros?, at now: Micros) -> Bool {
    guard let change else { return false }
    return now - change <= grace
  }
}
