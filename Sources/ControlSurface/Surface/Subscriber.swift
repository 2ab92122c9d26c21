// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
internal import Linux
import OSC

/// Someone who is being told.
struct Subscriber {
  /// Where they listen: seldom the port that they send from, with TouchOSC never.
  var target: Peer
  var source: Peer
  var groups: Group
  var dialect: Dialect
  /// nil: until unsubscribe, or an hour's silence.
  var lease: Micros?
  var heard: Micros
  var dumped: Micros?
  var nextFlush: Micros
  var refusals = 0
  /// Since when there is no way to it; nothing is sent until `nextTry`, and it was sent everything at `tried`.
  var awaySince: Micros?
  var nextTry: Micros?
  var tried: Micros?
  /// When it was asked whether it is still there, or began to wait for those who were.
  var asked: Micros?
  /// It sent back what only a listener knows: its address is not forged.
  var hears = false
  /// The person at the terminal knows that it is told little.
  var isToldOf = false
  /// Rows that changed and were not told yet.
  var dirty: Set<Int> = []
  /// Rows under this controller's finger, and until when.
  var held: [Int: Micros] = [:]

  var ends: Micros { heard + (lease ?? SurfaceLimits.silence) }

  /// The next moment at which something can be told, if there is something.
  var deadline: Micros? {
    if let nextTry { return nextTry }
    return dirty.map { max(nextFlush, held[$0] ?? nextFlush) }.min()
  }

  mutating func mark(_ row: Int) {
    if groups.contains(.state) { dirty.insert(row) }
  }

  /// What may be told now.
  mutating func takeDue(at now: Micros) -> [Int] {
    guard now >= nextFlush, nextTry == nil else { return [] }
    let due = dirty.filter { held[$0].map { end in now >= end } ?? true }.sorted()
    for row in due { held[row] = nil }
    dirty.subtract(due)
    if !due.isEmpty { nextFlush = now + SurfaceLimits.flushInterval }
    return due
  }

  /// This controller moves this row: leave it alone until it rests, then tell it once where it stands.
  mutating func hold(_ row: Int, at now: Micros) {
    held[row] = now + SurfaceLimits.holdOff
    mark(row)
  }
}

/// What a subscribe or unsubscribe asks for: `[port or URL] [groups] [lease]`, each as any type that says it.
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

  /// `osc.udp://host:port/` or `host:port`, whose host must be the sender's own: nobody subscribes a stranger.
  private static func port(ofURL text: String, from source: Endpoint) throws(Refusal) -> UInt16 {
    var text = text[...]
    if let scheme = text.firstRange(of: "://") { text = text[scheme.upperBound...] }
    if text.hasSuffix("/") { text.removeLast() }
    guard let (name, port) = Endpoint.split(text), port > 0 else {
      throw .type("a port, or osc.udp://host:port/")
    }
    // A name is not looked up: the sender's own address stands for it.
    if let host = Address(name), host.scoped(0) != source.address.scoped(0),
      !(host.isLoopback && source.address.isLoopback)
    {
      throw .refused("only the sender's own address can be subscribed, not \(host)")
    }
    return port
  }
}
