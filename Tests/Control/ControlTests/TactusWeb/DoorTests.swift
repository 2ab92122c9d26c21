// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkSystem
import TactusOSC
import TactusSurface
import TactusTestSupport
import Testing

@testable import TactusWeb

@Suite("The listening sockets")
struct DoorTests {
  @Test
  func `waiting for a busy OSCQuery port does not delay the rest of tactus`() throws {
    var settings = WebSettings.queryAlone
    let first = try PageStudio(settings)
    settings.query = try #require(first.web.queryEndpoint).port
    settings.listen = [Endpoint(.loopback, port: 0)]
    let second = try PageStudio(settings)
    defer { second.close() }
    let query = Endpoint(.loopback, port: settings.query ?? 0)
    #expect(second.notices == [.missing("no OSCQuery: \(query) is in use by another program")])
    #expect(second.web.queryEndpoint == nil && second.web.endpoints.count == 1)
    let phone = try Phone(second.port)
    #expect(
      second.wait {
        phone.send("[\"/tactus/osc/str\"]")
        return (try? phone.line("[\"/tactus/osc/str\"")?.contains("no OSCQuery")) == true
      })
    first.close()
    #expect(second.wait { second.web.queryEndpoint == query })
    #expect(second.notices.last == .opened("OSCQuery: http://\(query)/"))
  }

  @Test
  func `a busy default page port is replaced; a busy chosen port is waited for`() throws {
    let first = try PageStudio()
    var settings = WebSettings.page
    settings.listen = [Endpoint(.loopback, port: first.port)]
    let second = try PageStudio(settings)
    defer { second.close() }
    let port = try #require(second.web.endpoints.first?.port)
    #expect(port > first.port && port <= first.port + ListenPolicy.nextPorts)
    settings.isPortFixed = true
    let third = try PageStudio(settings)
    defer { third.close() }
    #expect(third.web.endpoints.isEmpty && third.notices.count == 1)
    let wanted = Endpoint(.loopback, port: first.port)
    first.close()
    #expect(third.wait { third.web.endpoints == [wanted] })
    #expect(try Caller(wanted.port).ask("/session").status == 200)
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `the page is served at an address that appears later or returns`() throws {
    let network = try PrivateNetwork()
    let late = Address.v4(0xc633_6401)
    try network.perform {
      var settings = WebSettings.page
      settings.query = 0
      settings.listen = [Endpoint(late, port: 0), Endpoint(.loopback, port: 0)]
      let studio = try PageStudio(
        settings, surface: [Endpoint(late, port: 0), Endpoint(.loopback, port: 0)])
      defer { studio.close() }
      #expect(studio.web.endpoints.map(\.address) == [.loopback])
      #expect(studio.web.queryEndpoint?.address == .loopback, "beside the address that is there")
      for _ in 1...2 {
        _ = try ChildProcess.run(["ip", "address", "add", "198.51.100.1/32", "dev", "lo"])
        #expect(studio.wait { studio.web.endpoints.map(\.address) == [late, .loopback] })
        #expect(studio.wait { studio.web.queryEndpoint?.address == late })
        // OSCQuery stays reachable on this machine at the same port.
        let query = try #require(studio.web.queryEndpoint).port
        #expect(try Caller(query).ask("/tactus/tempo?VALUE").status == 200)
        #expect(
          try Caller(query, from: .v4(0), to: late).ask("/tactus/tempo?VALUE", host: "198.51.100.1").status
            == 200)
        let caller = try Caller(studio.port, from: .v4(0), to: late)
        #expect(try caller.ask("/session", host: "198.51.100.1:\(studio.port)").status == 200)
        #expect(try caller.ask("/session", host: "198.51.100.2:\(studio.port)").status == 403)
        _ = try ChildProcess.run(["ip", "address", "delete", "198.51.100.1/32", "dev", "lo"])
        #expect(studio.wait { studio.web.endpoints.map(\.address) == [.loopback] })
        #expect(studio.wait { studio.web.queryEndpoint?.address == .loopback })
      }
    }
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `a page open to networks serves only neighbours, until it is closed`() throws {
    let (here, near, far) = (Address.v4(0x0a32_0001), Address.v4(0x0a32_0002), Address.v4(0xcb00_7107))
    let (home, other) = (try PrivateNetwork(), try PrivateNetwork())
    try home.cable("wire", to: other, "cable")
    for words in ["addr add 10.50.0.1/24 dev wire", "link set wire up", "route add 203.0.113.0/24 dev wire"] {
      try home.ip(words)
    }
    for words in [
      "addr add 10.50.0.2/24 dev cable", "addr add 203.0.113.7/32 dev cable", "link set cable up",
    ] {
      try other.ip(words)
    }
    let studio = try home.perform {
      var settings = WebSettings.page
      settings.query = 0
      return try PageStudio(settings, surface: [Endpoint(.v4(0), port: 0)])
    }
    defer { studio.close() }
    let query = try #require(studio.web.queryEndpoint).port
    try other.perform { [port = studio.port] in
      let host = "10.50.0.1"
      #expect(try Caller(query, from: near, to: here).ask("/tactus/tempo?VALUE", host: host).status == 200)
      #expect(try Caller(query, from: far, to: here).isClosedByServer())
      #expect(throws: (any Error).self, "closed") { try Caller(port, from: near, to: here) }
      studio.web.open(toNetworks: true)
      #expect(studio.wait { studio.web.endpoints.first?.address == .v4(0) })
      let neighbour = try Caller(port, from: near, to: here)
      #expect(try neighbour.ask("/session", host: host).status == 200)
      #expect(try Caller(port, from: far, to: here).isClosedByServer())
      studio.web.open(toNetworks: false)
      #expect(neighbour.isClosedByServer())
      #expect(studio.wait { studio.web.endpoints.map(\.address) == [.loopback] })
    }
    #expect(studio.web.counters.strangers == 2)
  }
}
