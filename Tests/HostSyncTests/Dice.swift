// SPDX-License-Identifier: GPL-2.0-or-later

import TestSupport

typealias Dice = TestSupport.Dice

extension Dice {
  /// How late a driver wakes up, as measured on a machine with other load: median 47 us, 1 % above 160 us.
  mutating func lateness() -> Double {
    let chance = Double.random(in: 0..<1, using: &self)
    switch chance {
    case ..<0.5: return 20 + 54 * chance
    case ..<0.99: return 47 + 113 * (chance - 0.5) / 0.49
    case ..<0.999: return 160 + 1000 * (chance - 0.99) / 0.009
    default: return Double.random(in: 1000...3800, using: &self)
    }
  }
}
