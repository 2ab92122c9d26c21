// SPDX-License-Identifier: GPL-2.0-or-later
import LinkWire
import TestSupport
import Testing

@testable import Link

/// More at once than a thread that waits for its processor can read.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct BurstTests {
  @Test func fourHundredPacketsThatNobodyHasReadYetAreNotLost() throws {
    let heard = try PrivateNetwork().perform {
      let loopback = LocalAddress(address: .v4(0x7f00_0001), interface: 1)
      let listener = try UDPSocket.listening(on: loopback)
      let sender = try UDPSocket.sending(from: loopback)
      let packet = encodeByeBye(NodeID(rawValue: 1))
      // The system's own room is for 277.
      for _ in 0..<400 { _ = sender.send(packet, to: .discoveryGroup(for: loopback.address)) }
      return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 8) { buffer in
        var count = 0
        while listener.receive(into: buffer) != nil { count += 1 }
        return count
      }
    }
    #expect(heard == 400)
  }
}
