// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc
import LinkAddresses

/// One TCP connection, from accept to close.
final class Connection {
  enum Listener: Sendable {
    case page, query
  }

  let number: Int
  let descriptor: Int32
  let endpoint: Endpoint
  /// Our own address, as the client reached it.
  let reached: Endpoint
  let listener: Listener
  /// Start of the present state: waiting for a request, answering, or idle.
  private(set) var since: Micros
  private(set) var isAnswered = true
  private(set) var hasAsked = false
  /// The socket, once the connection speaks WebSocket.
  var socket: WebSocket?
  /// Time of the last read from its socket.
  var heard = Micros.zero
  /// The secret whose code was in its socket's address.
  var shown: Secret?
  /// The connection was shut down and waits for the library to close it.
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

  /// The level of trust that pays for its messages.
  var trust: Trust { socket?.peer.isPairedBrowser == true ? .trusted : .stranger }

  /// The address that pays: all local addresses count as one.
  var host: Address { Self.host(of: endpoint) }

  static func host(of endpoint: Endpoint) -> Address {
    endpoint.address.isLoopback ? .loopback : endpoint.address
  }

  /// A complete request has come.
  func asks(at now: Micros) {
    hasAsked = true
    isAnswered = false
    since = now
  }

  /// The answer has been sent.
  func rests(at now: Micros) {
    isAnswered = true
    since = now
  }

  /// The time at which the connection is too slow, whether it sends a byte now and then or nothing.
  var deadline: Micros {
    if let socket { return socket.deadline }
    return since
      + Micros(Int64(isAnswered ? (hasAsked ? WebLimits.idle : WebLimits.firstWord) : WebLimits.answer))
  }

  /// Eviction priority: 0 silent, 1 answered a while ago, 2 WebSocket, 3 loading a page. A browser loads a
  /// page with half a dozen connections that ask again and again; with a lower priority each would evict the
  /// one before.
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

/// All connections, and the choice of one to close when there are too many.
struct ConnectionPool {
  private(set) var visitors: [Int: Connection] = [:]
  private var counted = 0

  mutating func nextNumber() -> Int {
    counted += 1
    return counted
  }

  mutating func add(_ visitor: Connection) { visitors[visitor.number] = visitor }
  mutating func remove(_ number: Int) { visitors[number] = nil }

  /// Connections that were shut down are not closed at once; no more are accepted until some are.
  var takesMore: Bool { visitors.count < WebLimits.connections + WebLimits.leaving }

  private var present: [Connection] { visitors.values.filter { !$0.isEnding } }

  /// Makes room for a newcomer by closing the connection with the lowest priority; if the newcomer's address
  /// has its maximum, one of its own. Sockets of paired browsers stay. False: there is no room.
  ///
  /// An attacker has some addresses, fills all places, and comes back whenever it is evicted. So addresses
  /// with more connections than one browser needs lose first, the one with the most before all others: a
  /// phone that comes to pair keeps its few.
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

  /// The earliest deadline of a connection.
  var deadline: Micros? { present.map(\.deadline).min() }

  /// Connections past their deadline.
  func late(at now: Micros) -> [Connection] { present.filter { $0.deadline <= now } }
}
