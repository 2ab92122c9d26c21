// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
internal import LinkSystem
import TactusOSC

/// A controller or a browser that has subscribed to values.
struct Subscriber {
  /// The address to which values are sent. It is rarely the port from which the controller sends; with
  /// TouchOSC it never is.
  var target: Peer
  var source: Peer
  var groups: Group
  var dialect: Dialect
  /// How long the subscription lasts without a renewal; nil: until the controller unsubscribes or is silent
  /// for an hour.
  var lease: Micros?
  var heard: Micros
  var dumped: Micros?
  var nextFlush: Micros
  var refusals = 0
  /// The time at which the route to the controller was lost; nil: the route exists. Nothing is sent until
  /// `nextTry`. All values were last sent at `tried`.
  var awaySince: Micros?
  var nextTry: Micros?
  var tried: Micros?
  /// The time at which we asked whether the controller is still there. For a controller that waits for a
  /// subscription: the time at which it began to wait for the answers of subscribed controllers.
  var asked: Micros?
  /// Whether the controller has sent its proof text back. This proves that its address is not
  /// forged.
  var hears = false
  /// Whether the user was warned that the controller is unproven and gets less.
  var isToldOf = false
  /// The changed rows that were not sent yet.
  var dirty: Set<Int> = []
  /// The rows that this controller changes at present, and when we may send each of them again.
  var held: [Int: Micros] = [:]

  var ends: Micros { heard + (lease ?? SurfaceLimits.silence) }

  /// The next time at which a changed row may be sent; nil: no row has changed.
  var deadline: Micros? {
    if let nextTry { return nextTry }
    return dirty.map { max(nextFlush, held[$0] ?? nextFlush) }.min()
  }

  mutating func mark(_ row: Int) {
    if groups.contains(.state) { dirty.insert(row) }
  }

  /// Takes the rows that may be sent now.
  mutating func takeDue(at now: Micros) -> [Int] {
    guard now >= nextFlush, nextTry == nil else { return [] }
    let due = dirty.filter { held[$0].map { end in now >= end } ?? true }.sorted()
    for row in due { held[row] = nil }
    dirty.subtract(due)
    if !due.isEmpty { nextFlush = now + SurfaceLimits.flushInterval }
    return due
  }

  /// Call this when the controller changes this row: the row's value is sent to it only when the row has
  /// rested.
  mutating func hold(_ row: Int, at now: Micros) {
    held[row] = now + SurfaceLimits.holdOff
    mark(row)
  }
}

/// The arguments of subscribe and unsubscribe: `[port or URL] [groups] [lease]`. Each may have any OSC type
/// that can express it.
struct SubscriptionWish {
  var port: UInt16?
  var groups: Group?
  var lease: Int?

  init(_ arguments: [Argument], from source: Endpoint) throws(Refusal) {
    var rest = arguments[...]
    if let first = rest.first {
      if let number = first.number?.rounded() {
        guard (0...65_535).contains(number) else {
          throw .range("a port is 1 to 65535, not \(brief(number))")
        }
        if number > 0 { port = UInt16(number) }
        rest.removeFirst()
      } else if case .string(let text) = first, text.contains(":") {
        port = try Self.port(ofURL: text, from: source)
        rest.removeFirst()
      }
    }
    if case .string(let text)? = rest.first, rest.first?.number == nil {
      guard let groups = Group(words: text) else {
        throw .type(
          "groups are \(Group.names.map(\.name).joined(separator: ", ")), all; not \"\(printable(text, limit: 40))\""
        )
      }
      if !groups.isEmpty { self.groups = groups }
      rest.removeFirst()
    }
    if let number = rest.first?.number?.rounded() {
      guard (0...3600).contains(number) else { throw .range("a lease is 0 to 3600 s, not \(brief(number))") }
      if number > 0 { lease = Int(number) }
      rest.removeFirst()
    }
    guard rest.isEmpty else { throw .type("port, groups, lease; not \(rest[rest.startIndex].words)") }
  }

  /// Reads `osc.udp://host:port/` or `host:port`. The host must be the sender's own, so that no sender can
  /// subscribe another machine.
  private static func port(ofURL text: String, from source: Endpoint) throws(Refusal) -> UInt16 {
    var text = text[...]
    if let scheme = text.firstRange(of: "://") { text = text[scheme.upperBound...] }
    if text.hasSuffix("/") { text.removeLast() }
    guard let (name, port) = Endpoint.split(text), port > 0 else {
      throw .type("a port, or osc.udp://host:port/")
    }
    // A host's name is not looked up: the sender's own address is used instead.
    if let host = Address(name), host.scoped(0) != source.address.scoped(0),
      !(host.isLoopback && source.address.isLoopback)
    {
      throw .refused("only the sender's own address can be subscribed, not \(host)")
    }
    return port
  }
}
