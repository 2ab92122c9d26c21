// SPDX-License-Identifier: GPL-2.0-or-later
public import HostSync

/// Three sounds in memory that does not move. Keep it until `Report.oldestBank` has passed its number: the audio
/// thread reads from it until then.
public final class RenderedBank: Sendable {
  // Written once, in `init`; only read afterwards.
  nonisolated(unsafe) private let samples: UnsafeMutableBufferPointer<Float>
  nonisolated(unsafe) public let bank: SoundBank

  /// `number` grows with each bank that is published.
  public convenience init(_ sound: BuiltInSound, sampleRate: Int, number: UInt32) {
    let recipes = sound.recipes
    let rate = Double(max(1, sampleRate))
    self.init(
      accent: recipes.accent.rendered(sampleRate: rate), beat: recipes.beat.rendered(sampleRate: rate),
      subdivision: recipes.subdivision.rendered(sampleRate: rate), number: number)
  }

  init(accent: [Float], beat: [Float], subdivision: [Float], number: UInt32) {
    samples = .allocate(capacity: accent.count + beat.count + subdivision.count)
    _ = samples.initialize(from: accent + beat + subdivision)
    let memory = UnsafeBufferPointer(samples)
    func part(_ start: Int, _ count: Int) -> Sound {
      Sound(UnsafeBufferPointer(rebasing: memory[start..<start + count]))
    }
    bank = SoundBank(
      number: number, accent: part(0, accent.count), beat: part(accent.count, beat.count),
      subdivision: part(accent.count + beat.count, subdivision.count))
  }

  deinit {
    samples.deallocate()
  }
}
