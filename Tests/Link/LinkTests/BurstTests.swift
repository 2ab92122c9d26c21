// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import LinkSystem
import LinkWire
import TactusTestSupport
import Testing

@testable import Link

/// The sockets of a thread that had to wait for a processor.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct BurstTests {
  @Test func `a socket keeps four hundred unread packets`() throws {
    let heard = try PrivateNetwork().perform {
      let loopback = LocalAddress(address: .v4(0x7f00_0001), interface: 1)
      let listener = try UDPSocket.listening(on: loopback)
      let sender = try UDPSocket.sending(from: loopback)
      let packet = encodeByeBye(NodeID(rawValue: 1))
      // The system's default buffer has room for only 277 of these packets.
      for _ in 0..<400 { _ = sender.send(packet, to: .discoveryGroup(for: loopback.address)) }
      return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 8) { buffer in
        var count = 0
        while listener.receive(into: buffer) != nil { count += 1 }
        return count
      }
    }
    #expect(heard == 400)
  }

  @Test func `the time for which a datagram lay unread is known`() throws {
    let waits = try PrivateNetwork().perform {
      let loopback = LocalAddress(address: .v4(0x7f00_0001), interface: 1)
      let listener = try UDPSocket.sending(from: loopback)
      let sender = try UDPSocket.sending(from: loopback)
      let endpoint = try listener.localEndpoint()
      var waits: [Micros] = []
      // The kernel begins to note times of arrival shortly after the machine's first socket has asked for
      // them. For earlier packets, it gives the time at which they are read.
      while waits.count < 20 && waits.last ?? .zero < Micros(29_000) {
        _ = sender.send(encodeByeBye(NodeID(rawValue: 1)), to: endpoint)
        usleep(30_000)
        let received = withUnsafeTemporaryAllocation(byteCount: 64, alignment: 8) {
          listener.receive(into: $0)
        }
        waits.append(try #require(received).waited)
      }
      return waits
    }
    let last = try #require(waits.last)
    #expect(last >= Micros(29_000), "\(waits)")
  }

  @Test func `a datagram with an impossible arrival time counts as read at once`() {
    #expect(HostClock.since(nil) == .zero)
    for seconds in [Int.min, -1, 0, Int.max / 2, Int.max] {
      #expect(HostClock.since(timespec(tv_sec: seconds, tv_nsec: 0)) == .zero)
    }
  }
}
