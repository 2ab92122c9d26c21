// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import TactusOSC

/// A box around a socket: a socket is not copyable, but an array's elements must be.
final class SocketBox {
  let socket: DatagramSocket
  init(_ endpoint: Endpoint) throws(OpenFailure) { socket = try DatagramSocket(bindingTo: endpoint) }
  init(to target: Endpoint) throws(OpenFailure) { socket = try DatagramSocket(connectingTo: target) }
}

/// The socket that sends to a controller that the user named: the listening socket with the address that the
/// kernel would choose as the source. If we do not listen at that address, the controller gets a connected
/// socket of its own, on which the kernel accepts only that controller's packets.
struct SendRoute {
  let target: Endpoint
  /// `target` with the present index of its network interface.
  private(set) var there: Endpoint
  private(set) var own: SocketBox?
  /// The index of the listening socket that is used; nil: the controller has its own socket.
  private(set) var listener: Int?
  /// Why the controller cannot be reached, in words.
  private(set) var failure: String?
  /// The inputs of the last lookup. Its result is valid as long as these stay the same. nil: look up again.
  private var known: (listening: [Endpoint?], interfaces: [Interface])?

  init(to target: Endpoint) { (self.target, there) = (target, target) }

  /// Call this if a packet could not be sent: the next `poll` looks up the route again.
  mutating func doubt() { known = nil }

  /// Looks up the route again if the networks have changed, because the kernel's choice depends on them.
  /// Returns false if no lookup was needed.
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
  /// Replaces a placeholder scope by the present index of its interface, which may appear only after the
  /// start.
  func present(_ endpoint: Endpoint) throws(OpenFailure) -> Endpoint {
    guard let name = awaited[endpoint.address.scope] else { return endpoint }
    let index = if_nametoindex(name)
    let found = Endpoint(endpoint.address.scoped(index), port: endpoint.port)
    guard index > 0 else { throw OpenFailure(endpoint: found, call: "interface \(name)", code: ENODEV) }
    return found
  }
}
