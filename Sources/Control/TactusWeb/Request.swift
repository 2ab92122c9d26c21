// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkSystem

/// A parsed request, and what follows from it alone: whether it is meant for us, and which page sent it.
struct Request: Equatable {
  var method = "GET"
  var version = "HTTP/1.1"
  /// Without percent escapes.
  var path = "/"
  var query: String?
  /// Our name as the browser knows it: `localhost:20880`.
  var host = ""
  /// By lowercase name; of two headers with one name the last counts. `hosts` counts `Host` headers.
  var headers: [String: String] = [:]
  var hosts = 0
  /// Our address, as the client reached it.
  var reached = Address.loopback

  static let heard: Set = [
    "accept", "connection", "content-length", "cookie", "host", "origin", "sec-websocket-key",
    "sec-websocket-version", "transfer-encoding", "upgrade",
  ]

  mutating func add(header name: String, _ value: String) {
    let name = name.lowercased()
    guard Self.heard.contains(name) else { return }
    if name == "host" { hosts += 1 }
    headers[name] = value
  }

  /// The path and, if named, the host of `/path` or `http://host:port/path`; nil: another form.
  static func target(_ text: String) -> (authority: String?, path: String)? {
    let scheme = "http://"
    guard text.prefix(scheme.count).lowercased() == scheme else {
      return text.hasPrefix("/") ? (nil, text) : nil
    }
    let rest = text.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" }
    guard !authority.isEmpty else { return nil }
    let path = rest[authority.endIndex...]
    return (String(authority), path.isEmpty ? "/" : String(path))
  }

  var hasBody: Bool {
    headers["content-length", default: "0"] != "0" || headers["transfer-encoding"] != nil
  }

  var wantsPage: Bool { headers["accept", default: ""].contains("text/html") }

  /// Whether the browser is paired with a tactus, perhaps another one.
  var showsCookie: Bool { headers["cookie", default: ""].contains(Secret.cookies) }

  /// The cookie of this name; of two the first, so that one request is one try.
  func cookie(_ name: String) -> Substring? {
    for part in headers["cookie", default: ""].split(separator: ";") {
      let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
      if pair.count == 2, pair[0] == name { return pair[1] }
    }
    return nil
  }

  /// Whether the request names this machine. A page elsewhere can make a browser ask us under the page's own
  /// name (DNS rebinding). So only names of this machine count; any other name without a dot is the local
  /// network's to assign.
  func isFor(_ machine: String) -> Bool {
    var name = host[...]
    if let colon = name.lastIndex(of: ":"), name[colon...].dropFirst().allSatisfy(\.isNumber) {
      name = name[..<colon]
    }
    if name.hasPrefix("["), name.hasSuffix("]") { return isOurs(Address(name.dropFirst().dropLast())) }
    let own = machine.lowercased().prefix { $0 != "." }
    return isOurs(Address(name))
      || ["localhost", String(own), machine.lowercased(), own + ".local"].contains(name.lowercased())
  }

  private func isOurs(_ address: Address?) -> Bool {
    guard let address else { return false }
    return address.isLoopback || address.scoped(0) == reached.scoped(0)
  }

  /// The code in a socket's address, by which a program or a page from elsewhere shows its right:
  /// `/osc?K7QM-3XPA-...`.
  var socketCode: String? { path == "/osc" && Handshake.isAsked(self) ? query : nil }

  /// Whether the request comes from our page or from a program; browsers name the page that asks.
  var isFromOurPage: Bool { headers["origin"].map { $0 == "http://\(host)" } ?? true }
  var namesOrigin: Bool { headers["origin"] != nil }
}
