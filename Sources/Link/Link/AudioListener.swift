// SPDX-License-Identifier: GPL-2.0-or-later
package import BeatMath
package import LinkAddresses
package import LinkSession
package import LinkSystem
package import LinkWire

/// The receiver of Link's knowledge of the network, for Link Audio, which runs beside a `Link` with its own
/// sockets and thread.
///
/// Any thread that works on the session may call it, with Link's lock held. So its functions must be short
/// and must not call Link.
package protocol AudioListener: AnyObject, Sendable {
  /// All current gateways, and the networks whose senders may be heard on them.
  func hear(_ gateways: [AudioGateway], _ neighbours: Neighbourhood)
  /// Our id and our session.
  func hear(node: NodeID, session: SessionID)
  /// A peer's sighting, on a gateway for which `Link.setAudioSocket` gave our endpoint.
  func hear(_ sighting: AudioSighting)
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

  /// The next datagram: its size, its sender, the interface it came through, and how long it had waited; nil
  /// if there is none now.
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
