// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// A fader's position is the cube root of the amplitude, with 6 dB above unity at the top.
enum Volume {
  static let silence = -90.0

  static func gain(at position: Double) -> Double { 2 * position * position * position }

  static func position(of gain: Double) -> Double {
    guard gain > 0 else { return 0 }
    return min(1, cbrt(gain / 2))
  }

  static func gain(decibels: Double) -> Double {
    decibels <= silence ? 0 : pow(10, decibels / 20)
  }

  static func decibels(of gain: Double) -> Double {
    gain > 0 ? max(silence, 20 * log10(gain)) : silence
  }
}
