// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Synchronization
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("Browsers at the surface")
struct BrowserTests {
  static func phone(_ number: Int, isPaired: Bool = true, host: UInt32 = 0x0a00_0007) -> Peer {
    Peer(
      Browser(number: number, isPaired: isPaired),
      at: Endpoint(.v4(host), port: UInt16(30_000 + number)))
  }

  static func desk(_ browsers: Peer...) -> Desk {
    var desk = Desk()
    for browser in browsers { desk.machine.browsers.insert(browser) }
    return desk
  }

  @Test
  func `a paired browser's changes are remembered; it needs no OSC proof text`() {
    let phone = Self.phone(1)
    var desk = Self.desk(phone)
    desk.send("/tactus/click", .int32(1), from: phone)
    #expect(desk.program.commands == [.set("click", .flag(true))] && desk.orders.map(\.isPaired) == [true])
    desk.send("/tactus/subscribe", .string("state"), from: phone)
    #expect(desk.valuesSent("proof").isEmpty && desk.valuesSent("tempo") == [[.float32(120)]])
    #expect(desk.valuesSent("subscribed") == [[.int32(30_001), .string("state"), .int32(0)]])
    #expect(desk.machine.trust(in: phone) == .trusted)
    desk.send("/tactus/midi/learn", .string("tap"), from: phone)
    #expect(desk.errors.isEmpty)
  }

  @Test
  func `an unpaired browser may read all values and change none`() {
    let phone = Self.phone(1, isPaired: false)
    var desk = Self.desk(phone)
    desk.send("/tactus/subscribe", .string("state beat exact"), from: phone)
    #expect(desk.valuesSent("tempo") == [[.float32(120)]] && !desk.valuesSent("timeline").isEmpty)
    for read in ["ping", "query", "tempo", "midi/list", "unsubscribe"] {
      desk.send("/tactus/\(read)", from: phone)
    }
    #expect(desk.errors.isEmpty && desk.valuesSent("pong").count == 1)
    for row in Table.standard.rows where row.isWritable && row.kind != .verb {
      desk.forget()
      desk.wait(1)
      desk.forget()
      desk.send(Table.address(row.path), .int32(1), from: phone)
      #expect(desk.errorCodes == [Refusal.Code.notPaired.rawValue], "\(row.path)")
      #expect(desk.errors.first?.contains("not paired") == true)
    }
    desk.wait(1)
    desk.send("/tactus/*", .int32(1), from: phone)
    desk.send("/klick/metro/start", from: phone)
    desk.send(bytes: Self.later("/tactus/tempo", .float32(99), desk.timetag(in: 0.5)), from: phone)
    desk.wait(1)
    #expect(desk.program.commands.isEmpty)
  }

  private static func later(_ address: String, _ argument: Argument, _ timetag: UInt64) -> [UInt8] {
    let message = LibloCodec.encode(Message(address, argument))
    return Array("#bundle\0".utf8) + withUnsafeBytes(of: timetag.bigEndian) { Array($0) }
      + sizeWord(message.count) + message
  }

  @Test
  func `values read by HTTP are never older than values sent before`() throws {
    let phone = Self.phone(1)
    let studio = try Studio()
    defer { studio.close() }
    let seen = Mutex<[(message: Message, outputs: Int)]>([])
    let surface = studio.surface
    surface.post { [weak surface] bytes, _ in
      guard let surface, let messages = try? bytes.withUnsafeBytes(LibloCodec.messages) else { return }
      let outputs = surface.snapshot.reading.state.lists.outputs.count
      seen.withLock { $0 += messages.map { ($0, outputs) } }
    }
    defer { surface.post(nil) }
    _ = surface.receive(LibloCodec.encode(Message("/tactus/subscribe", .string("state"))), from: phone)
    for number in 1...20 {
      let output = Message("/tactus/out/add", .string("c\(number)=clock"))
      _ = surface.receive(LibloCodec.encode(output), from: phone)
      let changes = Message("/tactus/out/changes", .int32(Int32(number)))
      #expect(studio.wait { seen.withLock { $0.contains { $0.message == changes } } })
    }
    for (message, outputs) in seen.withLock({ $0 }) where message.address == "/tactus/out/changes" {
      #expect(message.arguments == [.int32(Int32(outputs))])
    }
  }

  @Test
  func `a browser's subscription lasts exactly as long as its connection`() {
    let phone = Self.phone(1, isPaired: false)
    var desk = Self.desk(phone)
    desk.send("/tactus/subscribe", .string("state"), .int32(5), from: phone)
    desk.wait(7300)
    desk.forget()
    desk.update { $0.link.peers = 3 }
    desk.wait(0.1)
    #expect(desk.valuesSent("peers") == [[.int32(3)]])
    // This subscription would take effect after the connection has ended, so it must not be accepted.
    desk.send(
      bytes: Self.later("/tactus/subscribe", .string("state"), desk.timetag(in: 0.5)), from: phone)
    desk.machine.gone(phone, clocks: desk.clocks)
    desk.drain()
    desk.forget()
    desk.wait(1)
    desk.update { $0.link.peers = 4 }
    desk.wait(1)
    #expect(desk.valuesSent("peers").isEmpty && desk.machine.subscribers.isEmpty)
    desk.send("/tactus/tempo", from: phone)
    #expect(desk.valuesSent("tempo").isEmpty, "a packet that was still waiting")
  }

  @Test
  func `UDP datagrams from a browser's port do not touch its subscription`() {
    let phone = Self.phone(1)
    let tablet = Peer(phone.endpoint)
    var desk = Self.desk(phone)
    desk.send("/tactus/subscribe", .string("state"), from: phone)
    desk.send("/tactus/unsubscribe", from: tablet)
    desk.send("/tactus/unsubscribe", .int32(30_001), from: tablet)
    desk.send("/tactus/unsubscribe/30001", from: tablet)
    desk.machine.unreachable(phone.endpoint, isThere: true, clocks: desk.clocks)
    desk.machine.unreachable(phone.endpoint, isThere: true, clocks: desk.clocks)
    desk.machine.unreachable(phone.endpoint, isThere: true, clocks: desk.clocks)
    #expect(desk.machine.subscribers.map(\.target) == [phone])
    desk.send("/tactus/subscribe", .int32(9000), from: phone)
    #expect(desk.errors.last?.contains("own connection") == true)
    #expect(desk.machine.subscribers.map(\.target) == [phone])
  }

  @Test
  func `16 browsers fit beside 16 controllers, and a 17th browser is refused`() {
    let phones = (1...16).map { Self.phone($0, host: 0x0a00_0100 + UInt32($0)) }
    var desk = Desk()
    for phone in phones { desk.machine.browsers.insert(phone) }
    for number in 1...16 {
      desk.send("/tactus/subscribe", from: Peer(Endpoint(.v4(0x0a00_0200 + UInt32(number)), port: 9000)))
    }
    for phone in phones { desk.send("/tactus/subscribe", from: phone) }
    #expect(desk.machine.subscribers.count == 32 && desk.errors.isEmpty)
    let another = Self.phone(17)
    desk.machine.browsers.insert(another)
    desk.send("/tactus/subscribe", from: another)
    #expect(desk.errors.last?.contains("16 browsers are subscribed already") == true)
  }

  @Test
  func `browsers that only watch never lock out or displace a paired one`() {
    func watcher(_ number: Int) -> Peer {
      Self.phone(number, isPaired: false, host: 0x0a00_0100 + UInt32(number))
    }
    var desk = Desk()
    for number in 1...16 { desk.machine.browsers.insert(watcher(number)) }
    for number in 1...16 {
      desk.send("/tactus/subscribe", from: watcher(number))
      desk.wait(0.01)
    }
    let phone = Self.phone(99)
    desk.machine.browsers.insert(phone)
    desk.send("/tactus/subscribe", .string("state"), from: phone)
    #expect(desk.machine.subscribers.map(\.target).contains(phone))
    // The browser that lost its place gets the reason. When it subscribes again, it is refused.
    #expect(desk.errors == ["subscribe: a paired browser came, and there is room for 16"])
    desk.wait(61)
    for number in 2...16 { desk.send("/tactus/ping", from: watcher(number)) }
    desk.send("/tactus/subscribe", from: watcher(1))
    #expect(desk.errors.last?.contains("16 browsers are subscribed already") == true)
    #expect(desk.machine.subscribers.map(\.target).contains(phone))
    // A browser that only watches, and has been silent for a minute, makes room for another watching browser.
    desk.wait(61)
    desk.send("/tactus/subscribe", from: watcher(1))
    #expect(desk.machine.subscribers.map(\.target).contains(watcher(1)))
    #expect(desk.machine.subscribers.map(\.target).contains(phone))
    // A packet that arrived before the connection ended must not count as a packet from a stranger.
    desk.machine.gone(watcher(1), clocks: desk.clocks)
    desk.send("/tactus/query", from: watcher(1))
    #expect(desk.machine.counters.strangers == 0)
  }

  @Test
  func `two phones on one fader both end at the value that was set last`() {
    let (left, right) = (Self.phone(1), Self.phone(2))
    var desk = Self.desk(left, right)
    for phone in [left, right] { desk.send("/tactus/subscribe", .string("state"), from: phone) }
    desk.wait(1)
    desk.forget()
    for step in 1...20 {
      desk.send("/tactus/click/volume", .float32(0.3 + Float(step) / 100), from: left)
      desk.wait(0.02)
      desk.send("/tactus/click/volume", .float32(0.9 - Float(step) / 100), from: right)
      desk.wait(0.02)
      // The first move is sent to the other phone, whose user does not touch the fader yet.
      if step == 1 { desk.forget() }
    }
    #expect(desk.valuesSent("click/volume").isEmpty, "moved under a finger")
    desk.wait(0.5)
    for phone in [left, right] {
      #expect(desk.valuesSent("click/volume", to: phone.endpoint) == [[.float32(0.9 - 0.2)]])
    }
  }
}
