// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import TactusOSC

/// A box around a socket: sockets are not copyable, but elements of an array must be.
final class SocketBox {
  let socket: DatagramSocket
  init(_ endpoint: Endpoint) throws(OpenFailure) { socket = try DatagramSocket(bindingTo: endpoint) }
  init(to target: Endpoint) throws(OpenFailure) { socket = try DatagramSocket(connectingTo: target) }
}

/// The socket that sends to a named controller: the listening socket whose address the kernel would choose as
/// the source. If we do not listen there, the controller gets a socket of its own, which is connected, so
/// that the kernel accepts only this controller's packets.
struct SendRoute {
  let target: Endpoint
  /// `target` with the index that its interface has now.
  private(set) var there: Endpoint
  private(set) var own: SocketBox?
  /// Index of the listening socket that is used.
  private(set) var listener: Int?
  /// Why the controller cannot be reached, in words.
  private(set) var failure: String?
  /// Inputs of the last lookup. nil: look again.
  private var known: (listening: [Endpoint?], interfaces: [Interface])?

  init(to target: Endpoint) { (self.target, there) = (target, target) }

  /// Call this if a packet could not be sent: the route is looked up again.
  mutating func doubt() { known = nil }

  /// Looks up the route again if the networks have changed, for the kernel's choice changes with them.
  /// Returns false if nothing had to be done.
  @discardableResult
  mutating func poll(listening: [Endpoint?], interfaces: [Interface], _ settings: SurfaceSettings) -> Bool {
    if failure == nil, let known, known == (listening, interfaces) { return false }
    known = (listening, interfaces)
    do throws(OpenFailure) {
      there = try settings.present(target)
      let fresh = try SocketBox(to: there)
      let source = fresh.socket.endpoint.address
      listener = listening.firstIndex { endpoint in
        guard let address = endpoint?.address else { return false }
        return address == source || (address.isEvery && address.isIPv6 == source.isIPv6)
      }
      if listener != nil { own = nil } else if own?.socket.endpoint.address != source { own = fresh }
      failure = nil
    } catch {
      (own, listener) = (nil, nil)
      failure = "no OSC can be sent to \(error.endpoint): \(error.reason)"
    }
    return true
  }
}

extension SurfaceSettings {
  /// Replaces a placeholder scope by the present index of the interface, which may appear after the start.
  func present(_ endpoint: Endpoint) throws(OpenFailure) -> Endpoint {
    guard let name = awaited[endpoint.address.scope] else { return endpoint }
    let index = if_nametoindex(name)
    let found = Endpoint(endpoint.address.scoped(index), port: endpoint.port)
    guard index > 0 else { throw OpenFailure(endpoint: found, call: "interface \(name)", code: ENODEV) }
    return found
  }
}
