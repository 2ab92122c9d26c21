// SPDX-License-Identifier: GPL-2.0-or-later

/// A position or a length in beats, in whole microbeats, as Link keeps it in memory and on the wire.
///
/// Sums wrap instead of trapping, so a forged packet can make a wrong number but not end the program.
public struct Beats: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Millionths of a beat.
  public var millionths: Int64

  /// Makes beats from millionths of a beat.
  @inlinable @_noLocks @_noAllocation
  public init(millionths: Int64) {
    self.millionths = millionths
  }

  /// Rounds to the nearest microbeat, halves away from zero.
  @inlinable @_noLocks @_noAllocation
  public init(_ value: Double) {
    millionths = Int64(rounding: value * 1e6)
  }

  /// The position or length in beats.
  public var value: Double {
    @inlinable @_noLocks @_noAllocation get { Double(millionths) / 1e6 }
  }

  /// Zero beats.
  public static var zero: Beats {
    @inlinable @_noLocks @_noAllocation get { Beats(millionths: 0) }
  }

  // The operators are written out, because the generic default implementations make metadata at run time in
  // debug builds.
  @_noLocks @_noAllocation
  public static func < (left: Beats, right: Beats) -> Bool { left.millionths < right.millionths }

  @_noLocks @_noAllocation
  public static func > (left: Beats, right: Beats) -> Bool { left.millionths > right.millionths }

  @_noLocks @_noAllocation
  public static func <= (left: Beats, right: Beats) -> Bool { left.millionths <= right.millionths }

  @_noLocks @_noAllocation
  public static func >= (left: Beats, right: Beats) -> Bool { left.millionths >= right.millionths }

  @inlinable @_noLocks @_noAllocation
  public static func == (left: Beats, right: Beats) -> Bool { left.millionths == right.millionths }

  /// An overflow wraps instead of trapping.
  @inlinable @_noLocks @_noAllocation
  public static func + (left: Beats, right: Beats) -> Beats {
    Beats(millionths: left.millionths &+ right.millionths)
  }

  /// An overflow wraps instead of trapping.
  @inlinable @_noLocks @_noAllocation
  public static func - (left: Beats, right: Beats) -> Beats {
    Beats(millionths: left.millionths &- right.millionths)
  }

  /// The same length with the opposite sign.
  @_noLocks @_noAllocation
  public static prefix func - (beats: Beats) -> Beats { Beats(millionths: 0 &- beats.millionths) }
}
