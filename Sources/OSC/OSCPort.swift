// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// One UDP socket for a conversation in OSC with another program, for the parts of tactus that are no surface.
///
/// What arrives went through the same check, byte by byte, as what controllers send; what fails it is dropped. It
/// never blocks.
package struct OSCPort: ~Copyable {
  private let socket: DatagramSocket
  private var buffer: [UInt8]

  package init(bindingTo endpoint: Endpoint) throws(OpenFailure) {
    socket = try DatagramSocket(bindingTo: endpoint)
    // Not where it is declared: Swift 6.2 would then destroy it twice if the line above throws.
    buffer = [UInt8](repeating: 0, count: 65_536)
  }

  package var endpoint: Endpoint { socket.endpoint }

  /// False if the kernel would not take it.
  @discardableResult
  package func send(_ message: Message, to target: Endpoint) -> Bool {
    socket.send(LibloCodec.encode(message), to: target)
  }

  /// What one datagram brought.
  package enum Heard {
    case messages([Message], from: Endpoint)
    case nothing
    /// The kernel says that nobody listens at the other end.
    case nobody
  }

  /// What has come, at most `limit` datagrams; a bundle's messages one by one, whatever its time.
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

  /// The next datagram; waits for it.
  ///
  /// - Parameter bell: whose sound ends the wait, too. -1: nobody's.
  package mutating func hear(withinMilliseconds limit: Int, orAt bell: Int32 = -1) -> Heard {
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
