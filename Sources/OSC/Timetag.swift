// SPDX-License-Identifier: GPL-2.0-or-later

/// A moment of the wall clock as OSC writes it: seconds since 1900 and a binary fraction.
package struct Timetag: Hashable {
  package let rawValue: UInt64

  package static let immediately = Timetag(rawValue: 1)
  /// From 1900 to 1970.
  private static let unixEpoch: UInt64 = 2_208_988_800

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  package init(unixSeconds: Int64, nanoseconds: Int64) {
    let seconds = UInt64(truncatingIfNeeded: unixSeconds) &+ Self.unixEpoch
    let fraction = (UInt64(truncatingIfNeeded: nanoseconds) << 32) / 1_000_000_000
    rawValue = seconds << 32 | (fraction & 0xffff_ffff)
  }

  package var isImmediate: Bool { rawValue == 1 }

  /// By wrapping arithmetic, because the seconds begin anew in February 2036.
  package func seconds(since other: Timetag) -> Double {
    Double(Int64(bitPattern: rawValue &- other.rawValue)) / 4_294_967_296
  }
}
