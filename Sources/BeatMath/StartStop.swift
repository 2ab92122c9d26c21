// SPDX-License-Identifier: GPL-2.0-or-later

/// Whether the session plays, as peers tell each other: since which beat, and when (ghost time) the user asked.
public struct SessionStartStop: Hashable, Sendable, BitwiseCopyable {
  /// Started, or stopped.
  public var isPlaying: Bool
  /// At which beat of the session.
  public var beats: Beats
  /// When that was said, in the session's time: of two the later one counts.
  public var timestamp: Micros

  /// As the session has it.
  @_noLocks @_noAllocation
  public init(isPlaying: Bool, beats: Beats, timestamp: Micros) {
    self.isPlaying = isPlaying
    self.beats = beats
    self.timestamp = timestamp
  }

  /// Nobody ever pressed start or stop; peers older than Link 3 always say this.
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

/// Whether this client plays: from which host time on, and when (host time) that was committed.
public struct ClientStartStop: Hashable, Sendable, BitwiseCopyable {
  /// Started, or stopped.
  public var isPlaying: Bool
  /// At which host time.
  public var time: Micros
  /// When that was said, in host time: of two the later one counts.
  public var timestamp: Micros

  /// As a client has it.
  @_noLocks @_noAllocation
  public init(isPlaying: Bool, time: Micros, timestamp: Micros) {
    self.isPlaying = isPlaying
    self.time = time
    self.timestamp = timestamp
  }

  /// The same as peers are told it (facts: link 8.2).
  public func session(on session: Timeline, by map: GhostMap) -> SessionStartStop {
    SessionStartStop(
      isPlaying: isPlaying, beats: session.exactBeats(at: map.ghost(atHost: time)),
      timestamp: map.ghost(atHost: timestamp))
  }
}
