// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc
import TestSupport
import Testing

@testable import ControlSurface

@Suite("OSCQuery")
struct QueryTests {
  static let tree = QueryTree(root: "tactus", osc: Endpoint(.loopback, port: 20_809))

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
    #expect(request.keepsAlive && request.isForUs)
    for (text, status) in [
      ("GET\r\n\r\n", 400), ("GET x HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nnonsense\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 413), ("GET / SPDY/9\r\n\r\n", 400),
    ] {
      #expect(HTTPRequest.read(Array(text.utf8)) == .bad(status: status))
    }
    #expect(HTTPRequest.read([UInt8](repeating: 65, count: 9000)) == .bad(status: 431))
  }

  @Test("A web page elsewhere cannot ask through a browser")
  func rebinding() {
    for (host, isForUs) in [
      ("localhost:8080", true), ("192.168.1.2:1", true), ("[::1]:1", true), ("studio.local", true),
      ("studio", true),
      ("evil.example:80", false), ("", true),
    ] {
      let request = HTTPRequest(method: "GET", path: "/", query: nil, keepsAlive: true, host: host)
      #expect(request.isForUs == isForUs, "\(host)")
    }
  }

  @Test("A real HTTP client reads the whole tree, as JSON, and it holds every row that can be set or asked")
  func realClient() throws {
    var settings = SurfaceSettings.loopback
    settings.query = 0
    let studio = try Studio(settings)
    defer { studio.close() }
    let port = try #require(studio.surface.queryEndpoint).port
    let here = #filePath
    let folder = here[..<(here.lastIndex(of: "/") ?? here.startIndex)]
    let reader = try ChildProcess.run(["/usr/bin/python3", "\(folder)/peers/oscquery_reader.py", "\(port)"])
    #expect(reader.status == 0, "\(reader.errors)")
    let lines = Set(reader.output.split(separator: "\n").map(String.init))
    for row in Table.rows where row.kind != .verb && row.kind != .answer {
      #expect(lines.contains("node /tactus/\(row.path) \(row.typeTags)"), "\(row.path)")
    }
    #expect(lines.contains("osc \(studio.port) UDP"))
    #expect(lines.contains("value 120.0"))
    #expect(lines.contains("statuses 404 204 400 405 403"))
    #expect(lines.contains("page yes"))
    #expect(lines.contains("after garbage 200"))
  }
}
