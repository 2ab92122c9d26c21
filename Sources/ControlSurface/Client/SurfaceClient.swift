// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import OSC

/// The other side of the surface, for programs on the same machine: says messages to one surface and hears what it
/// answers. One thread at a time.
public struct SurfaceClient: ~Copyable {
  private let socket: DatagramSocket
  private let target: Endpoint
  private var buffer = [UInt8](repeating: 0, count: 65_536)

  public enum Heard: Sendable {
    /// Of one datagram, in their order.
    case messages([Message])
    case nothing
    /// The kernel says that nobody listens there.
    case nobody
  }

  /// - Parameter port: of a surface on this machine's loopback address.
  public init(port: UInt16) throws(OpenFailure) {
    target = Endpoint(.loopback, port: port)
    socket = try DatagramSocket(bindingTo: Endpoint(.loopback, port: 0))
  }

  /// False if nobody listens there, as far as that can be seen.
  @discardableResult
  public func send(_ message: Message) -> Bool { socket.send(LibloCodec.encode(message), to: target) }

  public mutating func hear(withinMilliseconds limit: Int) -> Heard {
    var wait = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&wait, 1, Int32(clamping: limit)) > 0 else { return .nothing }
    let target = self.target
    let descriptor = socket.descriptor
    let received = buffer.withUnsafeMutableBytes { bytes -> Heard in
      switch receiveDatagram(descriptor, into: bytes) {
      case .datagram(let count, let source) where source == target:
        let packet = UnsafeRawBufferPointer(rebasing: bytes[..<count])
        return (try? LibloCodec.messages(in: packet)).map { .messages($0) } ?? .nothing
      case .datagram, .nothing: return .nothing
      case .failure: return .nobody
      }
    }
    if case .nobody = received { while socket.nextUnreachable() != nil {} }
    return received
  }
}
