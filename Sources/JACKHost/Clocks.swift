// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import CJACK
import Linux

extension ClockPair {
  private static let attempts = 5

  /// Reads link, jack, link a few times and keeps the tightest. A client must be open: without one
  /// jack_get_time crashes. [control]
  static func read() -> ClockPair {
    var best = readOnce()
    for _ in 1..<attempts where best.bracket.count > 0 {
      let pair = readOnce()
      if pair.bracket < best.bracket { best = pair }
    }
    return best
  }

  private static func readOnce() -> ClockPair {
    let before = HostClock.micros()
    let jack = Micros(Int64(truncatingIfNeeded: jack_get_time()))
    return ClockPair(jack: jack, before: before, after: HostClock.micros())
  }
}
