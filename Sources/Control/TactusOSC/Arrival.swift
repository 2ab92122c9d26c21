// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
package import LinkSystem

/// A datagram that arrived: its length, its sender, and the interface and address at which it came in.
package struct Arrival: Hashable, Sendable {
  /// The length of the datagram, cut to that of the buffer.
  package var count: Int
  package var from: Endpoint
  /// The interface and the address at which the datagram came in; nil: the kernel does not say.
  package var info: PacketInfo?
}

/// Reads the next datagram of a socket. The kernel gives `info` only for a `DatagramSocket`, which requests
/// it.
package func receiveDatagram(
  _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer
) -> DatagramSocket.Received {
  var storage = sockaddr_storage()
  // The packet info takes five of the eight words in this buffer.
  var notes = InlineArray<8, UInt64>(repeating: 0)
  return withUnsafeMutableBytes(of: &storage) { address in
    withUnsafeMutableBytes(of: &notes) { notes in
      var place = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
      return withUnsafeMutablePointer(to: &place) { place in
        var message = msghdr()
        message.msg_name = address.baseAddress
        message.msg_namelen = socklen_t(address.count)
        message.msg_iov = place
        message.msg_iovlen = 1
        message.msg_control = notes.baseAddress
        message.msg_controllen = notes.count
        let count = recvmsg(descriptor, &message, 0)
        guard count >= 0 else { return errno == EAGAIN || errno == EINTR ? .nothing : .failure }
        guard let from = Endpoint(socketAddress: UnsafeRawPointer(address.baseAddress!)) else {
          return .failure
        }
        var arrival = Arrival(count: count, from: from)
        let said = UnsafeRawBufferPointer(rebasing: notes[..<min(notes.count, message.msg_controllen)])
        forEachPacketNote(in: said) { level, kind, value in
          arrival.info = PacketInfo(level, kind, value) ?? arrival.info
        }
        return .datagram(arrival)
      }
    }
  }
}
