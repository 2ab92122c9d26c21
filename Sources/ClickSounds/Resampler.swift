// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Converts a whole sound from one rate to another, by a windowed sinc: exact, done before it is played.
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
      return Float(sum(input, first...last, place, reach))
    }
  }

  /// The taps are evenly spaced, so each one's sine and cosine follow from the last one's: asked of the C library, ten seconds
  /// at 192 kHz would take five to convert.
  private func sum(_ input: [Float], _ taps: ClosedRange<Int>, _ place: Double, _ reach: Double) -> Double {
    let first = Double(taps.lowerBound) - place
    var wave = Rotation(at: .pi * first * cutoff, step: .pi * cutoff)
    var window = Rotation(at: .pi * first / reach, step: .pi / reach)
    var sum = 0.0
    for tap in taps {
      let angle = Double.pi * (Double(tap) - place) * cutoff
      let sinc = abs(angle) < 1e-4 ? 1 : wave.sine / angle
      sum += Double(input[tap]) * sinc * (0.5 + 0.5 * window.cosine)
      wave.turn()
      window.turn()
    }
    return cutoff * sum
  }
}

/// An angle that grows evenly.
private struct Rotation {
  private(set) var sine: Double
  private(set) var cosine: Double
  private let stepSine: Double
  private let stepCosine: Double

  init(at angle: Double, step: Double) {
    (sine, cosine) = (sin(angle), cos(angle))
    (stepSine, stepCosine) = (sin(step), cos(step))
  }

  mutating func turn() {
    (sine, cosine) = (sine * stepCosine + cosine * stepSine, cosine * stepCosine - sine * stepSine)
  }
}
