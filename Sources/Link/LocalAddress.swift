// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses

// Which addresses of this machine are used: decided by values alone.

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

extension LocalAddress {
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
