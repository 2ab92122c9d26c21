// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Synchronization
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("OSC messages to other programs")
struct OutwardTests {
  private static let mixer = Endpoint(Address.v4(0xC0A8_0709), port: 10_023)

  private func desk(_ lines: String...) throws -> Desk {
    var settings = SurfaceSettings.paired
    settings.outward = try lines.map { try OutwardLine($0) }
    return Desk(settings)
  }

  @Test
  func `an --osc-tell tempo message is sent at the start and at each change`()
    throws
  {
    var desk = try desk("tempo 192.168.7.9:10023 /fx/1/par/01 {60000 / bpm * 3/4}")
    desk.wait(1)
    #expect(desk.outward.map(\.message) == [Message("/fx/1/par/01", .float32(375))])
    #expect(desk.outward.first?.to == Self.mixer)
    desk.forget()
    desk.send("/tactus/tempo", .float32(90))
    desk.wait(1)
    #expect(desk.outward.map(\.message) == [Message("/fx/1/par/01", .float32(500))])
    // Subscribers do not get this message, because its address is not one of tactus's values.
    #expect(desk.valuesSent("fx/1/par/01").isEmpty)
  }

  @Test
  func `a gliding tempo is told at most 20 times a second, and its end always`() throws {
    var desk = try desk("tempo 192.168.7.9:10023 /t {bpm}")
    desk.forget()
    for step in 0..<400 {
      let now = desk.now
      desk.update { $0.timeline = $0.timeline.turned(to: Tempo(100 + Double(step) / 8), at: now) }
      desk.wait(0.005)
    }
    desk.wait(1)
    #expect((38...42).contains(desk.outward.count), "\(desk.outward.count)")
    #expect(desk.outward.last?.message == Message("/t", .float32(Float(100 + 399.0 / 8))))
  }

  @Test
  func `--osc-tell tells beats, bars, start and stop when they are heard`() throws {
    var desk = try desk(
      "beat 192.168.7.9:10023 /beat i{beat} i{bar}", "bar 192.168.7.9:10023 /bar i{bar} {beats}",
      "start 192.168.7.9:10023 /go true", "stop 192.168.7.9:10023 /halt \"good night\"")
    desk.update { $0.choices.meter = .init(beatsPerBar: 3, beatType: 4) }
    let soon = desk.now + Micros(200_000)
    desk.update { $0.transport = .waiting(origin: $0.next(.beat, after: soon)) }
    desk.forget()
    desk.wait(4)
    #expect(desk.outward.count { $0.message.address == "/go" } == 1)
    let beats = desk.outward.filter { $0.message.address == "/beat" }
    let numbers = beats.prefix(4).map { $0.message.arguments.compactMap(\.number) }
    #expect(numbers == [[1, 1], [2, 1], [3, 1], [1, 2]])
    for (one, next) in zip(beats, beats.dropFirst()) { #expect(abs((next.at - one.at).count - 500_000) <= 2) }
    let bars = desk.outward.filter { $0.message.address == "/bar" }.map(\.message.arguments)
    #expect(bars.prefix(2).map { $0 } == [[.int32(1), .float32(3)], [.int32(2), .float32(3)]])
    desk.update { $0.transport = .stopped(at: .zero) }
    #expect(desk.outward.last?.message == Message("/halt", .string("good night")))
    desk.update { $0.choices.meter = .init(beatsPerBar: 7, beatType: 8) }
    let later = desk.now + Micros(200_000)
    desk.update { $0.transport = .waiting(origin: $0.next(.beat, after: later)) }
    desk.forget()
    desk.wait(5)
    let sevens = desk.outward.filter { $0.message.address == "/bar" }.prefix(2)
    #expect(sevens.map(\.message.arguments) == [[.int32(1), .float32(7)], [.int32(2), .float32(7)]])
    #expect(abs((sevens[1].at - sevens[0].at).count - 1_750_000) <= 2)
  }

  @Test
  func `without an --osc-tell line for beats, no deadline falls on a beat`() throws {
    var desk = try desk("tempo 192.168.7.9:10023 /t {bpm}")
    desk.wait(0.5)
    #expect(desk.machine.audience == [] && desk.machine.deadline - desk.now >= Micros(900_000))
  }

  @Test
  func `all --osc-tell lines together have a rate limit; losses are reported`() throws {
    var settings = SurfaceSettings.paired
    settings.outward = try (0..<80).map { try OutwardLine("beat 192.168.7.9:10023 /b/\($0)") }
    var desk = Desk(settings)
    #expect(desk.machine.outward.lines.count == OutwardLine.limit)
    desk.update { $0.timeline = Timeline(tempo: Tempo(999), beatOrigin: .zero, timeOrigin: .zero) }
    desk.wait(10)
    let most = Outward.perSecond * 10 + Outward.atOnce
    #expect(Double(desk.outward.count) <= most && Double(desk.outward.count) > most * 0.95)
    let notices = desk.notices.filter { $0.text.contains("are lost") }
    #expect((1...5).contains(notices.count), "\(notices.count)")
  }

  @Test
  func `a formula of --osc-tell without a value is reported, and not sent`() throws {
    var desk = try desk(
      "tempo 192.168.7.9:10023 /t {1 / (bpm - 120)}", "tempo 192.168.7.9:10023 /u i{bpm * 1000000000}")
    desk.wait(0.1)
    #expect(desk.outward.isEmpty)
    #expect(desk.notices.map(\.text).contains { $0.contains("/t: its formula gives no number") })
    desk.send("/tactus/tempo", .float32(121))
    desk.wait(0.1)
    #expect(desk.outward.map(\.message) == [Message("/t", .float32(1))])
  }

  @Test
  func `--osc-tell messages to tactus itself are refused`() throws {
    var desk = try desk("tempo 127.0.0.1:20809 /tactus/tempo {bpm + 1}", "tempo 127.0.0.1:20810 /t {bpm}")
    desk.wait(0.1)
    #expect(desk.outward.map(\.to.port) == [20_810])
    #expect(desk.notices.map(\.text).contains { $0.contains("is tactus itself") })
  }

  @Test
  func `this machine may use osc/send to other programs, a tablet may not`() {
    var desk = Desk(.paired)
    desk.send("/tactus/osc/send", .string("192.168.7.9:10023 /load 3"))
    #expect(desk.outward.isEmpty && desk.errors == ["osc/send: only from the same machine"])
    desk.send("/tactus/osc/send", .string("192.168.7.9:10023 /load 3 0.5 x"), from: Desk.local)
    #expect(desk.outward.map(\.message) == [Message("/load", .int32(3), .float32(0.5), .string("x"))])
    // A key may send, and its text is sent as it is written.
    desk.forget()
    desk.press("osc/send 192.168.7.9:10023 /d i{60000 / bpm} \"a b\"")
    #expect(desk.outward.map(\.message) == [Message("/d", .int32(500), .string("a b"))])
  }

  @Test(arguments: [
    ("", "begins with one of tempo, beat, bar, start, stop,"), ("tick 1.2.3.4:5 /a", "not tick"),
    ("tempo", "ADDRESS:PORT"),
    ("tempo 1.2.3.4 /a", "begins with ADDRESS:PORT"), ("tempo 1.2.3.4:0 /a", "begins with ADDRESS:PORT"),
    ("tempo mixer:10023 /a", "begins with ADDRESS:PORT"),
    ("tempo 239.1.2.3:5 /a", "begins with ADDRESS:PORT such as"),
    ("tempo 255.255.255.255:5 /a", "begins with ADDRESS:PORT such as"),
    ("tempo 0.0.0.0:5 /a", "begins with ADDRESS:PORT such as"),
    ("tempo 1.2.3.4:5 a", "after the port comes an OSC address such as /fx/1/par/01"),
    ("tempo 1.2.3.4:5 /a*", "after the port comes an OSC address such as /fx/1/par/01"),
    ("tempo 1.2.3.4:5 /a {bmp}", "there is no bmp"), ("tempo 1.2.3.4:5 /a {bpm", "a } is missing"),
    ("tempo 1.2.3.4:5 /a \"x", "a \" is missing"), ("tempo 1.2.3.4:5 /a {1}2", "a space is missing before"),
    ("tempo 1.2.3.4:5 /a {}", "number is missing"),
    ("tempo 1.2.3.4:5 /a 1 2 3 4 5 6 7 8 9", "at most 8"), ("beat 1.2.3.4:5 /a \u{1}", "printable"),
    ("beat 1.2.3.4:5 /" + String(repeating: "x", count: 300), "at most 255"),
  ])
  func `an error in an --osc-tell line is explained`(text: String, words: String) {
    do throws(Refusal) {
      _ = try OutwardLine(text)
      Issue.record("accepted: \(text)")
    } catch {
      #expect(error.text.contains(words), "\(error.text)")
    }
  }

  @Test
  func `an unreachable target of osc/send is reported once`() throws {
    let notices = Mutex<[String]>([])
    let sockets = OutwardSockets { notice in notices.withLock { $0.append(notice.text) } }
    // This is a broadcast address: the kernel sends to it only with a socket option that is not set.
    let broadcast = Endpoint(Address.v4(0x7FFF_FFFF), port: 9)
    for _ in 1...3 { sockets.send(LibloCodec.encode(Message("/a")), to: broadcast) }
    #expect(
      notices.withLock { $0 } == ["OSC out: 127.255.255.255:9 can't be reached: Permission denied"])
  }
}
