// SPDX-License-Identifier: GPL-2.0-or-later

// The way to `Task.sleep(for:)`, `ContinuousClock` and their like, and back. For app threads: in debug builds these allocate.
extension Micros {
  /// The nearest microsecond, halves away from zero; of more than 292,000 years, as many as there are.
  public init(_ duration: Duration) {
    let (whole, rest) = duration.attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000)
    let half: Int128 = 500_000_000_000
    self.init(Int64(clamping: whole + (rest >= half ? 1 : rest <= -half ? -1 : 0)))
  }

  /// The same distance as Swift's own clocks measure it.
  public var duration: Duration { .microseconds(count) }
}
