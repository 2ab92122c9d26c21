// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// Learns how long after their beats chunks can be played: a chunk arrives, and then waits for the next
/// period. Keeps the longest and the shortest of these times from the last half minute.
struct JitterEstimate: BitwiseCopyable {
  /// The number of seconds that are remembered.
  static var memory: Int { 32 }

  private var latest = InlineArray<32, Double>(repeating: -.infinity)
  private var earliest = InlineArray<32, Double>(repeating: .infinity)
  private var second = Int64.min
  private var count = 0

  init() {}

  /// Takes the time of one chunk. `wait` is the chunk's arrival minus the time of its first beat, plus a
  /// period, in microseconds.
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

  /// The time in microseconds to wait for chunks after their beats. It includes a margin, which is smaller
  /// the more chunks have come.
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
