// SPDX-License-Identifier: GPL-2.0-or-later
internal import Addresses
internal import FarLink
internal import Linux

/// A socket for all rooms, of one family.
final class FarSocket: Sendable {
  let isIPv6: Bool
  private let socket: UDPSocket

  private init(_ family: Address, port: UInt16) throws(SystemFailure) {
    isIPv6 = family.isIPv6
    socket = try .anywhere(Endpoint(family, port: port))
  }

  /// IPv4, and IPv6 where there is such a thing.
  static func both(port: UInt16) throws(SystemFailure) -> [FarSocket] {
    let first = try FarSocket(.v4(0), port: port)
    let second = try? FarSocket(.v6(high: 0, low: 0, scope: 0), port: port)
    return [first] + (second.map { [$0] } ?? [])
  }

  /// To be waited on.
  var descriptor: Int32 { socket.descriptor }

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> UDPSocket.Arrival? {
    socket.receive(into: buffer)
  }

  /// What does not get away is lost, as on any wire. False: not from this address of ours, which may be gone.
  func send(_ bytes: UnsafeRawBufferPointer, to endpoint: Endpoint, from own: Address?) -> Bool {
    if let own, socket.send(bytes, to: endpoint, from: own) == 0 { return true }
    return socket.send(bytes, to: endpoint) == 0 && own == nil
  }
}

/// By which address of ours those that call us reach us: what goes to them leaves from there. The system would take the one that it likes best, and
/// the router of who called another one lets nothing in from that.
///
/// Whom we call is none of these: where our own way there leads may change, and then the system knows better.
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
