// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
internal import LinkSession
internal import LinkSystem
internal import LinkWire
import Synchronization

/// The sockets of one local address: a gateway of the `LinkSession` (facts: link 3.7).
final class GatewaySockets: Sendable {
  let id: GatewayID
  let local: LocalAddress
  /// The endpoint that peers send pings to.
  let measurementEndpoint: Endpoint
  /// Whether a send has failed in a way that only new sockets can fix.
  var isBroken: Bool { broken.load(ordering: .relaxed) }
  var failedSends: Int { failures.load(ordering: .relaxed) }
  var sent: Int { sends.load(ordering: .relaxed) }

  private let group: UDPSocket
  private let unicast: UDPSocket
  private let measurement: UDPSocket
  private let broken = Atomic(false)
  private let failures = Atomic(0)
  private let sends = Atomic(0)

  init(_ local: LocalAddress, id: GatewayID) throws(SystemFailure) {
    self.id = id
    self.local = local
    group = try .listening(on: local)
    unicast = try .sending(from: local)
    measurement = try .sending(from: local)
    measurementEndpoint = try measurement.localEndpoint()
  }

  var description: Gateway {
    Gateway(id: id, address: local.address, measurement: measurementEndpoint)
  }

  /// The descriptors of the sockets, in the order of `channel(at:)`. The measurement socket comes first,
  /// because each microsecond that a ping or pong waits is an error.
  var descriptors: [Int32] { [measurement.descriptor, unicast.descriptor, group.descriptor] }

  static let socketCount = 3

  static func channel(at index: Int) -> Channel { index == 0 ? .measurement : .discovery }

  /// The next datagram of the socket at `index` in `descriptors`.
  func receive(
    fromSocket index: Int, into buffer: UnsafeMutableRawBufferPointer
  ) -> UDPSocket.Arrival? {
    let arrival =
      switch index {
      case 0: measurement.receive(into: buffer)
      case 1: unicast.receive(into: buffer)
      default: group.receive(into: buffer)
      }
    guard var arrival else { return nil }
    if arrival.interface == 0 { arrival.interface = local.interface }
    return arrival
  }

  /// Alives and ByeByes leave by the unicast socket, so that Responses come back to it.
  func send(_ packet: Packet, to destination: LinkSession.Destination, via channel: Channel) {
    let endpoint =
      switch destination {
      case .group: Endpoint.discoveryGroup(for: local.address)
      case .endpoint(let endpoint): scoped(endpoint)
      }
    let code =
      switch channel {
      case .discovery: unicast.send(packet, to: endpoint)
      case .measurement: measurement.send(packet, to: endpoint)
      }
    guard code != 0 else {
      sends.add(1, ordering: .relaxed)
      return
    }
    failures.add(1, ordering: .relaxed)
    switch code {
    case ENODEV, ENXIO, EADDRNOTAVAIL, ENETDOWN, EBADF: broken.store(true, ordering: .relaxed)
    // An unreachable peer, a firewall or a full queue needs no new socket.
    default: break
    }
  }

  /// Forgets failures from the time when the address was missing.
  func forgive() { broken.store(false, ordering: .relaxed) }

  /// Peers send link-local endpoints without a scope. This adds the scope of the gateway's interface.
  private func scoped(_ endpoint: Endpoint) -> Endpoint {
    guard endpoint.address.isIPv6, endpoint.address.scope == 0 else { return endpoint }
    return Endpoint(endpoint.address.scoped(local.interface), port: endpoint.port)
  }
}
