// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// The table of the band-limited interpolator: a sinc under a Kaiser window, 32 zeros to each side.
///
/// Why not libsamplerate or zita-resampler: they keep a ratio and count along, and where in the input an output's frame
/// lies is what they hide. Here the place comes first: each frame is computed at its own, with its fraction, so that
/// the beat stays at its frame whatever the ratio has been. Also at equal rates: two cards' frames never lie on each other.
///
/// Between two of the table's 256 phases it is a straight line, 95 dB good at half the rate and better below. Its maker
/// keeps the memory, and one table serves all channels.
package struct Kernel: BitwiseCopyable {
  /// Zeros to each side; so many frames to each side are needed of the stream.
  static var half: Int { 32 }
  static var taps: Int { 64 }
  static var phases: Int { 256 }
  /// -100 dB beside the pass band; 20 kHz of 44.1 passes.
  private static var beta: Double { 10.06 }

  /// How many floats its memory holds.
  package static var floats: Int { (phases + 1) * taps + outwards }
  /// Of the curve: a stretched kernel's first and last taps lie behind its end, where it is zero.
  private static var outwards: Int { (half + 2) * phases }

  /// A row of taps for each phase, which sum up to 1.
  let rows: UnsafePointer<Float>
  /// The same curve from its middle outwards, to be read at any step: for outputs that are slower than the stream.
  let curve: UnsafePointer<Float>

  /// Fills the table: some milliseconds. [any]
  package init(in memory: UnsafeMutablePointer<Float>) {
    rows = UnsafePointer(memory)
    let middle = memory + (Self.phases + 1) * Self.taps
    curve = UnsafePointer(middle)
    for phase in 0...Self.phases {
      let row = memory + phase * Self.taps
      let shift = Double(phase) / Double(Self.phases)
      var sum = 0.0
      for tap in 0..<Self.taps { sum += Self.value(at: Double(tap - Self.half + 1) - shift) }
      for tap in 0..<Self.taps {
        row[tap] = Float(Self.value(at: Double(tap - Self.half + 1) - shift) / sum)
      }
    }
    for index in 0..<Self.outwards {
      middle[index] = Float(Self.value(at: Double(index) / Double(Self.phases)))
    }
  }

  private static func value(at distance: Double) -> Double {
    let place = distance / Double(half)
    let rest = 1 - place * place
    guard rest > 0 else { return 0 }
    let sinc = abs(distance) < 1e-9 ? 1 : sinOfPi(times: distance) / (Double.pi * distance)
    return sinc * bessel(squared: beta * beta * rest) / bessel(squared: beta * beta)
  }

  /// The modified Bessel function of order zero, of the root of its argument.
  private static func bessel(squared argument: Double) -> Double {
    var sum = 1.0
    var term = 1.0
    for number in 1...40 {
      term *= argument / 4 / Double(number * number)
      sum += term
    }
    return sum
  }

  private static func sinOfPi(times value: Double) -> Double {
    let whole = Int64(rounding: value)
    let angle = (value - Double(whole)) * Double.pi
    var term = angle
    var sum = angle
    for number in 1...10 {
      term *= -angle * angle / Double(2 * number * (2 * number + 1))
      sum += term
    }
    return whole & 1 == 0 ? sum : -sum
  }
}

/// How the kernel lies over a stream: as it is, or stretched, so that an output that is slower than the stream gets nothing
/// that it can't have.
struct Reach: BitwiseCopyable {
  /// What of the stream's band is kept, as a part of 1.
  let scale: Double
  /// Frames needed to each side of a place.
  let half: Int

  /// The widest: 192 kHz on 44.1.
  static var most: Int { 160 }

  init(streamRate: UInt32, outputRate: UInt32) {
    let ratio = Double(outputRate) / Double(max(1, streamRate))
    // The edge is half as wide as the kernel's pass band leaves open, and ends where what is above would come back.
    let wanted = ratio < 1 ? ratio * 0.96 : 1
    scale = min(1, max(Double(Kernel.half) / Double(Self.most), wanted))
    half = scale == 1 ? Kernel.half : Int(Double(Kernel.half) / scale) + 1
  }
}
