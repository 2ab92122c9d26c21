// SPDX-License-Identifier: GPL-2.0-or-later

// Conversion to and from the durations of `Task.sleep(for:)`, `ContinuousClock` and so on. For app threads
// only: in debug builds these allocate.
extension Micros {
  /// The nearest microsecond, halves away from zero. More than 292,000 years saturate.
  public init(_ duration: Duration) {
    let (whole, rest) = duration.attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000)
    let half: Int128 = 500_000_000_000
    self.init(Int64(clamping: whole + (rest >= half ? 1 : rest <= -half ? -1 : 0)))
  }

  /// The same distance as Swift's own clocks measure it.
  public var duration: Duration { .microseconds(count) }
}
