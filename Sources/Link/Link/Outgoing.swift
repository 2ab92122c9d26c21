// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkAddresses
internal import LinkSession
internal import LinkWire

/// A datagram that waits until the engine's lock is released. Its socket stays open at least as long.
enum Outgoing: Sendable {
  case near(Packet, to: LinkSession.Destination, via: Channel, on: GatewaySockets)
  /// A datagram to another room. `own`: the local address from which it is sent.
  case far([UInt8], to: Endpoint, own: Address?, by: FarSocket)
  /// This value comes after the last datagram of a socket. The socket closes when the value is released.
  case closed(any AnyObject & Sendable)

  /// Sends the datagram. Returns its destination if the datagram could not be sent from the local address
  /// `own`.
  func leave() -> Endpoint? {
    switch self {
    case .near(let packet, let destination, let channel, let gateway):
      gateway.send(packet, to: destination, via: channel)
      return nil
    case .far(let bytes, let endpoint, let own, let socket):
      return bytes.withUnsafeBytes { socket.send($0, to: endpoint, from: own) } ? nil : endpoint
    case .closed: return nil
    }
  }
}

/// A source of datagrams.
enum Inlet: Sendable {
  /// A socket of a gateway: the one at index `socket` in the gateway's `descriptors`.
  case near(GatewaySockets, socket: Int)
  case far(FarSocket)
  /// A descriptor that only wakes the network thread: names of other rooms were resolved.
  case names(Int32)

  var descriptor: Int32 {
    switch self {
    case .near(let gateway, let socket): gateway.descriptors[socket]
    case .far(let socket): socket.descriptor
    case .names(let descriptor): descriptor
    }
  }

  /// The next datagram; nil if there is none now.
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> UDPSocket.Arrival? {
    switch self {
    case .near(let gateway, let socket): gateway.receive(fromSocket: socket, into: buffer)
    case .far(let socket): socket.receive(into: buffer)
    case .names: nil
    }
  }
}
