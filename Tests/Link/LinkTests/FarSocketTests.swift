// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkSystem
import TactusTestSupport
import Testing

@testable import Link

struct FarSocketTests {
  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `without IPv6 the IPv4 socket is used; without IPv4 opening fails`() throws {
    try PrivateNetwork().perform {
      let every = Endpoint(.v6(high: 0, low: 0, scope: 0), port: 20_819)
      #expect(try FarSocket.both(port: 20_819).map(\.isIPv6) == [false, true])
      // Occupy the port for IPv6, as if IPv6 were missing.
      ChildProcess.waitForOthers()
      let other = try UDPSocket.anywhere(every)
      let sockets = try FarSocket.both(port: 20_819)
      #expect(sockets.map(\.isIPv6) == [false])
      let caller = try FarSocket.both(port: 0)[0]
      let there = Endpoint(.loopback, port: 20_819)
      #expect([1 as UInt8, 2, 3].withUnsafeBytes { caller.send($0, to: there, from: nil) })
      var buffer = [UInt8](repeating: 0, count: 64)
      let arrival = buffer.withUnsafeMutableBytes { sockets[0].receive(into: $0) }
      #expect(arrival?.count == 3 && arrival?.from.address == .loopback && arrival?.to == .loopback)
      #expect(throws: SystemFailure.self) { try FarSocket.both(port: 20_819) }
      _ = try other.localEndpoint()
    }
  }
}
