// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import TactusMIDI

@Suite struct MessageTests {
  @Test func `MIDI channel messages become events with a channel and a level`() {
    #expect(MIDIMessage([0x99, 36, 127]) == MIDIMessage(event: "note 36 ch 10", .level(1)))
    #expect(MIDIMessage([0x99, 36, 0]) == MIDIMessage(event: "note 36 ch 10", .release))
    #expect(MIDIMessage([0x89, 36, 64]) == MIDIMessage(event: "note 36 ch 10", .release))
    #expect(MIDIMessage([0xB0, 7, 0]) == MIDIMessage(event: "cc 7 ch 1", .level(0)))
    #expect(MIDIMessage([0xCF, 3]) == MIDIMessage(event: "program 3 ch 16", .level(1)))
    #expect(MIDIMessage([0xE1, 0x7F, 0x7F]) == MIDIMessage(event: "bend ch 2", .level(1)))
    #expect(MIDIMessage([0xFA]) == MIDIMessage(event: "start", .level(1)))
    #expect(MIDIMessage([0xFB]) == MIDIMessage(event: "continue", .level(1)))
    #expect(MIDIMessage([0xFC]) == MIDIMessage(event: "stop", .level(1)))
  }

  @Test func `MMC (MIDI machine control) is understood for any device number`() {
    #expect(MIDIMessage([0xF0, 0x7F, 0x7F, 0x06, 0x02, 0xF7]) == MIDIMessage(event: "mmc play", .level(1)))
    #expect(MIDIMessage([0xF0, 0x7F, 0x05, 0x06, 0x01, 0xF7]) == MIDIMessage(event: "mmc stop", .level(1)))
    // The locate's position is 1 hour, 2 minutes, 3 seconds and 15 of 30 frames.
    let locate: [UInt8] = [0xF0, 0x7F, 0x7F, 0x06, 0x44, 0x06, 0x01, 0x61, 2, 3, 15, 0, 0xF7]
    #expect(MIDIMessage(locate) == MIDIMessage(event: "mmc locate", .seconds(3723.5)))
  }

  @Test func `a MIDI controller is pressed from value 64 on, a key at any velocity`() {
    #expect(MIDIMessage([0xB0, 64, 64])?.isPressed == true)
    #expect(MIDIMessage([0xB0, 64, 63])?.isPressed == false)
    #expect(MIDIMessage([0x90, 60, 1])?.isPressed == true)
    #expect(MIDIMessage([0x80, 60, 1])?.isPressed == false)
  }

  @Test func `one or two bytes are a whole MIDI message or nothing`() {
    for length in 0...2 {
      for first in UInt8.min...UInt8.max {
        for second in UInt8.min...UInt8.max where length > 1 || second == 0 {
          let bytes = [first, second].prefix(length)
          let message = MIDIMessage(Array(bytes))
          // The only whole messages of two bytes are program changes, and those of one byte are Start,
          // Continue and Stop.
          let isWhole =
            length == 2 ? first & 0xF0 == 0xC0 && second < 0x80 : length == 1 && (0xFA...0xFC).contains(first)
          #expect((message != nil) == isWhole, "\(bytes)")
        }
      }
    }
  }

  @Test func `random bytes give MIDI messages with numbers in range, or nothing`() {
    var dice: UInt64 = 20_808
    func roll() -> UInt8 {
      dice ^= dice << 13
      dice ^= dice >> 7
      dice ^= dice << 17
      return UInt8(truncatingIfNeeded: dice >> 32)
    }
    var understood = 0
    for _ in 0..<200_000 {
      var bytes = (0..<Int(roll() % 20)).map { _ in roll() }
      if roll() < 64 { bytes = [0xF0, 0x7F, roll(), 6] + bytes + [0xF7] }
      guard let message = MIDIMessage(bytes) else { continue }
      understood += 1
      #expect(MIDIEventName(message.event.description) == message.event, "\(bytes)")
      if case .level(let level) = message.amount { #expect((0...1).contains(level)) }
      if case .seconds(let seconds) = message.amount { #expect((0...200_000).contains(seconds)) }
    }
    #expect(understood > 500)
  }
}

extension MIDIMessage {
  fileprivate init?(event: String, _ amount: Amount) {
    guard let name = MIDIEventName(event) else { return nil }
    self.init(name, amount)
  }
}
