// SPDX-License-Identifier: GPL-2.0-or-later
import ClickSounds
import HostSync
import JACKHost

/// Keeps the click's sounds as long as the audio thread may read them. [control]
struct SoundShelf {
  private var banks: [RenderedBank] = []
  private var number: UInt32 = 0

  /// Renders the sound for the rate and lets the audio thread have it.
  mutating func put(_ sound: BuiltInSound, sampleRate: Int, into exchange: AudioExchange) {
    number += 1
    let rendered = RenderedBank(sound, sampleRate: sampleRate, number: number)
    banks.append(rendered)
    exchange.publish(rendered.bank)
  }

  /// Throws away what no longer sounds; `oldest` is the lowest number that still does.
  mutating func clear(before oldest: UInt32) {
    guard banks.count > 1 else { return }
    banks.removeAll { $0.bank.number < oldest }
  }
}
