// SPDX-License-Identifier: GPL-2.0-or-later

// Conversion to and from the durations of `Task.sleep(for:)`, `ContinuousClock` and so on. For app threads
// only: in debug builds these conversions allocate.
extension Micros {
  /// The nearest microsecond, halves away from zero. A duration of more than 292,000 years saturates.
  public init(_ duration: Duration) { self.init(Int64(clamping: duration.nearestMicros)) }

  /// The distance as a duration of Swift's own clocks.
  public var duration: Duration { .microseconds(count) }
}

extension Duration {
  /// The nearest number of microseconds, halves away from zero.
  package var nearestMicros: Int128 {
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000)
    let half: Int128 = 500_000_000_000
    return whole + (rest >= half ? 1 : rest <= -half ? -1 : 0)
  }
}
