// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Converts a whole sound from one rate to another, by a windowed sinc: slow, exact, done before it is played.
/// Frame 0 stays frame 0, so a click is not moved by it.
struct Resampler {
  /// Zero crossings of the sinc on each side.
  private static let lobes = 24

  private let ratio: Double
  /// Of the lower of the two Nyquist frequencies, so that nothing folds back.
  private let cutoff: Double

  init(from: Int, to: Int) {
    ratio = Double(max(1, from)) / Double(max(1, to))
    cutoff = min(1, 1 / ratio) * 0.96
  }

  func convert(_ input: [Float]) -> [Float] {
    let reach = Double(Self.lobes) / cutoff
    return (0..<max(1, Int((Double(input.count) / ratio).rounded(.up)))).map { index in
      let place = Double(index) * ratio
      let first = max(0, Int((place - reach).rounded(.up)))
      let last = min(input.count - 1, Int((place + reach).rounded(.down)))
      guard first <= last else { return 0 }
      var sum = 0.0
      for tap in first...last { sum += Double(input[tap]) * kernel(Double(tap) - place, reach) }
      return Float(sum)
    }
  }

  private func kernel(_ distance: Double, _ reach: Double) -> Double {
    let angle = Double.pi * distance * cutoff
    let sinc = abs(angle) < 1e-9 ? 1 : sin(angle) / angle
    let window = 0.5 + 0.5 * cos(Double.pi * distance / reach)
    return cutoff * sinc * window
  }
}
