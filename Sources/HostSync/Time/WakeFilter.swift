// SPDX-License-Identifier: GPL-2.0-or-later

/// When frame 0 of a cycle is due, judged by the driver's wake-ups alone.
///
/// A wake-up is the true time plus a delay that is never negative, mostly some 50 us, sometimes milliseconds.
/// So: carry the last few wake-ups forward to the present frame at the known rate and take the lower quartile.
/// It ignores single late ones and, unlike JACK's loop with its 1/8 Hz, knows the new line one cycle after a
/// stall, because after a stall it forgets everything before.
struct WakeFilter: BitwiseCopyable {
  static let capacity: Int = 12
  /// From here on the window is full enough to be believed against JACK's loop.
  static let trusted: Int = 6

  private(set) var count = 0
  private var next = 0
  private var frames = InlineArray<12, Int64>(repeating: 0)
  private var wakes = InlineArray<12, Double>(repeating: 0)
  /// Consecutive wake-ups that were late by the same amount: a line that moved, not a lazy scheduler.
  private var lateRun = 0
  private var lastLateness = 0.0

  enum Verdict: BitwiseCopyable {
    case steady
    /// Time started again with this wake-up or shortly before.
    case stalled
  }

  mutating func restart() {
    count = 0
    next = 0
    lateRun = 0
  }

  /// Takes the wake-up for `frame` in. `hasStallSign`: JACK let us know that the driver stalled.
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
        // More than a period late twice, or four times by the same: no scheduler does that.
        if hasStallSign || (isSame && (lateness > cycleMicros || lateRun >= 4)) { verdict = .stalled }
      } else {
        lateRun = 0
        // Nobody wakes before time: the line was wrong. Or JACK says so.
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

  /// The estimate for `frame`; only if something was added. Of twelve the quartile is the third lowest, of fewer the
  /// second or the lowest: three are kept in order, without a branch that chance decides.
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
