// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
package import LinkAddresses

extension Interface {
  /// The interfaces that are up; nil if the system call failed. [any thread but the audio thread]
  package static func up() -> [Interface]? {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return nil }
    defer { freeifaddrs(first) }
    var found: [Interface] = []
    var places: [UInt32: Int] = [:]
    var next = first
    while let entry = next?.pointee {
      next = entry.ifa_next
      guard entry.ifa_flags & UInt32(IFF_UP) != 0, let name = entry.ifa_name, let address = entry.ifa_addr
      else { continue }
      let index = if_nametoindex(name)
      guard index != 0 else { continue }
      let place = places[index] ?? found.count
      if place == found.count {
        places[index] = place
        found.append(Interface(index: index, name: String(cString: name)))
      }
      found[place].isRunning = entry.ifa_flags & UInt32(IFF_RUNNING) != 0
      found[place].isLoopback = entry.ifa_flags & UInt32(IFF_LOOPBACK) != 0
      found[place].hasMulticast = entry.ifa_flags & UInt32(IFF_MULTICAST) != 0
      found[place].learn(entry, UnsafeRawPointer(address))
    }
    return found
  }

  private mutating func learn(_ entry: ifaddrs, _ socketAddress: UnsafeRawPointer) {
    if Int32(socketAddress.loadUnaligned(as: sa_family_t.self)) == AF_PACKET {
      // In struct sockaddr_ll, byte 11 is the length of the hardware address and byte 12 its first byte. The
      // second bit of that byte marks an invented address.
      let bytes = UnsafeRawBufferPointer(start: socketAddress, count: 18)
      isMakers = bytes[11] == 6 && bytes[12] & 2 == 0 && bytes[12..<18].contains { $0 != 0 }
      return
    }
    guard let own = Endpoint(socketAddress: socketAddress)?.address else { return }
    addresses.append(own)
    if let mask = Self.address(entry.ifa_netmask), own.isIPv6 || mask != .v4(.max),
      let network = AddressRange(own, bits: mask.oneBits)
    {
      networks.append(network)
    }
    // The address is that of the other end of a cable or tunnel; some systems give our own address instead.
    if entry.ifa_flags & UInt32(IFF_POINTOPOINT) != 0, let other = Self.address(entry.ifa_ifu.ifu_dstaddr),
      other != own
    {
      networks.append(AddressRange(other))
    }
  }

  private static func address(_ socketAddress: UnsafeMutablePointer<sockaddr>?) -> Address? {
    socketAddress.flatMap { Endpoint(socketAddress: UnsafeRawPointer($0)) }?.address
  }
}

extension Address {
  /// The length of a network mask.
  fileprivate var oneBits: Int {
    switch self {
    case .v4(let bits): bits.nonzeroBitCount
    case .v6(let high, let low, _): high.nonzeroBitCount + low.nonzeroBitCount
    }
  }
}
