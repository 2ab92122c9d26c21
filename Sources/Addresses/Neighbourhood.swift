// SPDX-License-Identifier: GPL-2.0-or-later

/// An interface that is up, as the system describes it.
package struct Interface: Equatable, Sendable {
  package var index: UInt32
  package var name = ""
  /// With a cable in, or a radio that has found its like.
  package var isRunning = true
  package var isLoopback = false
  package var hasMulticast = true
  /// Its hardware's address is a maker's; bridges for containers, tunnels and virtual machines invent theirs.
  package var isMakers = false
  package var addresses: [Address] = []
  /// What is reached through it directly; one address alone is a network, too, if it is not our own.
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

/// Which addresses are this machine's, and which are on its own networks.
package struct Neighbourhood: Equatable, Sendable {
  let interfaces: [Interface]

  package init(_ interfaces: [Interface] = []) { self.interfaces = interfaces }

  /// Whether nobody else can send from there: Linux drops what comes from outside and says that it comes from this
  /// machine, but of IPv6 only where it says ::1.
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

  /// Whether a packet for this address of ours came by the interface that has it, or from this machine
  /// itself. Linux takes packets for an address from every interface.
  package func owns(_ address: Address, through index: UInt32) -> Bool {
    guard let interface = interfaces.first(where: { $0.index == index }) else { return false }
    return interface.isLoopback || interface.addresses.contains { $0.scoped(0) == address.scoped(0) }
  }

  /// Whether a sender at this address can be on the network of the interface that its packet came by. Link is
  /// spoken among
  /// neighbours: all else came through a router, or pretends.
  ///
  /// An interface that is not in here is not wanted, or came up since the last scan: then a peer's next
  /// packet counts.
  package func contains(_ source: Address, through index: UInt32) -> Bool {
    guard let interface = interfaces.first(where: { $0.index == index }) else { return false }
    // The kernel lets nothing of others onto a loopback.
    if interface.isLoopback { return true }
    switch source {
    case .v6: return source.isIPv6LinkLocal && source.scope == index
    case .v4(let bits):
      // Routers do not forward 169.254/16. Beside that an interface with a single address has the other end
      // of its cable or tunnel for a neighbour, if it has one: the Internet may lead to that address.
      return bits >> 16 == 0xa9fe || interface.networks.contains { $0.contains(source) }
    }
  }
}
