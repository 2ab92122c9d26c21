// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import TactusSurface
import TactusTestSupport
import Testing

@testable import TactusWeb

/// Attackers that know the program's code and stay within every single limit.
@Suite("Attackers that know the limits")
struct KnowingTests {
  /// The share of a core that the floods cost within three seconds.
  private func share(of floods: [HostileTests.Flood], at studio: PageStudio) -> Double {
    let before = studio.web.counters.microseconds
    let elapsed = HostileTests.Flood.runThreeSeconds(of: floods)
    // Subtract the 100 ms that the budget allows at once.
    return (Double(studio.web.counters.microseconds - before) - 100_000) / elapsed
  }

  @Test(arguments: ["audio/list", "query\",\"*"])
  func `short WebSocket requests with long answers cost at most 1/10 of a core`(_ question: String) throws {
    let studio = try PageStudio()
    defer { studio.close() }
    studio.change { $0.audio.offered = (0..<1000).map { "Studio/a channel with a name of its own \($0)" } }
    let honest = try Phone(studio.port)
    let frame = Phone.frame(Array("[\"/tactus/\(question)\"]".utf8), opcode: 1)
    // Use as many connections as one address may have: each has its own limit for packets.
    let floods = try (0..<WebLimits.ofOneHost - 4).map { _ in
      HostileTests.Flood(
        try Phone(studio.port, isPaired: false).caller, Array((0..<50).map { _ in frame }.joined()))
    }
    let before = studio.web.counters.received
    #expect(share(of: floods, at: studio) < 0.1)
    #expect(studio.web.counters.received > before + 200)
    #expect(try honest.isServed())
  }

  @Test
  func `requests full of almost right cookies stay cheap and pair no browser`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let honest = try Phone(studio.port)
    // Send as many cookies as fit into the library's memory for a request.
    let guesses = (0..<100).map { "tactus-012345=\($0)" }.joined(separator: "; ")
    let request = "GET /session HTTP/1.1\r\nHost: localhost\r\nCookie: \(guesses)\r\n\r\n"
    // Send one request at a time: for pipelined requests the library lacks memory and closes the connection.
    let floods = try (0..<WebLimits.ofOneHost - 4).map { _ in
      HostileTests.Flood(try Caller(studio.port), Array(request.utf8), waits: true)
    }
    let before = studio.web.counters.requests
    #expect(share(of: floods, at: studio) < 0.1)
    #expect(studio.web.counters.requests > before + 200)
    #expect(try honest.isServed())
    #expect(
      try Caller(studio.port).ask("/session", "Cookie: \(guesses)\r\n").body.contains("\"paired\":false"))
  }

  @Test
  func `silent connections beyond the limit do not keep a new browser out`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let honest = try Phone(studio.port)
    var silent: [Caller] = []
    for round in 0..<20 {
      for number in 0..<30 {
        let address = Address.v4(0x7f00_0002 + UInt32(number % 4))
        if let caller = try? Caller(studio.port, from: address) { silent.append(caller) }
      }
      if silent.count > 300 { silent.removeFirst(silent.count - 300) }
      // Open half a dozen connections at once, as a browser does.
      let newcomer = try (0..<6).map { _ in try Caller(studio.port, from: .v4(0x7f00_0100 + UInt32(round))) }
      for caller in newcomer { #expect((try? caller.ask("/session").status) == 200, "round \(round)") }
    }
    #expect(try honest.isServed())
  }

  @Test
  func `a new browser gets in although idle connections fill the server`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let honest = try Phone(studio.port)
    var kept: [Caller] = []
    for number in 0..<WebLimits.connections {
      let caller = try Caller(studio.port, from: .v4(0x7f00_0002 + UInt32(number / 40)))
      if (try? caller.ask("/session").status) == 200 { kept.append(caller) }
    }
    #expect(kept.count > WebLimits.connections / 2)
    let newcomer = try (0..<6).map { _ in try Caller(studio.port, from: .v4(0x7f00_0100)) }
    for caller in newcomer { #expect((try? caller.ask("/session").status) == 200) }
    #expect(try honest.isServed())
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `attackers with many addresses do not keep a new phone out`() throws {
    let refused = try Neighbours.visit { studio in
      let paired = try Phone(studio.port, from: Neighbours.theirs[0], to: Neighbours.tactus)
      return try Watchers.crowd(Neighbours.theirs[1...4], studio.port) { crowd -> [String] in
        guard studio.wait(until: { crowd.opened > 2 * WebLimits.connections }) else {
          return ["the watchers"]
        }
        let refused = try Neighbours.theirs[10..<20].flatMap { try pair(from: $0, with: studio) }
        return try refused + (paired.isServed() ? [] : ["who was paired"])
      }
    }
    #expect(refused == [])
  }

  /// Acts as a browser does: opens all connections at once, and loads one file after the other on each.
  /// Returns the failed requests.
  private func pair(from address: Address, with studio: PageStudio) throws -> [String] {
    var refused: [String] = []
    let callers = try (0..<6).map { _ in
      try Caller(studio.port, from: address, to: Neighbours.tactus)
    }
    for path in ["/app.js", "/style.css", "/session"] {
      for caller in callers where (try? caller.ask(path).status) != 200 {
        refused.append("\(address): \(path)")
      }
    }
    let answer = try? callers[0].ask(
      "/pair", "Origin: http://localhost\r\n", method: "POST", body: PageStudio.secret.code)
    if answer?.status != 204 { refused.append("\(address): the code") }
    let phone = try? Phone(studio.port, from: address, to: Neighbours.tactus)
    if (try? phone?.isServed()) != true { refused.append("\(address): a socket") }
    return refused
  }
}
