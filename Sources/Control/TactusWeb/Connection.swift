// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkBeatMath

/// One TCP connection, from accept to close.
final class Connection {
  enum Listener: Sendable {
    case page, query
  }

  let number: Int
  let descriptor: Int32
  let endpoint: Endpoint
  /// Our own address, by which the client has reached us.
  let reached: Endpoint
  let listener: Listener
  /// When the present state began: waiting for a request, answering, or idle.
  private(set) var since: Micros
  private(set) var isAnswered = true
  private(set) var hasAsked = false
  /// The WebSocket, if the connection has become one.
  var socket: WebSocket?
  /// When the WebSocket was last read.
  var heard = Micros.zero
  /// The secret whose code was in the address of the WebSocket's request.
  var shown: Secret?
  /// Whether the connection was shut down and waits for the library to close it.
  private(set) var isEnding = false

  init(
    _ number: Int, _ descriptor: Int32, from endpoint: Endpoint, at reached: Endpoint, _ listener: Listener,
    now: Micros
  ) {
    self.number = number
    self.descriptor = descriptor
    self.endpoint = endpoint
    self.reached = reached
    self.listener = listener
    since = now
  }

  /// The level of trust whose budget pays for the connection's messages.
  var trust: Trust { socket?.peer.isPairedBrowser == true ? .trusted : .stranger }

  /// The address whose budget pays for the connection: all local addresses count as one.
  var host: Address { Self.host(of: endpoint) }

  static func host(of endpoint: Endpoint) -> Address {
    endpoint.address.isLoopback ? .loopback : endpoint.address
  }

  /// Call this when a complete request has arrived.
  func asks(at now: Micros) {
    hasAsked = true
    isAnswered = false
    since = now
  }

  /// Call this when the answer has been sent.
  func rests(at now: Micros) {
    isAnswered = true
    since = now
  }

  /// The deadline of the present state. It does not move if the client sends a single byte now and
  /// then.
  var deadline: Micros {
    if let socket { return socket.deadline }
    return since
      + Micros(Int64(isAnswered ? (hasAsked ? WebLimits.idle : WebLimits.firstWord) : WebLimits.answer))
  }

  /// The priority when connections have to close; the lowest closes first. 0: never sent a request; 1: idle
  /// for a while after an answer; 2: WebSocket; 3: loading a page. A browser loads a page with half a dozen
  /// connections that send request after request. With a lower priority, each of them would displace the one
  /// before.
  func claim(at now: Micros) -> Int {
    if socket != nil { return 2 }
    if hasAsked, !isAnswered { return 3 }
    return now - since < WebLimits.grace ? 3 : hasAsked ? 1 : 0
  }

  /// Shuts the connection down; the library then closes it.
  func end() {
    guard !isEnding else { return }
    isEnding = true
    shutdown(descriptor, Int32(SHUT_RDWR))
  }
}

/// All connections; chooses the connection to close when there are too many.
struct ConnectionPool {
  private(set) var visitors: [Int: Connection] = [:]
  private var counted = 0

  mutating func nextNumber() -> Int {
    counted += 1
    return counted
  }

  mutating func add(_ visitor: Connection) { visitors[visitor.number] = visitor }
  mutating func remove(_ number: Int) { visitors[number] = nil }

  /// Whether another connection may be accepted. Connections that were shut down are not closed at once, and
  /// count until they are.
  var takesMore: Bool { visitors.count < WebLimits.connections + WebLimits.leaving }

  private var present: [Connection] { visitors.values.filter { !$0.isEnding } }

  /// Makes room for a new connection by closing the one with the lowest priority. If the newcomer's address
  /// has its maximum already, one of that address is closed. WebSockets of paired browsers stay open. Returns
  /// false if there is no room.
  ///
  /// An attacker with some addresses could fill all places, and come back whenever one of its connections is
  /// closed. So addresses with more connections than one browser needs lose theirs first, beginning with the
  /// address with the most. A phone that comes to pair keeps its few connections.
  func makeRoom(for host: Address, at now: Micros) -> Bool {
    let own = present.filter { $0.endpoint.address == host }
    let isOwnFull = own.count >= WebLimits.ofOneHost
    guard isOwnFull || present.count >= WebLimits.connections else { return true }
    let crowd = (isOwnFull ? own : present).filter { $0.socket?.peer.isPairedBrowser != true }
    var more: [Address: Int] = [:]
    for one in crowd { more[one.endpoint.address, default: -WebLimits.ofOneBrowser] += 1 }
    func rank(_ one: Connection) -> (isSilent: Int, fewer: Int, claim: Int, since: Micros) {
      let claim = one.claim(at: now)
      return (min(claim, 1), -max(0, more[one.endpoint.address] ?? 0), claim, one.since)
    }
    guard let least = crowd.min(by: { rank($0) < rank($1) }) else { return false }
    least.end()
    return true
  }

  /// The earliest deadline of all connections; nil: there are no connections.
  var deadline: Micros? { present.map(\.deadline).min() }

  /// The connections whose deadline has passed.
  func late(at now: Micros) -> [Connection] { present.filter { $0.deadline <= now } }
}
