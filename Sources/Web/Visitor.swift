// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
import BeatMath
import Glibc

/// One TCP connection, from when it was taken until it is closed.
final class Visitor {
  enum Door: Sendable {
    case page, query
  }

  let number: Int
  let descriptor: Int32
  let endpoint: Endpoint
  /// Our own address, as it was reached.
  let reached: Endpoint
  let door: Door
  /// What it does, and since when.
  private(set) var since: Micros
  private(set) var isAnswered = true
  private(set) var hasAsked = false
  /// It speaks WebSocket now.
  var socket: WebSocket?
  /// When it was listened to last.
  var heard = Micros.zero
  /// Whose code it had in the address of its socket.
  var shown: Secret?
  /// It has been told to go.
  private(set) var isEnding = false

  init(
    _ number: Int, _ descriptor: Int32, from endpoint: Endpoint, at reached: Endpoint, _ door: Door,
    now: Micros
  ) {
    self.number = number
    self.descriptor = descriptor
    self.endpoint = endpoint
    self.reached = reached
    self.door = door
    since = now
  }

  /// What pays for its words.
  var purse: Budget.Purse { socket?.peer.isPairedBrowser == true ? .paired : .strangers }

  /// Whose costs are its costs: this machine has many names.
  var host: Address { Self.host(of: endpoint) }

  static func host(of endpoint: Endpoint) -> Address {
    endpoint.address.isLoopback ? .loopback : endpoint.address
  }

  /// A request has come, whole.
  func asks(at now: Micros) {
    hasAsked = true
    isAnswered = false
    since = now
  }

  /// Its answer has gone.
  func rests(at now: Micros) {
    isAnswered = true
    since = now
  }

  /// When it has been too slow: anyone who sends a byte now and then as well as who sends nothing.
  var deadline: Micros {
    if let socket { return socket.deadline }
    return since
      + Micros(Int64(isAnswered ? (hasAsked ? WebLimits.idle : WebLimits.firstWord) : WebLimits.answer))
  }

  /// What its place means to it: nothing to who came and says nothing, little to who has got its answer a while ago, some to who
  /// watches, and most to who loads a page. A browser does that with half a dozen connections at once, of which each asks again
  /// and again: else each would put out the one before.
  func claim(at now: Micros) -> Int {
    if socket != nil { return 2 }
    if hasAsked, !isAnswered { return 3 }
    return now - since < WebLimits.grace ? 3 : hasAsked ? 1 : 0
  }

  /// The library sees the end of it, and closes it.
  func end() {
    guard !isEnding else { return }
    isEnding = true
    shutdown(descriptor, Int32(SHUT_RDWR))
  }
}

/// All connections, and who makes room when there are too many.
struct Crowd {
  private(set) var visitors: [Int: Visitor] = [:]
  private var counted = 0

  mutating func nextNumber() -> Int {
    counted += 1
    return counted
  }

  mutating func add(_ visitor: Visitor) { visitors[visitor.number] = visitor }
  mutating func remove(_ number: Int) { visitors[number] = nil }

  /// Those who were told to go are not closed at once: nobody is taken before they are.
  var takesMore: Bool { visitors.count < WebLimits.connections + WebLimits.leaving }

  private var present: [Visitor] { visitors.values.filter { !$0.isEnding } }

  /// A newcomer takes the place of the one whose place means least; of its own, when its address has many. Those of paired browsers
  /// stay. False: there is no room.
  ///
  /// Its attackers have some addresses, fill all places, and come back as often as they are put out. So whose address has more than
  /// one browser needs gives way first, the one with most of them before all others: a phone that comes to pair keeps its few.
  func makeRoom(for host: Address, at now: Micros) -> Bool {
    let own = present.filter { $0.endpoint.address == host }
    let isOwnFull = own.count >= WebLimits.ofOneHost
    guard isOwnFull || present.count >= WebLimits.connections else { return true }
    let crowd = (isOwnFull ? own : present).filter { $0.socket?.peer.isPairedBrowser != true }
    var more: [Address: Int] = [:]
    for one in crowd { more[one.endpoint.address, default: -WebLimits.ofOneBrowser] += 1 }
    func rank(_ one: Visitor) -> (isSilent: Int, fewer: Int, claim: Int, since: Micros) {
      let claim = one.claim(at: now)
      return (min(claim, 1), -max(0, more[one.endpoint.address] ?? 0), claim, one.since)
    }
    guard let least = crowd.min(by: { rank($0) < rank($1) }) else { return false }
    least.end()
    return true
  }

  /// When the next one has been too slow.
  var deadline: Micros? { present.map(\.deadline).min() }

  /// Those who have been.
  func late(at now: Micros) -> [Visitor] { present.filter { $0.deadline <= now } }
}
