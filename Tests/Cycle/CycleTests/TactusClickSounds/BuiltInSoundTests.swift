// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import Testing

@testable import TactusClickSounds

private let sounds = (0..<4).compactMap { ClickSound(rawValue: $0) }

@Suite struct BuiltInSoundTests {
  private func all(_ sound: ClickSound, rate: Double) -> [[Float]] {
    let recipes = sound.recipes
    return [recipes.accent, recipes.beat, recipes.subdivision].map { $0.rendered(sampleRate: rate) }
  }

  @Test(arguments: sounds, [44_100.0, 48_000, 96_000])
  func `each built-in click sound begins at once, ends in silence`(sound: ClickSound, rate: Double) throws {
    for samples in all(sound, rate: rate) {
      #expect(abs(samples[0]) > 0.2)
      #expect(abs(try #require(samples.last)) < 0.01)
      #expect(samples.allSatisfy { $0.isFinite && abs($0) <= 1 })
      #expect(Double(samples.count) / rate < 0.2)
    }
  }

  @Test(arguments: sounds)
  func `accent sounds are the loudest and subdivision sounds the softest`(sound: ClickSound) {
    let peaks = all(sound, rate: 48_000).map { $0.map(abs).max() ?? 0 }
    #expect(peaks[0] > peaks[1] && peaks[1] > peaks[2])
  }

  @Test func `the built-in click sounds differ from each other`() {
    let beats = sounds.map { $0.recipes.beat.rendered(sampleRate: 48_000) }
    for (index, one) in beats.enumerated() {
      for other in beats[(index + 1)...] { #expect(one != other) }
    }
  }
}
