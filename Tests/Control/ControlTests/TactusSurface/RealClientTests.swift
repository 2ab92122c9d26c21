// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkBeatMath
import TactusOSC
import TactusTestSupport
import Testing

@testable import TactusSurface

@Suite("Real OSC clients, over loopback", .serialized)
struct RealClientTests {
  @Test(arguments: ["f", "d", "i", "h", "s"])
  func `oscsend sets the tempo, in each numeric type`(type: String) throws {
    let studio = try Studio()
    defer { studio.close() }
    let sent = try ChildProcess.run(["oscsend", "127.0.0.1", "\(studio.port)", "/tactus/tempo", type, "128"])
    #expect(sent.status == 0)
    #expect(studio.wait { studio.state.tempo == Tempo(128) })
  }

  @Test
  func `oscsend presses a button with type T, type I or no argument`() throws {
    let studio = try Studio()
    defer { studio.close() }
    for type in ["T", "I", ""] {
      _ = try ChildProcess.run(
        ["oscsend", "127.0.0.1", "\(studio.port)", "/tactus/rewind"] + (type.isEmpty ? [] : [type]))
    }
    #expect(studio.wait { studio.commands == [.rewind, .rewind, .rewind] })
  }

  @Test
  func `oscdump shows the values that tactus sends to an --osc-send target`() throws {
    var settings = SurfaceSettings.loopback
    let port = Self.freePort
    let listener = try ChildProcess(["stdbuf", "-oL", "oscdump", "-L", "\(port)"])
    usleep(300_000)
    settings.targets = [Peer(Endpoint(.loopback, port: port))]
    let studio = try Studio(settings)
    defer { studio.close() }
    studio.change { $0.link.peers = 3 }
    var seen: Set<String> = []
    while let line = try listener.line() {
      // A line of oscdump has a time, then the address.
      let words = line.split(separator: " ")
      if words.count > 1 { seen.insert(String(words[1])) }
      if line.contains("/tactus/peers/str s \"3 Links\"") { break }
    }
    #expect(seen.isSuperset(of: ["/tactus/tempo", "/tactus/link", "/tactus/click/volume", "/tactus/update"]))
  }

  @Test
  func `an --osc-send target gets values though a listen address is missing`() throws {
    var settings = SurfaceSettings.loopback
    settings.listen = [Endpoint(.v4(0x0a09_0909), port: 0), Endpoint(.loopback, port: 0)]
    var receiver = try OSCPort(bindingTo: Endpoint(.loopback, port: 0))
    settings.targets = [Peer(receiver.endpoint, socket: 0)]
    let studio = try Studio(settings)
    defer { studio.close() }
    studio.change { $0.link.peers = 3 }
    var found: [Message] = []
    while case .messages(let messages, _) = receiver.receive(withinMilliseconds: 10_000) {
      found = messages.filter { $0.address == "/tactus/peers/str" && $0.arguments == [.string("3 Links")] }
      if !found.isEmpty { break }
    }
    #expect(found.count == 1)
  }

  @Test
  func `an --osc-send target outside our listen addresses gets its own socket`() throws {
    var settings = SurfaceSettings.loopback
    settings.listen = [Endpoint(Address.v6(high: 0, low: 1, scope: 0), port: 0)]
    var receiver = try OSCPort(bindingTo: Endpoint(.loopback, port: 0))
    settings.targets = [Peer(receiver.endpoint)]
    let studio = try Studio(settings)
    defer { studio.close() }
    guard case .messages(_, let source) = receiver.receive(withinMilliseconds: 10_000) else {
      Issue.record("nothing was sent")
      return
    }
    let stranger = try OSCPort(bindingTo: Endpoint(.loopback, port: 0))
    for _ in 1...3 { stranger.send(Message("/tactus/tempo", .float32(99)), to: source) }
    receiver.send(Message("/tactus/tempo", .float32(93)), to: source)
    #expect(studio.wait { studio.state.tempo == Tempo(93) })
    #expect(studio.orders.count == 1)
  }

  @Test
  func `the network route to a controller is looked up only after a change`() throws {
    let receiver = try OSCPort(bindingTo: Endpoint(.loopback, port: 0))
    var route = SendRoute(to: receiver.endpoint)
    var interfaces = [Interface(index: 1, addresses: [.loopback])]
    func poll(_ listening: [Endpoint?] = []) -> Bool {
      route.poll(listening: listening, interfaces: interfaces, .loopback)
    }
    #expect(poll() && route.own != nil)
    #expect(!poll() && !poll())
    interfaces.append(Interface(index: 2, addresses: [.v4(0x0a09_0909)]))
    #expect(poll() && !poll())
    route.doubt()
    #expect(poll() && !poll())
    let listener = Endpoint(.loopback, port: 9)
    #expect(poll([listener]) && !poll([listener]) && route.own == nil && route.listener == 0)
  }

  @Test(arguments: OtherController.Library.allCases)
  func `clients with other OSC libraries subscribe, set, ask and get values`(library: OtherController.Library)
    throws
  {
    let studio = try Studio()
    defer { studio.close() }
    let controller = try OtherController(library, for: studio.port)
    controller.send("/tactus/subscribe i:\(controller.port) s:state,beat,exact i:60")
    #expect(
      try controller.receive("/tactus/subscribed")
        == "/tactus/subscribed i:\(controller.port) s:state beat exact i:60")
    #expect(try controller.receive("/tactus/tempo") == "/tactus/tempo f:120.0")
    #expect(try controller.receive("/tactus/update") == "/tactus/update f:0.0")
    controller.send("/tactus/tempo d:93.5")
    #expect(try controller.receive("/tactus/tempo/str") == "/tactus/tempo/str s:93.50")
    #expect(studio.state.tempo == Tempo(93.5))
    controller.send("/tactus/link T")
    #expect(try controller.receive("/tactus/link/str") == "/tactus/link/str s:Enabled")
    controller.send("/tactus/quantum h:7")
    #expect(try controller.receive("/tactus/quantum") == "/tactus/quantum f:7.0")
    #expect(try controller.receive("/tactus/beat") != nil)
    controller.send("/tactus/ping s:hello")
    let pong = try controller.receive("/tactus/pong")
    #expect(
      pong?.hasPrefix("/tactus/pong s:tactus s:test i:\(studio.port) d:") == true
        && pong?.hasSuffix("s:hello") == true)
    controller.send("/tactus/unsubscribe i:\(controller.port)")
    #expect(try controller.receive("/tactus/tempo/str") == "/tactus/tempo/str s: ")
  }

  /// Runs the code of the documentation's page; only the port is changed.
  @Test(arguments: ["python", "supercollider"])
  func `the example subscribers in the docs print what they receive`(language: String) throws {
    let studio = try Studio()
    defer { studio.close() }
    let docs = try #require(fopen("\(Lab.top)/docs/osc.md", "r"))
    defer { fclose(docs) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let length = fread(&bytes, 1, bytes.count, docs)
    let page = String(decoding: bytes.prefix(length), as: UTF8.self)
    let code = page.split(separator: "```\(language)\n").last?.split(separator: "```").first
    let scratch = try ScratchFolder()
    let script = try scratch.write(
      String(try #require(code)).replacing("20809", with: "\(studio.port)"), to: "subscriber.scd")
    // sclang contains a web browser. The browser needs a display, and permission to run as root.
    let sclang = [
      "env", "QT_QPA_PLATFORM=offscreen", "QTWEBENGINE_DISABLE_SANDBOX=1", "HOME=\(scratch.path)", "sclang",
      "-D",
    ]
    let subscriber = try ChildProcess(
      (language == "python" ? [Lab.python] : sclang) + [script])
    studio.change {
      $0.timeline = Timeline(tempo: Tempo(128), beatOrigin: .zero, timeOrigin: Clocks.read().host)
    }
    var lines: [String] = []
    // The client may subscribe at any beat. While the transport is stopped, the bar stays 1, so the line for
    // beat 2 of bar 1 comes sooner or later.
    while lines.last?.contains("bar 1, beat 2") != true, let line = try subscriber.line() {
      lines.append(line)
    }
    #expect(lines.contains { $0.hasPrefix("128.0") && $0.contains(" BPM, session beat ") }, "\(lines)")
    #expect(lines.last?.contains("bar 1, beat 2") == true)
  }

  @Test(arguments: OtherController.Library.allCases)
  func `an OSC bundle from another library waits for its timetag`(library: OtherController.Library) throws {
    let studio = try Studio()
    defer { studio.close() }
    let controller = try OtherController(library, for: studio.port)
    let sent = Clocks.read().host
    controller.sendBundle(in: 0.5, "/tactus/click i:1")
    controller.send("/tactus/clock i:1")
    #expect(studio.wait { studio.commands.count == 2 })
    #expect(studio.commands == [.set("clock", .flag(true)), .set("click", .flag(true))])
    // The command has the timetag's time, no matter when the packet was sent and when this thread ran.
    let time = studio.orders.last?.time ?? .zero
    #expect(time > sent + Micros(499_000))
  }

  @Test
  func `a real client's wrong value or port gives a clear error at both ends`() throws {
    let studio = try Studio()
    defer { studio.close() }
    let controller = try OtherController(.pythonosc, for: studio.port)
    controller.send("/tactus/subscribe i:\(controller.port)")
    controller.send("/tactus/tempo s:fast")
    #expect(
      try controller.receive("/tactus/error")
        == "/tactus/error s:tempo: a number, 20 to 999 BPM, not \"fast\" s:/tactus/tempo i:2")
    controller.send("/tactus/tempo f:1000")
    #expect(
      try controller.receive("/tactus/error")
        == "/tactus/error s:tempo: 20 to 999 BPM, not 1000 s:/tactus/tempo i:3")
    // The receive port is wrong: packets to it come back as unreachable, and the error goes to the port that
    // sent the message.
    controller.send("/tactus/unsubscribe i:\(controller.port)")
    let wrong = Self.freePort
    controller.send("/tactus/subscribe i:\(wrong) s:state,beat,phase")
    let error = try controller.receive("source:/tactus/error")
    #expect(error?.contains("nobody listens at port \(wrong): set the receive port") == true)
    #expect(studio.wait { studio.notices.contains(.nobodyListens(Endpoint(.loopback, port: wrong))) })
  }

  @Test
  func `a busy default OSC port is replaced; a busy chosen port is waited for`()
    throws
  {
    let first = try Studio()
    var settings = SurfaceSettings.loopback
    // The port is free at the first address, but taken at the second.
    let own = Address.v4(0x7f00_0002)
    settings.listen = [own, .loopback].map { Endpoint($0, port: UInt16(first.port)) }
    let second = try Studio(settings)
    defer { second.close() }
    #expect((1...16).contains(second.port - first.port))
    #expect(second.surface.endpoints.map(\.address) == [own, .loopback])
    #expect(second.notices == [.portTaken(UInt16(first.port), instead: UInt16(second.port))])

    settings.isPortFixed = true
    // The second surface has closed a socket at this port, but a child of another test may still hold a copy.
    ChildProcess.waitForOthers()
    let waiting = try Studio(settings)
    defer { waiting.close() }
    #expect(waiting.surface.endpoints == [settings.listen[0]])
    let why = "no OSC: 127.0.0.1:\(first.port) is in use by another program"
    #expect(waiting.notices == [.missing(why)])
    let controller = try OtherController(.pythonosc, for: first.port)
    first.close()
    #expect(waiting.wait { waiting.surface.endpoints == settings.listen })
    #expect(waiting.notices == [.missing(why), .opened("OSC: 127.0.0.1:\(first.port)")])
    controller.send("/tactus/click i:1")
    #expect(waiting.wait { waiting.commands == [.set("click", .flag(true))] })
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `an --osc-listen address is opened when it appears, also a second time`()
    async throws
  {
    let late = Address.v4(0xc633_6401)
    var settings = SurfaceSettings.loopback
    settings.listen = [Endpoint(late, port: 0), Endpoint(.loopback, port: 0)]
    let studio = try Studio(settings)
    defer { studio.close() }
    let missing = Notice.missing(
      "OSC: can't listen at 198.51.100.1: this machine does not have that address (yet)")
    #expect(studio.notices == [missing])
    #expect(studio.surface.endpoints.map(\.address) == [.loopback])
    let controller = try OtherController(.pythonosc, for: studio.port)
    for round in 1...2 {
      _ = try await ChildProcess.run(["ip", "address", "add", "198.51.100.1/32", "dev", "lo"])
      let opened = Endpoint(late, port: UInt16(studio.port))
      #expect(studio.wait { studio.surface.endpoints.first == opened })
      #expect(studio.notices.contains(.opened("OSC: \(opened)")))
      controller.child.send("198.51.100.1 \(opened.port) /tactus/click/subdivision i:\(round)")
      #expect(studio.wait { studio.commands.last == .set("click/subdivision", .whole(round)) })
      _ = try await ChildProcess.run(["ip", "address", "delete", "198.51.100.1/32", "dev", "lo"])
      #expect(studio.wait { studio.surface.endpoints.count == 1 })
      #expect(studio.notices.count { $0 == missing } == round + 1)
    }
  }

  @Test
  func `by default, OSC listens on IPv4 and IPv6 loopback, at the same port`() throws {
    var settings = SurfaceSettings()
    for index in settings.listen.indices { settings.listen[index].port = 0 }
    let studio = try Studio(settings)
    defer { studio.close() }
    #expect(studio.surface.endpoints.allSatisfy { $0.address.isLoopback && Int($0.port) == studio.port })
    let ping = LibloCodec.encode(Message("/tactus/ping"))
    for endpoint in studio.surface.endpoints {
      let socket = try DatagramSocket(bindingTo: Endpoint(endpoint.address, port: 0))
      socket.send(ping, to: endpoint)
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2048, alignment: 8)
      defer { buffer.deallocate() }
      #expect(
        studio.wait {
          if case .datagram(let arrival) = socket.receive(into: buffer) {
            arrival.from == endpoint
          } else {
            false
          }
        })
    }
  }

  static var freePort: UInt16 {
    (try? DatagramSocket(bindingTo: Endpoint(.loopback, port: 0)).endpoint.port) ?? 0
  }
}
