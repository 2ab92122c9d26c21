// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkBeatMath
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("Trust in senders")
struct TrustTests {
  private static let ownAddress = Address.v4(0x0a00_0001)
  private static let hereIPv6 = Address.v6(high: 0xfe80 << 48, low: 1, scope: 2)
  private static let other = Endpoint(Address.v4(0x0a00_0007), port: 20809)

  private static var near: Neighbourhood {
    Neighbourhood([
      Interface(
        index: 2, addresses: [ownAddress, hereIPv6],
        networks: [AddressRange(ownAddress, bits: 24), AddressRange(hereIPv6, bits: 64)].compactMap { $0 })
    ])
  }

  private func desk(_ change: (inout SurfaceSettings) -> Void = { _ in }) -> Desk {
    var settings = SurfaceSettings()
    change(&settings)
    var desk = Desk(settings)
    desk.machine.reach(OSCReach(), near: Self.near, clocks: desk.clocks)
    desk.drain()
    return desk
  }

  @Test(
    arguments: [
      ("10.0.0.5", nil, true), ("10.0.0.1", nil, true), ("127.0.0.1", nil, true), ("10.0.1.5", nil, false),
      ("203.0.113.9", nil, false), ("203.0.113.9", "203.0.113.0/24", true),
      ("10.0.0.5", "203.0.113.0/24", false),
      ("10.0.0.1", "203.0.113.0/24", true), ("::1", "203.0.113.0/24", true),
      // Linux accepts packets with these addresses from a neighbour, so they may be forged.
      ("fe80::1%2", nil, true), ("fe80::1%2", "203.0.113.0/24", false),
    ] as [(String, String?, Bool)])
  func `at 0.0.0.0, senders in own networks are obeyed, others if --osc-allow`(
    source: String, allowed: String?, isObeyed: Bool
  ) throws {
    var desk = desk {
      $0.listen = [Endpoint(Address.v4(0), port: 20809)]
      $0.allow = allowed.flatMap { AddressRange($0) }.map { [$0] } ?? []
    }
    let peer = Peer(Endpoint(try #require(Address(source)), port: 5000))
    // Send a choice that tactus does not remember: a remembered one would cause another notice.
    for _ in 1...20 { desk.send("/tactus/jack/timebase", .int32(1), from: peer) }
    #expect(desk.orders.isEmpty != isObeyed)
    // The twenty refused messages cause only one notice.
    #expect(desk.notices == (isObeyed ? [] : [.stranger(peer.endpoint.address, areNamed: allowed != nil)]))
  }

  @Test
  func `an --osc-listen address obeys a routed network only if allowed`() {
    for allowed in [[], [AddressRange("10.9.9.0/24")].compactMap { $0 }] {
      var desk = desk {
        $0.listen = [Endpoint(Self.ownAddress, port: 20809)]
        $0.allow = allowed
      }
      desk.send("/tactus/click", .int32(1), from: Peer(Endpoint(Address.v4(0x0a09_0909), port: 5000)))
      #expect(desk.orders.count == allowed.count)
    }
  }

  @Test(arguments: [hereIPv6, .v6(high: 0, low: 0xffff_7f00_0001, scope: 0)])
  func `an IPv6 source that pretends to be this machine is not trusted`(address: Address) {
    var desk = desk { $0.listen = [Endpoint(.v6(high: 0, low: 0, scope: 0), port: 20809)] }
    let forger = Peer(Endpoint(address, port: 5000))
    desk.send("/tactus/click/offset", .float32(7), from: forger)
    desk.send("/tactus/quit", from: forger)
    desk.send("/tactus/midi/learn", .string("stop"), from: forger)
    #expect(!desk.orders.contains { $0.isPaired || $0.command == .quit })
  }

  @Test
  func `only choices by this machine and named controllers are remembered`() throws {
    func isPaired(_ peer: Peer, _ change: (inout SurfaceSettings) -> Void = { _ in }) -> Bool {
      var desk = desk(change)
      desk.send("/tactus/click/offset", .float32(7), from: peer)
      desk.send("/tactus/midi/learn", .string("stop"), from: peer)
      desk.send("/tactus/midi/forget", .string("all"), from: peer)
      #expect(desk.orders.count == 1 && desk.program.state.choices.offset(of: .click2) == Micros(7000))
      let mayLearn = !desk.errorCodes.contains(5)
      // The change is reported once to the sender, and once to the user, who can then name the controller.
      let messages = desk.valuesSent("message").filter { $0.description.contains("is set until tactus ends") }
      #expect(messages.count == (mayLearn ? 0 : 1))
      #expect(desk.notices.contains(.notRemembered("click/offset", from: peer.endpoint.address)) != mayLearn)
      #expect(mayLearn || desk.errors[0].contains("--osc-allow=10.0.0.5"))
      #expect(desk.orders.first?.isPaired == mayLearn)
      return mayLearn
    }
    #expect(isPaired(Desk.local))
    #expect(isPaired(Peer(Endpoint(Self.ownAddress, port: 5000))))
    #expect(!isPaired(Desk.tablet))
    let allowed = try #require(AddressRange("10.0.0.5"))
    #expect(isPaired(Desk.tablet) { $0.allow = [allowed] })
    #expect(isPaired(Desk.tablet) { $0.targets = [Peer(Endpoint(Desk.tablet.endpoint.address, port: 9000))] })
  }

  @Test
  func `a host that has all subscriptions must give some to other hosts`() {
    var desk = desk()
    let greedy = Address.v4(0x0a00_0009)
    for port in 1...UInt16(SurfaceLimits.subscribers) {
      desk.send("/tactus/subscribe", from: Peer(Endpoint(greedy, port: port)))
      desk.wait(0.01)
    }
    #expect(desk.machine.subscribers.count == SurfaceLimits.subscribers)
    desk.send("/tactus/subscribe", from: Peer(Endpoint(greedy, port: 999)))
    #expect(desk.errorCodes == [5])
    desk.send("/tactus/subscribe", .int32(9000))
    #expect(desk.valuesSent("subscribed", to: Endpoint(Desk.tablet.endpoint.address, port: 9000)).count == 1)
    // The greedy host subscribes again at each port, but gets no more places than its share.
    for port in 1...UInt16(SurfaceLimits.subscribers) {
      desk.send("/tactus/subscribe", from: Peer(Endpoint(greedy, port: port)))
    }
    #expect(desk.machine.subscribers.contains { $0.target.endpoint.address == Desk.tablet.endpoint.address })
    #expect(desk.machine.subscribers.count == SurfaceLimits.subscribers)
  }

  @Test
  func `displays that are named, configured or renewing stay subscribed`()
    throws
  {
    let allowed = try #require(AddressRange("10.0.0.5"))
    let target = Peer(Self.other)
    var desk = desk {
      $0.allow = [allowed]
      $0.targets = [target]
      $0.targetGroups = .state
    }
    desk.send("/tactus/subscribe", .int32(9000))
    desk.send("/tactus/subscribe", .int32(9001), .string("state"), .int32(20), from: Desk.local)
    for _ in 1...4 {
      desk.wait(1000)
      desk.send("/tactus/subscribe", .int32(9001), .string("state"), .int32(20), from: Desk.local)
    }
    #expect(desk.machine.subscribers.count == 3)
    desk.forget()
    desk.update { $0.link.peers = 3 }
    desk.wait(0.1)
    #expect(Set(desk.sent.map(\.to.port)) == [9000, 9001, 20809])
    // A controller at whose port no program listens loses its place.
    for _ in 1...SurfaceLimits.unreachable {
      desk.machine.unreachable(
        Endpoint(Desk.tablet.endpoint.address, port: 9000), isThere: true, clocks: desk.clocks)
    }
    #expect(desk.machine.subscribers.count == 2)
  }

  @Test
  func `two tactus that send their values to each other press no buttons`() {
    let hosts = [Endpoint(Self.ownAddress, port: 20809), Self.other]
    func makeDesk(sendingTo index: Int) -> Desk {
      desk { settings in
        settings.targets = [Peer(hosts[index])]
        settings.targetGroups = [.state, .beat, .position]
      }
    }
    var desks = [makeDesk(sendingTo: 1), makeDesk(sendingTo: 0)]
    desks[0].update { $0.choices.click.isOn = true }
    desks[1].update { $0.choices.quantum = 7 }
    /// Delivers each desk's messages to the other one for some seconds.
    func exchange(_ seconds: Double) {
      for _ in 0..<Int(seconds * 20) {
        for index in 0...1 {
          desks[index].wait(0.05)
          let datagrams = desks[index].datagrams
          desks[index].datagrams = []
          for (bytes, to) in datagrams where to == hosts[1 - index] {
            desks[1 - index].send(bytes: bytes, from: Peer(hosts[index]))
          }
        }
      }
    }
    exchange(1)
    desks[0].update { $0.choices.clock.isOn.toggle() }
    exchange(3)
    for index in 0...1 {
      #expect(desks[index].program.commands.isEmpty, "\(desks[index].program.commands.prefix(5))")
      #expect(desks[index].notices.filter { $0 == .anotherTactus(hosts[1 - index]) }.count == 1)
    }
    #expect(desks[0].program.state.choices.click.isOn && !desks[1].program.state.choices.click.isOn)
    // A tablet is obeyed as usual, even if the tablet touches a light.
    desks[0].send("/tactus/beat/1", .float32(1))
    desks[0].send("/tactus/click/toggle", .float32(1))
    #expect(desks[0].program.commands == [.set("click", .flag(false))])
  }

  @Test
  func `a subscriber gets little until it returns the proof text`() {
    var desk = desk()
    let tablet = Endpoint(Desk.tablet.endpoint.address, port: 9000)
    func bytes() -> Int {
      desk.datagrams.filter { $0.to.address == tablet.address }.reduce(0) { $0 + $1.bytes.count }
    }
    // One forged packet arrives, and then music plays for an hour.
    desk.send("/tactus/subscribe", .int32(9000), .string("state heartbeat"))
    for count in 1...360 {
      desk.update { $0.link.peers = count }
      desk.wait(10)
    }
    #expect((10_000...80_000).contains(bytes()), "\(bytes())")
    #expect(desk.notices.filter { $0 == .unproven(tablet) }.count == 1)
    // A controller that only renews its subscription gets the final values, too.
    desk.forget()
    for _ in 1...60 {
      desk.send("/tactus/subscribe", .int32(9000), .string("state heartbeat"))
      desk.wait(5)
    }
    #expect(desk.valuesSent("peers", to: tablet).last == [.int32(360)])
    // Only a program that listens at the address can send this proof text back.
    let proof = desk.valuesSent("proof", to: tablet).last ?? []
    #expect(proof.count == 1)
    desk.send("/tactus/proof", .string("guess"))
    #expect(desk.errorCodes == [4] && desk.machine.subscribers.first?.hears == false)
    desk.send(bytes: LibloCodec.encode(Message("/tactus/proof", arguments: proof)))
    desk.forget()
    desk.wait(600)
    #expect(desk.valuesSent("heartbeat", to: tablet).count >= 599)
    // The display never goes dark as long as it sends each new proof text back.
    for _ in 1...2 {
      desk.wait(3600)
      #expect(desk.valuesSent("proof", to: tablet) == [proof])
      desk.send(bytes: LibloCodec.encode(Message("/tactus/proof", arguments: proof)))
      desk.forget()
    }
    #expect(desk.machine.subscribers.count == 1)
    desk.wait(7300)
    #expect(desk.machine.subscribers.isEmpty)
  }

  @Test
  func `a spoofed source gets at most a small multiple of the bytes it sends`() {
    let talks: [[Message]] = [
      [
        Message("/tactus/subscribe", .int32(9000), .string("all")),
        Message("/tactus/unsubscribe", .int32(9000)),
      ],
      [Message("/tactus/query")], [Message("/tactus/midi/list")], [Message("/tactus/nonsense")],
      [Message("/tactus/ping")], [Message("/tactus/version", .string("x")), Message("/tactus/ping")],
    ]
    for talk in talks {
      var desk = desk()
      var sent = 0
      for _ in 1...200 {
        for message in talk {
          let packet = LibloCodec.encode(message)
          sent += packet.count
          desk.send(bytes: packet)
        }
        desk.wait(0.01)
      }
      let bytesSent = desk.datagrams.reduce(0) { $0 + $1.bytes.count }
      #expect(
        Double(bytesSent) < SurfaceLimits.unprovenBytes + Double(sent) * SurfaceLimits.unprovenFactor + 1000,
        "\(talk): \(bytesSent) for \(sent)")
    }
  }

  @Test(arguments: [false, true])
  func `forged packets in a controller's name do not stop its answers`(isPaired: Bool) throws {
    let allowed = try #require(AddressRange("10.0.0.5"))
    var desk = desk { $0.allow = isPaired ? [allowed] : [] }
    var answered = 0
    for round in 0..<120 {
      // Once a second, send values that only a tactus sends.
      desk.send("/tactus/version", .string("x"))
      desk.send("/tactus/tempo/str", .string("120.0"))
      desk.wait(0.5)
      desk.forget()
      desk.send("/tactus/ping", .int32(Int32(round)))
      answered += desk.valuesSent("pong").count
      desk.wait(0.5)
    }
    #expect(answered == 120)
    #expect(!desk.notices.contains(.anotherTactus(Desk.tablet.endpoint)))
  }

  @Test
  func `notices about unpaired controllers are limited, and later ones appear`() {
    var desk = desk()
    for number in 0..<2000 {
      let peer = Peer(Endpoint(Address.v4(0x0a00_0100 + UInt32(number / 2)), port: UInt16(1000 + number)))
      desk.send("/tactus/subscribe", from: peer)
      desk.send("/tactus/click/offset", .float32(Float(number % 100)), from: peer)
      desk.send("/tactus/unsubscribe", from: peer)
      desk.wait(0.01)
    }
    // The loop took twenty seconds.
    #expect((40...44).contains(desk.notices.count), "\(desk.notices.count)")
    desk.forget()
    desk.wait(60)
    desk.send("/tactus/subscribe")
    #expect(desk.notices == [.subscribed(Desk.tablet, groups: "state")])
  }

  @Test(arguments: [(1e300, "1e+300"), (-5e12, "-5000000000000.0")])
  func `an error shows a number as it was sent`(sent: Double, shown: String) {
    var desk = desk()
    desk.send("/tactus/tempo", .float64(sent))
    #expect(desk.errors == ["tempo: 20 to 999 BPM, not \(shown)"])
  }

  @Test(arguments: [(4.37, 4), (4.51, 5), (0.2, 0), (64, 64)])
  func `an OSC fader sets whole quantums`(sent: Float, set: Int) {
    var desk = desk()
    desk.send("/tactus/quantum", .float32(sent))
    #expect(desk.program.commands == [.set("quantum", .whole(set))])
  }

  @Test
  func `a tempo that tactus sent is no new tempo when it comes back`() {
    var desk = desk()
    desk.send("/tactus/tempo", .float64(120.1))
    desk.wait(3)
    desk.forget()
    desk.send("/tactus/tempo", .float32(120.1))
    desk.wait(1)
    #expect(desk.program.commands.isEmpty && desk.errors.isEmpty)
    // If another tempo is already on its way to the session, the returned tempo does count as a new
    // one.
    desk.send("/tactus/tempo", .float32(140))
    desk.send("/tactus/tempo", .float32(120.1))
    desk.wait(1)
    #expect(abs(desk.program.state.tempo.beatsPerMinute - 120.1) < 0.001)
  }
}
