// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("Read-outs with several values")
struct ListReadOutTests {
  private func values(of texts: [String]) -> [Argument] {
    let row = Node.list("test", "") { _ in texts }
    return row.read?(Desk().machine.reading) ?? []
  }

  @Test
  func `an OSC list is cut after 64 arguments, but its count is complete`() {
    for count in [63, 64, 100] {
      let values = values(of: (0..<count).map { "\($0)" })
      #expect(values.first == .int32(Int32(count)))
      #expect(values.dropFirst() == ArraySlice((0..<63).map { .string("\($0)") }))
    }
  }

  @Test(arguments: [1, 20, 100, 255])
  func `a list sent by OSC is cut so that it fits one datagram`(length: Int) {
    let values = values(of: Array(repeating: String(repeating: "x", count: length), count: 60))
    let size = LibloCodec.encode(Message("/tactus/test", arguments: values)).count
    // A text takes its bytes, at least one zero that fills them up to a multiple of four, and one byte for
    // its type tag.
    let room = length / 4 * 4 + 5
    #expect(values.count - 1 == min(60, 1_200 / room))
    #expect(size <= 1_200 + 40)
  }
}
