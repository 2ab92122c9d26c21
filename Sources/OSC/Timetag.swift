// SPDX-License-Identifier: GPL-2.0-or-later

/// A moment of the wall clock as OSC writes it: seconds since 1900 and a binary fraction.
package struct Timetag: Hashable {
  package let rawValue: UInt64

  package static let immediately = Timetag(rawValue: 1)
  /// From 1900 to 1970.
  private static let unixEpoch: UInt64 = 2_208_988_800

  /// A year.
  private static let farthest = 31_536_000.0

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  package init(unixSeconds: Int64, nanoseconds: Int64) {
    let seconds = UInt64(truncatingIfNeeded: unixSeconds) &+ Self.unixEpoch
    let fraction = (UInt64(truncatingIfNeeded: nanoseconds) << 32) / 1_000_000_000
    rawValue = seconds << 32 | (fraction & 0xffff_ffff)
  }

  /// Others than the standard's 1 have no seconds either: who writes 0 means no time.
  package var isImmediate: Bool { rawValue >> 32 == 0 }

  /// By wrapping arithmetic, because the seconds begin anew in February 2036. Nobody means a moment years ahead: that is one of
  /// the last century, from a clock that was never set.
  package func seconds(since other: Timetag) -> Double {
    let seconds = Double(Int64(bitPattern: rawValue &- other.rawValue)) / 4_294_967_296
    return seconds < Self.farthest ? seconds : seconds - 4_294_967_296
  }
}
