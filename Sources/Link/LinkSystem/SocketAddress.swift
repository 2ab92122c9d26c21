// SPDX-License-Identifier: GPL-2.0-or-later
package import Glibc
package import LinkAddresses

extension Endpoint {
  /// Reads a socket address. Returns nil if it is neither IPv4 nor IPv6.
  package init?(socketAddress: UnsafeRawPointer) {
    switch Int32(socketAddress.loadUnaligned(as: sa_family_t.self)) {
    case AF_INET:
      let value = socketAddress.loadUnaligned(as: sockaddr_in.self)
      self.init(
        .v4(UInt32(bigEndian: value.sin_addr.s_addr)), port: UInt16(bigEndian: value.sin_port))
    case AF_INET6:
      let value = socketAddress.loadUnaligned(as: sockaddr_in6.self)
      let halves = withUnsafeBytes(of: value.sin6_addr) {
        ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      }
      self.init(
        .v6(
          high: UInt64(bigEndian: halves.0), low: UInt64(bigEndian: halves.1), scope: value.sin6_scope_id),
        port: UInt16(bigEndian: value.sin6_port))
    default:
      return nil
    }
  }

  /// Calls `body` with this endpoint as a socket address.
  package func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
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

  /// The endpoints of a host name, or of an address. For a name, the system's resolver may take half a
  /// minute.
  package static func named(_ host: String, port: UInt16) -> [Endpoint] {
    var wanted = addrinfo()
    wanted.ai_socktype = Int32(SOCK_DGRAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &wanted, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var found: [Endpoint] = []
    var next = list
    while let entry = next {
      if let address = entry.pointee.ai_addr, var endpoint = Endpoint(socketAddress: address) {
        endpoint.port = port
        if !found.contains(endpoint) { found.append(endpoint) }
      }
      next = entry.pointee.ai_next
    }
    return found
  }

  /// The endpoint to which a socket is bound; nil, with `errno`, if the system call fails.
  package init?(of descriptor: Int32) {
    var storage = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let made = withUnsafeMutableBytes(of: &storage) { bytes -> Endpoint? in
      let place = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      return getsockname(descriptor, place, &size) == 0
        ? Endpoint(socketAddress: UnsafeRawPointer(place)) : nil
    }
    guard let made else { return nil }
    self = made
  }
}
