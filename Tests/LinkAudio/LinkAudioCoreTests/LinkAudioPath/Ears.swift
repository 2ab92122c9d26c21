// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Records the output, to compare it with a tone or to search it for steps.
final class Recording {
  private(set) var samples: [Float] = []
  var isOn = false

  func listen(_ time: Double, _ value: SIMD2<Float>) { if isOn { samples.append(value.x) } }

  /// The ratio of signal to noise in decibels. The signal is the tone that is fitted to the samples, and the
  /// noise is what remains without the tone. `cycles` per frame need only be right to a few parts per
  /// million: the fit finds the pitch, too (four parameters, as in IEEE 1057).
  func signalToNoise(cycles: Double) -> Double {
    var cycles = cycles
    let half = samples.count / 2
    for _ in 0..<4 {
      let before = Tone(fittedTo: samples[..<half], cycles: cycles)
      let after = Tone(fittedTo: samples[half...], cycles: cycles)
      cycles += before.turns(to: after) / Double(half)
    }
    let fit = Tone(fittedTo: samples[...], cycles: cycles)
    return decibels(fit.power / max(fit.rest(of: samples[...]), 1e-30))
  }

  /// The tone's level in decibels; 0 is full scale.
  func level(cycles: Double) -> Double { decibels(2 * Tone(fittedTo: samples[...], cycles: cycles).power) }

  /// The longest silence, in frames.
  var longestSilence: Int {
    var longest = 0
    var length = 0
    for sample in samples {
      length = abs(sample) < 1e-4 ? length + 1 : 0
      longest = max(longest, length)
    }
    return longest
  }

  /// The largest difference between two successive steps from sample to sample. It is high for a click, and
  /// low for a tone below 1 kHz.
  var roughest: Float {
    var worst: Float = 0
    for index in 2..<samples.count {
      worst = max(worst, abs(samples[index] - 2 * samples[index - 1] + samples[index - 2]))
    }
    return worst
  }
}

/// A tone of a known pitch, fitted by least squares.
struct Tone {
  private let step: Double
  private var sine = 0.0
  private var cosine = 0.0

  init(fittedTo samples: ArraySlice<Float>, cycles: Double) {
    step = cycles
    var (ss, cc, sc, sv, cv) = (0.0, 0.0, 0.0, 0.0, 0.0)
    for (index, sample) in zip(samples.indices, samples) {
      let (s, c) = turn(Double(index) * step)
      ss += s * s
      cc += c * c
      sc += s * c
      sv += s * Double(sample)
      cv += c * Double(sample)
    }
    let determinant = ss * cc - sc * sc
    sine = (sv * cc - cv * sc) / determinant
    cosine = (cv * ss - sv * sc) / determinant
  }

  /// The mean square of the tone's samples.
  var power: Double { (sine * sine + cosine * cosine) / 2 }

  /// The phase by which another tone is ahead, in turns. The difference must be small.
  func turns(to other: Tone) -> Double {
    let across = sine * other.cosine - cosine * other.sine
    return across / (sine * other.sine + cosine * other.cosine) / (2 * Double.pi)
  }

  func rest(of samples: ArraySlice<Float>) -> Double {
    var sum = 0.0
    for (index, sample) in zip(samples.indices, samples) {
      let (s, c) = turn(Double(index) * step)
      let error = Double(sample) - sine * s - cosine * c
      sum += error * error
    }
    return sum / Double(samples.count)
  }
}

/// Sine and cosine of an angle in turns.
func turn(_ cycles: Double) -> (sine: Double, cosine: Double) {
  let angle = (cycles - cycles.rounded()) * 2 * Double.pi
  return (sin(angle), cos(angle))
}

func decibels(_ ratio: Double) -> Double { 10 * log10(ratio) }

/// A sine at half scale, on both channels.
func tone(_ hertz: Double = 440) -> (Double) -> SIMD2<Float> {
  { time in
    let level = Float(turn(time * hertz / 1e6).sine * 0.5)
    return SIMD2(level, level)
  }
}

/// The value that `Recording.roughest` has for `tone` of this pitch without any click: the square of the
/// tone's pitch per frame.
func smooth(_ hertz: Double = 440) -> Float {
  let step = 2 * Double.pi * hertz / 48_000
  return Float(0.5 * step * step)
}
