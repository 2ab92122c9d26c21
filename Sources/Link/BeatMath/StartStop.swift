// SPDX-License-Identifier: GPL-2.0-or-later

/// A start or stop as peers share it: its beat, and the ghost time of the user's action.
public struct SessionStartStop: Hashable, Sendable, BitwiseCopyable {
  /// Started, or stopped.
  public var isPlaying: Bool
  /// The session's beat of the start or stop.
  public var beats: Beats
  /// Ghost time of the action: of two starts or stops the later one counts.
  public var timestamp: Micros

  /// A start or stop in the session's terms.
  @_noLocks @_noAllocation
  public init(isPlaying: Bool, beats: Beats, timestamp: Micros) {
    self.isPlaying = isPlaying
    self.beats = beats
    self.timestamp = timestamp
  }

  /// No peer ever pressed start or stop; peers older than Link 3 always send this.
  public static var unset: SessionStartStop {
    SessionStartStop(isPlaying: false, beats: .zero, timestamp: .zero)
  }

  /// The same in host time, under the session's timeline and clock (facts: link 8.2).
  public func client(on session: Timeline, by map: GhostMap) -> ClientStartStop {
    ClientStartStop(
      isPlaying: isPlaying, time: map.host(atGhost: session.exactTime(at: beats)),
      timestamp: map.host(atGhost: timestamp))
  }
}

/// A start or stop as a client sees it, in host time.
public struct ClientStartStop: Hashable, Sendable, BitwiseCopyable {
  /// Started, or stopped.
  public var isPlaying: Bool
  /// The host time of the start or stop.
  public var time: Micros
  /// Host time of the action: of two starts or stops the later one counts.
  public var timestamp: Micros

  /// A start or stop in a client's terms.
  @_noLocks @_noAllocation
  public init(isPlaying: Bool, time: Micros, timestamp: Micros) {
    self.isPlaying = isPlaying
    self.time = time
    self.timestamp = timestamp
  }

  /// The same in the form that peers share (facts: link 8.2).
  public func session(on session: Timeline, by map: GhostMap) -> SessionStartStop {
    SessionStartStop(
      isPlaying: isPlaying, beats: session.exactBeats(at: map.ghost(atHost: time)),
      timestamp: map.ghost(atHost: timestamp))
  }
}
