// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkSystem

/// A parsed request, and what follows from it alone: whether it is meant for us, and which page sent it.
struct Request: Equatable {
  var method = "GET"
  var version = "HTTP/1.1"
  /// The path, with percent escapes decoded.
  var path = "/"
  var query: String?
  /// Our name in the browser's address line, such as `localhost:20880`.
  var host = ""
  /// The headers by their names in lowercase. Of two headers with the same name, the last one counts. `hosts`
  /// is the number of `Host` headers.
  var headers: [String: String] = [:]
  var hosts = 0
  /// Our address by which the client has reached us.
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

  /// The path, and the host if it is named, in `/path` or `http://host:port/path`; nil: the text has another
  /// form.
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

  /// Whether the browser shows a cookie of any tactus, perhaps of another one.
  var showsCookie: Bool { headers["cookie", default: ""].contains(Secret.cookies) }

  /// The cookie with this name. Of several such cookies only the first counts, so that a
  /// request can try only one guess of the secret.
  func cookie(_ name: String) -> Substring? {
    for part in headers["cookie", default: ""].split(separator: ";") {
      let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
      if pair.count == 2, pair[0] == name { return pair[1] }
    }
    return nil
  }

  /// Whether the request's host name stands for this machine. A page elsewhere can make a browser connect to
  /// us under that page's own name (DNS rebinding). So only names of this machine count, and names without a
  /// dot, which the local network assigns.
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

  /// The code in a WebSocket's address, by which a program or a page of another site proves its right:
  /// `/osc?K7QM-3XPA-...`.
  var socketCode: String? { path == "/osc" && Handshake.isAsked(self) ? query : nil }

  /// Whether the request comes from our page or from a program. Browsers name the page that sends a request.
  var isFromOurPage: Bool { headers["origin"].map { $0 == "http://\(host)" } ?? true }
  var namesOrigin: Bool { headers["origin"] != nil }
}
