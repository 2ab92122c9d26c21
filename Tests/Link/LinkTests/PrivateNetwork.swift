// SPDX-License-Identifier: GPL-2.0-or-later
import LinkWire
import TactusTestSupport

@testable import Link

extension PrivateNetwork {
  /// Creates a peer on this network.
  func link(tempo: Double) throws -> Link {
    try perform { Link(tempo: tempo) }
  }

  /// The ports of this network's UDP sockets at an IPv4 address.
  func ports(of address: Address) throws -> [UInt16] {
    let table = try perform { try ChildProcess.run(["cat", "/proc/thread-self/net/udp"]) }
    let local = table.output.split(separator: "\n").compactMap { $0.split(separator: " ").dropFirst().first }
    // The kernel prints the four bytes of an address as one number in this machine's byte order.
    let key = String(address.v4Bits.bigEndian, radix: 16, uppercase: true)
    let padded = String(repeating: "0", count: 8 - key.count) + key + ":"
    return local.filter { $0.hasPrefix(padded) }.compactMap { UInt16($0.dropFirst(9), radix: 16) }
  }
}

/// Enables all peers and waits until each sees all others.
func connected(_ links: Link...) -> Bool {
  for link in links { link.isEnabled = true }
  return eventually { links.allSatisfy { $0.peerCount == links.count - 1 } }
}
