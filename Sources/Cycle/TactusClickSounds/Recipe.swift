// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusChoices

/// The recipe from which a sound is computed: tones that die away, and noise.
struct Recipe {
  struct Tone {
    var hertz: Double
    var level: Double
    /// The seconds in which the tone's level falls to a thousandth of `level`.
    var decay: Double
  }

  var tones: [Tone] = []
  /// White noise: its level at the beginning, and the seconds in which this level falls to a thousandth.
  var noise = (level: 0.0, decay: 0.01)

  /// The seconds at the end of a sound in which it fades to nothing, so that the sound's end makes no second
  /// click.
  private static let release = 0.002

  /// The sound's samples at this rate, within -1 ... 1.
  func rendered(sampleRate: Double) -> [Float] {
    let length = max(tones.map(\.decay).max() ?? 0, noise.level > 0 ? noise.decay : 0)
    let count = max(1, Int(length * sampleRate))
    let releaseFrames = Self.release * sampleRate
    var dice = UInt64(0x9e37_79b9_7f4a_7c15)
    return (0..<count).map { frame in
      let time = Double(frame) / sampleRate
      var sum = 0.0
      for tone in tones {
        // A cosine begins at full level; a sine would begin at 0.
        sum += tone.level * exp(-6.9 * time / tone.decay) * cos(2 * Double.pi * tone.hertz * time)
      }
      dice = dice &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let white = frame == 0 ? 1 : Double(Int64(bitPattern: dice) >> 11) * 0x1p-52
      sum += noise.level * exp(-6.9 * time / noise.decay) * white
      let rest = min(1, Double(count - frame) / releaseFrames)
      return Float(max(-1, min(1, sum * rest)))
    }
  }
}

extension ClickSound {
  /// The three sounds of a click. An accent is higher, a subdivision softer.
  var recipes: (accent: Recipe, beat: Recipe, subdivision: Recipe) {
    (recipe(pitch: 1.5, level: 0.9), recipe(pitch: 1, level: 0.7), recipe(pitch: 1, level: 0.35))
  }

  private func recipe(pitch: Double, level: Double) -> Recipe {
    switch self {
    case .beep:
      Recipe(tones: [.init(hertz: 1046.5 * pitch, level: level, decay: 0.09)])
    case .wood:
      Recipe(tones: [
        .init(hertz: 820 * pitch, level: level * 0.6, decay: 0.05),
        .init(hertz: 1_460 * pitch, level: level * 0.3, decay: 0.03),
        .init(hertz: 2_470 * pitch, level: level * 0.1, decay: 0.015),
      ])
    case .tick:
      Recipe(
        tones: [.init(hertz: 2_600 * pitch, level: level * 0.3, decay: 0.012)],
        noise: (level: level * 0.7, decay: 0.018))
    case .bell:
      Recipe(tones: [
        .init(hertz: 562 * pitch, level: level * 0.5, decay: 0.16),
        .init(hertz: 845 * pitch, level: level * 0.5, decay: 0.12),
      ])
    }
  }
}
