// SPDX-License-Identifier: GPL-2.0-or-later
import FarLink
import Glibc
import LinkAddresses
import LinkBeatMath
import LinkSession
import LinkSodium
import LinkSystem
import TactusTestSupport
import Testing

@testable import Link

/// Tests both ends of connections between rooms, with real sockets in a private network.
struct FarWiresTests {
  /// One end of a connection, with the only other room as its session sees it.
  private struct End {
    var wires: FarWires
    var far: FarWire?
    var opened = 0
    let machine: Neighbourhood

    /// `door`: the local address for calls; nil: any.
    init(_ port: UInt16, at door: Address? = nil, calls: String...) {
      var settings = FarSettings(
        calls: calls.compactMap { FarCall($0, offsets: -250...250) }, port: port,
        key: FarKey([UInt8](repeating: 7, count: 32))!, cipher: Sodium.self)
      settings.door = door
      wires = FarWires(settings)
      machine = Neighbourhood(Interface.up() ?? [])
      let now = HostClock.micros()
      let wanted = wires.portToOpen(at: now) ?? 0
      wires.adopt(Result { () throws(SystemFailure) in try FarSocket.both(port: wanted) }, at: now)
    }

    mutating func turn() {
      var events = wires.meetDeadlines(at: HostClock.micros())
      var buffer = [UInt8](repeating: 0, count: 2048)
      for inlet in wires.inlets {
        while let arrival = buffer.withUnsafeMutableBytes({ inlet.receive(into: $0) }) {
          events += buffer.withUnsafeBytes {
            wires.receive(UnsafeRawBufferPointer(rebasing: $0[..<arrival.count]), arrival, of: machine)
          }
        }
      }
      var made: [Outgoing] = []
      wires.takeOutgoing(&made)
      wires.forgetWays(to: made.compactMap { $0.leave() })
      for event in events {
        switch event {
        case .opened(let gateway):
          far = gateway.far
          opened += 1
        case .changed(let gateway): far = gateway.far
        case .closed, .arrived: break
        }
      }
    }

    var rooms: [FarRoom] { wires.report { _ in nil }.rooms }
  }

  /// Runs both ends until the condition holds. The time that this takes does not matter.
  private func run(_ one: inout End, _ other: inout End, until isTrue: (End, End) -> Bool) -> Bool {
    for _ in 0..<20_000 {
      one.turn()
      other.turn()
      if isTrue(one, other) { return true }
      usleep(1000)
    }
    return false
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `an offset of one room is added to the common offset for that room`() throws {
    try PrivateNetwork().perform {
      var here = End(20_821, calls: "127.0.0.1:20822 offset=3", "127.0.0.1:9 offset=-4")
      var there = End(20_822)
      #expect(run(&here, &there) { $0.far != nil && $1.far != nil })
      #expect(here.far?.correction == Micros(3000) && there.far?.correction == .zero)
      #expect(here.rooms.map(\.correction) == [Micros(3000), Micros(-4000)])
      let calls = [Micros(3000), Micros(-4000)]
      #expect(here.wires.set(correction: Micros(500), distance: Beats(4), calls: calls).count == 1)
      #expect(here.wires.set(correction: Micros(500), distance: Beats(4), calls: calls).isEmpty)
      #expect(here.rooms.map(\.correction) == [Micros(3500), Micros(-3500)])
      // This change is for one room alone: the connection to the other room does not change.
      #expect(
        here.wires.set(correction: Micros(500), distance: Beats(4), calls: [calls[0], .zero]).isEmpty)
      #expect(here.rooms.map(\.correction) == [Micros(3500), Micros(500)])
      #expect(here.wires.set(correction: Micros(500), distance: Beats(4), calls: [.zero, .zero]).count == 1)
      #expect(here.rooms.map(\.correction) == [Micros(500), Micros(500)])
    }
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `a room that does not answer is marked if its address has called us`() throws {
    try PrivateNetwork().perform {
      var here = End(20_821, calls: "127.0.0.1:9", "127.0.0.2:9")
      // This room calls us, as if it were behind a router that blocks our calls.
      var there = End(20_822, calls: "127.0.0.1:20821")
      #expect(here.rooms.allSatisfy { !$0.isCalledBack })
      #expect(run(&here, &there) { $0.far != nil && $1.far != nil })
      #expect(here.rooms.map(\.isCalledBack) == [true, false, false])
      #expect(here.rooms.map(\.state) == [.waiting, .waiting, .proven])
      #expect(there.rooms.map(\.isCalledBack) == [false])
    }
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `two rooms that call each other share a connection and its settings`() throws {
    try PrivateNetwork().perform {
      var here = End(20_821, calls: "127.0.0.1:20822 offset=3")
      // The other end calls first, and counts as an unknown caller until our own call is answered.
      var there = End(20_822, calls: "127.0.0.1:20821")
      #expect(
        run(&there, &here) { there, here in
          here.far?.correction == Micros(3000) && there.far != nil && here.rooms.count == 1
            && there.rooms.count == 1
        })
      for end in [here, there] {
        #expect(end.rooms.map(\.state) == [.proven] && end.rooms[0].host != nil && end.opened == 1)
      }
    }
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `a program that calls itself by any address reports this`() throws {
    try PrivateNetwork().perform {
      var here = End(20_821, calls: "127.0.0.1:20821", "[::1]:20821", "localhost:20821")
      var nobody = End(20_822)
      #expect(run(&here, &nobody) { here, _ in here.rooms.allSatisfy { $0.state == .ourselves } })
      #expect(here.opened == 0)
    }
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"), arguments: [false, true])
  func `with a chosen address rooms can call only through its interface`(isIPv6: Bool) throws {
    let (home, vpn, venue) = (try PrivateNetwork(), try PrivateNetwork(), try PrivateNetwork())
    try home.cable("vpn0", to: vpn, "vpn0")
    try home.cable("wifi0", to: venue, "wifi0")
    let (door, other) = isIPv6 ? ("fd00:8::1", "fd00:50::1") : ("10.8.0.1", "10.50.0.1")
    let bits = isIPv6 ? "64 nodad" : "24"
    for (network, address, interface) in [
      (home, door, "vpn0"), (home, other, "wifi0"), (vpn, isIPv6 ? "fd00:8::2" : "10.8.0.2", "vpn0"),
      (venue, isIPv6 ? "fd00:50::2" : "10.50.0.2", "wifi0"),
    ] {
      let words = bits.split(separator: " ")
      try network.ip("addr add \(address)/\(words[0]) dev \(interface) \(words.dropFirst().joined())")
      try network.ip("link set \(interface) up")
    }
    // Linux accepts packets for the VPN's address from the venue, too.
    try venue.ip("\(isIPv6 ? "-6 " : "")route add \(door) via \(other)")
    let written = isIPv6 ? "[\(door)]:20821" : "\(door):20821"
    let otherWritten = isIPv6 ? "[\(other)]:20821" : "\(other):20821"
    var here = try home.perform { End(20_821, at: Address(door)) }
    var wrong = try venue.perform { End(20_822, calls: written) }
    var elsewhere = try venue.perform { End(20_823, calls: otherWritten) }
    var right = try vpn.perform { End(20_822, calls: written) }
    // Each end calls once a second. The end that calls through the right interface comes last.
    #expect(run(&here, &wrong) { here, _ in (here.wires.board?.counters.unasked ?? 0) >= 2 })
    #expect(run(&here, &elsewhere) { here, _ in (here.wires.board?.counters.unasked ?? 0) >= 4 })
    #expect(here.far == nil && wrong.far == nil && elsewhere.far == nil)
    #expect(run(&here, &right) { $0.far != nil && $1.far != nil })
    #expect(here.opened == 1)
  }
}
