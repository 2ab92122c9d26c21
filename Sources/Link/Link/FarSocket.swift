// SPDX-License-Identifier: GPL-2.0-or-later
internal import FarLink
internal import LinkAddresses
internal import LinkSystem

/// The socket for the datagrams of all other rooms, of one address family.
final class FarSocket: Sendable {
  let isIPv6: Bool
  private let socket: UDPSocket

  private init(_ family: Address, port: UInt16) throws(SystemFailure) {
    isIPv6 = family.isIPv6
    socket = try .anywhere(Endpoint(family, port: port))
  }

  /// Opens a socket for IPv4, and one for IPv6 if the system supports IPv6.
  static func both(port: UInt16) throws(SystemFailure) -> [FarSocket] {
    let first = try FarSocket(.v4(0), port: port)
    let second = try? FarSocket(.v6(high: 0, low: 0, scope: 0), port: port)
    return [first] + (second.map { [$0] } ?? [])
  }

  /// The descriptor to poll.
  var descriptor: Int32 { socket.descriptor }

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> UDPSocket.Arrival? {
    socket.receive(into: buffer)
  }

  /// Sends a datagram. A datagram that the system refuses is lost, as on any network. Returns false if no
  /// datagram can be sent from `own`; that address may be gone.
  func send(_ bytes: UnsafeRawBufferPointer, to endpoint: Endpoint, from own: Address?) -> Bool {
    if let own, socket.send(bytes, to: endpoint, from: own) == 0 { return true }
    return socket.send(bytes, to: endpoint) == 0 && own == nil
  }
}

/// The local address at which each calling room reaches us; replies leave from that address. The system would
/// choose an address by itself, and a caller's router lets nothing in from an address that the caller did not
/// call.
///
/// Rooms that we call have no entry: if our route to them changes, the system chooses the better address.
struct FarWays: Sendable {
  private var ways: [(caller: Endpoint, own: Address)] = []

  func own(for caller: Endpoint) -> Address? { ways.first { $0.caller == caller }?.own }

  mutating func note(_ caller: Endpoint, _ own: Address) {
    forget(caller)
    if ways.count == FarLimits.lines { ways.removeFirst() }
    ways.append((caller, own))
  }

  mutating func forget(_ caller: Endpoint) { ways.removeAll { $0.caller == caller } }

  mutating func forgetAll() { ways.removeAll() }
}
