// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
package import LinkAddresses

/// Calls `body` for each control message (cmsg) of a datagram, with its level and kind. This function is
/// needed because C's macro `CMSG_NXTHDR` does not exist in Swift.
package func forEachPacketNote(
  in notes: UnsafeRawBufferPointer, _ body: (_ level: Int32, _ kind: Int32, UnsafeRawBufferPointer) -> Void
) {
  let word = MemoryLayout<Int>.size
  var place = 0
  while place + word + 8 < notes.count {
    let length = notes.loadUnaligned(fromByteOffset: place, as: Int.self)
    guard length > word + 8, length <= notes.count - place else { return }
    let level = notes.loadUnaligned(fromByteOffset: place + word, as: Int32.self)
    let kind = notes.loadUnaligned(fromByteOffset: place + word + 4, as: Int32.self)
    body(level, kind, UnsafeRawBufferPointer(rebasing: notes[(place + word + 8)..<(place + length)]))
    place += (length + word - 1) / word * word
  }
}

/// The interface that a datagram came through, and its local destination address (`IP_PKTINFO`,
/// `IPV6_RECVPKTINFO`).
package struct PacketInfo: Hashable, Sendable {
  package let interface: UInt32
  package let to: Address

  /// Reads a control message. Returns nil if it is of another kind.
  package init?(_ level: Int32, _ kind: Int32, _ value: UnsafeRawBufferPointer) {
    if level == Int32(IPPROTO_IP), kind == IP_PKTINFO, value.count >= MemoryLayout<in_pktinfo>.size {
      let info = value.loadUnaligned(as: in_pktinfo.self)
      interface = UInt32(bitPattern: info.ipi_ifindex)
      to = .v4(UInt32(bigEndian: info.ipi_spec_dst.s_addr))
    } else if level == Int32(IPPROTO_IPV6), kind == IPV6_PKTINFO, value.count >= 20 {
      let high = UInt64(bigEndian: value.loadUnaligned(as: UInt64.self))
      let low = UInt64(bigEndian: value.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      interface = value.loadUnaligned(fromByteOffset: 16, as: UInt32.self)
      // The scope of a link-local address is its interface.
      to = .v6(high: high, low: low, scope: high >> 54 == 0xfe80 >> 6 ? interface : 0)
    } else {
      return nil
    }
  }
}

/// A control message for sending: the local address that a datagram is to leave from.
package struct SourceNote {
  private var length: Int
  private var level: Int32
  private var kind: Int32
  private var bytes = InlineArray<24, UInt8>(repeating: 0)

  package static func size(_ own: Address) -> Int { own.isIPv6 ? 40 : 32 }

  package init(_ own: Address) {
    // In the kernel's structures an IPv4 address comes after the interface, an IPv6 address before it. For
    // IPv4 we leave the interface out, because the kernel finds it.
    switch own {
    case .v4(let bits):
      (length, level, kind) = (28, Int32(IPPROTO_IP), Int32(IP_PKTINFO))
      store(bits.bigEndian, at: 4)
    case .v6(let high, let low, let scope):
      (length, level, kind) = (36, Int32(IPPROTO_IPV6), IPV6_PKTINFO)
      store(high.bigEndian, at: 0)
      store(low.bigEndian, at: 8)
      store(scope, at: 16)
    }
  }

  private mutating func store<Value: BitwiseCopyable>(_ value: Value, at place: Int) {
    withUnsafeMutableBytes(of: &bytes) { $0.storeBytes(of: value, toByteOffset: place, as: Value.self) }
  }
}
