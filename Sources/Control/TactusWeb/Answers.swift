// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkBeatMath
import LinkSystem
import TactusJSON5
import TactusOSC
import TactusSurface

/// The answer to each request: the page, the browser's rights, the pairing, OSCQuery. This type has no
/// socket.
struct Answers {
  private let settings: WebSettings
  private var tree = QueryTree()
  private let machine = hostName ?? ""

  init(_ settings: WebSettings) { self.settings = settings }

  /// The refusal of a request that must not be handled; nil: the request may be handled.
  func refusal(_ request: Request, at listener: Connection.Listener) -> Response? {
    if request.hosts > 1 || request.path.isEmpty { return Response(400, "malformed request\n") }
    guard request.isFor(machine) else {
      return Response(403, "this server is not \(printable(request.host, limit: 80))\n")
    }
    guard request.isFromOurPage || (listener == .page && request.socketCode != nil) else {
      return Response(403, "a page of another site may not do this\n")
    }
    switch request.method {
    case "GET", "HEAD": return request.hasBody ? Response(413, "GET and HEAD have no body\n") : nil
    case "POST" where listener == .page && request.path == "/pair":
      return request.namesOrigin ? nil : Response(403, "only tactus's own page may do this\n")
    default:
      var response = Response(405, "only GET and HEAD are accepted\n")
      response.headers = [("Allow", "GET, HEAD")]
      return response
    }
  }

  mutating func answer(
    _ request: Request, body: [UInt8], from visitor: Connection, _ surface: OSCSurface, isPaired: Bool,
    pair: ([UInt8]) -> Pairing.Answer
  ) -> Response {
    guard visitor.listener == .page else {
      return query(request, from: visitor, surface, isPaired: visitor.host.isLoopback)
    }
    if request.method == "POST" {
      return body.count > WebLimits.body ? Response(413, "too long\n") : Self.paired(pair(body))
    }
    if request.path == "/session" { return session(isPaired) }
    if request.path == "/doctor" { return Response(403, "only for paired browsers\n") }
    // OSCQuery programs send requests to this path, too, and have no use for the page.
    let isRootOfTree = request.path == "/" && (request.query != nil || !request.wantsPage)
    if !isRootOfTree, let file = PageFiles.response(request.path) { return file }
    return query(request, from: visitor, surface, isPaired: isPaired)
  }

  private mutating func query(
    _ request: Request, from visitor: Connection, _ surface: OSCSurface, isPaired: Bool
  ) -> Response {
    let snapshot = surface.snapshot
    tree.follow(snapshot)
    let place = QueryTree.Place(
      host: visitor.reached.address, osc: surface.endpoints.first?.port, web: visitor.reached.port)
    let answer = tree.answer(
      path: request.path, query: request.query, snapshot, at: place, isPaired: isPaired)
    var response = Response(answer.status, answer.body)
    response.type = answer.type
    return response
  }

  private func session(_ isPaired: Bool) -> Response {
    var response = Response(
      200,
      "{\"paired\":\(isPaired),\"name\":\(JSON5.quoted(settings.name)),\"version\":\(JSON5.quoted(settings.version))}\n"
    )
    response.type = "application/json"
    return response
  }

  static func examined(_ report: [UInt8]?) -> Response {
    guard let report else { return Response(503, "tactus doctor did not finish\n") }
    var response = Response(200)
    (response.type, response.body) = ("application/json", report)
    return response
  }

  static func paired(_ answer: Pairing.Answer) -> Response {
    switch answer {
    case .paired(let secret):
      var response = Response(204)
      response.headers = [
        (
          "Set-Cookie",
          "\(secret.cookie)=\(secret.token); Max-Age=31536000; Path=/; HttpOnly; SameSite=Strict"
        )
      ]
      return response
    case .wrong: return Response(403, "this is not the code\n")
    case .tooMany(let wait):
      var response = Response(429, "too many wrong codes; try again in \(wait) s\n")
      response.headers = [("Retry-After", "\(wait)")]
      return response
    }
  }

  /// Headers of every response. With them the page loads nothing from elsewhere, and no other site may frame
  /// or store the page, or guess its content type.
  static let guards: [(name: String, value: String)] = [
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' data: blob:; "
        + "connect-src 'self'; font-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
        + "form-action 'none'"
    ),
    ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"), ("Cache-Control", "no-store"),
  ]
}
