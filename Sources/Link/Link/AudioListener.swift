// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkAddresses
package import LinkBeatMath
package import LinkSession
package import LinkSystem
package import LinkWire

/// Receives for Link Audio what Link knows about the network. Link Audio runs beside a `Link`, with its own
/// sockets and thread.
///
/// Any thread that works on the session may call these functions, with Link's lock held. So they must be
/// short and must not call Link.
package protocol AudioListener: AnyObject, Sendable {
  /// Receives all current gateways, and the networks whose datagrams are accepted there.
  func receive(_ gateways: [AudioGateway], _ neighbours: Neighbourhood)
  /// Receives the node id of this program and the id of its session.
  func receive(node: NodeID, session: SessionID)
  /// Receives an announcement of a peer's audio socket, on a gateway for which `Link.setAudioSocket` has set
  /// our endpoint.
  func receive(_ sighting: AudioSighting)
}

/// A local address on which Link has a gateway.
package struct AudioGateway: Hashable, Sendable {
  package let id: GatewayID
  let local: LocalAddress

  package var address: Address { local.address }
}

/// The socket of a gateway for Link Audio: bound to its address, with its own port (facts: link-audio 3).
package final class AudioSocket: Sendable {
  package let endpoint: Endpoint
  private let interface: UInt32
  private let socket: UDPSocket

  package init(_ gateway: AudioGateway) throws(SystemFailure) {
    interface = gateway.local.interface
    socket = try .forAudio(on: gateway.local)
    endpoint = try socket.localEndpoint()
  }

  /// The descriptor to poll.
  package var descriptor: Int32 { socket.descriptor }

  /// The next datagram: its size, its sender, the interface it came through, and how long it had waited.
  /// Returns nil if no datagram is waiting.
  package func receive(
    into buffer: UnsafeMutableRawBufferPointer
  ) -> (count: Int, from: Endpoint, interface: UInt32, waited: Micros)? {
    guard let arrival = socket.receive(into: buffer) else { return nil }
    let interface = arrival.interface == 0 ? interface : arrival.interface
    return (arrival.count, arrival.from, interface, arrival.waited)
  }

  /// Returns whether the system accepted the datagram.
  package func send(_ bytes: UnsafeRawBufferPointer, to endpoint: Endpoint) -> Bool {
    socket.send(bytes, to: endpoint) == 0
  }
}
