// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusMIDI
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("A set list")
struct SetListTests {
  private static let songs = [
    "Opener = tempo 128, meter 4 4, quantum 4, click/pattern X..x",
    "Slow One = tempo 72, meter 3 4, quantum 3, click/pattern Xxx, out/drums/play 0",
    "Last = tempo 140, click/pattern Xxxx, out/drums/play 1, osc/send 192.168.7.9:10023 /load {bpm / 2} i{beats}",
  ]

  private func desk(_ bindings: String...) throws -> Desk {
    var settings = SurfaceSettings.paired
    settings.bindings = bindings.compactMap { MIDIBinding($0) }
    #expect(settings.bindings.count == bindings.count)
    var desk = Desk(settings)
    let songs = try Self.songs.map { try SetSong($0) }
    let drums = try NamedOutput("drums=clock")
    desk.update {
      $0.lists.songs = songs
      $0.lists.outputs = [drums]
    }
    desk.forget()
    return desk
  }

  @Test
  func `a set list song's text is written as it was read`() throws {
    for text in Self.songs {
      #expect(try SetSong(text).text == text)
      #expect(try SetSong(SetSong(text).text) == SetSong(text))
    }
    #expect(try SetSong("A = song/sync 1, tempo 100").text == "A = song/sync 1, tempo 100")
    // A comma in a quoted text belongs to that text and does not separate commands.
    let song = try SetSong("A = osc/send 192.168.7.9:10023 /say \"one, two\" 3,tap")
    #expect(song.targets.map(\.path) == ["osc/send", "tempo/tap"])
    #expect(song.targets[0].arguments.joined(separator: " ") == "192.168.7.9:10023 /say \"one, two\" 3")
    #expect(try SetSong(song.text) == song)
    #expect(MIDIBinding("note 36 = osc/send 1.2.3.4:5 /a \"b,c\", tap")?.targets.count == 2)
    #expect(throws: Refusal.self) { try SetSong("A = osc/send 192.168.7.9:10023 /say \"one, tap") }
    #expect(try SetSong("  A   song, of two =tempo 100,tap").text == "A song, of two = tempo 100, tempo/tap")
  }

  @Test(arguments: [
    ("", "TITLE = COMMAND"), ("Opener", "TITLE = COMMAND"), ("= tempo 100", "title has 1 to 64"),
    ("A = tempo 1000", "20 to 999"), ("A = tmpo 100", "do you mean tempo"), ("A =", "a command is missing"),
    ("A = tempo 100,", "a command is missing"), ("A = set/next", "can't change the set"),
    ("A = tempo/tap, set/go 1", "can't change the set"), ("A = /tactus/set/next", "can't change the set"),
    ("A = tempo 90..140", "no range"), ("A = peers", "can't be set"),
    ("A = click/volume", "needs its arguments"),
    ("A = osc/send 1.2.3.4:5", "ADDRESS:PORT"), ("A = osc/send 1.2.3.4:5 /a {bmp}", "no bmp"),
    ("A = out/drums/plya 1", "no such address"), ("A\u{7} = tap", "printable"),
    (String(repeating: "x", count: 65) + " = tap", "title has 1 to 64"),
    ("A = " + Array(repeating: "tap", count: 25).joined(separator: ","), "at most 24"),
    ("A = " + String(repeating: " ", count: 600) + "tap", "at most 600"),
  ])
  func `an error in a song's text is explained`(text: String, words: String) {
    do throws(Refusal) {
      _ = try SetSong(text)
      Issue.record("taken: \(text)")
    } catch {
      #expect(error.text.contains(words), "\(error.text)")
    }
  }

  @Test
  func `a pedal steps through the set list and stops at its ends`() throws {
    var desk = try desk("note 40 = set/next", "note 41 = set/previous")
    desk.send("/tactus/subscribe", .string("state"))
    desk.play([0x90, 41, 1])
    #expect(desk.notices.map(\.text).contains { $0.contains("this is the first song of the set list") })
    desk.play([0x90, 40, 1])
    desk.play([0x80, 40, 0])
    desk.wait(0.1)
    #expect(
      desk.program.state.tempo == Tempo(128) && desk.program.state.choices.click.pattern.letters == "X..x")
    #expect(
      desk.valuesSent("set/song").last == [.string("Opener")]
        && desk.valuesSent("set/coming").last == [.string("Slow One")])
    desk.play([0x90, 40, 1])
    desk.wait(0.1)
    let state = desk.program.state
    #expect(state.tempo == Tempo(72) && state.choices.meter.beatsPerBar == 3 && state.choices.quantum == 3)
    #expect(state.lists.outputs[0].settings.clock?.plays == false)
    desk.play([0x90, 40, 1])
    desk.wait(0.1)
    #expect(
      desk.program.state.lists.outputs[0].settings.clock?.plays == true
        && desk.valuesSent("set/coming").last == [.string("")])
    // The message is computed with the tempo and the meter that stand before it in the song's text.
    #expect(desk.outward.map(\.message) == [Message("/load", .float32(70), .int32(3))])
    desk.forget()
    desk.play([0x90, 40, 1])
    #expect(desk.program.commands.isEmpty && desk.notices.map(\.text).contains { $0.contains("last song") })
    desk.play([0x90, 41, 1])
    desk.wait(0.1)
    #expect(desk.program.state.tempo == Tempo(72) && desk.valuesSent("set/number").last == [.int32(2)])
  }

  @Test
  func `a song chosen for the next bar changes the tempo exactly at that bar`() throws {
    var desk = try desk()
    desk.update { $0.transport = .rolling(origin: .zero) }
    desk.now = desk.program.state.time(atSessionBeats: Beats(5.3))
    desk.send("/tactus/subscribe", .string("state"))
    desk.send("/tactus/set/next", .string("bar"))
    #expect(desk.program.commands.isEmpty && desk.valuesSent("set/waits").last == [.string("Opener")])
    let bar = desk.program.state.time(atSessionBeats: Beats(8))
    desk.wait(1)
    #expect(desk.program.commands.isEmpty)
    desk.wait(1)
    #expect(desk.program.state.tempo == Tempo(128) && desk.valuesSent("set/waits").last == [.string("")])
    let order = try #require(desk.orders.first { $0.command == .tempo(Tempo(128)) })
    #expect(abs((order.time - bar).count) <= 1)
  }

  @Test
  func `a song's OSC message to a mixer uses the meter of the song's first bar`()
    throws
  {
    var desk = try desk()
    let songs = [try SetSong("Waltz = meter 3 4, osc/send 192.168.7.9:10023 /b i{beats} i{beat}")]
    desk.update {
      $0.lists.songs = songs
      $0.transport = .rolling(origin: .zero)
      // These are the bars that the audio thread has reported last.
      $0.changedBars = Bars(Meter())
    }
    desk.now = desk.program.state.time(atSessionBeats: Beats(5.3))
    desk.send("/tactus/set/next", .string("bar"))
    desk.wait(2)
    #expect(desk.outward.map(\.message) == [Message("/b", .int32(3), .int32(1))])
    desk.update {
      $0.choices.meter = Meter()
      $0.changedBars = Bars(Meter())
    }
    desk.now = desk.program.state.time(atSessionBeats: Beats(14.2))
    desk.send("/tactus/set/go", .int32(1))
    #expect(desk.outward.last?.message == Message("/b", .int32(4), .int32(3)))
  }

  @Test
  func `before the bar, set/next again skips the song, set/previous cancels it`() throws {
    var desk = try desk()
    desk.update { $0.transport = .rolling(origin: .zero) }
    desk.send("/tactus/set/next", .string("bar"))
    desk.send("/tactus/set/next", .string("bar"))
    desk.wait(3)
    #expect(
      desk.program.state.tempo == Tempo(72) && desk.program.commands.count { $0 == .tempo(Tempo(128)) } == 0)
    desk.send("/tactus/set/next", .string("bar"))
    desk.send("/tactus/set/previous", .string("bar"))
    desk.wait(4)
    #expect(desk.program.state.tempo == Tempo(72))
  }

  @Test
  func `a MIDI clock that a song starts on a bar starts with that bar`() throws {
    var desk = try desk()
    desk.update { $0.transport = .rolling(origin: .zero) }
    desk.program.state.lists.outputs[0].settings.clock?.plays = false
    desk.update { _ in }
    desk.send("/tactus/set/song", .string("Last"), .string("bar"))
    // The clock waits for the bar by itself, so tactus started it ahead.
    #expect(
      desk.program.state.lists.outputs[0].settings.clock?.plays == true
        && desk.program.state.tempo == Tempo(120))
    desk.wait(3)
    #expect(desk.program.state.tempo == Tempo(140))
    #expect(desk.program.commands.count { if case .output = $0 { true } else { false } } == 1)
  }

  @Test(arguments: [0, 1, 2])
  func `a song that is skipped or removed while it waits starts no MIDI clock`(way: Int) throws {
    var desk = try desk()
    desk.update { $0.transport = .rolling(origin: .zero) }
    desk.program.state.lists.outputs[0].settings.clock?.plays = false
    desk.update { _ in }
    desk.send("/tactus/set/song", .string("Last"), .string("bar"))
    #expect(desk.program.state.lists.outputs[0].settings.clock?.plays == true)
    switch way {
    case 0: desk.send("/tactus/set/previous", .string("bar"))
    case 1: desk.send("/tactus/set/song", .string("Opener"))
    default: desk.update { $0.lists.songs.removeLast() }
    }
    desk.wait(0.1)
    #expect(desk.program.state.lists.outputs[0].settings.clock?.plays == false)
    desk.wait(4)
    #expect(
      desk.program.state.lists.outputs[0].settings.clock?.plays == false
        && desk.program.state.tempo != Tempo(140))
    // A clock that already played when the song was requested keeps playing.
    desk.program.state.lists.outputs[0].settings.clock?.plays = true
    desk.update { $0.lists.songs = try! Self.songs.map { try SetSong($0) } }
    desk.send("/tactus/set/song", .string("Last"), .string("bar"))
    desk.send("/tactus/set/song", .string("Opener"), .string("bar"))
    desk.wait(4)
    #expect(desk.program.state.lists.outputs[0].settings.clock?.plays == true)
  }

  @Test
  func `a tablet may choose a song whose commands it may not send itself`()
    throws
  {
    var desk = try desk()
    desk.send("/tactus/set/go", .int32(3))
    desk.wait(0.1)
    #expect(desk.program.state.tempo == Tempo(140) && desk.outward.count == 1)
    desk.send("/tactus/set/go", .int32(4))
    desk.send("/tactus/set/song", .string("Closer"))
    #expect(
      desk.errors == ["set/go: the set list has 3 songs", "set/song: the set list has no song \"Closer\""])
    desk.send("/tactus/set/add", .string("Evil = quit"))
    desk.send("/tactus/set/remove", .string("Last"))
    #expect(desk.program.state.lists.songs.count == 3 && !desk.program.quit)
    #expect(desk.errors.suffix(2).allSatisfy { $0.contains("only from the same machine") })
  }

  @Test
  func `the current song stays current while songs are added and removed`() throws {
    var desk = try desk()
    desk.send("/tactus/set/go", .int32(1))
    desk.send("/tactus/set/add", .string("Encore = tempo 100"), from: Desk.local)
    desk.send("/tactus/set/add", .string("Slow One = tempo 70"), from: Desk.local)
    desk.send("/tactus/set/list", from: Desk.local)
    #expect(desk.valuesSent("set/list").last == [.string("1 Opener, 2 Slow One, 3 Last, 4 Encore")])
    desk.wait(0.1)
    desk.send("/tactus/set/next")
    desk.wait(0.1)
    #expect(desk.program.state.tempo == Tempo(70))
    desk.send("/tactus/set/remove", .string("Opener"), from: Desk.local)
    desk.send("/tactus/set/next", .string("bar"))
    desk.send("/tactus/set/remove", .string("Last"), from: Desk.local)
    desk.wait(5)
    #expect(desk.program.state.tempo == Tempo(70) && desk.machine.reading.own.songWaiting.isEmpty)
  }

  @Test
  func `song titles are sent as OSC values that each fit into a datagram`() throws {
    var desk = try desk()
    desk.send("/tactus/subscribe", from: Desk.local)
    func titles(_ row: Int) -> [Argument]? { desk.valuesSent("set/titles/\(row)").last }
    #expect(titles(1) == [.int32(3), .string("Opener"), .string("Slow One"), .string("Last")])
    #expect(titles(2) == [.int32(0)] && titles(8) == [.int32(0)] && titles(9) == nil)
    // The text is cut, and a title may look like the text between two titles.
    let names = (1...SetSong.limit).map {
      "\($0), 2 " + String(repeating: "x", count: 64 - "\($0), 2 ".count)
    }
    let songs = try names.map { try SetSong("\($0) = tap") }
    desk.update { $0.lists.songs = songs }
    desk.wait(0.1)
    let sent = (1...8).flatMap { titles($0) ?? [] }
    #expect(sent.filter { $0 == .int32(16) }.count == 8)
    #expect(sent.filter { $0 != .int32(16) } == names.map { .string($0) })
    #expect(desk.datagrams.allSatisfy { $0.bytes.count <= Bundle.datagramLimit })
  }

  @Test
  func `a tempo that waits for its beat is sent as a value until then`() throws {
    var desk = try desk()
    desk.send("/tactus/subscribe", from: Desk.local)
    func waitingTempo() -> [Argument]? { desk.valuesSent("tempo/waits").last }
    #expect(waitingTempo() == [.float32(0)])
    desk.send("/tactus/tempo", .float32(131), .string("bar"), from: Desk.local)
    desk.wait(0.05)
    #expect(waitingTempo() == [.float32(131)])
    desk.send("/tactus/tempo", .float32(133.5), .string("bar"), from: Desk.local)
    desk.wait(0.05)
    #expect(waitingTempo() == [.float32(133.5)])
    desk.wait(3)
    #expect(waitingTempo() == [.float32(0)] && desk.program.state.tempo == Tempo(133.5))
    // A song's tempo replaces the waiting tempo.
    desk.send("/tactus/tempo", .float32(90), .string("bar"), from: Desk.local)
    desk.send("/tactus/set/go", .int32(1), from: Desk.local)
    desk.wait(0.05)
    #expect(waitingTempo() == [.float32(0)])
  }

  @Test
  func `an OSC packet may start only one song that adds and removes outputs`()
    throws
  {
    var desk = try desk()
    let songs = try [
      SetSong(
        "Two = out/remove drums, out/add drums=clock rate=2, out/add a=pulse, out/add b=reset, tempo 77"),
      SetSong("One = out/remove a, out/remove b, tempo 88"),
    ]
    desk.update { $0.lists.songs = songs }
    let both = bundle(1, Message("/tactus/set/go", .int32(1)), Message("/tactus/set/go", .int32(2)))
    desk.send(bytes: both)
    desk.wait(0.1)
    #expect(desk.cost > 1600)
    #expect(desk.program.state.lists.outputs.map(\.name) == ["drums", "a", "b"])
    #expect(
      desk.program.state.lists.outputs[0].settings.clock?.perBeat == 48
        && desk.program.state.tempo == Tempo(77))
    #expect(desk.errors.count == 1 && desk.errors[0].contains("too much for one packet"))
    desk.send("/tactus/set/go", .int32(2), .string("bar"))
    desk.wait(4)
    #expect(
      desk.program.state.lists.outputs.map(\.name) == ["drums"] && desk.program.state.tempo == Tempo(88))
  }

  @Test
  func `a pedal or key may be bound to a song that does not exist yet`() throws {
    for text in ["set/go 1", "set/go 128 bar", "set/song Opener"] {
      let target = try #require(Target(text[...]))
      #expect(Table.standard.objection(to: [target], ofKey: true) == nil, "\(text)")
    }
    let none = try #require(Target("set/go 129"))
    #expect(Table.standard.objection(to: [none]) != nil)
  }

  @Test
  func `removing songs keeps the current song and cancels a waiting song`()
    throws
  {
    var desk = try desk()
    desk.send("/tactus/set/go", .int32(2))
    desk.send("/tactus/set/remove", .string("Slow One"), from: Desk.local)
    desk.send("/tactus/set/coming", from: Desk.local)
    #expect(desk.valuesSent("set/coming").last == [.string("Last")])
    desk.send("/tactus/set/add", .string("Encore = tempo 100"), from: Desk.local)
    desk.send("/tactus/set/remove", .string("Opener"), from: Desk.local)
    desk.send("/tactus/set/next")
    desk.wait(0.1)
    #expect(desk.program.state.tempo == Tempo(140))
    desk.send("/tactus/set/next", .string("bar"))
    desk.send("/tactus/set/remove", .string("Encore"), from: Desk.local)
    #expect(desk.machine.reading.own.songWaiting == "")
    desk.wait(4)
    #expect(desk.program.state.tempo == Tempo(140))
  }

  @Test
  func `refused commands of a song are reported with its title, not too often`()
    throws
  {
    var desk = try desk()
    desk.update { $0.lists.outputs = [] }
    desk.send("/tactus/set/song", .string("Slow One"))
    #expect(
      desk.notices.map(\.text) == ["Song: Slow One", "Song: Slow One: out/drums/play: no such address"])
    for _ in 1...300 { desk.send("/tactus/set/song", .string("Slow One")) }
    #expect(desk.notices.count < 60)
  }
}
