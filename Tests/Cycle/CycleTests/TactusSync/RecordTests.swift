// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import Testing

@testable import TactusSync

/// The user's wish to record reaches a DAW by MIDI Machine Control, once for each change.
struct RecordTests {
  private func bytes(_ event: MIDIEvent) -> [UInt8] { (0..<Int(event.count)).map(event.byte) }

  @Test func `start and end of recording are sent once as MIDI Machine Control`() {
    let studio = Studio()
    studio.settings.clock.isOn = false
    studio.play(seconds: 0.2)
    #expect(studio.messages.isEmpty)
    studio.settings.records = true
    studio.play(seconds: 0.5)
    #expect(studio.messages.map { bytes($0.event) } == [[0xF0, 0x7F, 0x7F, 0x06, 0x06, 0xF7]])
    studio.settings.records = false
    studio.play(seconds: 0.5)
    #expect(studio.messages.map { bytes($0.event) }.last == [0xF0, 0x7F, 0x7F, 0x06, 0x07, 0xF7])
    #expect(studio.messages.count == 2)
  }

  @Test func `MIDI clock and song position messages have the right bytes`() {
    #expect(bytes(MIDIEvent(frame: 3, status: MIDI.clock)) == [0xF8])
    #expect(bytes(MIDIEvent(frame: 3, position: 0x0123)) == [0xF2, 0x23, 0x02])
  }
}
