// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
import Glibc
import OSC

/// A socket may not be copied, an array's element must be.
final class SocketBox {
  let socket: DatagramSocket
  init(_ endpoint: Endpoint) throws(OpenFailure) { socket = try DatagramSocket(bindingTo: endpoint) }
  init(to target: Endpoint) throws(OpenFailure) { socket = try DatagramSocket(connectingTo: target) }
}

/// From where a controller that was named is told: from the listening socket with the address that the kernel chooses for
/// it, or, if we listen at none such, from a socket of its own. That is connected: the kernel lets in nobody else by it.
struct Way {
  let target: Endpoint
  /// The same with the interface as it is now.
  private(set) var there: Endpoint
  private(set) var own: SocketBox?
  /// The number of a listening socket.
  private(set) var listener: Int?
  /// In words.
  private(set) var failure: String?
  /// With what it was looked for the last time; nil: it is to be looked for again.
  private var known: (listening: [Endpoint?], interfaces: [Interface])?

  init(to target: Endpoint) { (self.target, there) = (target, target) }

  /// What was sent did not leave.
  mutating func doubt() { known = nil }

  /// Networks come and go, and the kernel's choice with them; while they stay it needs no look. False: it needed none.
  @discardableResult
  mutating func look(listening: [Endpoint?], interfaces: [Interface], _ settings: SurfaceSettings) -> Bool {
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
  /// As it is at this moment: an interface that was named may come later.
  func present(_ endpoint: Endpoint) throws(OpenFailure) -> Endpoint {
    guard let name = awaited[endpoint.address.scope] else { return endpoint }
    let index = if_nametoindex(name)
    let found = Endpoint(endpoint.address.scoped(index), port: endpoint.port)
    guard index > 0 else { throw OpenFailure(endpoint: found, call: "interface \(name)", code: ENODEV) }
    return found
  }
}
