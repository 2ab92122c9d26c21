// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import JACKHost

@Suite struct ControlMessageTests {
  private func message(_ status: UInt8) -> ControlMessage {
    var message = ControlMessage()
    message.count = 1
    message.bytes.0 = status
    return message
  }

  @Test func `Start plays from the beginning, Continue from here, Stop stops`() {
    #expect(message(0xFA).transportCommands(isRunning: false) == [.locate(frame: 0), .play])
    #expect(message(0xFB).transportCommands(isRunning: false) == [.play])
    #expect(message(0xFC).transportCommands(isRunning: true) == [.stop])
  }

  @Test func `what is so already is not asked for again`() {
    #expect(message(0xFA).transportCommands(isRunning: true) == [])
    #expect(message(0xFB).transportCommands(isRunning: true) == [])
    #expect(message(0xFC).transportCommands(isRunning: false) == [])
  }

  @Test func `every other message moves nothing`() {
    for status in UInt8.min...UInt8.max where !(0xFA...0xFC).contains(status) {
      for isRunning in [false, true] {
        #expect(message(status).transportCommands(isRunning: isRunning) == [])
      }
    }
  }
}
