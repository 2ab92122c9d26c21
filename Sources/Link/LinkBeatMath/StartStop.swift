// SPDX-License-Identifier: GPL-2.0-or-later

/// A start or stop as peers share it: its beat, and the ghost time of the user's action.
public struct SessionStartStop: Hashable, Sendable, BitwiseCopyable {
  /// Whether it is a start; false: a stop.
  public var isPlaying: Bool
  /// The session's beat of the start or stop.
  public var beats: Beats
  /// The ghost time at which the user acted. Of two starts or stops, the one with the later timestamp wins.
  public var timestamp: Micros

  /// A start or stop at a beat of the session.
  @_noLocks @_noAllocation
  public init(isPlaying: Bool, beats: Beats, timestamp: Micros) {
    self.isPlaying = isPlaying
    self.beats = beats
    self.timestamp = timestamp
  }

  /// The start/stop value of a session in which no peer has pressed start or stop. Peers older than Link 3
  /// always send it.
  public static var unset: SessionStartStop {
    SessionStartStop(isPlaying: false, beats: .zero, timestamp: .zero)
  }

  /// This start or stop in host time, under the session's timeline and clock.
  public func client(on session: Timeline, by map: GhostMap) -> ClientStartStop {
    // The session's timeline and clock turn the beat and the timestamp into host times (facts: link 8.2).
    ClientStartStop(
      isPlaying: isPlaying, time: map.host(atGhost: session.exactTime(at: beats)),
      timestamp: map.host(atGhost: timestamp))
  }
}

/// A start or stop as a client sees it, in host time.
public struct ClientStartStop: Hashable, Sendable, BitwiseCopyable {
  /// Whether it is a start; false: a stop.
  public var isPlaying: Bool
  /// The host time of the start or stop.
  public var time: Micros
  /// The host time at which the user acted. Of two starts or stops, the one with the later timestamp wins.
  public var timestamp: Micros

  /// A start or stop at a host time.
  @_noLocks @_noAllocation
  public init(isPlaying: Bool, time: Micros, timestamp: Micros) {
    self.isPlaying = isPlaying
    self.time = time
    self.timestamp = timestamp
  }

  @_noLocks @_noAllocation
  public static func == (left: ClientStartStop, right: ClientStartStop) -> Bool {
    left.isPlaying == right.isPlaying && left.time == right.time && left.timestamp == right.timestamp
  }

  /// This start or stop in the form that peers share.
  public func session(on session: Timeline, by map: GhostMap) -> SessionStartStop {
    // The session's timeline and clock turn host times into a beat and a ghost time (facts: link 8.2).
    SessionStartStop(
      isPlaying: isPlaying, beats: session.exactBeats(at: map.ghost(atHost: time)),
      timestamp: map.ghost(atHost: timestamp))
  }
}
