// SPDX-License-Identifier: GPL-2.0-or-later

// Rules about the interface through which a packet came. Linux answers for each of its addresses on all of
// its networks, so the destination of a packet does not show from which network the packet came.
extension Neighbourhood {
  /// The index of the interface with this address; nil if there is none.
  package func interface(of own: Address) -> UInt32? {
    interfaces.first { interface in
      own.isLoopback ? interface.isLoopback : interface.addresses.contains { $0.scoped(0) == own.scoped(0) }
    }?.index
  }

  /// Whether the packet's source can be this machine, or a neighbour on the network of the packet's
  /// interface.
  package func hasNeighbour(_ source: Address, by index: UInt32) -> Bool {
    guard let interface = interfaces.first(where: { $0.index == index }) else { return source.isLoopback }
    return interface.isLoopback || interface.networks.contains { $0.contains(source) }
  }

  /// Whether a packet from this source can come through this interface. A neighbour's packet comes through
  /// the neighbour's network, a distant host's packet through any interface.
  package func canReachUs(_ source: Address, by index: UInt32) -> Bool {
    !contains(source) || hasNeighbour(source, by: index)
  }

  /// Whether this local address is on the interface's network. If two cables lead to one network, each
  /// interface answers for the addresses of both.
  package func has(_ own: Address, by index: UInt32) -> Bool {
    guard let interface = interfaces.first(where: { $0.index == index }) else { return own.isLoopback }
    return owns(own, through: index) || interface.networks.contains { $0.contains(own) }
  }
}
