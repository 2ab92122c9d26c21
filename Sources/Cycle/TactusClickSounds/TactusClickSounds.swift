// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusChoices
public import TactusSync

// TactusClickSounds: the sounds of a click as samples at the server's rate, in memory that the audio thread
// may read.
//
// This module prepares sounds; HostSync decides when they play. The module runs on the control thread,
// allocates memory, and has finished a sound before the audio thread gets that sound.
//
// The invariant: a sound begins with its first frame. Nothing is faded in, so the frame at which HostSync
// starts a sound is the frame at which it is heard.
//
// Begin to read at `RenderedBank`. A bank is made from a `ClickSound`, and a `SoundFile` may replace any of
// the bank's three sounds.

/// Three sounds in memory that does not move. The audio thread reads this memory. So keep the bank until
/// `OutputReport.oldestBank` is greater than the bank's number.
public final class RenderedBank: Sendable {
  // The samples are written once, in `init`, and only read afterwards.
  nonisolated(unsafe) private let samples: UnsafeMutableBufferPointer<Float>
  nonisolated(unsafe) public let bank: SoundBank
  /// A bank for each built-in sound, if the caller wants all of them.
  private let builtIn: [RenderedBank]
  nonisolated(unsafe) private let builtInBanks: UnsafeMutableBufferPointer<SoundBank>

  /// `number` grows with each published bank. A file in `files` replaces the built-in accent, beat or
  /// subdivision. With `all`, the bank also holds a bank for each built-in sound, without files.
  public convenience init(
    _ sound: ClickSound, files: SoundFiles = SoundFiles(), sampleRate: Int, number: UInt32, all: Bool = false
  ) {
    let recipes = sound.recipes
    let rate = max(1, sampleRate)
    func samples(_ file: SoundFile?, _ recipe: Recipe) -> [Float] {
      file?.samples(at: rate) ?? recipe.rendered(sampleRate: Double(rate))
    }
    self.init(
      accent: samples(files.accent, recipes.accent), beat: samples(files.beat, recipes.beat),
      subdivision: samples(files.subdivision, recipes.subdivision), number: number,
      builtIn: all
        ? (0..<UInt8.max).lazy.map(ClickSound.init(rawValue:)).prefix { $0 != nil }.compactMap(\.self)
          .map { RenderedBank($0, sampleRate: rate, number: number) } : [])
  }

  init(
    accent: [Float], beat: [Float], subdivision: [Float], number: UInt32, builtIn: [RenderedBank] = []
  ) {
    self.builtIn = builtIn
    builtInBanks = .allocate(capacity: builtIn.count)
    _ = builtInBanks.initialize(from: builtIn.map(\.bank))
    samples = .allocate(capacity: accent.count + beat.count + subdivision.count)
    _ = samples.initialize(from: accent + beat + subdivision)
    let memory = UnsafeBufferPointer(samples)
    func part(_ start: Int, _ count: Int) -> Sound {
      Sound(UnsafeBufferPointer(rebasing: memory[start..<start + count]))
    }
    var bank = SoundBank(
      number: number, accent: part(0, accent.count), beat: part(accent.count, beat.count),
      subdivision: part(accent.count + beat.count, subdivision.count))
    if !builtIn.isEmpty { bank.builtIn = UnsafePointer(builtInBanks.baseAddress) }
    self.bank = bank
  }

  deinit {
    samples.deallocate()
    builtInBanks.deallocate()
  }
}

/// The user's own sounds for a click.
public struct SoundFiles: Equatable, Sendable {
  public var accent: SoundFile?
  public var beat: SoundFile?
  public var subdivision: SoundFile?

  public init(accent: SoundFile? = nil, beat: SoundFile? = nil, subdivision: SoundFile? = nil) {
    self.accent = accent
    self.beat = beat
    self.subdivision = subdivision
  }
}
