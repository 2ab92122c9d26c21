// SPDX-License-Identifier: GPL-2.0-or-later

extension EchoWatch {
  /// A row of received clock messages as a copy of the messages that we sent: over the numbers of the sent
  /// messages, the delays until we received them, and the times at which we did.
  struct Copy: BitwiseCopyable {
    var delay = StraightLine()
    var time = StraightLine()

    var count: Double { delay.count }
    /// The microseconds from one sent clock message to the next.
    var spacing: Double { time.slope - delay.slope }

    /// Returns whether the received clock is a copy of ours, and not a clock whose tempo differs by `share`.
    /// It is a copy if its delay grows by less than half of what the difference of tempo would cause, or by
    /// so little that jitter explains it. A machine that wakes up late is no other clock: another tempo moves
    /// the clock smoothly.
    func isOurs(_ share: Double) -> Bool {
      let near = EchoWatch.near * spacing
      guard delay.noise <= near * near else { return false }
      let growth = delay.slope * delay.slope
      return growth < share * share / 4 * spacing * spacing || growth < 9 * delay.noise / delay.spread
    }
  }

  /// The straight line that fits some points best (least squares).
  struct StraightLine: BitwiseCopyable {
    private(set) var count = 0.0
    private var x = 0.0, xx = 0.0, y = 0.0, xy = 0.0, yy = 0.0

    mutating func add(_ x: Double, _ y: Double) {
      count += 1
      self.x += x
      xx += x * x
      self.y += y
      xy += x * y
      yy += y * y
    }

    var mean: Double { y / count }
    var spread: Double { xx - x * x / count }
    var slope: Double { (xy - x * y / count) / spread }
    /// The mean square of the distances from the line.
    var noise: Double { (yy - y * y / count - slope * slope * spread) / count }
  }
}
