// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import LinkWire

/// The state of a `LinkSession` for other threads, as one plain value.
public struct SessionSnapshot: Hashable, Sendable, BitwiseCopyable {
  /// The state that a capture returns.
  public var state: SessionState
  /// Our own id, which stays until we found a new session.
  public var node: NodeID
  /// The id of our session, which is the id of its founder.
  public var session: SessionID
  /// The session's timeline in ghost time, as we announce it.
  public var sessionTimeline: Timeline
  /// The map from this machine's host time to the session's ghost time.
  public var ghost: GhostMap
  /// The number of other peers in our session.
  public var peerCount: Int
  /// Whether Link is on; if it is off, the beat runs for us alone.
  public var isEnabled: Bool
  /// Whether starts and stops are shared with the peers.
  public var isStartStopSyncEnabled: Bool
  /// Whether the session plays, even if we do not share starts and stops.
  public var sessionPlays: Bool
  /// The number of an audio thread's last commit that this state contains. The thread that applies the
  /// commits sets it.
  public var audioSequence: UInt64 = 0
}

extension LinkSession {
  /// The state that the next `publish` will contain.
  public var snapshot: SessionSnapshot {
    SessionSnapshot(
      state: SessionState(
        timeline: client, startStop: clientStartStop, isConnected: reported.peers > 0,
        session: session.rawValue, song: clientSong, songDecision: songDecision),
      node: node, session: session, sessionTimeline: timeline, ghost: ghost, peerCount: reported.peers,
      isEnabled: isEnabled, isStartStopSyncEnabled: isStartStopSyncEnabled,
      sessionPlays: startStop.isPlaying)
  }
}

/// Random numbers from a seed (SplitMix64), good enough for ids, for random delays that keep peers from
/// acting at the same moment, and for simulations.
public struct Dice: RandomNumberGenerator, Sendable {
  @usableFromInline var state: UInt64

  /// The same seed gives the same numbers on every machine.
  @inlinable
  public init(seed: UInt64) {
    state = seed
  }

  @inlinable
  public mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
