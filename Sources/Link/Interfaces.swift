// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkWire

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

/// Every IPv4 address of a running interface, loopback included, and every link-local IPv6 address of an interface
/// that has an IPv4 one too (link-protocol 3.6). Sorted. Nil if the system would not say.
func localAddresses() -> [LocalAddress]? {
  var first: UnsafeMutablePointer<ifaddrs>?
  guard getifaddrs(&first) == 0 else { return nil }
  defer { freeifaddrs(first) }
  var found: Set<LocalAddress> = []
  var withIPv4: Set<UInt32> = []
  var next = first
  while let entry = next {
    next = entry.pointee.ifa_next
    let running = UInt32(IFF_UP) | UInt32(IFF_RUNNING)
    guard entry.pointee.ifa_flags & running == running, let name = entry.pointee.ifa_name,
      let socketAddress = entry.pointee.ifa_addr,
      let endpoint = Endpoint(socketAddress: UnsafeRawPointer(socketAddress))
    else { continue }
    let interface = if_nametoindex(name)
    switch endpoint.address {
    case .v4:
      withIPv4.insert(interface)
      found.insert(LocalAddress(address: endpoint.address, interface: interface))
    case .v6:
      guard endpoint.address.isIPv6LinkLocal else { continue }
      found.insert(LocalAddress(address: endpoint.address.scoped(interface), interface: interface))
    }
  }
  return found.filter { !$0.address.isIPv6 || withIPv4.contains($0.interface) }.sorted()
}

extension Endpoint {
  /// Nil if it is neither IPv4 nor IPv6.
  init?(socketAddress: UnsafeRawPointer) {
    switch Int32(socketAddress.loadUnaligned(as: sa_family_t.self)) {
    case AF_INET:
      let value = socketAddress.loadUnaligned(as: sockaddr_in.self)
      self.init(
        address: .v4(UInt32(bigEndian: value.sin_addr.s_addr)), port: UInt16(bigEndian: value.sin_port))
    case AF_INET6:
      let value = socketAddress.loadUnaligned(as: sockaddr_in6.self)
      let halves = withUnsafeBytes(of: value.sin6_addr) {
        ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      }
      self.init(
        address: .v6(
          high: UInt64(bigEndian: halves.0), low: UInt64(bigEndian: halves.1), scope: value.sin6_scope_id),
        port: UInt16(bigEndian: value.sin6_port))
    default:
      return nil
    }
  }

  /// Calls `body` with this endpoint as the system wants it.
  func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    switch address {
    case .v4(let bits):
      var value = sockaddr_in()
      value.sin_family = sa_family_t(AF_INET)
      value.sin_port = port.bigEndian
      value.sin_addr.s_addr = bits.bigEndian
      return withUnsafeBytes(of: &value) {
        body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
      }
    case .v6(let high, let low, let scope):
      var value = sockaddr_in6()
      value.sin6_family = sa_family_t(AF_INET6)
      value.sin6_port = port.bigEndian
      value.sin6_scope_id = scope
      withUnsafeMutableBytes(of: &value.sin6_addr) {
        $0.storeBytes(of: high.bigEndian, as: UInt64.self)
        $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
      }
      return withUnsafeBytes(of: &value) {
        body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
      }
    }
  }
}
