// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("Absent displays, and room for newcomers")
struct RoomTests {
  private static let display = Peer(Endpoint(Address.v4(0x0a00_0014), port: 9000))

  private static func peer(_ host: UInt32, _ port: UInt16 = 9000) -> Peer {
    Peer(Endpoint(Address.v4(0xc0a8_0000 | host), port: port))
  }

  private func subscribe(_ peer: Peer, proves: Bool, groups: String = "heartbeat", in desk: inout Desk) {
    desk.send("/tactus/subscribe", .string(groups), from: peer)
    if proves { prove(peer, in: &desk) }
  }

  /// Sends back the last proof that tactus sent to the controller.
  private func prove(_ peer: Peer, in desk: inout Desk) {
    guard let word = desk.valuesSent("proof", to: peer.endpoint).last else { return }
    desk.send(bytes: LibloCodec.encode(Message("/tactus/proof", arguments: word)), from: peer)
  }

  /// Lets seconds pass in which the network refuses every packet to the controller. `isThere`: whether the
  /// controller's machine is there, so that only its port is closed.
  private func lose(_ peer: Peer, seconds: Int, isThere: Bool = false, in desk: inout Desk) {
    for _ in 0..<seconds {
      let before = desk.datagrams.count
      desk.wait(1)
      for datagram in desk.datagrams[before...] where datagram.to == peer.endpoint {
        desk.machine.unreachable(datagram.to, isThere: isThere, clocks: desk.clocks)
        desk.drain()
      }
    }
  }

  @Test(arguments: [(false, 8), (true, 8), (false, 60), (true, 300)])
  func `a display's values return after its cable was pulled and plugged in`(isNamed: Bool, seconds: Int) {
    var desk = Desk(isNamed ? .paired : SurfaceSettings())
    subscribe(Self.display, proves: !isNamed, groups: "state heartbeat", in: &desk)
    desk.wait(5)
    desk.forget()
    lose(Self.display, seconds: seconds, in: &desk)
    #expect(desk.notices.filter { $0 == .noWay(Self.display.endpoint) }.count == 1)
    desk.update { $0.link.peers = 3 }
    desk.sent = []
    desk.wait(12)
    #expect(desk.valuesSent("heartbeat", to: Self.display.endpoint).count >= 6)
    #expect(desk.valuesSent("peers", to: Self.display.endpoint).last == [.int32(3)])
    desk.forget()
    desk.wait(60)
    #expect(desk.valuesSent("heartbeat", to: Self.display.endpoint).count >= 59)
    #expect(!desk.notices.contains(.noWay(Self.display.endpoint)))
  }

  @Test
  func `a display out of reach gets few packets, and none after ten minutes`() {
    var desk = Desk()
    subscribe(Self.display, proves: true, groups: "beat phase heartbeat", in: &desk)
    desk.wait(5)
    desk.forget()
    lose(Self.display, seconds: 300, in: &desk)
    #expect(desk.machine.subscribers.count == 1)
    #expect(desk.datagrams.count < 300 / 5 * 60, "\(desk.datagrams.count)")
    lose(Self.display, seconds: 400, in: &desk)
    #expect(desk.machine.subscribers.isEmpty)
    #expect(desk.notices.filter { $0 == .noWay(Self.display.endpoint) }.count == 1)
  }

  @Test
  func `controllers are dropped if their port is closed, or unproven if absent`() {
    var desk = Desk()
    subscribe(Self.display, proves: true, in: &desk)
    lose(Self.display, seconds: 5, isThere: true, in: &desk)
    #expect(desk.machine.subscribers.isEmpty)
    subscribe(Self.peer(7), proves: false, in: &desk)
    lose(Self.peer(7), seconds: 5, in: &desk)
    #expect(desk.machine.subscribers.isEmpty)
  }

  @Test(arguments: [false, true])
  func `no unproven new controller displaces a display that only listens`(isNamed: Bool) {
    var desk = Desk(isNamed ? .paired : SurfaceSettings())
    subscribe(Self.display, proves: !isNamed, in: &desk)
    desk.wait(65)
    for number in 1...40 {
      subscribe(Self.peer(isNamed ? 9 : UInt32(number % 7), UInt16(1000 + number)), proves: false, in: &desk)
      desk.wait(10)
    }
    desk.forget()
    desk.wait(60)
    #expect(desk.valuesSent("heartbeat", to: Self.display.endpoint).count >= 59)
    #expect(desk.machine.subscribers.count <= SurfaceLimits.subscribers)
  }

  @Test
  func `subscriptions from 16 forged sources keep no real controller out`() {
    var desk = Desk()
    func forge() {
      for number in 0..<16 { subscribe(Self.peer(100 + UInt32(number)), proves: false, in: &desk) }
    }
    forge()
    for _ in 0..<10 {
      desk.wait(5)
      forge()
    }
    desk.forget()
    subscribe(Self.display, proves: false, in: &desk)
    #expect(desk.errorCodes == [5])
    // The display sends its proof text back and gets its place.
    prove(Self.display, in: &desk)
    forge()
    desk.forget()
    desk.wait(60)
    forge()
    desk.wait(60)
    #expect(desk.valuesSent("heartbeat", to: Self.display.endpoint).count >= 119)
    #expect(desk.machine.subscribers.count == SurfaceLimits.subscribers)
  }

  @Test
  func `tactus asks a silent display before it gives its place to another`() {
    var desk = Desk()
    for number in 0..<16 { subscribe(Self.peer(100 + UInt32(number)), proves: true, in: &desk) }
    #expect(!desk.machine.subscribers.contains { !$0.hears })
    desk.wait(65)
    desk.forget()
    // All subscribed controllers except number 105 answer.
    subscribe(Self.display, proves: true, in: &desk)
    for number in 0..<16 where number != 5 { prove(Self.peer(100 + UInt32(number)), in: &desk) }
    #expect(!desk.machine.subscribers.contains { $0.target == Self.display })
    desk.wait(8)
    let subscribed = desk.machine.subscribers.map(\.target)
    #expect(
      subscribed.count == 16 && subscribed.contains(Self.display) && !subscribed.contains(Self.peer(105)))
    // This time all controllers answer.
    desk.wait(65)
    desk.forget()
    let late = Self.peer(7)
    subscribe(late, proves: true, in: &desk)
    for peer in subscribed { prove(peer, in: &desk) }
    desk.wait(8)
    #expect(Set(desk.machine.subscribers.map(\.target)) == Set(subscribed))
  }

  @Test
  func `a controller that the settings name displaces a proven stranger`() throws {
    var settings = SurfaceSettings()
    settings.allow = [try #require(AddressRange("192.168.0.0/16")), try #require(AddressRange("10.0.0.5"))]
    settings.allow.removeFirst()
    settings.allow.append(try #require(AddressRange("10.0.0.5")))
    var desk = Desk(settings)
    for number in 0..<16 {
      desk.machine.subscribers.append(
        Subscriber(
          target: Self.peer(UInt32(number)), source: Self.peer(UInt32(number)), groups: .state, dialect: .own,
          heard: desk.now, nextFlush: desk.now, hears: true))
    }
    desk.send("/tactus/subscribe")
    #expect(desk.machine.subscribers.contains { $0.target == Desk.tablet } && desk.errors.isEmpty)
  }

  @Test
  func `a subscribed host keeps its own limit of bytes in a flood of sources`() {
    var rates = SourceRates()
    let now = Micros(1_000_000), whole = Int(SurfaceLimits.unprovenBytes)
    func maySend(_ host: Address, _ bytes: Int, at now: Micros, isReserved: Bool = false) -> Bool {
      rates.maySend(host, bytes: bytes, at: now, isReserved: isReserved)
    }
    func host(_ number: UInt32) -> Address { .v4(0x0a10_0000 | number) }
    for number in 0..<UInt32(SurfaceLimits.sources) {
      #expect(maySend(host(number), 100, at: now))
    }
    // Use up the limit that all sources beyond the remembered ones share.
    #expect(maySend(host(5000), whole, at: now))
    #expect(!maySend(host(5001), 60, at: now))
    #expect(maySend(host(5002), 20_000, at: now, isReserved: true))
    let left = rates.left(for: host(5002), at: now, isReserved: true)
    #expect(left == Double(whole - 20_000))
    // The host keeps its own limit while other sources come and go.
    for second in 2...30 {
      let now = Micros(Int64(second) * 1_000_000)
      for number in 0..<UInt32(SurfaceLimits.sources) {
        _ = maySend(host(UInt32(second) << 11 | number), 100, at: now)
      }
    }
    #expect(!maySend(host(5002), whole, at: Micros(30_000_000), isReserved: true))
    // The number of reserved places has a limit, too.
    let made = (0..<1000).count { number in
      maySend(host(100_000 + UInt32(number)), whole, at: Micros(30_000_001), isReserved: true)
    }
    #expect(made < 2 * SurfaceLimits.reservedSources)
  }

  @Test
  func `a new display is sent all values beside thousands of forged queries`() {
    var desk = Desk()
    for number in 0..<UInt32(2 * SurfaceLimits.sources) {
      desk.send("/tactus/query", from: Self.peer(number))
    }
    // The forged sources use up the rest of the limit that they share.
    let late = Self.peer(0xffff).endpoint.address
    let bytesLeft = desk.machine.rates.left(for: late, at: desk.now)
    let maySend = desk.machine.rates.maySend(late, bytes: Int(bytesLeft), at: desk.now)
    #expect(maySend)
    desk.forget()
    subscribe(Self.display, proves: false, groups: "state heartbeat", in: &desk)
    desk.wait(0.5)
    #expect(desk.valuesSent("proof", to: Self.display.endpoint).count == 1)
    #expect(!desk.valuesSent("peers", to: Self.display.endpoint).isEmpty)
    prove(Self.display, in: &desk)
    #expect(desk.machine.subscribers.map(\.hears) == [true])
  }

  @Test
  func `only paired controllers read the key, the other rooms and the peers`() {
    let secret = [
      "far/key", "far/str", "far/rooms", "far/refused", "far/seen", "far/seen/list", "peers/list",
    ]
    for settings in [SurfaceSettings(), .paired] {
      let isPaired = !settings.allow.isEmpty
      var desk = Desk(settings)
      subscribe(Desk.tablet, proves: true, groups: "all", in: &desk)
      desk.send("/tactus/query")
      desk.send("/tactus/query", .string("far/*"))
      for path in secret {
        desk.send("/tactus/" + path)
        // One sender gets at most five errors a second.
        desk.wait(0.3)
      }
      desk.update {
        ($0.link.peerList, $0.far.key, $0.far.refused) = ("10.0.0.9", "k7qm", "203.0.113.9:5")
        $0.far.rooms = [
          ShownRoom(
            name: "studio:20819", state: .proven, roundTripMilliseconds: 20, lossPercent: nil,
            offsetMilliseconds: 0, seen: "203.0.113.7:4711")
        ]
      }
      desk.wait(1)
      for path in secret { #expect(desk.valuesSent(path).isEmpty != isPaired, "\(path)") }
      #expect(desk.valuesSent("far").last == [.int32(1)])
      if !isPaired { #expect(desk.errorCodes.filter { $0 == 5 }.count == secret.count) }
      let tree = QueryTree()
      let snapshot = SurfaceSnapshot(reading: desk.machine.reading)
      for (path, query) in [("/", nil), ("/tactus/far/key", "VALUE"), ("/", "HTML")] as [(String, String?)] {
        let body = tree.answer(
          path: path, query: query, snapshot, at: QueryTree.Place(web: 1), isPaired: isPaired
        ).body
        #expect(body.contains("k7qm") == isPaired)
      }
    }
  }

  @Test
  func `an unpaired controller adds and removes outputs at a limited rate`() {
    var desk = Desk()
    for turn in 0..<1000 {
      let path = turn % 2 == 0 ? "/tactus/out/add" : "/tactus/out/remove"
      desk.send(path, .string(turn % 2 == 0 ? "x=clock" : "x"))
      desk.wait(0.02)
    }
    // The loop above took twenty seconds.
    let done = desk.program.commands.count
    #expect((60...OutputSettings.limit + 20 * 4 + 1).contains(done), "\(done)")
    #expect(desk.errors.contains { $0.contains("too many outputs came and went") })
    desk.forget()
    for turn in 0..<100 {
      let path = turn % 2 == 0 ? "/tactus/out/add" : "/tactus/out/remove"
      desk.send(path, .string(turn % 2 == 0 ? "y=clock" : "y"), from: Desk.local)
    }
    #expect(desk.errors.isEmpty)
  }

  @Test
  func `a list of a thousand long channel names is cut to its size limit`() {
    let names = (0..<1024).map { "\($0)" + String(repeating: "x", count: 250) }
    #expect(ShownAudio.list(names).hasSuffix("x... and 1023 more"))
    #expect(ShownAudio.list(names).unicodeScalars.count <= 255)
    let channels = (1...49).map { "Live/\($0)-Audio" }
    let text = ShownAudio.list(channels)
    let shown = text.split(separator: ", ")
    #expect(shown.count > 5 && text.hasSuffix(" and \(49 - shown.count) more"))
    #expect(
      ShownAudio.list(Array(channels.prefix(shown.count)))
        == channels.prefix(shown.count).joined(separator: ", "))
    let few = ["a", "b\u{1B}", "🎹"]
    #expect(ShownAudio.list(few) == "a, b?, 🎹" && ShownAudio.list([]) == "none")
  }
}
