// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
internal import LinkAddresses

// Chooses the addresses of this machine that Link uses, from values alone.

/// A local address for a gateway, and the interface that has it.
struct LocalAddress: Hashable, Comparable {
  var address: Address
  /// Whether the address is in 127/8; an IPv6 loopback is never used.
  var isLoopback: Bool { address.isLoopback }
  var interface: UInt32

  static func < (left: LocalAddress, right: LocalAddress) -> Bool {
    (left.address, left.interface) < (right.address, right.interface)
  }
}

extension Interface {
  /// All IPv4 addresses of the interface, and its link-local IPv6 addresses if it has an IPv4 address (facts:
  /// link 3.6). They are sorted.
  fileprivate var gateways: [LocalAddress] {
    guard addresses.contains(where: { !$0.isIPv6 }) else { return [] }
    return Set(addresses.filter { !$0.isIPv6 || $0.isIPv6LinkLocal }).map {
      LocalAddress(address: $0.scoped(index), interface: index)
    }.sorted()
  }

  /// A rank by where peers are likely: first this machine, then cable and radio, then virtual interfaces.
  fileprivate var remoteness: Int { isLoopback ? 0 : !hasMulticast ? 3 : isMakers ? 1 : 2 }
}

extension LocalAddress {
  /// The addresses to use, sorted, and the addresses over the limit. If there are too many addresses, the
  /// first address of every interface comes before all second addresses. Of two interfaces of the same kind,
  /// the older comes first, because hardware is older than Docker's bridges.
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

/// Notices that the machine's addresses may have changed; the scan then finds out how.
///
/// The kernel announces changes on a netlink socket. Without such a socket, as in some sandboxes, only the
/// scan every five seconds finds changes.
final class AddressWatch: Sendable {
  /// The netlink socket; -1 if there is none.
  let descriptor: Int32

  init() {
    let kind = Int32(SOCK_RAW.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let socket = Glibc.socket(AF_NETLINK, kind, 0)  // NETLINK_ROUTE
    guard socket >= 0 else {
      descriptor = -1
      return
    }
    // The fields of struct sockaddr_nl, which Glibc's module does not have: family, padding, our port (0:
    // any), groups.
    let linkIPv4IPv6: UInt32 = 0x1 | 0x10 | 0x100
    let address: (UInt16, UInt16, UInt32, UInt32) = (UInt16(AF_NETLINK), 0, 0, linkIPv4IPv6)
    let result = withUnsafeBytes(of: address) {
      Glibc.bind(socket, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
    }
    if result == 0 {
      descriptor = socket
    } else {
      close(socket)
      descriptor = -1
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Drops all announcements. Returns whether there was one; an overrun counts as an announcement.
  func drain() -> Bool {
    guard descriptor >= 0 else { return false }
    var buffer = [UInt8](repeating: 0, count: 4096)
    var announced = false
    for _ in 0..<64 {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count < 0 && errno != ENOBUFS { break }
      announced = true
    }
    return announced
  }
}
