// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// How long after their beats chunks can be played at the latest: they arrive, and wait for a period to begin. The longest
/// and the shortest of the last half minute.
struct Lateness: BitwiseCopyable {
  /// Seconds.
  static var memory: Int { 32 }

  private var latest = InlineArray<32, Double>(repeating: -.infinity)
  private var earliest = InlineArray<32, Double>(repeating: .infinity)
  private var second = Int64.min
  private var count = 0

  init() {}

  /// `wait` is an arrival less its beat, and a period, in microseconds.
  mutating func add(_ wait: Double, at time: Double) {
    let present = Int64(flooring: time / 1e6)
    if count == 0 || present &- second < 0 || present &- second > 32 {
      latest = InlineArray(repeating: -.infinity)
      earliest = InlineArray(repeating: .infinity)
      second = present
    }
    while second < present {
      second += 1
      latest[slot] = -.infinity
      earliest[slot] = .infinity
    }
    latest[slot] = max(latest[slot], wait)
    earliest[slot] = min(earliest[slot], wait)
    count = min(count + 1, 1_000_000)
  }

  private var slot: Int { Int(truncatingIfNeeded: second & 31) }

  /// The longest that a chunk is to be waited for, with a margin: large as long as few have been seen, then small.
  mutating func allowance() -> Double {
    guard count > 0 else { return 0 }
    var last = -Double.infinity, first = Double.infinity
    for index in 0..<Self.memory {
      last = max(last, latest[index])
      first = min(first, earliest[index])
    }
    let spread = last - first
    return last + max(1000, spread / (1.2 + Double(count) / 12))
  }
}
