// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
import Linux

/// A request as the library took it apart, and what can be said of it alone: whether it is for us, and from where a browser sends it.
struct Request: Equatable {
  var method = "GET"
  var version = "HTTP/1.1"
  /// Unescaped.
  var path = "/"
  var query: String?
  /// Whom it is for, as the browser sees it: `localhost:20880`.
  var host = ""
  /// By small names; of two with one name, what came last, but of two hosts both.
  var headers: [String: String] = [:]
  var hosts = 0
  /// Our address as the asker reached it.
  var reached = Address.loopback

  static let heard: Set = [
    "accept", "connection", "content-length", "cookie", "host", "origin", "sec-websocket-key",
    "sec-websocket-version", "transfer-encoding", "upgrade",
  ]

  mutating func take(header name: String, _ value: String) {
    let name = name.lowercased()
    guard Self.heard.contains(name) else { return }
    if name == "host" { hosts += 1 }
    headers[name] = value
  }

  /// What is asked for, and of whom, if that is said: `/path` or `http://host:port/path`. Nil: something else.
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

  /// Some tactus has paired this browser, perhaps another one.
  var showsCookie: Bool { headers["cookie", default: ""].contains(Secret.cookies) }

  /// What the browser shows under this name; of two the first, so that a request is one try.
  func cookie(_ name: String) -> Substring? {
    for part in headers["cookie", default: ""].split(separator: ";") {
      let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
      if pair.count == 2, pair[0] == name { return pair[1] }
    }
    return nil
  }

  /// A web page elsewhere can make a browser ask us under its own name; it may not read the answer. So of names only
  /// this machine's are ours: without a dot, any other is the local network's to give.
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

  /// The code in the address of a socket, by which a program and a page from elsewhere show that they may: `/osc?K7QM-3XPA-...`.
  var socketCode: String? { path == "/osc" && Handshake.isAsked(self) ? query : nil }

  /// Browsers say which page asks. One of ours, or no browser.
  var isFromOurPage: Bool { headers["origin"].map { $0 == "http://\(host)" } ?? true }
  var namesOrigin: Bool { headers["origin"] != nil }
}
