// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusMIDI
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("A user's own outputs")
struct OwnOutputTests {
  @Test(arguments: [
    "drums=clock", "drums=clock offset=4 rate=1/2 when=always transport=no",
    "x=clock rate=4 position=no settle=20",
    "mod-1=pulse rate=3/4", "mod=pulse offset=-2.5 rate=1/64bars when=rolling width=1 level=0.5 invert=yes",
    "R=reset rate=start", "R=reset", "R=reset rate=1/4bars", "gate_2=run level=0.8 invert=yes",
    "drummer=click",
    "drummer=click offset=2 when=rolling sound=bell level=0.8 subdivision=2 pattern=X.x countin=2",
    "d=click swing=58/16", "d=clock swing=66.7/8", "p=pulse rate=4 swing=75/16 level=0.5", "lamp=mtc fps=30",
    "tc=ltc fps=29.97df start=01:00:00:00 level=0.25",
  ])
  func `an own output is written in its shortest form, which reads back equal`(text: String) throws {
    let output = try NamedOutput(text)
    #expect(output.text == text)
    #expect(try NamedOutput(output.text) == output)
  }

  @Test(arguments: [
    ("v=pulse for=korg", "v=pulse rate=2 width=15"),
    ("d=pulse for=din offset=3", "d=pulse offset=3 rate=24 width=1000"),
    ("d=pulse for=din48", "d=pulse rate=48 width=1000"),
    ("s=pulse fine=yes for=step", "s=pulse rate=4 fine=yes"),
    ("s=pulse for=korg rate=4", "s=pulse rate=4 width=15"),
    ("s=pulse invert=yes for=own", "s=pulse invert=yes"),
  ])
  func `an own output's preset for a device gives the device's settings`(
    text: String, written: String
  ) throws {
    #expect(try NamedOutput(text).text == written)
    var desk = Desk(.paired)
    desk.send("/tactus/out/add", .string(text))
    let name = String(text.prefix(1))
    let word =
      text.contains("rate")
      ? "own"
      : String(
        text.split(separator: " ").compactMap {
          $0.hasPrefix("for=") ? $0.dropFirst(4) : nil
        }[0])
    desk.forget()
    desk.send("/tactus/out/\(name)/for")
    #expect(desk.valuesSent("out/\(name)/for") == [[.string(word)]])
  }

  @Test
  func `changed settings do not start a MIDI clock output that was stopped`() {
    var desk = Desk(.paired)
    desk.send("/tactus/out/add", .string("cab=clock"))
    desk.send("/tactus/out/cab/play", .int32(0))
    desk.send("/tactus/out/add", .string("cab=clock offset=1"))
    let output = desk.program.state.lists.outputs[0]
    #expect(output.offset == Micros(1000) && output.settings.clock?.plays == false)
    desk.send("/tactus/out/remove", .string("cab"))
    desk.send("/tactus/out/add", .string("cab=clock"))
    #expect(desk.program.state.lists.outputs[0].settings.clock?.plays == true)
  }

  @Test(arguments: [
    ("", "NAME=KIND"), ("drums", "NAME=KIND"), ("drums=klock", "not klock"),
    ("clock=clock", "another name"),
    ("add=pulse", "another name"), ("send_x=run", "another name"), ("a/b=run", "letters"),
    ("a b=run", "NAME=KIND"),
    ("=run", "letters"), ("d=clock offset=501", "-500 to 500"), ("d=clock width=3", "not width=3"),
    ("d=clock rate=5", "1/4 to 4"), ("d=clock rate=1/0", "1/4 to 4"), ("d=clock rate=24/7", "1/4 to 4"),
    ("p=pulse rate=97", "up to 96"), ("p=pulse rate=1/65", "up to 96"), ("p=pulse rate=0", "up to 96"),
    ("p=pulse rate=1/", "up to 96"), ("p=pulse rate=-1", "up to 96"), ("p=pulse level=2", "0.01 to 1"),
    ("p=pulse invert=maybe", "yes or no"), ("d=clock offset", "not offset"),
    ("d=clock rate=2147483648/2", "1/4 to 4"),
    (String(repeating: "x", count: 33) + "=run", "letters"),
    ("d=click countin=5", "0 to 4"), ("d=click pattern=Xy", "only the letters"),
    ("d=click swing=49", "50 to 75"), ("d=click swing=75.1/8", "50 to 75"),
    ("d=click swing=58/32", "50 to 75"),
    ("d=click swing=58/", "50 to 75"), ("d=clock swing=058", "50 to 75"), ("d=clock swing=66.66", "50 to 75"),
    ("p=pulse swing=6", "50 to 75"), ("p=pulse swing=58/8/8", "50 to 75"), ("p=pulse swing=-8", "50 to 75"),
    ("r=reset swing=58", "not swing=58"), ("t=ltc fps=23.976", "24, 25, 29.97df"),
    ("t=mtc start=1:0:0:0", "01:00:00:00"),
    ("t=mtc start=24:00:00:00", "01:00:00:00"), ("t=mtc start=00:00:00:30", "01:00:00:00"),
    ("t=mtc level=1", "not level=1"),
    ("t=ltc start=23:59:59:25", "frames 00 to 24"), ("t=mtc fps=24 start=00:00:00:24", "frames 00 to 23"),
    ("t=mtc start=00:01:00:01 fps=29.97df", "no timecode 00:01:00:01 to start at"),
    ("d=clock offset=1 offset=2", "offset is given twice"),
    ("d=clock play=yes play=yes", "play is given twice"),
    ("p=pulse rate=start", "for a reset"),
  ])
  func `an error in the text of an own output is explained`(text: String, words: String) {
    do throws(Refusal) {
      _ = try NamedOutput(text)
      Issue.record("taken: \(text)")
    } catch {
      #expect(error.text.contains(words), "\(error.text)")
    }
  }

  @Test
  func `a timecode start that the frame rate lacks is refused in any order`() {
    var desk = Desk(.paired)
    for taken in [
      "29.97df start=00:10:00:00", "29.97df start=00:01:00:02", "29.97 start=00:01:00:00",
      "30 start=23:59:59:29",
    ] {
      desk.send("/tactus/out/add", .string("t=ltc fps=" + taken))
    }
    #expect(
      desk.errorCodes == []
        && desk.program.state.lists.outputs.map(\.text) == ["t=ltc fps=30 start=23:59:59:29"])
    desk.send("/tactus/out/t/fps", .string("25"))
    desk.send("/tactus/out/t/start", .string("00:01:00:00"))
    desk.send("/tactus/out/t/fps", .string("29.97df"))
    desk.send("/tactus/out/t/start", .string("00:20:00:00"))
    desk.send("/tactus/out/t/fps", .string("29.97df"))
    desk.send("/tactus/out/t/start", .string("00:21:00:01"))
    #expect(desk.errorCodes == [3, 3, 3])
    #expect(desk.program.state.lists.outputs.map(\.text) == ["t=ltc fps=29.97df start=00:20:00:00"])
    desk.send("/tactus/out/add", .string("p=pulse"))
    desk.send("/tactus/out/p/rate", .string("start"))
    #expect(desk.program.state.lists.outputs.last?.text == "p=pulse" && desk.errorCodes.count == 4)
  }

  @Test
  func `an own output's OSC addresses exist exactly as long as the output`() throws {
    var desk = Desk(.paired)
    desk.send("/tactus/out/drums/offset", .float32(4))
    #expect(desk.program.state.lists.outputs.isEmpty)
    desk.send("/tactus/out/add", .string("drums=clock"))
    desk.send("/tactus/out/add", .string("mod=pulse rate=24"))
    desk.send("/tactus/out/drums/offset", .float32(4))
    desk.send("/tactus/out/drums/rate", .string("1/2"))
    desk.send("/tactus/out/drums/play", .int32(0))
    desk.send("/tactus/out/mod/rate", .string("7/8"))
    let drums = try #require(desk.program.state.lists.outputs.first { $0.name == "drums" })
    #expect(
      drums.offset == Micros(4000) && drums.settings.clock?.perBeat == 12
        && drums.settings.clock?.plays == false)
    #expect(drums.text == "drums=clock offset=4 rate=1/2")
    #expect(desk.program.state.lists.outputs.map(\.text).contains("mod=pulse rate=7/8"))
    desk.send("/tactus/out/mod/position", .int32(0))
    desk.send("/tactus/out/remove", .string("drums"))
    #expect(desk.program.state.lists.outputs.map(\.name) == ["mod"])
    #expect(
      desk.machine.table.row("out/drums/offset") == nil && desk.machine.table.row("out/mod/level") != nil)
    #expect(desk.machine.told.count == desk.machine.table.rows.count)
    #expect(desk.machine.encoded.count == desk.machine.table.rows.count)
  }

  @Test
  func `OSCQuery follows 32 own outputs as they come and go`() throws {
    var desk = Desk(.paired)
    for number in 0..<32 { desk.send("/tactus/out/add", .string("c\(number)=clock offset=\(number)")) }
    #expect(desk.program.state.lists.outputs.count == 32)
    var tree = QueryTree()
    var snapshot = SurfaceSnapshot(reading: desk.machine.reading)
    tree.follow(snapshot)
    let place = QueryTree.Place(web: 1)
    let answer = tree.answer(path: "/tactus/out/c31/offset", query: "VALUE", snapshot, at: place)
    #expect(answer.body == "{\"VALUE\":[31.0]}")
    desk.send("/tactus/out/remove", .string("c31"))
    snapshot = SurfaceSnapshot(reading: desk.machine.reading)
    tree.follow(snapshot)
    #expect(tree.answer(path: "/tactus/out/c31/offset", query: nil, snapshot, at: place).status == 404)
    #expect(tree.answer(path: "/tactus/tempo", query: nil, snapshot, at: place).status == 200)
  }

  @Test
  func `out/changes counts only outputs that are added, removed or retyped`() {
    var desk = Desk(.paired)
    desk.send("/tactus/subscribe")
    func changes(after address: String, _ text: String) -> [[Argument]] {
      desk.forget()
      desk.send(address, .string(text))
      desk.wait(0.1)
      return desk.valuesSent("out/changes")
    }
    // The list as text reaches its size limit long before there are 32 outputs.
    for number in 1...32 {
      #expect(
        changes(after: "/tactus/out/add", "a-name-of-some-length-\(number)=clock") == [
          [.int32(Int32(number))]
        ])
    }
    #expect(changes(after: "/tactus/out/add", "a-name-of-some-length-32=clock offset=3") == [])
    #expect(changes(after: "/tactus/out/add", "a-name-of-some-length-32=pulse") == [[.int32(33)]])
    #expect(changes(after: "/tactus/out/remove", "a-name-of-some-length-31") == [[.int32(34)]])
    desk.machine.reading.own.outputChanges = Int(Int32.max)
    #expect(changes(after: "/tactus/out/remove", "a-name-of-some-length-30") == [[.int32(0)]])
  }

  @Test
  func `adding and removing outputs is charged more than changing a setting`() throws {
    var desk = Desk(.paired)
    var spent = 0
    for turn in 0..<200 {
      desk.send(
        turn % 2 == 0 ? "/tactus/out/add" : "/tactus/out/remove", .string(turn % 2 == 0 ? "x=clock" : "x"))
      spent += desk.cost
    }
    #expect(spent >= 200 * Cost.reshaping)
    // Setting an existing output costs no more than any other message.
    desk.send("/tactus/out/add", .string("y=clock"))
    desk.send("/tactus/out/y/offset", .float32(3))
    #expect(desk.cost < 20 && desk.program.state.lists.outputs.last?.offset == Micros(3000))
  }

  @Test
  func `pedals and tactus send may name an own output that does not exist yet`()
    throws
  {
    let target = try #require(Target("out/drums/play"))
    #expect(Table.standard.objection(to: [target]) == nil)
    let wrong = try #require(Target("out/drums/plya"))
    #expect(Table.standard.objection(to: [wrong]) != nil)
    #expect(
      try Table.standard.message(["out/drums/offset", "4.5"])
        == Message("/tactus/out/drums/offset", .string("4.5")))
    #expect(throws: Refusal.self) { try Table.standard.message(["out/drums/ofset", "4.5"]) }
    // The word must stay text: a number would be read as an index into the list of words.
    #expect(
      try Table.standard.message(["out/lamp/fps", "25"]) == Message("/tactus/out/lamp/fps", .string("25")))
    #expect(try Table.standard.message(["pulse/rate", "4"]) == Message("/tactus/pulse/rate", .string("4")))
    #expect(try Table.standard.message(["tempo", "4e1"]) == Message("/tactus/tempo", .float64(40)))
  }

  @Test
  func `several MIDI program changes in one OSC packet are all sent`()
    throws
  {
    var desk = Desk(.paired)
    desk.send("/tactus/out/add", .string("drums=clock"))
    desk.press(
      "out/drums/program 5 10, out/drums/program 1, out/drums/offset 3, out/drums/program 128 16")
    let drums = desk.program.state.lists.outputs[0]
    var wanted = Programs()
    wanted.ask(for: 4, channel: 9)
    wanted.ask(for: 0, channel: 0)
    wanted.ask(for: 127, channel: 15)
    #expect(drums.settings.programs == wanted && drums.offset == Micros(3000))
    desk.send("/tactus/out/drums/program", .int32(129))
    desk.send("/tactus/out/drums/program", .int32(1), .int32(17))
    #expect(desk.errorCodes == [3, 3])
  }

  @Test
  func `two output settings in one packet both hold; a refused one does not`() throws {
    var desk = Desk(.paired)
    desk.send("/tactus/out/add", .string("drums=clock"))
    desk.press("out/drums/offset 3, out/drums/rate 2, out/drums/settle 20")
    #expect(desk.program.state.lists.outputs[0].text == "drums=clock offset=3 rate=2 settle=20")
    desk.program.refuses = Refusal(.notNow, "no")
    desk.press("out/drums/offset 4")
    desk.program.refuses = nil
    desk.press("out/drums/rate 1")
    #expect(desk.program.state.lists.outputs[0].text == "drums=clock offset=3 settle=20")
  }
}
