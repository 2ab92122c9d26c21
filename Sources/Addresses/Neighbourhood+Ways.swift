// SPDX-License-Identifier: GPL-2.0-or-later

// The interface that a packet came by. Linux answers for each of its addresses on all of its networks, so the address that a packet was
// sent to says nothing of the network that it came from.
extension Neighbourhood {
  /// The index of the interface that has this address; nil: none has.
  package func interface(of own: Address) -> UInt32? {
    interfaces.first { interface in
      own.isLoopback ? interface.isLoopback : interface.addresses.contains { $0.scoped(0) == own.scoped(0) }
    }?.index
  }

  /// Whether this machine itself, or a neighbour on the network of this interface, can have sent a packet that came by it.
  package func hasNeighbour(_ source: Address, by index: UInt32) -> Bool {
    guard let interface = interfaces.first(where: { $0.index == index }) else { return source.isLoopback }
    return interface.isLoopback || interface.networks.contains { $0.contains(source) }
  }

  /// Whether a packet can have come from there by this interface. A neighbour's comes by its own network, a distant one by any.
  package func canReachUs(_ source: Address, by index: UInt32) -> Bool {
    !contains(source) || hasNeighbour(source, by: index)
  }

  /// Whether this address of ours is on the network of this interface. With two cables to one network each answers for both.
  package func has(_ own: Address, by index: UInt32) -> Bool {
    guard let interface = interfaces.first(where: { $0.index == index }) else { return own.isLoopback }
    return owns(own, through: index) || interface.networks.contains { $0.contains(own) }
  }
}
