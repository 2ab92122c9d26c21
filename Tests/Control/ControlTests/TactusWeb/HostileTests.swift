// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkBeatMath
import TactusOSC
import TactusSurface
import TactusTestSupport
import Testing

@testable import TactusWeb

/// Input that must never do harm: it is refused, counted and limited, and other clients are served meanwhile.
@Suite("Hostile browsers")
struct HostileTests {
  /// Broken WebSocket frames. Each test with them also has an honest client, which must get its answers.
  static let frames: [(what: String, bytes: [UInt8], code: UInt16)] = [
    ("without a mask", Phone.frame([0x5b], opcode: 1, isMasked: false), 1002),
    ("a ping in pieces", Phone.frame([1], opcode: 9, isLast: false), 1002),
    ("a ping of 126 bytes", Phone.frame([UInt8](repeating: 0, count: 126), opcode: 9), 1002),
    ("a reserved bit", [0xc1, 0x80, 0, 0, 0, 0], 1002),
    ("an unknown kind", Phone.frame([1], opcode: 3), 1002),
    ("a rest without a beginning", Phone.frame([1], opcode: 0), 1002),
    ("no UTF-8", Phone.frame([0x5b, 0xff], opcode: 1), 1007),
    ("too much", Phone.frame([UInt8](repeating: 0x20, count: 20_000), opcode: 1), 1009),
    (
      "far too much, announced",
      [0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 0, 0],
      1009
    ),
    ("a length longer than it need be", [0x82, 0xfe, 0, 1, 0, 0, 0, 0, 1], 1002),
    (
      "too much in pieces",
      (0..<3).flatMap {
        Phone.frame([UInt8](repeating: 0x20, count: 8000), opcode: $0 == 0 ? 1 : 0, isLast: false)
      }, 1009
    ),
  ]

  @Test(arguments: 0..<HostileTests.frames.count)
  func `a bad WebSocket frame ends its own connection and no other`(_ number: Int) throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let honest = try Phone(studio.port)
    let hostile = try Phone(studio.port)
    hostile.send("[\"/tactus/subscribe\"]")
    #expect(try hostile.line("[\"/tactus/update\",0]") != nil)
    let (what, bytes, code) = Self.frames[number]
    hostile.caller.send(bytes)
    // wslay ends some connections without sending a close frame.
    let farewell = try hostile.farewell()
    #expect(farewell == code || farewell == nil, "\(what): \(farewell.map { "\($0)" } ?? "none")")
    #expect(hostile.caller.isClosedByServer(), "\(what)")
    #expect(studio.wait { studio.web.counters.sockets == 1 && studio.surface.counters.subscribers == 0 })
    #expect(try honest.isServed(), "\(what)")
  }

  @Test
  func `random bytes before and after the handshake disturb no other client`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let honest = try Phone(studio.port)
    var dice = Dice(seed: 11)
    let starts = [
      "", "GET / HTTP/1.1\r\n", "POST /pair HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n",
      "GET /osc",
    ]
    for round in 0..<300 {
      let caller = try Caller(studio.port)
      var bytes = Array(starts.randomElement(using: &dice)!.utf8)
      if round % 3 == 0 { bytes = Array(Phone.request().utf8) }
      for _ in 0..<Int.random(in: 0..<300, using: &dice) {
        bytes.append(UInt8.random(in: 0...255, using: &dice))
      }
      caller.send(bytes)
    }
    #expect(studio.wait { studio.web.counters.open == 1 })
    #expect(try honest.isServed())
    #expect(studio.commands.isEmpty)
  }

  /// An address reaches its limit if several browsers are behind one router, or if a browser is often
  /// reopened.
  @Test
  func `a browser is served although its address has its limit of connections`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let before = try (0..<WebLimits.ofOneHost).map { _ in
      let caller = try Caller(studio.port)
      #expect(try caller.ask("/session").status == 200)
      return caller
    }
    // Open all connections first and then send the first request, as a browser does.
    let newcomer = try (0..<6).map { _ in try Caller(studio.port) }
    #expect(studio.wait { studio.web.counters.connections == WebLimits.ofOneHost + 6 })
    for caller in newcomer { #expect((try? caller.ask("/session").status) == 200) }
    #expect(before.count { (try? $0.ask("/session").status) == 200 } == WebLimits.ofOneHost - 6)
  }

  @Test
  func `of 1000 connections, the allowed number stays, with all paired ones`() throws {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_max, 8192)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let studio = try PageStudio()
    defer { studio.close() }
    let honest = try Phone(studio.port)
    honest.send("[\"/tactus/subscribe\",\"state\"]")
    #expect(try honest.line("[\"/tactus/update\",0]") != nil)
    var callers: [Caller] = []
    for number in 0..<1000 {
      let caller = try Caller(studio.port, from: .v4(0x7f00_0101 + UInt32(number % 200)))
      caller.send(number % 2 == 0 ? "GET / HTTP/1.1\r\nHost: loc" : Phone.request())
      callers.append(caller)
    }
    #expect(studio.wait { studio.web.counters.connections == 1001 })
    #expect(studio.web.counters.open <= WebLimits.connections + WebLimits.leaving)
    #expect(try honest.isServed())
    studio.change { $0.link.peers = 2 }
    #expect(try honest.line("[\"/tactus/peers\",") == "[\"/tactus/peers\",2]")
    callers = []
    #expect(studio.wait { studio.web.counters.open == 1 })
  }

  @Test
  func `an HTTP request sent byte by byte is ended in time`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let honest = try Phone(studio.port)
    let slow = try (0..<40).map { _ in try Caller(studio.port) }
    for caller in slow { caller.send("GET / HTTP/1.1\r\nX: ") }
    #expect(
      studio.wait(seconds: 40) {
        for caller in slow { caller.send([0x61]) }
        return studio.web.counters.late >= 40
      })
    for caller in slow { #expect(caller.isClosedByServer()) }
    #expect(try honest.isServed())
  }

  @Test
  func `the time limit of an HTTP connection restarts with each answer`() {
    let now = Micros(1_000_000)
    let visitor = Connection(
      1, -1, from: Endpoint(.loopback, port: 1), at: Endpoint(.loopback, port: 2), .page, now: now)
    #expect(visitor.deadline == now + Micros(10_000_000))
    visitor.asks(at: now + Micros(1))
    #expect(visitor.deadline == now + Micros(30_000_001))
    visitor.rests(at: now + Micros(5))
    #expect(visitor.deadline == now + Micros(30_000_005))
  }

  @Test
  func `a WebSocket client that reads nothing is dropped and counted`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let slow = try Phone(studio.port)
    let honest = try Phone(studio.port)
    for phone in [slow, honest] { phone.send("[\"/tactus/subscribe\",\"state\"]") }
    for phone in [slow, honest] { #expect(try phone.line("[\"/tactus/update\",0]") != nil) }
    var room: Int32 = 4096
    setsockopt(slow.caller.descriptor, SOL_SOCKET, SO_RCVBUF, &room, 4)
    let packet = LibloCodec.encode(Message("/tactus/message", .string(String(repeating: "x", count: 200))))
    let peer = Peer(Browser(number: 1, isPaired: true), at: Endpoint(.loopback, port: 1))
    for round in 0..<200 {
      for _ in 0..<100 { studio.web.shared.post(packet, to: peer) }
      if studio.wait(seconds: 0.02, until: { studio.web.counters.slow > 0 }) { break }
      #expect(round < 199)
    }
    #expect(studio.wait { studio.web.counters.slow == 1 && studio.surface.counters.subscribers == 1 })
    #expect(try honest.isServed())
  }

  /// A client that sends the same bytes again and again, as many at once as the socket takes.
  final class Flood {
    let caller: Caller
    private let bytes: [UInt8]
    private var rest: ArraySlice<UInt8> = []
    /// Whether the client waits for an answer before it sends again.
    private let waits: Bool
    private var isAnswered = true

    init(_ caller: Caller, _ bytes: [UInt8], waits: Bool = false) {
      self.caller = caller
      self.bytes = bytes
      self.waits = waits
    }

    static func sendingRequests(_ caller: Caller) -> Flood {
      Flood(
        caller, Array(String(repeating: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 50).utf8))
    }

    static func sendingMessages(_ phone: Phone) -> Flood {
      let frame = Phone.frame(Array("[\"/tactus/ping\"]".utf8), opcode: 1)
      return Flood(phone.caller, Array((0..<200).map { _ in frame }.joined()))
    }

    static func sendingNonsense(_ phone: Phone) -> Flood {
      Flood(phone.caller, Phone.frame(Array(String(repeating: "x\n", count: 4000).utf8), opcode: 1))
    }

    /// Runs all floods for three seconds. Returns how long that really took, in microseconds.
    static func runThreeSeconds(of floods: [Flood]) -> Double {
      let start = ContinuousClock.now
      while start.duration(to: .now) < .seconds(3) {
        for flood in floods {
          flood.sendMore()
          flood.readAnswers()
        }
        usleep(1000)
      }
      return Double(start.duration(to: .now) / .seconds(1)) * 1e6
    }

    func sendMore() {
      while true {
        if rest.isEmpty {
          guard isAnswered || !waits else { return }
          (rest, isAnswered) = (bytes[...], false)
        }
        let sent = caller.send(Array(rest), Int32(MSG_DONTWAIT))
        guard sent > 0 else { return }
        rest = rest.dropFirst(sent)
      }
    }

    func readAnswers() {
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while recv(caller.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0 { isAnswered = true }
    }
  }

  @Test
  func `8 OSCQuery readers and a message flood cost at most a tenth of a core`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let honest = try Phone(studio.port)
    var floods = try (0..<8).map { _ in Flood.sendingRequests(try Caller(studio.port)) }
    floods.append(.sendingMessages(try Phone(studio.port)))
    let before = studio.web.counters
    let elapsed = Flood.runThreeSeconds(of: floods)
    let after = studio.web.counters
    let cost = Double(after.microseconds - before.microseconds)
    #expect(after.requests > before.requests + 3 && after.received > before.received + 100)
    // Add the 100 ms that the budget allows at once.
    #expect(cost < elapsed / 10 + 100_000, "\(cost / elapsed) of a core")
    #expect(try honest.isServed())
  }

  @Test
  func `a flood from a phone's own address does not stop answers to the phone`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let honest = try Phone(studio.port)
    let callers = try (0..<24).map { _ in try Caller(studio.port) }
    let floods =
      callers.map(Flood.sendingRequests) + [.sendingMessages(try Phone(studio.port, isPaired: false))]
    for _ in 0..<30 {
      for flood in floods { flood.sendMore() }
      #expect(try honest.isServed())
    }
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `a flood from many addresses does not stop answers to a paired phone`() throws {
    let unheard = try Neighbours.visit { studio in
      // Opens floods from these addresses. The phone comes after some of the attackers and before the
      // others.
      func strangers(_ addresses: some Sequence<Address>) throws -> [Flood] {
        try addresses.map {
          .sendingNonsense(try Phone(studio.port, isPaired: false, from: $0, to: Neighbours.tactus))
        }
      }
      var floods = try strangers(Neighbours.theirs[..<15])
      let honest = try Phone(studio.port, from: Neighbours.theirs[30], to: Neighbours.tactus)
      floods += try strangers(Neighbours.theirs[15..<30])
      return try (0..<40).count { _ in
        for flood in floods { flood.sendMore() }
        honest.send("[\"/tactus/ping\"]")
        return try honest.line("[\"/tactus/pong\"") == nil
      }
    }
    #expect(unheard == 0)
  }
}
