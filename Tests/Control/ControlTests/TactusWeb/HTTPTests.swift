// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import Synchronization
import TactusChoices
import TactusOSC
import TactusSurface
import TactusTestSupport
import Testing

@testable import TactusWeb

@Suite("The page and OSCQuery by HTTP")
struct HTTPTests {
  @Test
  func `the page, its files and the session have strict security headers`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let caller = try Caller(studio.port)
    let page = try caller.ask("/", "Accept: text/html,application/xhtml+xml\r\n")
    #expect(page.status == 200 && page.body.hasPrefix("<!DOCTYPE html>"))
    for wanted in [
      "Content-Security-Policy: default-src 'none';", "X-Content-Type-Options: nosniff",
      "X-Frame-Options: DENY",
      "Referrer-Policy: no-referrer", "Cache-Control: no-store", "frame-ancestors 'none'",
      "Content-Type: text/html",
    ] {
      #expect(page.head.contains(wanted), "\(wanted)")
    }
    for word in ["unsafe", "*", "http:"] { #expect(!page.head.contains(word)) }
    #expect(try caller.ask("/style.css").head.contains("text/css"))
    #expect(
      try caller.ask("/session").body == "{\"paired\":false,\"name\":\"tactus\",\"version\":\"test\"}\n")
    #expect(try caller.ask("/session", Phone.cookie).body.contains("\"paired\":true"))
    for path in ["/nothing", "/../etc/passwd", "/%2e%2e/x", "/Page/index.html"] {
      #expect(try caller.ask(path).status == 404, "\(path)")
    }
  }

  @Test
  func `the page's form for a new output offers each kind of output`() throws {
    let script = String(decoding: PageFiles.response("/named.js")?.body ?? [], as: UTF8.self)
    let line = try #require(script.split(separator: "\n").first { $0.contains("const kinds = ") })
    for kind in OutputKind.allCases { #expect(line.contains(" \(kind.word): "), "\(kind)") }
  }

  @Test
  func `the page is small, self-contained and works in browsers of 2021`() throws {
    #expect(PageFiles.paths.reduce(0) { $0 + (PageFiles.response($1)?.body.count ?? 0) } < 108_000)
    // Comments are stripped, and every line keeps its number.
    let script = String(decoding: PageFiles.response("/app.js")?.body ?? [], as: UTF8.self)
    #expect(!script.contains("\n//") && !script.contains("SPDX") && script.contains("import "))
    let lines = try ChildProcess.run(["wc", "-l", Lab.top + "/Sources/Control/TactusWeb/Page/app.js"]).output
    #expect(lines.hasPrefix("\(script.count { $0 == "\n" }) "))
    // These features are missing in Safari 15.1, Firefox 94 and Chrome 96 of November 2021.
    let tooNew = [
      ".at(-", ".findLast", ".toSorted(", ".toReversed(", ".with(", "structuredClone", "Object.hasOwn",
      ":has(", "@layer", "@container", "color-mix(", "<dialog", "(?<=", "(?<!", "requestSubmit",
      "Array.fromAsync",
    ]
    for path in PageFiles.paths where path != "/awake.mp4" {
      let text = String(decoding: PageFiles.response(path)?.body ?? [], as: UTF8.self)
      for word in tooNew { #expect(!text.contains(word), "\(path): \(word)") }
      let elsewhere = text.replacing("http://www.w3.org/", with: "")
      for word in ["http://", "https://", "//cdn", "@import"] {
        #expect(!elsewhere.contains(word), "\(path): \(word)")
      }
    }
  }

  @Test
  func `one doctor's examination serves all paired browsers, delays no request`() throws {
    let doctor = Mutex((visits: 0, isDone: false))
    let studio = try PageStudio(doctor: {
      let number = doctor.withLock { doctor in
        doctor.visits += 1
        return doctor.visits
      }
      while !doctor.withLock({ $0.isDone }) { usleep(1000) }
      return number == 1 ? Array("{\"wrong\":0}".utf8) : nil
    })
    defer { studio.close() }
    #expect(try Caller(studio.port).ask("/doctor").status == 403)
    let callers = try (0..<3).map { _ in try Caller(studio.port) }
    for caller in callers {
      caller.send("GET /doctor HTTP/1.1\r\nHost: localhost\r\n\(Phone.cookie)\r\n")
    }
    #expect(studio.wait { doctor.withLock { $0.visits } == 1 })
    #expect(try Caller(studio.port).ask("/session").status == 200)
    #expect(try Phone(studio.port).head.contains("101 "))
    doctor.withLock { $0.isDone = true }
    for caller in callers {
      let answer = try caller.answer()
      #expect(answer.status == 200 && answer.body == "{\"wrong\":0}")
    }
    #expect(doctor.withLock { $0.visits } == 1)
    // Later a new examination runs. If it does not finish in time, the status of the answer is 503.
    #expect(studio.wait { (try? callers[0].ask("/doctor", Phone.cookie).status) == 503 })
    #expect(doctor.withLock { $0.visits } == 2)
  }

  @Test
  func `OSCQuery programs get the tree at the page's own path`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let caller = try Caller(studio.port)
    #expect(try caller.ask("/").body.hasPrefix("{\"FULL_PATH\":\"/\""))
    #expect(
      try caller.ask("/?HOST_INFO", "Accept: text/html\r\n").body.contains("\"WS_PORT\":\(studio.port)"))
    #expect(try caller.ask("/tactus/tempo?VALUE", "Accept: text/html\r\n").body == "{\"VALUE\":[120.0]}")
    studio.change { $0.timeline.tempo = Tempo(99) }
    #expect(studio.wait { (try? caller.ask("/tactus/tempo?VALUE").body) == "{\"VALUE\":[99.0]}" })
  }

  @Test
  func `pairing gives an HttpOnly cookie and allows five wrong tries a minute`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let caller = try Caller(studio.port)
    let origin = "Origin: http://localhost\r\n"
    let paired = try caller.ask("/pair", origin, method: "POST", body: PageStudio.secret.code)
    #expect(paired.status == 204)
    #expect(paired.head.contains("Set-Cookie: tactus-012345=\(PageStudio.secret.token); "))
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] { #expect(paired.head.contains(word)) }
    func status(_ headers: String, _ body: String) throws -> Int {
      try Caller(studio.port).ask("/pair", headers, method: "POST", body: body).status
    }
    #expect(try status("", PageStudio.secret.code) == 403)
    #expect(try status("Origin: http://evil.example\r\n", PageStudio.secret.code) == 403)
    #expect(try status(origin, String(repeating: "A", count: 5000)) == 413)
    #expect(studio.web.counters.wrongSecrets == 0)
    // Try five distinct wrong codes. A script that repeats an old code counts as one try.
    for _ in 1...8 { #expect(try status(origin, "FEDCBA9876543211") == 403) }
    for digit in 2...5 { #expect(try status(origin, "FEDCBA987654321\(digit)") == 403) }
    #expect(try status(origin, "FEDCBA9876543216") == 429)
    #expect(try status(origin, PageStudio.secret.code) == 429, "who guesses does not win by the last guess")
    #expect(studio.wait { studio.web.counters.wrongSecrets == 14 })
  }

  @Test
  func `a browser stays paired with both of two tactus on one machine`() throws {
    let studios = try [PageStudio(), PageStudio()]
    defer { for studio in studios { studio.close() } }
    studios[1].forget()
    let callers = try studios.map { try Caller($0.port) }
    // A browser's cookies depend on the host, but not on the port.
    var jar: [String: String] = [:]
    func cookies() -> String { "Cookie: \(jar.map { "\($0.key)=\($0.value)" }.joined(separator: "; "))\r\n" }
    for (studio, caller) in zip(studios, callers) {
      let answer = try caller.ask(
        "/pair", "Origin: http://localhost\r\n" + cookies(), method: "POST", body: studio.currentSecret.code)
      let words = answer.head.split(separator: "Set-Cookie: ")[1].prefix { $0 != ";" }.split(separator: "=")
      jar[String(words[0])] = String(words[1])
    }
    func arePaired(_ cookies: String) throws -> [Bool] {
      try callers.map { try $0.ask("/session", cookies).body.contains("\"paired\":true") }
    }
    #expect(try arePaired(cookies()) == [true, true])
    #expect(try arePaired(Phone.cookie) == [true, false])
    let guesses = (0..<100).map { "tactus-012345=\($0)" }.joined(separator: "; ")
    #expect(
      try arePaired("Cookie: \(guesses); tactus-012345=\(PageStudio.secret.token)\r\n") == [false, false])
    studios[0].forget()
    #expect(try arePaired(cookies()) == [false, true])
  }

  @Test
  func `HTTP requests that are malformed or from other sites are refused`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    for (request, status) in [
      ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
      ("GET / HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n\r\n", 400),
      ("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 403),
      ("GET http://localhost/tactus/tempo HTTP/1.1\r\nHost: evil.example\r\n\r\n", 200),
      ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.0\r\n\r\n", 403),
      ("GET / HTTP/1.1\r\nHost: \r\n\r\n", 403), ("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
      ("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", 413),
      ("PUT / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405), ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
      ("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
      ("GET /osc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\r\n", 426),
      (Phone.request("/session"), 404), (Phone.request("/osc", "Origin: http://evil.example\r\n"), 403),
      (Phone.request().replacing("Host: localhost", with: "Host: evil.example"), 403),
      ("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + String(repeating: "a", count: 20_000) + "\r\n\r\n", 431),
    ] {
      let caller = try Caller(studio.port)
      caller.send(request)
      #expect(try caller.answer().status == status, "\(request.prefix(90))")
    }
    #expect(studio.wait { studio.web.counters.foreign == 6 })
  }

  // MARK: OSCQuery's own port

  @Test
  func `the separate OSCQuery port has no page, pairing or session`() throws {
    let studio = try PageStudio(.queryAlone)
    defer { studio.close() }
    #expect(studio.web.endpoints.isEmpty)
    let caller = try Caller(try #require(studio.web.queryEndpoint).port)
    #expect(try caller.ask("/", "Accept: text/html\r\n").body.hasPrefix("{\"FULL_PATH\":\"/\""))
    #expect(try caller.ask("/session").status == 404 && caller.ask("/page.js").status == 404)
    #expect(try caller.ask("/pair", "Origin: http://localhost\r\n", method: "POST", body: "x").status == 405)
  }

  @Test
  func `HOST_INFO names the address of its connection, among a hundred others`() throws {
    let studio = try PageStudio(.queryAlone, surface: [Endpoint(Address.v4(0), port: 0)])
    defer { studio.close() }
    let port = try #require(studio.web.queryEndpoint).port
    let idle = try (0..<100).map { _ in try Caller(port) }
    let answer = try Caller(port).ask("/?HOST_INFO")
    #expect(answer.body.contains("\"OSC_IP\":\"127.0.0.1\""))
    #expect(answer.body.contains("\"OSC_PORT\":\(studio.surface.endpoints[0].port)"))
    #expect(answer.body.contains("\"WS_IP\":\"127.0.0.1\"") && idle.count == 100)
  }

  @Test
  func `a full web server drops only the connection that sent no request`() throws {
    let studio = try PageStudio(.queryAlone, surface: [Endpoint(Address.v4(0), port: 0)])
    defer { studio.close() }
    let port = try #require(studio.web.queryEndpoint).port
    var callers: [Caller] = []
    func ask(_ caller: Int) -> Bool {
      (try? callers[caller].ask("/tactus/tempo?VALUE").body.contains("[120.0]")) == true
    }
    for number in 0..<WebLimits.connections {
      // Use four addresses, so that none has too many connections.
      callers.append(try Caller(port, from: .v4(0x7f00_0001 + UInt32(number % 4))))
      if number != 5 { #expect(ask(number)) }
    }
    // Wait until connection 5, which is silent, no longer has the highest priority.
    usleep(UInt32(WebLimits.grace.count))
    callers.append(try Caller(port, from: .v4(0x7f00_0009)))
    #expect(ask(WebLimits.connections))
    for number in 0..<WebLimits.connections { #expect(ask(number) == (number != 5), "caller \(number)") }
  }

  @Test
  func `pipelined HTTP requests are answered in order, whole or byte by byte`() throws {
    let studio = try PageStudio(.queryAlone)
    defer { studio.close() }
    let caller = try Caller(try #require(studio.web.queryEndpoint).port)
    let paths = ["/tactus/te%6Dpo?VALUE", "/tactus/click?FULL_PATH", "/tactus/peers?ACCESS"]
    let requests = paths.map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined()
    let wanted = ["{\"VALUE\":[120.0]}", "{\"FULL_PATH\":\"/tactus/click\"}", "{\"ACCESS\":1}"]
    caller.send(requests)
    for body in wanted { #expect(try caller.answer().body == body) }
    for byte in requests.utf8 { caller.send([byte]) }
    for body in wanted { #expect(try caller.answer().body == body) }
  }

  @Test
  func `a real HTTP client reads the whole OSCQuery tree with every row`() throws {
    let studio = try PageStudio(.queryAlone)
    defer { studio.close() }
    let port = try #require(studio.web.queryEndpoint).port
    let path = #filePath
    let folder = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
    let reader = try ChildProcess.run(["/usr/bin/python3", "\(folder)/peers/oscquery_reader.py", "\(port)"])
    #expect(reader.status == 0, "\(reader.errors)")
    let lines = Set(reader.output.split(separator: "\n").map(String.init))
    for row in Table.standard.rows where row.kind != .verb && row.kind != .answer {
      let node = "node /tactus/\(row.path) \(row.typeTags)"
      // A row that is a list has one type for each value that the list has at this moment.
      let isThere = row.each.isEmpty ? lines.contains(node) : lines.contains { $0.hasPrefix(node) }
      #expect(isThere, "\(row.path)")
    }
    #expect(lines.contains("osc \(studio.surface.endpoints[0].port) UDP"))
    #expect(lines.contains("value 120.0"))
    #expect(lines.contains("statuses 404 204 400 405 403"))
    #expect(lines.contains("page yes"))
    #expect(lines.contains("after garbage 200"))
  }
}
