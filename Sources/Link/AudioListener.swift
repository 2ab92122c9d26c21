// SPDX-License-Identifier: GPL-2.0-or-later
package import Addresses
package import LinkSession
package import LinkWire
package import Linux

/// Who takes part in Link Audio, with sockets and a thread of its own, beside a `Link`: what Link knows of the network.
///
/// Each call comes from whichever thread works on the session, with Link's lock held: it must be short and must not call Link.
package protocol AudioListener: AnyObject, Sendable {
  /// All gateways that there are now, and the senders that may be heard at them.
  func hear(_ gateways: [AudioGateway], _ neighbours: Neighbourhood)
  /// Under which id and in which session we are.
  func hear(node: NodeID, session: SessionID)
  /// Of gateways for which `Link.setAudioSocket` said where the socket is.
  func hear(_ sighting: AudioSighting)
}

/// A local address that Link has a gateway on.
package struct AudioGateway: Hashable, Sendable {
  package let id: GatewayID
  let local: LocalAddress

  package var address: Address { local.address }
}

/// The socket of one gateway for Link Audio: bound to its address, with a port of its own (facts: link-audio 3).
package final class AudioSocket: Sendable {
  package let endpoint: Endpoint
  private let interface: UInt32
  private let socket: UDPSocket

  package init(_ gateway: AudioGateway) throws(SystemFailure) {
    interface = gateway.local.interface
    socket = try .forAudio(on: gateway.local)
    endpoint = try socket.localEndpoint()
  }

  /// To be waited on.
  package var descriptor: Int32 { socket.descriptor }

  /// The next datagram: its size, its sender, the interface that it came by, and the time that it had lain
  /// here; nil if there is none now.
  package func receive(
    into buffer: UnsafeMutableRawBufferPointer
  ) -> (count: Int, from: Endpoint, interface: UInt32, waited: Micros)? {
    guard let arrival = socket.receive(into: buffer) else { return nil }
    let interface = arrival.interface == 0 ? interface : arrival.interface
    return (arrival.count, arrival.from, interface, arrival.waited)
  }

  /// Whether the system took it.
  package func send(_ bytes: UnsafeRawBufferPointer, to endpoint: Endpoint) -> Bool {
    socket.send(bytes, to: endpoint) == 0
  }
}
