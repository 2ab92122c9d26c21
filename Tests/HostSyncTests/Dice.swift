// SPDX-License-Identifier: GPL-2.0-or-later

/// Seeded randomness (SplitMix64): a failing run can be had again.
struct Dice: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

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
