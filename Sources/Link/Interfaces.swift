// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkWire

/// What is up and runs. Nil if the system would not say.
func runningInterfaces() -> [Interface]? {
  var first: UnsafeMutablePointer<ifaddrs>?
  guard getifaddrs(&first) == 0 else { return nil }
  defer { freeifaddrs(first) }
  var found: [UInt32: Interface] = [:]
  var next = first
  while let entry = next?.pointee {
    next = entry.ifa_next
    let running = UInt32(IFF_UP) | UInt32(IFF_RUNNING)
    guard entry.ifa_flags & running == running, let name = entry.ifa_name, let address = entry.ifa_addr
    else { continue }
    let index = if_nametoindex(name)
    guard index != 0 else { continue }
    var interface = found[index] ?? Interface(index: index)
    interface.isLoopback = entry.ifa_flags & UInt32(IFF_LOOPBACK) != 0
    interface.hasMulticast = entry.ifa_flags & UInt32(IFF_MULTICAST) != 0
    interface.learn(entry, UnsafeRawPointer(address))
    found[index] = interface
  }
  return Array(found.values)
}

extension Interface {
  fileprivate mutating func learn(_ entry: ifaddrs, _ socketAddress: UnsafeRawPointer) {
    if Int32(socketAddress.loadUnaligned(as: sa_family_t.self)) == AF_PACKET {
      // struct sockaddr_ll: the address's length is its twelfth byte. The second bit says that it is made up.
      let bytes = UnsafeRawBufferPointer(start: socketAddress, count: 18)
      isMakers = bytes[11] == 6 && bytes[12] & 2 == 0 && bytes[12..<18].contains { $0 != 0 }
      return
    }
    guard let endpoint = Endpoint(socketAddress: socketAddress) else { return }
    addresses.append(endpoint.address)
    guard !endpoint.address.isIPv6 else { return }
    let own = endpoint.address.v4Bits
    if let mask = entry.ifa_netmask.flatMap({ Endpoint(socketAddress: UnsafeRawPointer($0)) })?.address
      .v4Bits,
      mask != .max
    {
      networks.append(Network(address: own, mask: mask))
    }
    // At the other end of a cable or tunnel; some say ourselves.
    if entry.ifa_flags & UInt32(IFF_POINTOPOINT) != 0,
      let other = entry.ifa_ifu.ifu_dstaddr.flatMap({ Endpoint(socketAddress: UnsafeRawPointer($0)) })?
        .address.v4Bits, other != own
    {
      networks.append(Network(address: other, mask: .max))
    }
  }
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
