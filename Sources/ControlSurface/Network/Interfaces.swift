// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import OSC

extension Neighbourhood {
  /// More than any machine of a musician has.
  private static let limit = 256

  /// As it is at this moment; nil if the system would not say.
  static func read() -> Neighbourhood? {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return nil }
    defer { freeifaddrs(first) }
    var found = Neighbourhood()
    var next = first
    while let entry = next, found.own.count < limit {
      next = entry.pointee.ifa_next
      guard entry.pointee.ifa_flags & UInt32(IFF_UP) != 0, let host = host(entry.pointee.ifa_addr) else {
        continue
      }
      found.own.append(HostRange(host: host, bits: 128))
      // The other end of a tunnel has no network in common with this one.
      if entry.pointee.ifa_flags & UInt32(IFF_POINTOPOINT) != 0,
        let other = self.host(entry.pointee.ifa_ifu.ifu_dstaddr)
      {
        found.networks.append(HostRange(host: other, bits: 128))
      }
      if let mask = self.host(entry.pointee.ifa_netmask) {
        let bits =
          host.ipv4 == nil
          ? mask.high.nonzeroBitCount + mask.low.nonzeroBitCount
          : 96 + (mask.ipv4 ?? .max).nonzeroBitCount
        found.networks.append(HostRange(host: host, bits: bits))
      }
    }
    return found
  }

  private static func host(_ address: UnsafeMutablePointer<sockaddr>?) -> Host? {
    guard let address else { return nil }
    var storage = sockaddr_storage()
    let size: Int
    switch Int32(address.pointee.sa_family) {
    case AF_INET: size = MemoryLayout<sockaddr_in>.size
    case AF_INET6: size = MemoryLayout<sockaddr_in6>.size
    default: return nil
    }
    memcpy(&storage, address, size)
    return Endpoint(storage)?.host
  }
}
