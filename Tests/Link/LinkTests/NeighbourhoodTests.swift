// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkWire
import Testing

@testable import Link

/// Tests which senders Link accepts and which addresses it uses. These tests need only values, no sockets.
struct NeighbourhoodTests {
  func v4(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32) -> Address {
    .v4(a << 24 | b << 16 | c << 8 | d)
  }

  func linkLocal(_ number: UInt64, through scope: UInt32 = 0) -> Address {
    .v6(high: 0xfe80 << 48, low: number, scope: scope)
  }

  func interface(_ index: UInt32, _ addresses: Address..., bits: Int = 24) -> Interface {
    Interface(
      index: index, isMakers: true, addresses: addresses,
      networks: addresses.filter { !$0.isIPv6 }.compactMap { AddressRange($0, bits: bits) })
  }

  var loopback: Interface {
    var lo = interface(1, v4(127, 0, 0, 1), bits: 8)
    (lo.isLoopback, lo.hasMulticast, lo.isMakers) = (true, false, false)
    return lo
  }

  @Test func `only senders in a network of their interface are neighbours`() {
    let home = Neighbourhood([
      loopback, interface(2, v4(192, 168, 7, 10), v4(10, 0, 5, 1), linkLocal(1)),
      interface(3, v4(203, 0, 113, 9)),
    ])
    #expect(home.contains(v4(192, 168, 7, 200), through: 2))
    #expect(home.contains(v4(10, 0, 5, 77), through: 2), "the interface's second network")
    #expect(
      home.contains(v4(169, 254, 3, 4), through: 2),
      "a machine without a configured address is on the same wire")
    #expect(home.contains(linkLocal(9, through: 2), through: 2))
    #expect(!home.contains(v4(192, 168, 8, 1), through: 2))
    #expect(!home.contains(v4(203, 0, 113, 1), through: 2), "that is the other wire's")
    #expect(!home.contains(v4(192, 168, 7, 200), through: 3), "forged on the other wire")
    #expect(!home.contains(linkLocal(9, through: 3), through: 2))
    #expect(!home.contains(.v6(high: 0x2001_0db8 << 32, low: 1, scope: 0), through: 2))
    #expect(home.contains(v4(192, 168, 7, 10), through: 1), "whatever comes by the loopback is ours")
  }

  @Test func `the other end of a tunnel is a neighbour`() {
    var tunnel = Interface(index: 4, addresses: [v4(10, 8, 0, 6)])
    tunnel.networks = [AddressRange(v4(10, 8, 0, 5))]
    let home = Neighbourhood([tunnel])
    #expect(home.contains(v4(10, 8, 0, 5), through: 4))
    #expect(!home.contains(v4(10, 8, 0, 7), through: 4))
  }

  @Test func `beside a single address only link-local senders are neighbours`() {
    let home = Neighbourhood([loopback, Interface(index: 2, addresses: [v4(10, 1, 1, 1), linkLocal(1)])])
    #expect(!home.contains(v4(10, 1, 1, 2), through: 2))
    #expect(!home.contains(v4(203, 0, 113, 9), through: 2), "the Internet may lead there")
    #expect(home.contains(v4(169, 254, 3, 4), through: 2))
    #expect(home.contains(linkLocal(9, through: 2), through: 2))
  }

  @Test func `no sender behind an unknown interface is a neighbour`() {
    let home = Neighbourhood([loopback, interface(2, v4(192, 168, 7, 10), linkLocal(1))])
    for source in [
      v4(192, 168, 7, 20), v4(10, 50, 0, 66), v4(169, 254, 3, 4), linkLocal(9, through: 3), v4(127, 0, 0, 1),
    ] {
      #expect(!home.contains(source, through: 3), "\(source)")
      #expect(!home.contains(source, through: 0), "\(source)")
    }
  }

  @Test func `forty container bridges do not displace the studio network`() {
    let studio = interface(2, v4(192, 168, 7, 10), linkLocal(1))
    let radio = interface(3, v4(192, 168, 9, 10))
    let bridges = (0..<40).map { number in
      var bridge = interface(
        10 + UInt32(number), v4(172, 17 + UInt32(number % 15), UInt32(number), 1), linkLocal(2))
      bridge.isMakers = false
      return bridge
    }
    for order in [bridges + [radio, studio, loopback], [loopback, studio, radio] + bridges] {
      let (used, left) = LocalAddress.gateways(on: order, limit: 32)
      #expect(used.count == 32 && left.count == 84 - 32)
      #expect(used.elementsEqual(used.sorted()))
      let addresses = used.map(\.address)
      #expect(addresses.contains(v4(127, 0, 0, 1)) && addresses.contains(v4(192, 168, 7, 10)))
      #expect(addresses.contains(v4(192, 168, 9, 10)))
      #expect(addresses.contains(v4(172, 17, 0, 1)), "the earlier ones are used as far as there is room")
    }
  }

  @Test func `many addresses of one interface do not crowd out another`() {
    var crowded = interface(2)
    crowded.addresses = (1...100).map { v4(10, 0, 0, $0) }
    let (used, _) = LocalAddress.gateways(on: [crowded, interface(7, v4(192, 168, 7, 10))], limit: 32)
    #expect(used.count == 32 && used.last?.address == v4(192, 168, 7, 10))
  }

  @Test func `interfaces without multicast come last; IPv6 is used only beside IPv4`() {
    var tunnel = interface(2, v4(10, 0, 0, 1))
    tunnel.hasMulticast = false
    let lone = interface(3, linkLocal(1), .v6(high: 0x2001_0db8 << 32, low: 1, scope: 0))
    let cable = interface(
      4, v4(192, 168, 7, 10), linkLocal(7), .v6(high: 0x2001_0db8 << 32, low: 1, scope: 0))
    #expect(
      LocalAddress.gateways(on: [tunnel, lone, cable], limit: 1).used.map(\.address) == [v4(192, 168, 7, 10)]
    )
    let all = LocalAddress.gateways(on: [tunnel, lone, cable], limit: 32)
    #expect(
      all.used.map(\.address) == [v4(10, 0, 0, 1), v4(192, 168, 7, 10), linkLocal(7, through: 4)]
        && all.left.isEmpty)
  }
}
