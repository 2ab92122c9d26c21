// SPDX-License-Identifier: GPL-2.0-or-later
import TactusStudioDay
import TactusTestSupport

typealias Dice = TactusTestSupport.Dice

extension Dice {
  /// The delay of a driver's wake-up.
  mutating func lateness() -> Double { Jack2Clock.lateness(&self) }
}
