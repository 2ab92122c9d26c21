// SPDX-License-Identifier: GPL-2.0-or-later
import Linux
import OSC

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
