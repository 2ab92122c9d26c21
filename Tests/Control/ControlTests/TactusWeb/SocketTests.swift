// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSystem
import TactusOSC
import TactusSurface
import TactusTestSupport
import Testing

@testable import TactusWeb

@Suite("The socket")
struct SocketTests {
  @Test
  func `a paired browser sets, asks and subscribes by WebSocket in JSON`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let phone = try Phone(studio.port, headers: "Origin: http://localhost\r\n")
    #expect(
      phone.head.contains("101 ") && phone.head.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    )
    phone.send("[\"/tactus/ping\", 7, \"x\"]")
    let before = HostClock.micros().count
    let pong = try #require(try phone.line("[\"/tactus/pong\""))
    let parts = pong.dropLast().split(separator: ",")
    #expect(parts.suffix(2).elementsEqual(["7", "\"x\""]) && parts.count == 7)
    #expect(abs((Int64(parts[4]) ?? 0) - before) < 60_000_000)
    phone.send("[\"/tactus/subscribe\",\"state exact\"]")
    #expect(try phone.line("[\"/tactus/tempo\",") == "[\"/tactus/tempo\",120]")
    #expect(try phone.line("[\"/tactus/timeline\",120,") != nil)
    phone.send("[\"/tactus/click\",true]\n[\"/tactus/tempo\",99.5]\n")
    #expect(try phone.line("[\"/tactus/tempo\",99") == "[\"/tactus/tempo\",99.5]")
    #expect(studio.commands.contains(.tempo(Tempo(99.5))) && studio.commands.count == 2)
    phone.send("[\"/tactus/tempo\",5000]")
    #expect(try phone.line("[\"/tactus/error\"")?.hasSuffix("\"/tactus/tempo\",3]") == true)
    phone.send("[\"/tactus/nonsense\"")
    #expect(try phone.line("[\"/tactus/error\"")?.hasSuffix(",6]") == true)
    #expect(studio.wait { studio.web.counters.malformed == 1 })
  }

  @Test
  func `a browser can send OSC packets and bundles instead of JSON`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let phone = try Phone(studio.port)
    let click = LibloCodec.encode(Message("/tactus/click", .int32(1)))
    let ask = LibloCodec.encode(Message("/tactus/tempo"))
    for packet in Bundle.pack([click, ask]) { phone.caller.send(Phone.frame(packet, opcode: 2)) }
    #expect(try phone.message("/tactus/tempo") == Message("/tactus/tempo", .float32(120)))
    #expect(studio.commands.count == 1)
    // After that, tactus also understands JSON, but still answers with OSC packets, the first form used.
    phone.send("[\"/tactus/peers\"]")
    #expect(try phone.message("/tactus/peers") == Message("/tactus/peers", .int32(0)))
  }

  @Test
  func `without a cookie a browser only watches; a new secret unpairs browsers`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    let watcher = try Phone(studio.port, isPaired: false)
    let owner = try Phone(studio.port)
    watcher.send("[\"/tactus/subscribe\"]\n[\"/tactus/tempo\",99]")
    #expect(try watcher.line("[\"/tactus/error\"")?.contains("not paired") == true)
    owner.send("[\"/tactus/click\",1]")
    #expect(studio.wait { studio.commands.count == 1 })
    studio.forget()
    #expect(try owner.farewell() == 1008)
    studio.change { $0.link.peers = 3 }
    #expect(
      try watcher.line("[\"/tactus/peers\",") == "[\"/tactus/peers\",3]", "who watches goes on watching")
    let late = try Phone(studio.port)
    late.send("[\"/tactus/click\",0]")
    #expect(try late.line("[\"/tactus/error\"")?.contains("not paired") == true)
    #expect(studio.commands.count == 1)
  }

  @Test
  func `OSCQuery's LISTEN reports one value on each change, until IGNORE`() throws {
    let studio = try PageStudio(.queryAlone)
    defer { studio.close() }
    let port = try #require(studio.web.queryEndpoint).port
    let reader = try Phone(port, path: "/", isPaired: false)
    reader.send("{\"COMMAND\":\"LISTEN\",\"DATA\":\"/tactus/peers\"}")
    #expect(try reader.receive().payload == LibloCodec.encode(Message("/tactus/peers", .int32(0))))
    studio.change {
      $0.choices.click.isOn = true
      $0.link.peers = 1
    }
    let seen = try reader.messages(until: Message("/tactus/peers", .int32(1)))
    #expect(seen.allSatisfy { $0.address == "/tactus/peers" })
    reader.send("{\"COMMAND\":\"LISTEN\",\"DATA\":\"/tactus/beat\"}")
    #expect(try reader.message("/tactus/beat") != nil)
    reader.send("{\"COMMAND\":\"IGNORE\",\"DATA\":\"/tactus/peers\"}")
    reader.send("{\"COMMAND\":\"IGNORE\",\"DATA\":\"/tactus/beat\"}")
    reader.send(Message("/tactus/ping", .int32(1)))
    #expect(try reader.message("/tactus/pong") != nil)
    studio.change { $0.link.peers = 2 }
    reader.send(Message("/tactus/ping", .int32(2)))
    // Unlike a controller that leaves, this socket gets no messages that turn its lights off.
    #expect(try reader.receive().payload.starts(with: LibloCodec.encode(Message("/tactus/pong")).prefix(12)))
    for command in [
      "{\"COMMAND\":\"LISTEN\",\"DATA\":\"/nothing\"}", "{\"COMMAND\":\"DANCE\",\"DATA\":\"/\"}", "{",
    ] {
      reader.send(command)
      #expect(try reader.message("/tactus/error")?.arguments.last == .int32(6), "\(command)")
    }
  }

  @Test
  func `OSCQuery's LISTEN works for an own output while the output exists`() throws {
    let studio = try PageStudio(.queryAlone)
    defer { studio.close() }
    let reader = try Phone(try #require(studio.web.queryEndpoint).port, path: "/", isPaired: false)
    let listen = "{\"COMMAND\":\"LISTEN\",\"DATA\":\"/tactus/out/dr/offset\"}"
    reader.send(listen)
    #expect(try reader.message("/tactus/error") != nil)
    let (early, late) = (try NamedOutput("dr=clock"), try NamedOutput("dr=clock offset=4"))
    studio.change { $0.lists.outputs = [early] }
    let other = try Phone(try #require(studio.web.queryEndpoint).port, path: "/", isPaired: false)
    #expect(studio.wait { studio.surface.snapshot.row("/tactus/out/dr/offset") != nil })
    other.send(listen)
    #expect(try other.receive().payload == LibloCodec.encode(Message("/tactus/out/dr/offset", .float32(0))))
    studio.change { $0.lists.outputs = [late] }
    let seen = try other.messages(until: Message("/tactus/out/dr/offset", .float32(4)))
    #expect(seen.allSatisfy { $0.address == "/tactus/out/dr/offset" })
    // The output is a clock, but this address belongs to a pulse.
    other.send("{\"COMMAND\":\"LISTEN\",\"DATA\":\"/tactus/out/dr/width\"}")
    #expect(try other.message("/tactus/error") != nil)
    studio.change { $0.lists.outputs = [] }
    #expect(studio.wait { studio.surface.snapshot.row("/tactus/out/dr/offset") == nil })
  }

  @Test
  func `sixteen phones see the change that one makes, until they disconnect`() throws {
    let studio = try PageStudio()
    defer { studio.close() }
    var phones = try (0..<16).map { _ in try Phone(studio.port) }
    for phone in phones { phone.send("[\"/tactus/subscribe\",\"state\"]") }
    for phone in phones { #expect(try phone.line("[\"/tactus/update\",0]") != nil) }
    #expect(studio.wait { studio.surface.counters.subscribers == 16 })
    phones[3].send("[\"/tactus/tempo\",77]")
    for phone in phones { #expect(try phone.line("[\"/tactus/tempo\",77") != nil) }
    phones.removeLast(12)
    var areGone = false
    for _ in 0..<8 where !areGone {
      // On a busy machine, the other phones could be silent for so long that they are dropped.
      for phone in phones { phone.send("[\"/tactus/ping\"]") }
      areGone = studio.wait(seconds: 10) {
        studio.surface.counters.subscribers == 4 && studio.web.counters.sockets == 4
      }
    }
    #expect(areGone, "\(studio.surface.counters.subscribers) subscribers, \(studio.web.counters)")
  }

  @Test
  func `at the end of tactus, browsers get a goodbye and a close frame`() throws {
    let studio = try PageStudio()
    let phone = try Phone(studio.port)
    phone.send("[\"/tactus/subscribe\"]")
    #expect(try phone.line("[\"/tactus/update\",0]") != nil)
    studio.close()
    #expect(try phone.farewell() == 1001)
    #expect(phone.caller.isClosedByServer())
    #expect(studio.web.endpoints.isEmpty)
  }
}
