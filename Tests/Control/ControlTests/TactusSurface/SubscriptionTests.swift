// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("Subscriptions of controllers")
struct SubscriptionTests {
  let tablet = Endpoint(Desk.tablet.endpoint.address, port: 9000)

  @Test
  func `a subscriber gets all values once, and then only changes`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .float32(9000))
    #expect(desk.valuesSent("subscribed", to: tablet) == [[.int32(9000), .string("state"), .int32(0)]])
    #expect(desk.valuesSent("update", to: tablet) == [[.float32(1)], [.float32(0)]])
    for row in Table.standard.rows where row.isReadable {
      #expect(desk.valuesSent(row.path, to: tablet).isEmpty == row.isForPaired, "\(row.path)")
    }
    #expect(desk.datagrams.allSatisfy { $0.bytes.count <= 1400 && $0.to == tablet })
    desk.wait(0.1)
    desk.forget()
    desk.update { $0.link.peers = 2 }
    desk.wait(0.1)
    #expect(
      desk.sent.map(\.message) == [
        Message("/tactus/peers", .int32(2)), Message("/tactus/peers/str", .string("2 Links")),
      ])
  }

  @Test(
    arguments: [
      ("subscribe", [Argument.int32(9000)], 9000, Group.state, nil),
      ("subscribe", [.string("9000")], 9000, .state, nil),
      ("subscribe", [.string("osc.udp://tablet.local:9000/")], 9000, .state, nil),
      ("subscribe", [.string("10.0.0.5:9000")], 9000, .state, nil), ("subscribe", [], 51_000, .state, nil),
      ("subscribe", [.int32(0), .string("beat,phase"), .int32(30)], 51_000, [.beat, .phase], 30),
      ("subscribe", [.string("beat")], 51_000, .beat, nil),
      ("subscribe", [.float32(9000), .string("all"), .float32(5)], 9000, Group(rawValue: 63), 5),
      ("subscribe/9000", [.float32(1)], 9000, .state, nil), ("subscribe/9000", [], 9000, .state, nil),
      ("subscribe/9000/state/beat", [.float32(1)], 9000, [.state, .beat], nil),
      ("register_client", [.string("osc.udp://10.0.0.5:9000/")], 9000, .state, nil),
    ] as [(String, [Argument], Int, Group, Int?)])
  func `a subscription is understood in each form that a controller can send`(
    path: String, arguments: [Argument], port: Int, groups: Group, lease: Int?
  ) {
    var desk = Desk()
    desk.send(bytes: LibloCodec.encode(Message("/tactus/" + path, arguments: arguments)))
    #expect(desk.errors.isEmpty)
    #expect(desk.machine.subscribers.count == 1)
    let subscriber = desk.machine.subscribers.first
    #expect(subscriber?.target.endpoint == Endpoint(Desk.tablet.endpoint.address, port: UInt16(port)))
    #expect(subscriber?.groups == groups)
    #expect(subscriber?.lease == lease.map { Micros(Int64($0) * 1_000_000) })
  }

  @Test
  func `a sender cannot subscribe another machine`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .string("osc.udp://10.9.9.9:9000/"))
    #expect(desk.machine.subscribers.isEmpty && desk.errorCodes == [5])
    #expect(desk.sent.allSatisfy { $0.to == Desk.tablet.endpoint })
  }

  @Test
  func `an invalid subscription is refused with the reason`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .int32(70_000))
    desk.send("/tactus/subscribe", .int32(9000), .string("everything"))
    desk.send("/tactus/subscribe", .int32(9000), .string("beat"), .int32(99_999))
    desk.send("/tactus/unsubscribe", .int32(9000))
    #expect(desk.errorCodes == [3, 2, 3, 4])
    #expect(desk.machine.subscribers.isEmpty)
  }

  @Test
  func `a subscriber gets at most 50 changes a second, always the last value`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .int32(9000))
    desk.wait(0.1)
    desk.forget()
    for count in 1...1000 {
      desk.update { $0.jack.xruns = count }
      desk.wait(0.001)
    }
    desk.wait(0.05)
    #expect((45...52).contains(desk.valuesSent("jack/xruns").count))
    #expect(desk.valuesSent("jack/xruns").last == [.int32(1000)])
  }

  @Test
  func `a fader is not moved under the finger, and gets its value afterwards`() {
    var desk = Desk()
    let other = Peer(Endpoint(Address.v4(0x0a00_0006), port: 9000))
    desk.send("/tactus/subscribe", .int32(9000))
    desk.send("/tactus/subscribe", from: other)
    desk.wait(0.1)
    desk.forget()
    for step in 1...20 {
      desk.send("/tactus/click/volume", .float32(Float(step) / 20))
      desk.wait(0.02)
    }
    #expect(desk.valuesSent("click/volume", to: tablet).isEmpty)
    #expect(desk.valuesSent("click/volume", to: other.endpoint).count >= 19)
    #expect(desk.valuesSent("click/volume/db", to: tablet).count >= 19)
    desk.wait(0.3)
    #expect(desk.valuesSent("click/volume", to: tablet) == [[.float32(1)]])
  }

  @Test
  func `a command row without a value sends no value to subscribers`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .int32(9000))
    desk.wait(0.1)
    desk.forget()
    desk.send("/tactus/locate/bar", .int32(5))
    desk.send("/tactus/tempo/nudge", .float32(2))
    desk.wait(1)
    #expect(desk.valuesSent("locate/bar").isEmpty && desk.valuesSent("tempo/nudge").isEmpty)
  }

  @Test
  func `a momentary button shows the row's value, not the finger's press`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .int32(9000))
    desk.wait(0.1)
    desk.forget()
    desk.send("/tactus/start", .float32(1))
    desk.wait(0.05)
    desk.send("/tactus/start", .float32(0))
    desk.wait(0.1)
    #expect(desk.valuesSent("start", to: tablet).last == [.float32(1)])
    #expect(desk.valuesSent("stop", to: tablet).last == [.float32(0)])
    #expect(desk.valuesSent("toggle", to: tablet).last == [.float32(1)])
  }

  @Test
  func `a subscription's lease runs out, and the controller is cleared`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .int32(9000), .string("state"), .int32(10))
    for _ in 1...3 {
      desk.wait(8)
      desk.send("/tactus/ping", from: Peer(Endpoint(Desk.tablet.endpoint.address, port: 33_333)))
    }
    #expect(desk.machine.subscribers.count == 1)
    desk.forget()
    desk.wait(10.1)
    #expect(desk.machine.subscribers.isEmpty)
    #expect(desk.valuesSent("playing", to: tablet) == [[.float32(0)]])
    #expect(desk.valuesSent("tempo/str", to: tablet) == [[.string(" ")]])
    #expect(
      desk.notices.map(\.text).contains(
        "OSC: no longer sending to 10.0.0.5:9000: its subscription has run out"))
  }

  @Test
  func `without a lease, a subscription lasts an hour without messages`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .int32(9000))
    desk.wait(3590)
    #expect(desk.machine.subscribers.count == 1)
    desk.wait(20)
    #expect(desk.machine.subscribers.isEmpty)
  }

  @Test
  func `a controller that subscribes too often gets all values less often`() {
    var desk = Desk(.paired)
    for _ in 1...10 {
      desk.send("/tactus/subscribe", .int32(9000))
      desk.wait(0.5)
    }
    #expect(desk.machine.subscribers.count == 1)
    #expect((2...3).contains(desk.valuesSent("update").count / 2))
    #expect(desk.valuesSent("subscribed").count == 10)
  }

  @Test
  func `a 17th controller displaces only a silent one`() {
    var desk = Desk()
    for index in 1...16 {
      desk.send("/tactus/subscribe", from: Peer(Endpoint(Address.v4(UInt32(index)), port: 1)))
    }
    desk.send("/tactus/subscribe")
    #expect(desk.machine.subscribers.count == 16 && desk.errorCodes == [5])
    desk.wait(61)
    desk.forget()
    desk.send("/tactus/subscribe")
    #expect(desk.machine.subscribers.count == 16 && desk.errors.isEmpty)
    #expect(!desk.machine.subscribers.contains { $0.target.endpoint.address == Address.v4(1) })
    #expect(desk.machine.subscribers.contains { $0.target == Desk.tablet })
  }

  @Test
  func `unsubscribing clears a controller; the end of tactus also sends bye`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .int32(9000), .string("state beat"))
    desk.forget()
    desk.send("/tactus/unsubscribe")
    #expect(desk.machine.subscribers.isEmpty)
    #expect(desk.valuesSent("link") == [[.float32(0)]] && desk.valuesSent("beat/1") == [[.float32(0)]])
    desk.send("/tactus/subscribe", .int32(9000))
    desk.forget()
    desk.machine.close(clocks: desk.clocks)
    desk.drain()
    #expect(desk.valuesSent("bye", to: tablet).count == 1 && desk.valuesSent("link") == [[.float32(0)]])
  }

  @Test
  func `pong has program, version, port, clock and the sent arguments`() {
    var settings = SurfaceSettings()
    settings.version = "1.2"
    var desk = Desk(settings)
    desk.send("/tactus/ping", .int32(7))
    #expect(
      desk.valuesSent("pong", to: Desk.tablet.endpoint)
        == [[.string("tactus"), .string("1.2"), .int32(20_809), .float64(Double(desk.now.count)), .int32(7)]])
  }

  @Test
  func `a value goes to its asker alone; a query gets all values that match`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .int32(9000))
    desk.forget()
    let asker = Peer(Endpoint(Address.v4(0x0a00_0007), port: 1234))
    desk.send("/tactus/tempo", from: asker)
    #expect(desk.sent.map(\.to) == [asker.endpoint] && desk.valuesSent("tempo") == [[.float32(120)]])
    desk.forget()
    desk.send("/tactus/query", .string("click/*"), from: asker)
    #expect(
      desk.valuesSent("click/volume").count == 1 && desk.valuesSent("tempo").isEmpty
        && desk.valuesSent("update").count == 2)
    desk.forget()
    desk.send("/tactus/query", from: asker)
    #expect(
      Set(desk.sent.map(\.message.address)).count
        == Table.standard.rows.filter { $0.isReadable && !$0.isForPaired }.count + 1)
  }

  @Test
  func `klick clients and Ardour surfaces get values in their own dialects`() {
    var desk = Desk()
    desk.send("/klick/register_client", .string("osc.udp://10.0.0.5:9000/"))
    desk.forget()
    desk.update { $0.timeline.tempo = Tempo(99) }
    desk.wait(0.1)
    #expect(desk.sent.map(\.message).contains(Message("/klick/simple/tempo", .float32(99))))
    #expect(!desk.sent.contains { $0.message.address.hasPrefix("/tactus") })
    desk.send("/klick/ping")
    #expect(desk.sent.last?.message == Message("/klick/pong"))

    var ardour = Desk()
    ardour.send("/set_surface/32/19/16638/3/0/0/8000/0", .float32(1))
    #expect(ardour.machine.subscribers.first?.target.endpoint.port == 8000)
    ardour.forget()
    ardour.send("/transport_play", .float32(1))
    ardour.wait(2.5)
    let addresses = Set(ardour.sent.map(\.message.address))
    #expect(addresses.isSuperset(of: ["/transport_play", "/toggle_roll", "/position/bbt", "/heartbeat"]))
    #expect(addresses.allSatisfy { !$0.hasPrefix("/tactus") })
  }

  @Test
  func `--osc-send targets get values without asking, for ever`() {
    var settings = SurfaceSettings()
    settings.targets = [Peer(tablet)]
    var desk = Desk(settings)
    #expect(desk.valuesSent("tempo", to: tablet) == [[.float32(120)]])
    desk.wait(4000)
    desk.forget()
    desk.update { $0.link.peers = 1 }
    desk.wait(0.1)
    #expect(desk.valuesSent("peers", to: tablet) == [[.int32(1)]])
  }
}
