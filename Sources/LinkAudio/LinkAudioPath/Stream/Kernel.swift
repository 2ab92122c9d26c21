// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The table of the band-limited interpolator: a sinc function under a Kaiser window, with 32 zeros on each
/// side.
///
/// We do not use libsamplerate or zita-resampler, because they keep a ratio and count frames, and do not show
/// to which place of the input an output frame belongs. Here each output frame is computed at its own place
/// in the stream, with the fraction of this place. So each beat stays at its frame, whatever the ratio was
/// before. The interpolator is also needed at equal sample rates, because the frames of two sound cards never
/// coincide.
///
/// The kernel is tabulated at 256 fractions of a frame and interpolated linearly between them. The error is
/// 95 dB below the signal at half the sample rate, and smaller at lower frequencies. The caller owns the
/// memory, and one table serves all channels.
package struct Kernel: BitwiseCopyable {
  /// The number of the kernel's zeros on each side. It is also the number of stream frames that are needed on
  /// each side.
  static var half: Int { 32 }
  static var taps: Int { 64 }
  static var phases: Int { 256 }
  /// The parameter of the Kaiser window. It gives a stop band at -100 dB, and passes 20 kHz at a sample rate
  /// of 44.1 kHz.
  private static var beta: Double { 10.06 }

  /// The number of floats in the kernel's memory.
  package static var floats: Int { (phases + 1) * taps + outwards }
  /// The number of floats of the curve. The curve goes on with zeros beyond its end, because the first and
  /// last taps of a stretched kernel lie there.
  private static var outwards: Int { (half + 2) * phases }

  /// A row of taps for each phase; each row sums to 1.
  let rows: UnsafePointer<Float>
  /// One side of the kernel's curve, from its middle outwards. It is read at steps of any size, for outputs
  /// with a lower sample rate than the stream.
  let curve: UnsafePointer<Float>

  /// Fills the table, which takes some milliseconds. [any]
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

  /// The modified Bessel function of order zero, of the square root of its argument.
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

/// The width of the kernel on a stream. If the output's sample rate is lower than the stream's, the kernel is
/// stretched, so that it removes frequencies above the output's band.
struct Reach: BitwiseCopyable {
  /// The part of the stream's band that is kept; 1 is the whole band.
  let scale: Double
  /// The number of stream frames that are needed on each side of a place.
  let half: Int

  /// The largest value of `half`: for a stream of 192 kHz and an output of 44.1 kHz.
  static var most: Int { 160 }

  init(streamRate: UInt32, outputRate: UInt32) {
    let ratio = Double(outputRate) / Double(max(1, streamRate))
    // The factor 0.96 puts the cutoff below the edge of the output's band, so that little of the sound above
    // the edge is folded back.
    let wanted = ratio < 1 ? ratio * 0.96 : 1
    scale = min(1, max(Double(Kernel.half) / Double(Self.most), wanted))
    half = scale == 1 ? Kernel.half : Int(Double(Kernel.half) / scale) + 1
  }
}
