// SPDX-License-Identifier: GPL-2.0-or-later
internal import Addresses
internal import LinkSession
internal import LinkWire

/// A datagram that is made and not sent yet: it leaves when nobody has to wait for the engine any more. Its socket stays open until then,
/// and longer if somebody else has it.
enum Outgoing: Sendable {
  case near(Packet, to: LinkSession.Destination, via: Channel, on: GatewaySockets)
  /// `own`: the address of ours that it is to come from.
  case far([UInt8], to: Endpoint, own: Address?, by: FarSocket)
  /// Nothing more through this: it closes when this value goes.
  case closed(any AnyObject & Sendable)

  /// Nil, or to whom there was no way from that address of ours.
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

/// Where datagrams come in.
enum Inlet: Sendable {
  /// The socket with that number in the gateway's `descriptors`.
  case near(GatewaySockets, socket: Int)
  case far(FarSocket)
  /// Only to be woken by: the names of other rooms are found.
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
