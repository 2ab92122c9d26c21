// SPDX-License-Identifier: GPL-2.0-or-later
import OSC

/// The head of an HTTP/1.1 request. Bodies are not taken: everything here is asked with GET.
struct HTTPRequest: Equatable {
  static let headLimit = 8192

  var method: String
  var path: String
  var query: String?
  var keepsAlive: Bool
  var host: String

  private static let heard: Set = ["content-length", "transfer-encoding", "connection", "host"]

  enum Found: Equatable {
    case incomplete
    case request(HTTPRequest, length: Int)
    case bad(status: Int)
  }

  /// Of what was read before, `searched` bytes hold no end.
  static func read(_ bytes: [UInt8], searched: Int = 0) -> Found {
    guard let end = headEnd(bytes, from: max(3, searched)) else {
      return bytes.count > headLimit ? .bad(status: 431) : .incomplete
    }
    guard end <= headLimit else { return .bad(status: 431) }
    let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
    guard let first = lines.first else { return .bad(status: 400) }
    let words = first.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[2].hasPrefix("HTTP/1."), let (authority, resource) = target(words[1]) else {
      return .bad(status: 400)
    }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return .bad(status: 400) }
      let name = line[..<colon].lowercased()
      guard heard.contains(name) else { continue }
      // Of two hosts a proxy may have believed the other one.
      guard name != "host" || headers[name] == nil else { return .bad(status: 400) }
      headers[name] = String(line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
    }
    // What is announced as a body would be read as the next request.
    guard headers["content-length", default: "0"] == "0", headers["transfer-encoding"] == nil else {
      return .bad(status: 413)
    }
    guard headers["host"] != nil || words[2] != "HTTP/1.1" else { return .bad(status: 400) }
    let parts = resource.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let connection = headers["connection", default: ""].lowercased()
    let request = HTTPRequest(
      method: String(words[0]), path: unescaped(parts[0]), query: parts.count > 1 ? unescaped(parts[1]) : nil,
      keepsAlive: words[2] == "HTTP/1.1" ? connection != "close" : connection == "keep-alive",
      host: authority ?? headers["host", default: ""])
    return .request(request, length: end)
  }

  /// What is asked for, and of whom, if that is said: `/path?query` or `http://host:port/path?query`.
  private static func target(_ word: Substring) -> (authority: String?, resource: Substring)? {
    let target = word.prefix { $0 != "#" }
    let scheme = "http://"
    guard target.prefix(scheme.count).lowercased() == scheme else {
      return target.hasPrefix("/") ? (nil, target) : nil
    }
    let rest = target.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard !authority.isEmpty else { return nil }
    let resource = rest[authority.endIndex...]
    return (String(authority), resource.hasPrefix("/") ? resource : "/" + resource)
  }

  /// Just past the empty line.
  private static func headEnd(_ bytes: [UInt8], from start: Int) -> Int? {
    guard bytes.count > start else { return nil }
    for index in start..<min(bytes.count, max(start, headLimit + 4))
    where bytes[index] == 10 && bytes[index - 1] == 13 && bytes[index - 2] == 10 && bytes[index - 3] == 13 {
      return index + 1
    }
    return nil
  }

  private static func unescaped(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A web page elsewhere can make a browser ask us under its own name; it may not read the answer. So of names only
  /// this machine's are ours: without a dot, any other is the local network's to give.
  func isFor(_ machine: String) -> Bool {
    var name = host[...]
    if let colon = name.lastIndex(of: ":"), name[colon...].dropFirst().allSatisfy(\.isNumber) {
      name = name[..<colon]
    }
    if name.hasPrefix("["), name.hasSuffix("]") { return Address(name.dropFirst().dropLast()) != nil }
    let own = machine.lowercased().prefix { $0 != "." }
    return name.isEmpty || Address(name) != nil
      || ["localhost", String(own), machine.lowercased(), own + ".local"].contains(name.lowercased())
  }
}
