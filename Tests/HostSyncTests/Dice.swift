// SPDX-License-Identifier: GPL-2.0-or-later
import StudioDay
import TestSupport

typealias Dice = TestSupport.Dice

extension Dice {
  /// How late a driver wakes up.
  mutating func lateness() -> Double { Jack2Clock.lateness(&self) }
}
