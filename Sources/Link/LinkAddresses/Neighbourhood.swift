// SPDX-License-Identifier: GPL-2.0-or-later

/// An interface that is up, as the system describes it.
package struct Interface: Equatable, Sendable {
  package var index: UInt32
  package var name = ""
  /// Whether a cable is connected, or a radio has joined a network.
  package var isRunning = true
  package var isLoopback = false
  package var hasMulticast = true
  /// Whether the hardware address is a manufacturer's. Container bridges, tunnels and virtual machines have
  /// invented addresses.
  package var isMakers = false
  package var addresses: [Address] = []
  /// Networks that are reached directly. The single address at the other end of a cable or tunnel counts as a
  /// network.
  package var networks: [AddressRange] = []

  package init(
    index: UInt32, name: String = "", isMakers: Bool = false, addresses: [Address] = [],
    networks: [AddressRange] = []
  ) {
    self.index = index
    self.name = name
    self.isMakers = isMakers
    self.addresses = addresses
    self.networks = networks
  }
}

/// This machine's addresses and the networks that it is on.
package struct Neighbourhood: Equatable, Sendable {
  let interfaces: [Interface]

  package init(_ interfaces: [Interface] = []) { self.interfaces = interfaces }

  /// Whether only this machine can send from this address. Linux drops packets from outside that claim a
  /// local IPv4 source. For IPv6 it drops only packets that claim the source ::1.
  package func isOwn(_ address: Address) -> Bool {
    address.isLoopback || (!address.isIPv6 && isOurs(address))
  }

  private func isOurs(_ address: Address) -> Bool {
    interfaces.contains { $0.addresses.contains { $0.scoped(0) == address.scoped(0) } }
  }

  package func contains(_ address: Address) -> Bool {
    address.isLoopback || isOurs(address)
      || interfaces.contains { $0.networks.contains { $0.contains(address) } }
  }

  /// Whether a packet for this local address came by the interface that has the address, or from this
  /// machine. Linux accepts packets for an address on every interface.
  package func owns(_ address: Address, through index: UInt32) -> Bool {
    guard let interface = interfaces.first(where: { $0.index == index }) else { return false }
    return interface.isLoopback || interface.addresses.contains { $0.scoped(0) == address.scoped(0) }
  }

  /// Whether the sender can be on the network of the packet's interface. Link is for neighbours: other
  /// packets came through a router, or are forged.
  ///
  /// An unknown interface is unwanted, or newer than the last scan. Its packets are dropped; if it is wanted,
  /// they are accepted after the next scan.
  package func contains(_ source: Address, through index: UInt32) -> Bool {
    guard let interface = interfaces.first(where: { $0.index == index }) else { return false }
    // The kernel accepts only this machine's packets on a loopback interface.
    if interface.isLoopback { return true }
    switch source {
    case .v6: return source.isIPv6LinkLocal && source.scope == index
    case .v4(let bits):
      // Routers do not forward 169.254/16. An interface with a single address has no other neighbours than
      // the other end of its cable or tunnel, if known: its address may lead to the Internet.
      return bits >> 16 == 0xa9fe || interface.networks.contains { $0.contains(source) }
    }
  }
}
