// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import LinkWire

/// Everything that another thread may want to know, as one plain value.
public struct SessionSnapshot: Hashable, Sendable, BitwiseCopyable {
  /// What a capture returns.
  public var state: SessionState
  /// Our own id, until we found a session anew.
  public var node: NodeID
  /// The session that we are in, by its founder's id.
  public var session: SessionID
  /// In ghost time, as peers are told it.
  public var sessionTimeline: Timeline
  /// From this machine's host time to the session's ghost time.
  public var ghost: GhostMap
  /// Different peers in our session, ourselves not counted.
  public var peerCount: Int
  /// Whether we take part; if not, the beat runs for us alone.
  public var isEnabled: Bool
  /// Whether our starts and stops are the peers', and theirs ours.
  public var isStartStopSyncEnabled: Bool
  /// The last of an audio thread's commits that is worked in; the thread that works them in counts them.
  public var audioSequence: UInt64 = 0
}

/// Randomness that a seed repeats (SplitMix64): enough to draw ids, to keep peers from moving in step, and for simulations.
public struct Dice: RandomNumberGenerator, Sendable {
  @usableFromInline var state: UInt64

  /// With the same seed the same numbers come, on every machine.
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
