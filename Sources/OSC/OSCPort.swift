// SPDX-License-Identifier: GPL-2.0-or-later

/// One UDP socket for a conversation in OSC with another program, for the parts of tactus that are no surface.
///
/// What arrives went through the same check, byte by byte, as what controllers send; what fails it is counted. It
/// never blocks.
package struct OSCPort: ~Copyable {
  private let socket: DatagramSocket
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  package private(set) var malformedCount = 0

  package init(bindingTo endpoint: Endpoint) throws(OpenFailure) {
    socket = try DatagramSocket(bindingTo: endpoint)
  }

  package var endpoint: Endpoint { socket.endpoint }

  /// False if the kernel would not take it.
  @discardableResult
  package func send(_ message: Message, to target: Endpoint) -> Bool {
    socket.send(LibloCodec.encode(message), to: target)
  }

  /// What has come, at most `limit` datagrams; a bundle's messages one by one, whatever its time.
  package mutating func receive(atMost limit: Int) -> [(message: Message, source: Endpoint)] {
    var found: [(message: Message, source: Endpoint)] = []
    for _ in 0..<limit {
      while socket.nextUnreachable() != nil {}
      let received = buffer.withUnsafeMutableBytes { socket.receive(into: $0) }
      switch received {
      case .nothing: return found
      case .failure: continue
      case .datagram(let count, from: let source):
        let messages = buffer.withUnsafeBytes { bytes in
          try? LibloCodec.messages(in: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
        guard let messages else {
          malformedCount += 1
          continue
        }
        for message in messages { found.append((message, source)) }
      }
    }
    return found
  }
}
