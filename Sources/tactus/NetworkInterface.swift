// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import Glibc
import OSC

/// An address of this machine, and the interface that has it.
struct NetworkInterface: Equatable {
  /// More than any machine of a musician has.
  private static let limit = 256

  let name: String
  /// With a scope if it is one of the link alone (fe80::).
  let host: Host
  private let flags: UInt32

  var isLoopback: Bool { flags & UInt32(IFF_LOOPBACK) != 0 }
  var hasMulticast: Bool { flags & UInt32(IFF_MULTICAST) != 0 }
  var isWireless: Bool { access("/sys/class/net/\(name)/wireless", F_OK) == 0 }

  /// Those that are up and run, each with each of its addresses.
  static var running: [NetworkInterface] {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    var found: [NetworkInterface] = []
    var next = first
    while let entry = next, found.count < limit {
      next = entry.pointee.ifa_next
      let running = UInt32(IFF_UP) | UInt32(IFF_RUNNING)
      guard entry.pointee.ifa_flags & running == running, let name = entry.pointee.ifa_name,
        let address = entry.pointee.ifa_addr, let host = Host(socketAddress: UnsafeRawPointer(address))
      else { continue }
      found.append(
        NetworkInterface(name: String(cString: name), host: host, flags: entry.pointee.ifa_flags))
    }
    return found
  }
}

extension Host {
  /// nil if it is neither IPv4 nor IPv6.
  fileprivate init?(socketAddress: UnsafeRawPointer) {
    switch Int32(socketAddress.loadUnaligned(as: sa_family_t.self)) {
    case AF_INET:
      let value = socketAddress.loadUnaligned(as: sockaddr_in.self)
      self.init(ipv4: UInt32(bigEndian: value.sin_addr.s_addr))
    case AF_INET6:
      let value = socketAddress.loadUnaligned(as: sockaddr_in6.self)
      let (high, low) = withUnsafeBytes(of: value.sin6_addr) {
        ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      }
      self.init(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low), scope: value.sin6_scope_id)
    default: return nil
    }
  }
}
