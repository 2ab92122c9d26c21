// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("The table of commands")
struct TableTests {
  @Test
  func `every row of the table has a unique, valid OSC address and a help text`() {
    var seen: Set<String> = []
    for row in Table.standard.rows {
      #expect(seen.insert(row.path).inserted, "\(row.path) is there twice")
      #expect(!row.words.isEmpty && row.words.hasSuffix("."), "\(row.path)")
      #expect(!row.path.isEmpty && !row.path.hasPrefix("/") && !row.path.hasSuffix("/"))
      #expect(
        row.path.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"#*,?[]{}".utf8.contains($0) },
        "\(row.path)")
      #expect(!AddressPattern.isPattern(row.path.utf8))
    }
  }

  @Test
  func `every row of the table has a short, unique title`() {
    var seen: [String: String] = [:]
    for row in Table.standard.rows {
      let title = row.title
      #expect((1...Node.longestTitle).contains(title.count) && title != row.path, "\(row.path): \(title)")
      if let other = seen.updateValue(row.path, forKey: title) {
        Issue.record("\(row.path) and \(other) are both called \(title)")
      }
    }
    #expect(Node.titles.keys.filter { Table.standard.row($0) == nil } == [])
    #expect(Table.standard.row("link/str")?.title == "Link enabled")
    #expect(Table.standard.row("click/sound")?.title == "Click sound")
    #expect(Table.standard.row("launch/beat")?.title == "Start on: beat")
  }

  @Test(arguments: Table.standard.rows.indices)
  func `every row of the table can be read and written as its kind says`(index: Int) {
    let row = Table.standard.rows[index]
    switch row.kind {
    case .value: #expect(row.isReadable && row.isWritable)
    case .reading: #expect(row.isReadable && !row.isWritable)
    case .trigger, .order, .verb: #expect(row.isWritable)
    case .feed, .answer: #expect(!row.isReadable && !row.isWritable)
    }
    if row.kind == .feed { #expect(row.group != .state) }
  }

  @Test
  func `the values of each row of the table have the types that it declares`() {
    let desk = Desk()
    for row in Table.standard.rows where row.isReadable {
      let values = row.read?(desk.machine.reading) ?? []
      #expect(String(values.map(\.tag)) == row.typeTags, "\(row.path)")
    }
  }

  @Test
  func `every row's value can be set within its range and read back`() {
    for row in Table.standard.rows where row.kind == .value {
      for arguments in samples(row) {
        var desk = Desk()
        desk.send("/tactus/tempo/nudge", .float32(0.5))  // moves the value from the end of its range
        desk.wait(1)
        desk.forget()
        desk.send(
          bytes: LibloCodec.encode(Message("/tactus/" + row.path, arguments: arguments)), from: row.sender)
        desk.wait(0.3)
        // A start takes effect only when its bar or beat comes.
        desk.wait(3)
        desk.forget()
        desk.send("/tactus/" + row.path)
        let received = desk.valuesSent(row.path).last ?? []
        #expect(desk.errors.isEmpty, "\(row.path) \(arguments)")
        #expect(received.count == arguments.count, "\(row.path) \(arguments)")
        for (received, sent) in zip(received, arguments) {
          if let sent = sent.number, let received = received.number {
            #expect(
              abs(received - sent) <= 1e-4 * max(1, abs(sent)),
              "\(row.path): sent \(sent), received \(received)")
          } else {
            #expect(received == sent, "\(row.path)")
          }
        }
      }
    }
  }

  @Test
  func `an OSC value out of range is refused, and the old value is sent back`() {
    for row in Table.standard.rows where row.kind == .value {
      for arguments in outside(row) {
        var desk = Desk()
        let before = row.read?(desk.machine.reading)
        desk.send(
          bytes: LibloCodec.encode(Message("/tactus/" + row.path, arguments: arguments)), from: row.sender)
        #expect(desk.errorCodes == [3], "\(row.path) \(arguments)")
        #expect(desk.program.commands.isEmpty, "\(row.path) \(arguments)")
        #expect(desk.valuesSent(row.path).last == before, "\(row.path) \(arguments)")
      }
    }
  }

  @Test
  func `a wrong OSC type is refused with an error that names the right type`() {
    for row in Table.standard.rows where row.kind == .value || row.kind == .order {
      guard let first = row.parameters.first else { continue }
      var desk = Desk()
      let wrong: Argument = if case .text = first { .float32(7) } else { .string("banana") }
      desk.send(
        bytes: LibloCodec.encode(
          Message("/tactus/" + row.path, arguments: Array(repeating: wrong, count: row.parameters.count))),
        from: row.sender)
      #expect(desk.errorCodes == [2], "\(row.path)")
      #expect(desk.program.commands.isEmpty, "\(row.path)")
    }
  }

  @Test
  func `each press of a button row makes one command, each release none`() {
    for row in Table.standard.rows where row.kind == .trigger || row.kind == .order {
      // Skip the set list, which has no songs here, and messages to other programs. Other tests cover both.
      guard !["tempo/tap", "quit", "midi/forget", "osc/send"].contains(row.path), !row.path.hasPrefix("set/")
      else { continue }
      var desk = Desk()
      let arguments: [Argument] = row.parameters.map { parameter in
        switch parameter {
        case .number(let range, _): .float32(Float(min(max(1, range.lowerBound), range.upperBound)))
        case .whole(let range, _): .int32(Int32(range.lowerBound))
        case .beats: .float32(3.5)
        case .text: .string(row.path == "out/add" ? "drums=clock" : "tempo")
        case .fader, .flag, .word, .exact: .float32(1)
        }
      }
      desk.send(
        bytes: LibloCodec.encode(Message("/tactus/" + row.path, arguments: arguments)), from: row.sender)
      #expect(desk.program.commands.count == 1, "\(row.path): \(desk.errors)")
      guard row.kind == .trigger else { continue }
      for release in [Argument.float32(0), .int32(0), .truth(false), .float32(.nan), .null, .float32(0.49)] {
        desk.forget()
        desk.send("/tactus/" + row.path, release, from: row.sender)
        #expect(desk.program.commands.isEmpty && desk.errors.isEmpty, "\(row.path) \(release)")
      }
      for press in [Argument.impulse, .truth(true), .int64(1), .float64(0.5), .string("1")] {
        var desk = Desk()
        desk.send("/tactus/" + row.path, press, from: row.sender)
        #expect(desk.program.commands.count == 1, "\(row.path) \(press)")
      }
    }
  }

  @Test
  func `nudges move the click's offset, within its range`() {
    var desk = Desk()
    desk.update { $0.choices.offsets[.click1] = .milliseconds(12.5) }
    for _ in 0..<2 { desk.send("/tactus/click/offset/nudge", .int32(1)) }
    desk.send("/tactus/click/offset/nudge", .string("-0.5"))
    #expect(
      desk.program.commands == [13.5, 14.5, 14].map { .set("click/offset", .number($0)) }, "\(desk.errors)")
    for (start, steps, end) in [(450.0, 100.0, 500.0), (-450, -100, -500)] {
      var other = Desk()
      other.update { $0.choices.offsets[.click1] = .milliseconds(start) }
      other.send("/tactus/click/offset/nudge", .float64(steps))
      #expect(other.program.commands == [.set("click/offset", .number(end))])
    }
  }

  @Test
  func `a number with a plus sign is refused as a value, accepted as a nudge`() {
    for row in Table.standard.rows
    where row.kind == .value && row.reach == .anyone && row.parameters[0].tag != "s" {
      var desk = Desk()
      let plus = Message(Table.address(row.path), arguments: row.parameters.map { _ in .string("+1") })
      desk.send(bytes: LibloCodec.encode(plus))
      #expect(desk.program.commands.isEmpty && desk.errorCodes == [2], "\(row.path)")
    }
    for path in Node.nudged {
      var desk = Desk()
      desk.send(Table.address(path), .string("+30"))
      #expect(desk.errors.first?.hasSuffix("without a +; \(path)/nudge adds") == true, "\(desk.errors)")
      #expect(throws: Refusal.self) { try Table.standard.message([path, "+30"]) }
      #expect(throws: Never.self) { try Table.standard.message(["\(path)/nudge", "+3"]) }
      desk.send(Table.address("\(path)/nudge"), .string("+3"))
      #expect(desk.program.commands.count == 1, "\(path)")
    }
  }

  @Test
  func `the quantum follows the meter until a user sets it; both are sent`() {
    var desk = Desk()
    desk.send("/tactus/subscribe", .int32(9000))
    desk.forget()
    desk.send("/tactus/meter", .int32(7), .int32(8))
    desk.wait(1)
    #expect(desk.valuesSent("quantum").last == [.float32(3.5)])
    for (steps, beats) in [(1, 4), (-1, 3)] as [(Int32, Int)] {
      var other = Desk()
      other.update { $0.choices.meter = Meter(beatsPerBar: 7, beatType: 8) }
      other.send("/tactus/quantum/nudge", .int32(steps))
      #expect(other.program.commands == [.set("quantum", .whole(beats))])
    }
    desk.send("/tactus/quantum", .int32(4))
    desk.send("/tactus/meter", .int32(5), .int32(4))
    desk.wait(1)
    #expect(desk.valuesSent("meter").last == [.int32(5), .int32(4)])
    #expect(desk.valuesSent("quantum").last == [.float32(4)])
  }

  @Test
  func `a quantum can be set as it was sent, and bar makes it follow the meter`()
    throws
  {
    for (word, argument) in [("quantum", Argument.string("bar")), ("quantum/bar", .float32(1))] {
      var desk = Desk()
      desk.update { $0.choices.meter = Meter(beatsPerBar: 64, beatType: 1) }
      desk.send("/tactus/subscribe", .int32(9000))
      #expect(
        desk.valuesSent("quantum").last == [.float32(256)]
          && desk.valuesSent("quantum/bar").last == [.float32(1)])
      for meter in [
        Meter(beatsPerBar: 64, beatType: 1), Meter(beatsPerBar: 7, beatType: 8),
        Meter(beatsPerBar: 1, beatType: 32),
      ] {
        desk.update { $0.choices.meter = meter }
        desk.wait(1)
        let received = try #require(desk.valuesSent("quantum").last)
        desk.forget()
        desk.send("/tactus/quantum", received[0])
        desk.wait(1)
        #expect(desk.errors.isEmpty && desk.valuesSent("quantum/bar").last == [.float32(0)])
        #expect(desk.program.state.choices.ownQuantum == .beats(meter.length.value))
        desk.send("/tactus/" + word, argument)
        desk.wait(1)
        #expect(desk.errors.isEmpty && desk.valuesSent("quantum/bar").last == [.float32(1)])
        #expect(desk.program.state.choices.ownQuantum == .bar)
      }
    }
    #expect(Choice.quantum.values(of: "bar") == [.word(0)] && Choice.quantum.text([.word(0)]) == "bar")
    #expect(
      Choice.quantum.values(of: "3.5") == [.number(3.5)] && Choice.quantum.values(of: "8.0") == [.whole(8)])
    for text in ["3.3", "-1", "256.125", "0x10", "nan", "1e2", "", "bars", "+-3"] {
      #expect(Choice.quantum.values(of: text) == nil, "\(text)")
    }
  }

  @Test
  func `during a start and the song, every message for subscribers is sent`() {
    var desk = Desk()
    desk.update {
      $0.choices.meter = Meter(beatsPerBar: 16, beatType: 16)
      $0.choices.quantum = 16
    }
    desk.send("/tactus/subscribe", .int32(9000), .string("beat phase position heartbeat exact"))
    desk.send("/tactus/start", .string("bar"))
    desk.wait(20)
    let addresses = Set(desk.sent.map(\.message.address))
    let expected = Table.standard.rows.filter { $0.kind == .feed }.map { "/tactus/" + $0.path }
    let conversation: Set<String> = ["/tactus/proof", "/tactus/subscribed", "/tactus/update"]
    #expect(addresses.subtracting(conversation) == Set(expected))
    for (message, _, _) in desk.sent {
      guard let row = Table.standard.rows.first(where: { "/tactus/" + $0.path == message.address }),
        row.kind != .verb
      else {
        continue
      }
      #expect(String(message.arguments.map(\.tag)) == row.typeTags, "\(row.path)")
    }
  }

  @Test
  func `every alias address stands for an existing row of the table`() {
    for alias in Aliases.all {
      switch alias.meaning {
      case .row(let path), .press(let path, _): #expect(Table.standard.row(path) != nil, "\(alias.address)")
      case .verb, .ardourSurface: break
      }
    }
  }

  private func samples(_ row: Node) -> [[Argument]] {
    switch row.path {
    case "tempo/range": return [[.float32(20), .float32(999)], [.float32(100), .float32(130)]]
    case "meter": return [[.int32(1), .int32(1)], [.int32(64), .int32(32)], [.int32(7), .int32(8)]]
    case "click/pattern":
      return [[.string("")], [.string("Xx.x")], [.string(String(repeating: "X", count: 64))]]
    default: break
    }
    switch row.parameters[0] {
    case .number(let range, _):
      return [[.float32(Float(range.lowerBound))], [.float32(Float(range.upperBound))]]
    case .fader: return [[.float32(0)], [.float32(1)], [.float32(0.25)]]
    case .whole(let range, _): return [[.int32(Int32(range.lowerBound))], [.int32(Int32(range.upperBound))]]
    case .beats(let range, _):
      return [[.float32(0)], [.float32(0.125)], [.float32(3.5)], [.float32(Float(range.upperBound))]]
    case .flag: return [[.float32(1)], [.float32(0)]]
    case .word(let words): return words.map { [.string($0)] }
    case .text, .exact: return []
    }
  }

  private func outside(_ row: Node) -> [[Argument]] {
    switch row.path {
    case "tempo/range": return [[.float32(10), .float32(100)], [.float32(130), .float32(100)]]
    case "meter": return [[.int32(0), .int32(4)], [.int32(4), .int32(3)]]
    default: break
    }
    switch row.parameters[0] {
    case .number(let range, _):
      return [[.float32(Float(range.lowerBound - 1))], [.float64(range.upperBound + 1)], [.float64(1e300)]]
    case .whole(let range, _):
      return [[.int64(Int64(range.lowerBound - 1))], [.float32(Float(range.upperBound + 1))]]
    case .beats(let range, _): return [[.float32(-1)], [.float64(range.upperBound + 1)], [.float64(1e300)]]
    case .flag: return [[.float32(-1)], [.int32(2)]]
    case .word(let words): return [[.int32(Int32(words.count))], [.float32(-1)]]
    case .text(let limit): return [[.string(String(repeating: "X", count: limit + 1))]]
    case .fader, .exact: return []
    }
  }
}

@Suite struct SinkNameTests {
  private let choice = Table.standard.choices.first { $0.path == "jack/sink" }

  @Test func `the text of jack/sink reads back as written, and auto means no name`() throws {
    let choice = try #require(choice)
    for text in ["system", "Blue*", "a/b:playback 1", String(repeating: "ü", count: 32)] {
      var settings = Settings()
      choice.write(&settings, try #require(choice.values(of: text), "\(text)"))
      #expect(choice.read(settings).map(choice.text) == text && !settings.sink.isEmpty)
      choice.write(&settings, try #require(choice.values(of: "auto")))
      #expect(settings.sink == ChosenName() && choice.read(settings).map(choice.text) == "auto")
    }
    for text in [String(repeating: "x", count: 65), "a\nb", "\u{7f}"] {
      #expect(choice.values(of: text) == nil)
    }
  }
}
