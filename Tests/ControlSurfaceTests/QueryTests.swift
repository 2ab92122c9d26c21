// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc
import OSC
import TestSupport
import Testing

@testable import ControlSurface

@Suite("OSCQuery")
struct QueryTests {
  static let tree = QueryTree(osc: Endpoint(.loopback, port: 20_809))

  func answer(_ path: String, _ query: String? = nil) -> QueryTree.Answer {
    Self.tree.answer(path: path, query: query, Desk().machine.reading)
  }

  @Test("A node tells its type, range, access and value; a container its contents")
  func nodes() {
    #expect(answer("/tactus/tempo", "VALUE").body == "{\"VALUE\":[120.0]}")
    #expect(answer("/tactus/tempo", "RANGE").body == "{\"RANGE\":[{\"MIN\":20.0,\"MAX\":999.0}]}")
    #expect(answer("/tactus/tempo", "ACCESS").body == "{\"ACCESS\":3}")
    #expect(answer("/tactus/peers", "ACCESS").body == "{\"ACCESS\":1}")
    #expect(answer("/tactus/launch", "RANGE").body == "{\"RANGE\":[{\"VALS\":[\"now\",\"beat\",\"bar\"]}]}")
    #expect(answer("/tactus/tempo", "HOST_INFO").body == answer("/", "HOST_INFO").body)
    #expect(answer("/tactus/pulse/rate/24", "VALUE").body == "{\"VALUE\":[0.0]}")
    #expect(answer("/tactus/click", "FULL_PATH").body == "{\"FULL_PATH\":\"/tactus/click\"}")
    #expect(answer("/tactus", "VALUE").body == "{}")
  }

  @Test("What is not there, not readable or not known has its own status")
  func statuses() {
    #expect(answer("/tactus/nothing").status == 404)
    #expect(answer("/other").status == 404)
    #expect(answer("/tactus/tempo/nudge", "VALUE").status == 204)
    #expect(answer("/tactus/tempo", "SHOE_SIZE").status == 400)
    #expect(answer("/tactus/subscribe").status == 404)
  }

  @Test("Requests are read from pieces, and what is not HTTP is refused")
  func requests() {
    let whole = Array("GET /tactus/te%6Dpo?VALUE HTTP/1.1\r\nHost: localhost:80\r\n\r\n".utf8)
    for count in 0..<whole.count { #expect(HTTPRequest.read(Array(whole[..<count])) == .incomplete) }
    guard case .request(let request, let length) = HTTPRequest.read(whole + [1, 2]) else {
      Issue.record("no request")
      return
    }
    #expect(length == whole.count && request.path == "/tactus/tempo" && request.query == "VALUE")
    #expect(request.keepsAlive && request.isFor("studio"))
    for (text, status) in [
      ("GET\r\n\r\n", 400), ("GET x HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nnonsense\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 413), ("GET / SPDY/9\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\n\r\n", 400), ("GET http:// HTTP/1.0\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nHost: evil.example\r\nhost: localhost\r\n\r\n", 400),
    ] {
      #expect(HTTPRequest.read(Array(text.utf8)) == .bad(status: status))
    }
    #expect(HTTPRequest.read([UInt8](repeating: 65, count: 9000)) == .bad(status: 431))
  }

  @Test("A whole URI is asked for as a path is, and names the host")
  func absolute() {
    for (uri, path, query, isForUs) in [
      ("http://localhost:8080/tactus/tempo?VALUE", "/tactus/tempo", "VALUE", true),
      ("HTTP://[::1]:80?HTML", "/", "HTML", true), ("http://studio", "/", nil, true),
      ("http://evil.example/tactus", "/tactus", nil, false), ("/http://evil", "/http://evil", nil, true),
    ] as [(String, String, String?, Bool)] {
      let text = "GET \(uri) HTTP/1.1\r\nHost: localhost\r\n\r\n"
      guard case .request(let request, _) = HTTPRequest.read(Array(text.utf8)) else {
        Issue.record("\(uri)")
        continue
      }
      #expect(request.path == path && request.query == query && request.isFor("studio") == isForUs, "\(uri)")
    }
  }

  @Test("No object of the whole tree has a key twice")
  func keys() {
    let body = answer("/").body
    #expect(
      body.hasPrefix(
        "{\"FULL_PATH\":\"/\",\"CONTENTS\":{\"tactus\":{\"FULL_PATH\":\"/tactus\",\"CONTENTS\":{"))
    let nodes = body.split(separator: "\"FULL_PATH\"")
    #expect(nodes.count > 100)
    // Each says where it is, and then what it is or what is below it.
    for node in nodes.dropFirst() {
      #expect(node.contains("\"TYPE\"") || node.contains("\"CONTENTS\""), "\(node)")
    }
  }

  @Test("A web page elsewhere cannot ask through a browser")
  func rebinding() {
    for (host, isForUs) in [
      ("localhost:8080", true), ("192.168.1.2:1", true), ("[::1]:1", true), ("studio.local", true),
      ("Studio", true), ("studio.lan:80", true), ("evil.example:80", false), ("", true), ("evil", false),
      ("[::1]", true), ("[::1].evil.example", false), ("[::1]:evil", false),
      ("[evil]", false), ("localhost:80:80", false),
      ("wpad:8080", false), ("evil.local", false), ("studio.evil.example", false), ("studio.", false),
    ] {
      let request = HTTPRequest(method: "GET", path: "/", query: nil, keepsAlive: true, host: host)
      #expect(request.isFor("studio.lan") == isForUs, "\(host)")
    }
  }

  /// A client by hand; what it has heard after so many answers, or when the connection has ended.
  private func ask(_ descriptor: Int32, _ requests: String, answers: Int) -> String {
    _ = requests.utf8CString.withUnsafeBytes {
      send(descriptor, $0.baseAddress, $0.count - 1, Int32(MSG_NOSIGNAL))
    }
    var heard: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    var text = ""
    while text.split(separator: "HTTP/1.1 ").count < answers || !text.hasSuffix("}") {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      heard += chunk[..<count]
      text = String(decoding: heard, as: UTF8.self)
    }
    return text
  }

  private func open(_ port: UInt16, from own: Address = .loopback) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let unbound = Endpoint(own, port: 0).withSocketAddress { bind(descriptor, $0, $1) }
    try #require(unbound == 0)
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    let failed = Endpoint(.loopback, port: port).withSocketAddress { connect(descriptor, $0, $1) }
    try #require(failed == 0)
    return descriptor
  }

  @Test("Who is asked by whatever address tells that one; twenty idle connections lock nobody out")
  func addressesAndCrowds() throws {
    var settings = SurfaceSettings.queried
    settings.listen = [Endpoint(Address.v4(0), port: 0)]
    let studio = try Studio(settings)
    defer { studio.close() }
    let port = try #require(studio.surface.queryEndpoint).port
    var clients: [Int32] = []
    defer { for client in clients { close(client) } }
    for _ in 0..<20 { clients.append(try open(port)) }
    clients.append(try open(port))
    let answer = ask(clients[20], "GET /?HOST_INFO HTTP/1.1\r\nHost: localhost\r\n\r\n", answers: 1)
    #expect(answer.contains("\"OSC_IP\":\"127.0.0.1\""))
    #expect(answer.contains("\"OSC_PORT\":\(studio.port)"))
  }

  @Test(
    "The seventeenth client takes the place of the one that has been silent for longest, and of nobody who asked"
  )
  func seventeen() throws {
    var settings = SurfaceSettings.loopback
    settings.listen = [Endpoint(Address.v4(0), port: 0)]
    settings.query = 0
    let studio = try Studio(settings)
    defer { studio.close() }
    let port = try #require(studio.surface.queryEndpoint).port
    var clients: [Int32] = []
    defer { for client in clients { close(client) } }
    func ask(_ client: Int) -> Bool {
      self.ask(clients[client], "GET /tactus/tempo?VALUE HTTP/1.1\r\nHost: localhost\r\n\r\n", answers: 1)
        .contains("[120.0]")
    }
    #expect(QueryServer.connectionLimit == 16)
    for number in 0..<16 {
      // From three addresses, so that no one of them has too many.
      clients.append(try open(port, from: .v4(0x7f00_0001 + UInt32(number % 3))))
      if number != 5 { #expect(ask(number)) }
    }
    clients.append(try open(port, from: .v4(0x7f00_0009)))
    #expect(ask(16))
    for number in 0..<16 { #expect(ask(number) == (number != 5), "client \(number)") }
  }

  @Test("Requests in a row, in one packet or byte by byte, are each answered, in their order")
  func pipelined() throws {
    let studio = try Studio(.queried)
    defer { studio.close() }
    let client = try open(try #require(studio.surface.queryEndpoint).port)
    defer { close(client) }
    let paths = ["/tactus/tempo?VALUE", "/tactus/click?FULL_PATH", "/tactus/peers?ACCESS"]
    let requests = paths.map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined()
    let wanted = ["{\"VALUE\":[120.0]}", "{\"FULL_PATH\":\"/tactus/click\"}", "{\"ACCESS\":1}"]
    var answer = ask(client, requests, answers: 3)
    for body in wanted { #expect(answer.contains(body)) }
    for byte in requests.utf8 { send(client, [byte], 1, Int32(MSG_NOSIGNAL)) }
    answer = ask(client, "", answers: 3)
    for body in wanted { #expect(answer.contains(body)) }
  }

  @Test("However many trees are asked for, they cost no more of a core than they may")
  func charged() throws {
    let answer = answer("/")
    let cost = Cost.query(asking: 40, telling: answer.body.utf8.count)
    #expect(cost > 100 && cost <= Cost.request)
    #expect(
      Cost.ours.perSecond + Cost.strangers.perSecond + Cost.hands.perSecond + Cost.queriesPerSecond <= 100_000
    )
  }

  @Test("Eight clients that ask for the tree all the time get what the budget allows, and no more")
  func budget() throws {
    let studio = try Studio(.queried)
    defer { studio.close() }
    let port = try #require(studio.surface.queryEndpoint).port
    let clients = try (0..<QueryServer.hostLimit).map { _ in try open(port) }
    defer { for client in clients { close(client) } }
    let request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    let requests = Array(String(repeating: request, count: 300).utf8)
    for client in clients { send(client, requests, requests.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    var bytes = 0
    let start = ContinuousClock.now
    while start.duration(to: .now) < .seconds(2) {
      for client in clients { bytes += max(0, recv(client, &buffer, buffer.count, Int32(MSG_DONTWAIT))) }
      usleep(1000)
    }
    let elapsed = start.duration(to: .now) / .seconds(1)
    let tree = answer("/").body.utf8.count
    let cost = Double(Cost.query(asking: request.utf8.count, telling: tree))
    let allowed = (Double(Cost.queriesAtOnce) + Double(Cost.queriesPerSecond) * elapsed) / cost
    let answers = Double(bytes) / Double(tree)
    #expect(answers > 1 && answers <= allowed + 2, "\(answers) answers, \(allowed) allowed")
  }

  @Test("A real HTTP client reads the whole tree, as JSON, and it holds every row that can be set or asked")
  func realClient() throws {
    let studio = try Studio(.queried)
    defer { studio.close() }
    let port = try #require(studio.surface.queryEndpoint).port
    let here = #filePath
    let folder = here[..<(here.lastIndex(of: "/") ?? here.startIndex)]
    let reader = try ChildProcess.run(["/usr/bin/python3", "\(folder)/peers/oscquery_reader.py", "\(port)"])
    #expect(reader.status == 0, "\(reader.errors)")
    let lines = Set(reader.output.split(separator: "\n").map(String.init))
    for row in Table.standard.rows where row.kind != .verb && row.kind != .answer {
      #expect(lines.contains("node /tactus/\(row.path) \(row.typeTags)"), "\(row.path)")
    }
    #expect(lines.contains("osc \(studio.port) UDP"))
    #expect(lines.contains("value 120.0"))
    #expect(lines.contains("statuses 404 204 400 405 403"))
    #expect(lines.contains("page yes"))
    #expect(lines.contains("after garbage 200"))
  }
}
