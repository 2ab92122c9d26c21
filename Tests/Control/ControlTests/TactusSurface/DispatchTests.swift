// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("From message to command")
struct DispatchTests {
  @Test(arguments: [
    Argument.float32(128), .float64(128), .int32(128), .int64(128), .string("128"), .string("128.0"),
  ])
  func `a tempo is accepted in every OSC type that a controller might send`(argument: Argument) {
    var desk = Desk()
    desk.send("/tactus/tempo", argument)
    #expect(desk.program.commands == [.tempo(Tempo(128))])
  }

  @Test(arguments: [
    Argument.float32(1), .float64(1), .int32(1), .int64(1), .string("1"), .truth(true), .impulse,
    .string("on"),
  ])
  func `a switch is accepted in every OSC type that a controller might send`(argument: Argument) {
    var desk = Desk()
    desk.send("/tactus/click", argument)
    #expect(desk.program.commands == [.set("click", .flag(true))])
  }

  @Test
  func `a mistyped OSC address is answered with the right address`() {
    var desk = Desk()
    desk.send("/tactus/temp", .float32(120))
    #expect(desk.errors == ["temp: no such address; do you mean /tactus/tempo?"])
    desk.forget()
    desk.send("/tempo", .float32(120))
    #expect(desk.errors == ["/tempo: no such address; do you mean /tactus/tempo?"])
    desk.forget()
    desk.send("/live/tempo", .float32(120))
    #expect(desk.errors == ["/live/tempo: no such address; do you mean /tactus/tempo?"])
    #expect(desk.errorCodes == [1])
  }

  @Test
  func `a wrong value or receive port gives a clear error to user and sender`() {
    var desk = Desk()
    desk.send("/tactus/tempo", .float32(1000))
    desk.send("/tactus/tempo", .string("fast"))
    #expect(
      desk.errors == [
        "tempo: 20 to 999 BPM, not 1000", "tempo: a number, 20 to 999 BPM, not \"fast\"",
      ])
    #expect(
      desk.notices.map(\.text) == [
        "OSC from 10.0.0.5:51000: /tactus/tempo: 20 to 999 BPM, not 1000",
        "OSC from 10.0.0.5:51000: /tactus/tempo: a number, 20 to 999 BPM, not \"fast\"",
      ])
    // The tablet listens at another port than the one that it named in its subscription.
    desk.forget()
    desk.send("/tactus/subscribe", .float32(9001))
    for _ in 1...3 {
      desk.machine.unreachable(
        Endpoint(Desk.tablet.endpoint.address, port: 9001), isThere: true, clocks: desk.clocks)
    }
    desk.drain()
    #expect(desk.errors == ["subscribe: nobody listens at port 9001: set the receive port"])
    #expect(desk.sent.last { $0.message.address == "/tactus/error" }?.to == Desk.tablet.endpoint)
    #expect(
      desk.notices.map(\.text).contains(
        "OSC: nobody listens at 10.0.0.5:9001: set the controller's receive port to 9001"))
    #expect(desk.machine.subscribers.isEmpty)
  }

  @Test
  func `a tablet that is switched off is not said to have the wrong port`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .float32(9001))
    desk.forget()
    for _ in 1...3 {
      desk.machine.unreachable(
        Endpoint(Desk.tablet.endpoint.address, port: 9001), isThere: false, clocks: desk.clocks)
    }
    desk.drain()
    #expect(
      desk.notices.map(\.text) == [
        "OSC: 10.0.0.5:9001 can't be reached: the controller is off, asleep or in another network",
        "OSC: no longer sending to 10.0.0.5:9001: it can't be reached",
      ])
    #expect(desk.errors == [] && desk.machine.subscribers.isEmpty)
  }

  @Test
  func `broken packets from many strangers do not hide other notices`() {
    var desk = Desk()
    for second in 0..<60 {
      for host in 0..<40 {
        let stranger = Peer(Endpoint(Address.v4(0x0a00_0100 + UInt32(host)), port: 40_000))
        desk.send(bytes: [1, 2, 3], from: stranger)
        desk.send("/tactus/tempo", .float32(5), from: stranger)
      }
      if second == 30 { desk.send("/tactus/subscribe", .float32(9001)) }
      desk.wait(1)
    }
    let lines = desk.notices.map(\.text)
    #expect(lines.contains { $0.hasPrefix("OSC: sending to 10.0.0.5:9001") })
    #expect(lines.filter { $0.contains("not an OSC packet") }.count == 13)
    #expect(lines.filter { $0.contains("20 to 999 BPM") }.count == 13)
    // Each sender still gets its own errors.
    #expect(desk.errors.count > 1000)
  }

  @Test
  func `too many, too few and missing arguments each give an error`() {
    var desk = Desk()
    desk.send("/tactus/tempo", .float32(120), .string("bar"), .float32(1))
    desk.send("/tactus/meter", .int32(4))
    desk.send("/tactus/tempo/nudge")
    desk.send("/tactus/peers", .int32(3))
    #expect(desk.errorCodes == [2, 2, 2, 5])
    #expect(desk.program.commands.isEmpty)
  }

  @Test
  func `at most five error messages a second go to one source`() {
    var desk = Desk()
    for _ in 0..<100 { desk.send("/tactus/nonsense") }
    #expect(desk.errors.count == 5)
    desk.wait(1)
    for _ in 0..<100 { desk.send("/tactus/nonsense") }
    #expect(desk.errors.count == 10)
    #expect(desk.machine.counters.refused == 200)
  }

  @Test
  func `packets that are dropped unread count as errors, each once`() {
    var desk = Desk()
    desk.send("/tactus/subscribe")
    desk.send("/tactus/nonsense")
    for total in [3, 3, 7] {
      desk.machine.leftOut(total)
      desk.wait(1)
    }
    #expect(desk.valuesSent("errors").last == [.int32(8)], "\(desk.valuesSent("errors"))")
    #expect(desk.machine.counters.refused == 1 && desk.machine.counters.leftOut == 7)
  }

  @Test
  func `two instances of tactus never answer each other's OSC answers`() {
    var desk = Desk()
    for row in Table.standard.rows where row.kind == .answer {
      desk.send("/tactus/" + row.path, .string("x"), .string("y"), .int32(1))
    }
    // tactus asks the sender once what it is.
    #expect(desk.sent.map(\.message.address) == ["/tactus/ping"])
  }

  @Test
  func `an OSC address pattern sets or reads values, and fires no trigger`() {
    var desk = Desk()
    desk.send("/tactus/{click,clock}", .truth(true))
    #expect(desk.program.commands == [.set("click", .flag(true)), .set("clock", .flag(true))])
    desk.forget()
    desk.send("/tactus/*", .float32(1), from: Desk.local)
    #expect(!desk.program.quit)
    #expect(!desk.program.commands.contains(.takeover))
    desk.forget()
    desk.send("/tactus/click/vol*")
    #expect(desk.valuesSent("click/volume").count == 1)
    desk.send("//db")
    #expect(desk.valuesSent("click/volume/db").count == 1)
    desk.forget()
    desk.send("/tactus/zz*")
    #expect(desk.errorCodes == [1])
  }

  @Test
  func `tempo nudges add up even before the session shows the first nudge`() {
    var desk = Desk()
    desk.program.refuses = nil
    for _ in 0..<4 { desk.send("/tactus/tempo/up") }
    desk.wait(0.2)
    #expect(desk.program.state.tempo == Tempo(124))
    desk.send("/tactus/tempo/nudge", .float32(-0.5))
    desk.send("/tactus/tempo/half")
    desk.wait(0.2)
    #expect(desk.program.state.tempo == Tempo(61.75))
    desk.send("/tactus/tempo/nudge", .float32(-200))
    desk.wait(0.2)
    #expect(desk.program.state.tempo == Tempo(20))
    desk.forget()
    desk.send("/tactus/tempo/half")
    #expect(desk.errors == ["tempo/half: half would be 10 BPM; the tempo is 20 to 999 BPM"])
  }

  @Test
  func `a fader sends at most 20 tempos a second, and always its last one`() {
    var desk = Desk()
    for step in 0...400 {
      desk.send("/tactus/tempo/fader", .float32(Float(step) / 400))
      desk.wait(0.005)
    }
    desk.wait(0.2)
    #expect(desk.orders.count <= 42 && desk.orders.count >= 38)
    #expect(desk.program.state.tempo == Tempo(180))
  }

  @Test
  func `taps set the median tempo, and start over after a pause`() {
    var desk = Desk()
    func tap(_ desk: inout Desk, after seconds: Double) {
      desk.wait(seconds)
      desk.send("/tactus/tempo/tap", .float32(1))
      desk.send("/tactus/tempo/tap", .float32(0))
    }
    tap(&desk, after: 0)
    #expect(desk.program.commands.isEmpty)
    for _ in 1...3 { tap(&desk, after: 0.5) }
    #expect(desk.program.state.tempo == Tempo(120))
    tap(&desk, after: 0.6)
    tap(&desk, after: 0.5)
    #expect(desk.program.state.tempo == Tempo(120))
    desk.wait(4)
    desk.forget()
    tap(&desk, after: 0)
    #expect(desk.program.commands.isEmpty)
    tap(&desk, after: 0.4)
    #expect(desk.program.state.tempo == Tempo(150))
    // The user goes on to tap at a new tempo, without a pause.
    tap(&desk, after: 0.9)
    #expect(abs(desk.program.state.tempo.beatsPerMinute - 66.67) < 0.01)
  }

  @Test
  func `a tap counts from its bundle's timetag, without the network's jitter`() {
    var desk = Desk()
    var jitter: [Double] = [0.08, 0.001, 0.05, 0.02, 0.09]
    desk.wait(1)
    let start = desk.now
    for index in 0..<5 {
      let made = start + Micros(Int64(index) * 500_000)
      let timetag = Desk.clocks(at: made).wall.rawValue
      desk.now = made + Micros(rounding: jitter.removeFirst() * 1e6)
      desk.send(bytes: bundle(timetag, Message("/tactus/tempo/tap", .float32(1))))
    }
    #expect(desk.program.state.tempo == Tempo(120))
  }

  @Test(arguments: [(early: 0.0, tempo: 120.0), (early: -0.5, tempo: 100), (early: 1.2, tempo: 100)])
  func `a tap counts from its sender's time if that is past and recent`(
    _ scene: (early: Double, tempo: Double)
  ) {
    var desk = Desk()
    desk.wait(5)
    let start = desk.now
    for index in 0..<5 {
      // The taps were made 0.5 s apart, and arrive 0.6 s apart.
      let made = start + Micros(Int64(index) * 500_000)
      desk.now = start + Micros(Int64(index) * 600_000)
      desk.send(
        "/tactus/tempo/tap", .float32(1), .int64((made - Micros(rounding: scene.early * 1e6)).count))
    }
    #expect(desk.program.state.tempo == Tempo(scene.tempo))
  }

  @Test(arguments: ["ping", "query"])
  func `a blob as an argument of ping or query is refused with an error`(verb: String) {
    var desk = Desk()
    let address = LibloCodec.encode(Message("/tactus/\(verb)")).dropLast(4)
    desk.send(bytes: address + Array(",b\0\0".utf8) + [0, 0, 0, 4, 1, 2, 3, 4])
    #expect(desk.sent.count == 1 && desk.errors == ["\(verb): text, not an argument of type b"])
    desk.send("/tactus/launch", .impulse)
    #expect(desk.errors.last == "launch: one of now, beat, bar, not impulse")
  }

  @Test
  func `addresses of klick, Ardour and jack_transport_link work`() {
    var desk = Desk()
    let cases: [(String, [Argument], Command)] = [
      ("/klick/simple/set_tempo", [.float32(90)], .tempo(Tempo(90))),
      ("/klick/simple/set_meter", [.int32(3), .int32(4)], .set("meter", .whole(3), .whole(4))),
      ("/klick/simple/set_pattern", [.string("Xx")], .set("click/pattern", .text("Xx"))),
      ("/klick/metro/start", [], .set("click", .flag(true))),
      ("/klick/metro/stop", [], .set("click", .flag(false))),
      ("/transport_play", [.float32(1)], .start(nil)), ("/transport_stop", [], .stop),
      ("/toggle_roll", [.float32(1)], .toggle), ("/goto_start", [], .rewind),
      ("/jacklink/bpm", [.float32(99)], .tempo(Tempo(99))),
      ("/jacklink/sync", [.float32(1)], .set("startstop", .flag(true))),
      ("/jacklink/rolling", [.truth(true)], .rolling(true)),
      ("/jacklink/beattime", [.int32(16)], .locate(.beat(16))),
      ("/tactus/set_tempo", [.float32(77)], .tempo(Tempo(77))),
      ("/tactus/meter", [.string("7/8")], .set("meter", .whole(7), .whole(8))),
      ("/tactus/click/set_sound", [.int32(0)], .set("click/sound", .word(0))),
    ]
    for (address, arguments, command) in cases {
      desk.wait(0.1)
      desk.forget()
      desk.send(bytes: LibloCodec.encode(Message(address, arguments: arguments)))
      #expect(desk.program.commands == [command], "\(address)")
    }
    var settings = SurfaceSettings()
    settings.aliases = false
    var plain = Desk(settings)
    plain.send("/klick/simple/set_tempo", .float32(90))
    #expect(plain.program.commands.isEmpty && plain.errorCodes == [1])
  }

  @Test
  func `only this machine may open the page to the network`() {
    var settings = SurfaceSettings.paired
    settings.aliases = true
    var desk = Desk(settings)
    for address in ["web/open", "web/open/toggle", "web/*", "web/op?n"] {
      desk.send("/tactus/\(address)", .float32(1))
      #expect(desk.orders.isEmpty && desk.errorCodes == [5], "\(address)")
      desk.forget()
    }
    desk.send("/tactus/web/open", .float32(1), from: Desk.local)
    #expect(desk.program.state.choices.opensPage)
    desk.send("/tactus/web/open/toggle", from: Desk.local)
    #expect(!desk.program.state.choices.opensPage)
  }

  @Test
  func `the OSC command quit is obeyed from this machine only`() {
    var desk = Desk()
    desk.send("/tactus/quit", .float32(1))
    #expect(!desk.program.quit && desk.errorCodes == [5])
    desk.send("/tactus/quit", .float32(1), from: Desk.local)
    #expect(desk.program.quit)
  }

  @Test
  func `a refused command is answered with the old value and the reason`() {
    var desk = Desk()
    desk.program.refuses = Refusal(.notNow, "no JACK server")
    desk.send("/tactus/jack/rolling", .float32(1))
    #expect(desk.valuesSent("jack/rolling") == [[.float32(0)]])
    #expect(desk.errors == ["jack/rolling: no JACK server"] && desk.errorCodes == [4])
  }

  @Test
  func `an OSC sender that is not allowed is ignored`() {
    var settings = SurfaceSettings()
    settings.allow = [AddressRange("10.0.1.0/24")].compactMap { $0 }
    var desk = Desk(settings)
    desk.send("/tactus/start")
    #expect(desk.program.commands.isEmpty && desk.sent.isEmpty && desk.machine.counters.strangers == 1)
    desk.send("/tactus/start", from: Desk.local)
    #expect(desk.program.commands == [.start(nil)])
  }
}

func bundle(_ timetag: UInt64, _ messages: Message...) -> [UInt8] {
  var bytes = Array("#bundle\0".utf8) + withUnsafeBytes(of: timetag.bigEndian) { Array($0) }
  for message in messages {
    let encoded = LibloCodec.encode(message)
    bytes += sizeWord(encoded.count) + encoded
  }
  return bytes
}
