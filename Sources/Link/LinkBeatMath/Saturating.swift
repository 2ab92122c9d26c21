// SPDX-License-Identifier: GPL-2.0-or-later

// Numbers from outside must not trap: a trap on the audio thread ends the program.
extension Int64 {
  /// Rounds toward zero. A value out of range becomes the nearest bound, and NaN becomes zero. [any]
  @inlinable @_noLocks @_noAllocation
  package init(saturating value: Double) {
    if value >= 0x1p63 {
      self = .max
    } else if value <= -0x1p63 {
      self = .min
    } else if value == value {
      self = Int64(value)
    } else {
      self = 0
    }
  }

  /// Rounds halves away from zero, as Link does. A value out of range becomes the nearest bound, and NaN
  /// becomes zero. [any]
  @inlinable @_noLocks @_noAllocation
  package init(rounding value: Double) {
    let whole = Int64(saturating: value)
    // The difference is exact: below 2^52 a `Double` can represent both terms, and above it there is no
    // fraction.
    let fraction = value - Double(whole)
    if whole == .max || whole == .min {
      self = whole
    } else {
      // This line has no branch, because the direction of rounding is random, and a wrong prediction by the
      // processor would cost more time than the rest of the function.
      self = whole &+ (fraction >= 0.5 ? 1 : 0) &- (fraction <= -0.5 ? 1 : 0)
    }
  }

  /// Rounds down. A value out of range becomes the nearest bound, and NaN becomes zero. [any]
  @inlinable @_noLocks @_noAllocation
  package init(flooring value: Double) {
    let whole = Int64(saturating: value)
    self = Double(whole) > value && whole != .min ? whole &- 1 : whole
  }
}
