// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// Rounds samples to 16 bits with triangular dither. Dither turns the rounding error from a distortion into
/// an even hiss at -93 dB.
struct Dither: Sendable, BitwiseCopyable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// The sum of two uniform random numbers from 0 to 1, minus 1. The result is -1 to 1 steps of 16 bits, most
  /// often near 0.
  private mutating func triangle() -> Double {
    state = state &+ 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    mixed = mixed ^ (mixed >> 31)
    let high = Double(UInt32(truncatingIfNeeded: mixed >> 32)) + 0.5
    let low = Double(UInt32(truncatingIfNeeded: mixed)) + 0.5
    return (high + low) * 0x1p-32 - 1
  }

  mutating func whole(_ sample: Float) -> Int16 {
    let value = Self.scaled(sample) + triangle()
    return Int16(truncatingIfNeeded: min(32767, max(-32768, Int64(rounding: value))))
  }

  /// A sample in steps of 16 bits, not rounded yet. NaN becomes 0, which is silence.
  static func scaled(_ sample: Float) -> Double {
    guard sample == sample else { return 0 }
    return 32768 * Double(min(1 - 0x1p-15, max(-1, sample)))
  }
}
