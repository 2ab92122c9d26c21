// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// One UDP socket for an OSC conversation with another program, for all parts of tactus except the control
/// surface.
///
/// Every packet passes the same check as the controllers' packets; a malformed packet is dropped.
package struct OSCPort: ~Copyable {
  private let socket: DatagramSocket
  private var buffer: [UInt8]

  package init(bindingTo endpoint: Endpoint) throws(OpenFailure) {
    socket = try DatagramSocket(bindingTo: endpoint)
    // Set the buffer here and not in its declaration. Swift 6.2 would destroy it twice if the line above
    // throws.
    buffer = [UInt8](repeating: 0, count: 65_536)
  }

  package var endpoint: Endpoint { socket.endpoint }

  /// Returns false if the kernel refuses the message.
  @discardableResult
  package func send(_ message: Message, to target: Endpoint) -> Bool {
    socket.send(LibloCodec.encode(message), to: target)
  }

  /// The result of waiting for a datagram.
  package enum Heard {
    case messages([Message], from: Endpoint)
    case nothing
    /// The kernel reports that no program listens at the other end.
    case nobody
  }

  /// The messages that have arrived, from at most `limit` datagrams. The messages of a bundle come one by
  /// one, without the bundle's time.
  package mutating func receive(atMost limit: Int) -> [(message: Message, source: Endpoint)] {
    var found: [(message: Message, source: Endpoint)] = []
    for _ in 0..<limit {
      while socket.nextUnreachable() != nil {}
      switch receive() {
      case .nothing: return found
      case .nobody: continue
      case .messages(let messages, let source): found += messages.map { ($0, source) }
      }
    }
    return found
  }

  /// Waits for the next datagram.
  ///
  /// - Parameter bell: a descriptor that also ends the wait when it becomes readable; -1: none.
  package mutating func receive(withinMilliseconds limit: Int, orAt bell: Int32 = -1) -> Heard {
    var waits = [socket.descriptor, bell].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    guard poll(&waits, nfds_t(waits.count), Int32(clamping: limit)) > 0, waits[0].revents != 0 else {
      return .nothing
    }
    let heard = receive()
    if case .nobody = heard { while socket.nextUnreachable() != nil {} }
    return heard
  }

  private mutating func receive() -> Heard {
    switch buffer.withUnsafeMutableBytes({ [descriptor = socket.descriptor] in
      receiveDatagram(descriptor, into: $0)
    }) {
    case .nothing: return .nothing
    case .failure: return .nobody
    case .datagram(let arrival):
      let messages = buffer.withUnsafeBytes { bytes in
        try? LibloCodec.messages(in: UnsafeRawBufferPointer(rebasing: bytes[..<arrival.count]))
      }
      return .messages(messages ?? [], from: arrival.from)
    }
  }
}
