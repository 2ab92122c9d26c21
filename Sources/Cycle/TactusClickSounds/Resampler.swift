// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Converts a whole sound from one sample rate to another by a windowed sinc, before the sound is played.
/// Frame 0 stays frame 0, so a click does not move.
struct Resampler {
  /// The number of the sinc's zero crossings on each side of its middle.
  private static let lobes = 24

  /// The two sample rates, divided by their greatest common divisor. From 44.1 to 48 kHz, `from` is 147 and
  /// `to` is 160: the output's frame 160 has the time of the input's frame 147.
  private let from: Int
  private let to: Int
  /// The cutoff frequency, as a share of the input's Nyquist frequency. It is below the Nyquist frequencies
  /// of input and output, so that nothing folds back.
  private let cutoff: Double

  init(from: Int, to: Int) {
    var (divisor, rest) = (max(1, from), max(1, to))
    while rest > 0 { (divisor, rest) = (rest, divisor % rest) }
    self.from = max(1, from) / divisor
    self.to = max(1, to) / divisor
    cutoff = min(1, Double(self.to) / Double(self.from)) * 0.96
  }

  /// The weights depend only on an output frame's distance from the input frame before it. So each distance's
  /// weights are computed once.
  func convert(_ input: [Float]) -> [Float] {
    let reach = Double(Self.lobes) / cutoff
    let half = Int(reach) + 1
    var output = [Float](repeating: 0, count: max(1, (input.count * to + from - 1) / from))
    for phase in 0..<min(to, output.count) {
      let (whole, rest) = (phase * from).quotientAndRemainder(dividingBy: to)
      let weights = (-half...half).map { kernel(Double($0) - Double(rest) / Double(to), reach) }
      for (index, middle) in zip(
        stride(from: phase, to: output.count, by: to), stride(from: whole, to: .max, by: from))
      {
        let first = max(0, middle - half)
        var sum = 0.0
        for tap in first..<max(first, min(input.count, middle + half + 1)) {
          sum += Double(input[tap]) * weights[tap - middle + half]
        }
        output[index] = Float(sum)
      }
    }
    return output
  }

  private func kernel(_ distance: Double, _ reach: Double) -> Double {
    guard abs(distance) <= reach else { return 0 }
    let angle = Double.pi * distance * cutoff
    let sinc = abs(angle) < 1e-9 ? 1 : sin(angle) / angle
    let window = 0.5 + 0.5 * cos(Double.pi * distance / reach)
    return cutoff * sinc * window
  }
}
