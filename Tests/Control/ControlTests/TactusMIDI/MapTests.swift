// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import TactusMIDI

@Suite struct MapTests {
  private func moved(_ outcome: MIDIMap.Outcome) -> [String] {
    if case .moves(let targets, _) = outcome { targets.map(\.description) } else { [] }
  }

  private func binding(_ text: String) throws -> MIDIBinding { try #require(MIDIBinding(text), "\(text)") }

  private let tapped = MIDIMessage([0x99, 36, 100])!
  private let knob = MIDIMessage([0xB0, 7, 100])!

  @Test(arguments: [
    ("note 36 ch 10 = tap", "note 36 ch 10 = tempo/tap"), ("cc 64 = start", "cc 64 = start"),
    ("CC7=/tactus/click/volume", "cc 7 = click/volume"),
    ("pc 3 = tempo 128 bar", "program 3 = tempo 128 bar"),
    ("cc 1 = tempo 60..180", "cc 1 = tempo 60.0..180.0"),
    ("note 1 = click/pattern X..x", "note 1 = click/pattern X..x"),
    ("cc 1 = tempo 180..60", "cc 1 = tempo 180.0..60.0"),
    ("mmc deferred play = start now", "mmc deferred play = start now"),
    ("jog 60 = bend/jog 2", "jog 60 = bend/jog 2"),
    ("Jog 60 Mackie ch 1 = tempo/nudge 0.1", "jog 60 mackie ch 1 = tempo/nudge 0.1"),
    ("bend ch 2 = volume", "bend ch 2 = click/volume"),
    ("note36ch10=rewind,start", "note 36 ch 10 = rewind, start"), ("continue = toggle", "continue = toggle"),
  ])
  func `MIDI bindings are read in many forms, and the written form reads back`(
    text: String, again: String
  )
    throws
  {
    let read = try binding(text)
    #expect(read.description == again)
    #expect(MIDIBinding(again) == read)
  }

  @Test(arguments: [
    "", "=", "note = tap", "note 36", "note 36 =", "note 128 = tap", "note -1 = tap", "cc 120 = tap",
    "cc 7 ch 17 = tap", "jog 120 = tap", "jog 60 wheel = tap", "jog = tap",
    "cc 7 ch 0 = tap", "start ch 1 = tap", "mmc fly = tap", "key 3 = tap", "note 36 37 = tap",
    "note 36 = /click/volume",
    "note 36 = a*b", "cc 1 = tempo 60..", "cc 1 = tempo nan..3", "note 36 = tap,",
    "note 1 = a,b,c,d,e,f,g,h,i",
    "note 36 ch 10 ch 11 = tap", "note 3.6 = tap",
  ])
  func `malformed text gives no MIDI binding`(text: String) {
    #expect(MIDIBinding(text) == nil)
  }

  @Test func `the longest MIDI binding allowed reads back; a longer one is refused`()
    throws
  {
    let name = String(repeating: "a", count: 128)
    let read = try binding("note 36=\(name)")
    #expect(MIDIBinding(read.description) == read)
    #expect(MIDIBinding("note 36 = \(name)a") == nil)
    #expect(MIDIBinding("note 36 = tap " + String(repeating: "a", count: 124)) == nil)
    #expect(MIDIBinding("cc 1 = \(name.dropLast(5)) 1..2") == nil)
  }

  @Test
  func `MIDI bindings with a channel win, learned ones over configured ones`()
    throws
  {
    var map = MIDIMap(configured: [try binding("note 36 = stop"), try binding("note 36 ch 10 = tap")])
    #expect(moved(map.receive(tapped)) == ["tempo/tap"])
    #expect(moved(map.receive(MIDIMessage([0x90, 36, 1])!)) == ["stop"])
    map.learn(Target("toggle"))
    #expect(map.receive(tapped) == .learned(try binding("note 36 ch 10 = toggle")))
    #expect(moved(map.receive(tapped)) == ["toggle"])
    let isForgotten = map.forget("note 36")
    #expect(isForgotten)
    #expect(moved(map.receive(tapped)) == ["tempo/tap"])
  }

  @Test func `MIDI Start and Stop have standard actions until the user binds them`() throws {
    var map = MIDIMap()
    #expect(moved(map.receive(MIDIMessage([0xFA])!)) == ["rewind", "start"])
    #expect(moved(map.receive(MIDIMessage([0xFC])!)) == ["stop"])
    map = MIDIMap(configured: [try binding("start = tempo/tap")])
    #expect(map.receive(MIDIMessage([0xFA])!) == .moves([Target("tap")!], isStandard: false))
  }

  @Test func `MIDI learn binds the next press or turn, no release, Start or Stop`()
    throws
  {
    var map = MIDIMap()
    map.learn(Target("tap"))
    for bytes: [UInt8] in [[0xFA], [0xFC], [0x89, 36, 0], [0x99, 36, 0], [0xB0, 7, 0]] {
      if case .learned = map.receive(MIDIMessage(bytes)!) { Issue.record("learned \(bytes)") }
    }
    #expect(map.receive(knob) == .learned(try binding("cc 7 ch 1 = tempo/tap")))
    #expect(map.lesson == nil)
    #expect(moved(map.receive(knob)) == ["tempo/tap"])
  }

  @Test func `a MIDI event that is learned again has only its new binding`() throws {
    var map = MIDIMap()
    for target in ["tap", "stop"] {
      map.learn(Target(target))
      _ = map.receive(tapped)
    }
    #expect(map.learned.map(\.description) == ["note 36 ch 10 = stop"])
  }

  @Test func `learned MIDI bindings are forgotten by event, by address or all`()
    throws
  {
    let learned = try ["note 36 ch 10 = tap", "cc 64 = start", "cc 65 = start now", "cc 7 = volume"].map(
      binding)
    var map = MIDIMap(configured: [try binding("cc 64 = stop")], learned: learned)
    for unknown in ["note 37", "rewind", ""] {
      let isForgotten = map.forget(unknown)
      #expect(!isForgotten)
    }
    _ = map.forget("/tactus/start")
    #expect(map.learned.count == 2)
    _ = map.forget("all")
    #expect(map.learned.isEmpty)
    #expect(moved(map.receive(MIDIMessage([0xB3, 64, 127])!)) == ["stop"])
  }

  @Test func `at most 128 MIDI bindings are learned, but each can be relearned`() {
    var map = MIDIMap()
    for note in UInt8(0)..<128 {
      map.learn(Target("tap"))
      _ = map.receive(MIDIMessage([0x90, note, 1])!)
    }
    #expect(map.learned.count == MIDIMap.limit)
    map.learn(Target("tap"))
    #expect(map.receive(knob) == .full)
    map.learn(Target("stop"))
    if case .learned = map.receive(MIDIMessage([0x90, 5, 1])!) {} else { Issue.record("not learned again") }
    #expect(map.learned.count == MIDIMap.limit)
  }

  @Test(arguments: [
    ("jog 60 = x 1", 1, 1), ("jog 60 = x 1", 63, 63), ("jog 60 = x 1", 127, -1), ("jog 60 = x 1", 65, -63),
    ("jog 60 mackie = x 1", 2, 2), ("jog 60 mackie = x 1", 65, -1), ("jog 60 mackie = x 1", 127, -63),
    ("jog 60 offset = x 1", 65, 1), ("jog 60 offset = x 1", 0, -64), ("jog 60 offset ch 1 = x 1", 63, -1),
  ])
  func `an endless MIDI wheel gives the steps by which it was turned`(text: String, value: Int, steps: Int)
    throws
  {
    var map = MIDIMap(configured: [try binding(text)])
    let turned = try #require(MIDIMessage([0xB0, 60, UInt8(value)]))
    #expect(map.receive(turned) == .turns([Target("x 1")!], steps: steps))
    #expect(map.receive(MIDIMessage([0xB0, 61, UInt8(value)])!) == .nothing)
  }

  @Test func `an endless MIDI wheel that was not turned does nothing`() throws {
    var map = MIDIMap(configured: [try binding("jog 60 = x 1")])
    #expect(map.receive(MIDIMessage([0xB0, 60, 0])!) == .nothing)
    var both = MIDIMap(configured: [try binding("jog 60 = x 1")], learned: [try binding("cc 60 = y")])
    #expect(moved(both.receive(MIDIMessage([0xB0, 60, 5])!)) == ["y"])
  }
}
