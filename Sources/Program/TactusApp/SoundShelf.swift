// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import TactusClickSounds
import TactusJACK
import TactusSurface
import TactusSync

/// Keeps the click's sounds in memory as long as the audio thread may read them. [control]
struct SoundShelf {
  private var banks: [RenderedBank] = []
  private var number: UInt32 = 0
  private var files: SoundFiles
  /// The newest bank's sound and sample rate, and whether it has all sounds; nil: there is no bank yet.
  private var rendered: (sound: ClickSound, sampleRate: Int, all: Bool)?

  /// Reads the user's files only once: a later change of the sample rate needs no new read.
  init(_ paths: Configuration.SoundPaths) throws(SoundFileError) {
    files = try Self.files(paths)
  }

  /// Replaces the files from the next `put` on. If a new file can't be read, the old files stay.
  mutating func load(_ paths: Configuration.SoundPaths) throws(SoundFileError) {
    files = try Self.files(paths)
    rendered = nil
  }

  private static func files(_ paths: Configuration.SoundPaths) throws(SoundFileError) -> SoundFiles {
    func read(_ path: String?) throws(SoundFileError) -> SoundFile? {
      if let path { try SoundFile(reading: path) } else { nil }
    }
    return SoundFiles(
      accent: try read(paths.accent), beat: try read(paths.beat), subdivision: try read(paths.subdivision))
  }

  /// Renders the sounds and publishes them to the audio thread, unless the audio thread has them already.
  mutating func put(_ state: SurfaceState, sampleRate: Int, into exchange: AudioExchange) {
    let sound = state.choices.click.sound
    let all = state.lists.outputs.contains { if case .click = $0.settings { true } else { false } }
    if let rendered, rendered == (sound, sampleRate, all) { return }
    rendered = (sound, sampleRate, all)
    number += 1
    let new = RenderedBank(sound, files: files, sampleRate: sampleRate, number: number, all: all)
    banks.append(new)
    exchange.publish(new.bank)
  }

  /// Frees the banks that no longer sound; `oldest` is the lowest number of a bank that still sounds.
  mutating func clear(before oldest: UInt32) {
    guard banks.count > 1 else { return }
    banks.removeAll { $0.bank.number < oldest }
  }
}
