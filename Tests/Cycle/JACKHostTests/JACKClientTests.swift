// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Testing

@testable import TactusJACK

@Suite struct JACKClientTests {
  @Test func `if no JACK server runs, the error names the server looked for`() {
    #expect(throws: JACKError.noServer("tactus-no-such-server")) {
      _ = try JACKClient(name: "tactus", server: "tactus-no-such-server")
    }
  }

  @Test(arguments: ["", "a:b", "a\0b", String(repeating: "x", count: 400)])
  func `a client name that JACK can't use is refused before JACK is asked`(name: String) {
    #expect(throws: JACKError.unusableName(name, limit: Int(jack_client_name_size()) - 1)) {
      _ = try JACKClient(name: name, server: "tactus-no-such-server")
    }
  }

  @Test func `jack2 and PipeWire are told apart by libjack's version text`() {
    #expect(JACKImplementation(versionString: "1.9.21") == .jack2(version: "1.9.21"))
    #expect(
      JACKImplementation(versionString: "3.0.0.0 (using PipeWire 0.3.65)") == .pipeWire(version: "0.3.65"))
  }

  @Test func `jack_position_t has the same memory layout in Swift as in C`() {
    typealias P = jack_position_t
    #expect(MemoryLayout<P>.offset(of: \.frame_rate) == 16)
    #expect(MemoryLayout<P>.offset(of: \.bar_start_tick) == 40)
    #expect(MemoryLayout<P>.offset(of: \.beats_per_minute) == 64)
    #expect(MemoryLayout<P>.offset(of: \.bbt_offset) == 88)
  }
}
