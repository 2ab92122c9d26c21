// SPDX-License-Identifier: GPL-2.0-or-later
import LinkWire

// Which addresses of this machine are used, and who may speak to them: decided by values alone.

/// A local address to open a gateway on, and the interface that has it.
struct LocalAddress: Hashable, Comparable {
  var address: Address
  /// 127/8; an IPv6 loopback is never used.
  var isLoopback: Bool { address.isLoopback }
  var interface: UInt32

  static func < (left: LocalAddress, right: LocalAddress) -> Bool {
    (left.address, left.interface) < (right.address, right.interface)
  }
}

/// A running interface as the system describes it.
struct Interface {
  var index: UInt32
  var isLoopback = false
  var hasMulticast = true
  /// Its hardware's address is a maker's; bridges for containers, tunnels and virtual machines invent theirs.
  var isMakers = false
  /// Without scopes, as the system lists them.
  var addresses: [Address] = []
  var networks: [Network] = []

  /// IPv4 addresses that are reached through it directly; one address alone is a network, too, if it is not our own.
  struct Network: Hashable {
    var address: UInt32
    var mask: UInt32

    func contains(_ other: UInt32) -> Bool { (address ^ other) & mask == 0 }
  }
}

extension Interface {
  /// Every IPv4 address, and every link-local IPv6 address if there is an IPv4 one too (facts: link 3.6). Sorted.
  fileprivate var gateways: [LocalAddress] {
    guard addresses.contains(where: { !$0.isIPv6 }) else { return [] }
    return Set(addresses.filter { !$0.isIPv6 || $0.isIPv6LinkLocal }).map {
      LocalAddress(address: $0.scoped(index), interface: index)
    }.sorted()
  }

  /// Where musicians are likely to be comes first: programs of this machine, sockets and radios, what is made up.
  fileprivate var remoteness: Int { isLoopback ? 0 : !hasMulticast ? 3 : isMakers ? 1 : 2 }
}

/// The networks that this machine is in.
struct Neighbourhood: Sendable {
  private var loopbacks: Set<UInt32> = []
  private var networks: [UInt32: [Interface.Network]] = [:]

  init(_ interfaces: [Interface] = []) {
    for interface in interfaces {
      if interface.isLoopback { loopbacks.insert(interface.index) }
      networks[interface.index] = interface.networks
    }
  }

  /// Whether somebody who sends from there through this interface can be on its network. Link is spoken among
  /// neighbours: all else came through a router, or pretends.
  func contains(_ source: Address, through interface: UInt32) -> Bool {
    // The kernel lets nothing of others onto a loopback.
    if loopbacks.contains(interface) { return true }
    switch source {
    case .v6: return source.isIPv6LinkLocal && source.scope == interface
    case .v4(let bits):
      // Routers do not forward 169.254/16. Where all that is known is our own address, nobody can be told apart.
      guard bits >> 16 != 0xa9fe, let near = networks[interface], !near.isEmpty else { return true }
      return near.contains { $0.contains(bits) }
    }
  }

  /// The addresses to be used, sorted, and those that are too many. Each interface's first address comes before any
  /// other's second; among equals the interface that was there earlier, as hardware is before Docker's bridges.
  static func gateways(
    on interfaces: [Interface], limit: Int
  ) -> (used: ArraySlice<LocalAddress>, left: ArraySlice<LocalAddress>) {
    let ranked = interfaces.flatMap { interface in
      interface.gateways.enumerated().map { (place: $0, interface.remoteness, $1.interface, local: $1) }
    }
    let order = ranked.sorted { ($0.0, $0.1, $0.2, $0.3) < ($1.0, $1.1, $1.2, $1.3) }.map(\.local)
    let used = order.prefix(limit)
    return (ArraySlice(used.sorted()), order.dropFirst(limit))
  }
}
