// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// What a hand does to the phase of our outputs, while the session goes on as it is.
public struct BendSettings: Hashable, Sendable, BitwiseCopyable {
  /// While it is held: so many per cent faster than the session, slower below 0; within `most`.
  public var percent = 0.0
  /// All that was turned forward since the start, back below 0. The outputs go there as fast as `most` lets them.
  public var turned = Micros(0)
  /// Goes up with each wish to be with the session again.
  public var returns: UInt32 = 0

  /// Faster than this nothing is bent: a tenth is what a record's pitch fader does.
  public static var most: Double {
    @_noLocks @_noAllocation get { 10 }
  }
  /// Farther from the session than this no output goes.
  public static var farthest: Micros {
    @_noLocks @_noAllocation get { Micros(2_000_000) }
  }

  @_noLocks @_noAllocation
  public init() {}
}
