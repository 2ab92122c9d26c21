// SPDX-License-Identifier: GPL-2.0-or-later

/// Estimates the time at which frame 0 of a cycle is due, from the driver's wake-ups alone.
///
/// A wake-up is the true time plus a delay that is never negative: mostly some 50 us, sometimes milliseconds.
/// So the filter extends each of the last few wake-ups to the present frame at the known rate, and takes the
/// lower quartile of the results, which ignores single late wake-ups. After a stall the filter forgets all
/// earlier wake-ups, so it knows the new line one cycle later, unlike JACK's loop (1/8 Hz).
struct WakeFilter: BitwiseCopyable {
  static let capacity: Int = 12
  /// The number of wake-ups after which we trust the filter more than JACK's loop.
  static let trusted: Int = 6

  private(set) var count = 0
  private var next = 0
  private var frames = InlineArray<12, Int64>(repeating: 0)
  private var wakes = InlineArray<12, Double>(repeating: 0)
  /// The number of consecutive wake-ups that were late by the same amount. Several such wake-ups in a row
  /// show that the line of times moved, and not that the scheduler was late.
  private var lateRun = 0
  private var lastLateness = 0.0

  enum Verdict: BitwiseCopyable {
    case steady
    /// The driver stalled: a new line of times began at this wake-up or shortly before.
    case stalled
  }

  mutating func restart() {
    count = 0
    next = 0
    lateRun = 0
  }

  /// Adds the wake-up for `frame`. `hasStallSign`: JACK indicates that the driver stalled.
  mutating func add(
    wake: Double, frame: Int64, frameMicros: Double, cycleMicros: Double, hasStallSign: Bool
  ) -> Verdict {
    var verdict = Verdict.steady
    if count > 0 {
      let lateness = wake - due(atFrame: frame, frameMicros: frameMicros)
      if lateness > 1000 {
        let isSame = lateRun > 0 && abs(lateness - lastLateness) < 500
        lateRun = isSame ? lateRun + 1 : 1
        lastLateness = lateness
        // No scheduler is late twice in a row by more than a period, nor four times by the same amount.
        if hasStallSign || (isSame && (lateness > cycleMicros || lateRun >= 4)) { verdict = .stalled }
      } else {
        lateRun = 0
        // No thread wakes too early, so an early wake-up shows that the line was wrong. JACK may indicate a
        // stall, too.
        if lateness < -1000 || hasStallSign { verdict = .stalled }
      }
      if verdict == .stalled { restart() }
    }
    wakes[next] = wake
    frames[next] = frame
    next = (next + 1) % Self.capacity
    count = min(count + 1, Self.capacity)
    return verdict
  }

  /// The estimated time of `frame`; the filter must have at least one wake-up. The quartile of twelve
  /// estimates is the third lowest estimate; of fewer estimates it is the second lowest or the lowest. The
  /// loop keeps the three lowest in order, without a branch that depends on random data.
  mutating func due(atFrame frame: Int64, frameMicros: Double) -> Double {
    var lowest = Double.infinity, second = Double.infinity, third = Double.infinity
    for index in 0..<count {
      let carried = wakes[index] + Double(frame &- frames[index]) * frameMicros
      let above = carried > lowest ? carried : lowest
      lowest = carried < lowest ? carried : lowest
      let farAbove = above > second ? above : second
      second = above < second ? above : second
      third = farAbove < third ? farAbove : third
    }
    return count > 8 ? third : count > 4 ? second : lowest
  }
}
