// SPDX-License-Identifier: GPL-2.0-or-later

/// A position or a length in beats, in whole microbeats, as Link keeps it in memory and on the wire.
///
/// Sums wrap instead of trapping, so a forged packet can make a wrong number but not end the program.
public struct Beats: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Millionths of a beat.
  public var micros: Int64

  /// Makes beats from millionths of a beat.
  @inlinable @_noLocks @_noAllocation
  public init(micros: Int64) {
    self.micros = micros
  }

  /// Rounds to the nearest microbeat, halves away from zero.
  @inlinable @_noLocks @_noAllocation
  public init(_ value: Double) {
    micros = Int64(rounding: value * 1e6)
  }

  /// The position or length in beats.
  public var value: Double {
    @inlinable @_noLocks @_noAllocation get { Double(micros) / 1e6 }
  }

  /// Zero beats.
  public static var zero: Beats {
    @inlinable @_noLocks @_noAllocation get { Beats(micros: 0) }
  }

  // The operators are written out, because the generic default implementations make metadata at run time in
  // debug builds.
  @_noLocks @_noAllocation
  public static func < (left: Beats, right: Beats) -> Bool { left.micros < right.micros }

  @_noLocks @_noAllocation
  public static func > (left: Beats, right: Beats) -> Bool { left.micros > right.micros }

  @_noLocks @_noAllocation
  public static func <= (left: Beats, right: Beats) -> Bool { left.micros <= right.micros }

  @_noLocks @_noAllocation
  public static func >= (left: Beats, right: Beats) -> Bool { left.micros >= right.micros }

  @inlinable @_noLocks @_noAllocation
  public static func == (left: Beats, right: Beats) -> Bool { left.micros == right.micros }

  /// An overflow wraps instead of trapping.
  @inlinable @_noLocks @_noAllocation
  public static func + (left: Beats, right: Beats) -> Beats { Beats(micros: left.micros &+ right.micros) }

  /// An overflow wraps instead of trapping.
  @inlinable @_noLocks @_noAllocation
  public static func - (left: Beats, right: Beats) -> Beats { Beats(micros: left.micros &- right.micros) }

  /// The same length with the opposite sign.
  @_noLocks @_noAllocation
  public static prefix func - (beats: Beats) -> Beats { Beats(micros: 0 &- beats.micros) }
}
