// SPDX-License-Identifier: GPL-2.0-or-later

/// Whole microseconds: an instant on some clock, or the distance between two instants.
///
/// The name of a value says on which clock it is (`host`, `ghost`, `jack`). Sums wrap instead of trapping.
public struct Micros: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// The number of microseconds.
  public var count: Int64

  /// Makes a time from a number of microseconds.
  @inlinable @_noLocks @_noAllocation
  public init(_ count: Int64) {
    self.count = count
  }

  /// Rounds to the nearest microsecond, halves away from zero.
  @inlinable @_noLocks @_noAllocation
  public init(rounding value: Double) {
    count = Int64(rounding: value)
  }

  /// No time, or the start of a clock.
  public static var zero: Micros {
    @_noLocks @_noAllocation get { Micros(0) }
  }

  // The operators are written out, because the generic default implementations make metadata at run time in
  // debug builds.
  @inlinable @_noLocks @_noAllocation
  public static func < (left: Micros, right: Micros) -> Bool { left.count < right.count }

  @_noLocks @_noAllocation
  public static func > (left: Micros, right: Micros) -> Bool { left.count > right.count }

  @_noLocks @_noAllocation
  public static func <= (left: Micros, right: Micros) -> Bool { left.count <= right.count }

  @_noLocks @_noAllocation
  public static func >= (left: Micros, right: Micros) -> Bool { left.count >= right.count }

  @inlinable @_noLocks @_noAllocation
  public static func == (left: Micros, right: Micros) -> Bool { left.count == right.count }

  /// An overflow wraps instead of trapping.
  @inlinable @_noLocks @_noAllocation
  public static func + (left: Micros, right: Micros) -> Micros { Micros(left.count &+ right.count) }

  /// An overflow wraps instead of trapping.
  @inlinable @_noLocks @_noAllocation
  public static func - (left: Micros, right: Micros) -> Micros { Micros(left.count &- right.count) }

  /// The same distance with the opposite sign.
  @_noLocks @_noAllocation
  public static prefix func - (time: Micros) -> Micros { Micros(0 &- time.count) }
}
