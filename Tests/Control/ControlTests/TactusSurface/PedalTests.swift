// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusMIDI
import Testing

@testable import TactusSurface

@Suite("Keys, knobs and pedals")
struct PedalTests {
  private func desk(_ bindings: String...) -> Desk {
    var settings = SurfaceSettings()
    settings.bindings = bindings.compactMap { MIDIBinding($0) }
    #expect(settings.bindings.count == bindings.count)
    return Desk(settings)
  }

  @Test
  func `pedal taps count from their arrival at JACK's port, however late read`() {
    var desk = desk("note 36 ch 10 = tap")
    for beat in 0..<5 {
      let tapped = Micros(2_000_000 + Int64(beat) * 480_000)
      // Each tap is fetched with a different delay of up to 20 ms.
      desk.now = tapped + Micros(Int64(beat * 7919 % 20) * 1000)
      desk.play([0x99, 36, 90], at: tapped)
      desk.play([0x89, 36, 0], at: tapped)
    }
    desk.wait(0.2)
    #expect(desk.program.state.tempo.beatsPerMinute == 125)
  }

  @Test
  func `taps of a foot switch, a key and a tablet make one tempo`() {
    var desk = desk("note 36 ch 10 = tap")
    for beat in 0..<6 {
      desk.now = Micros(2_000_000 + Int64(beat) * 480_000)
      switch beat % 3 {
      case 0: desk.play([0x99, 36, 90])
      case 1: desk.press("tap")
      default: desk.send("/tactus/tempo/tap")
      }
      desk.wait(0.1)
    }
    #expect(desk.program.commands == Array(repeating: .tempo(Tempo(125)), count: 5))
  }

  @Test
  func `tempo steps of a key, a foot switch and a tablet add up at once`() {
    var desk = desk("note 1 = nudge 1")
    desk.press("nudge 1")
    desk.play([0x90, 1, 1])
    desk.send("/tactus/tempo/nudge", .int32(1))
    desk.wait(0.2)
    #expect(desk.program.state.tempo.beatsPerMinute == 123)
  }

  @Test
  func `a MIDI key has this machine's rights, even without a listening address`() {
    var settings = SurfaceSettings()
    settings.listen = []
    var desk = Desk(settings)
    desk.press("click/toggle")
    desk.press("quit")
    #expect(desk.program.quit && desk.orders.count == 2 && desk.orders.allSatisfy(\.isPaired))
    desk.program.refuses = Refusal(.notNow, "no JACK server")
    desk.press("start")
    #expect(desk.notices.map(\.text) == ["no JACK server"] && desk.notices.allSatisfy(\.isComplaint))
    #expect(desk.sent.allSatisfy { $0.to.port == 0 })
  }

  @Test
  func `a MIDI pedal acts once for each press`() {
    var desk = desk("cc 64 = toggle")
    for value: UInt8 in [127, 0, 127, 0] { desk.play([0xB0, 64, value]) }
    #expect(desk.program.commands == [.toggle, .toggle])
    // This pedal sends nothing when it is released.
    desk.play([0xB0, 64, 127])
    desk.play([0xB0, 64, 127])
    #expect(desk.program.commands.count == 4)
    // This is an expression pedal that moves past the middle.
    desk.forget()
    for value: UInt8 in 0...127 { desk.play([0xB1, 64, value]) }
    #expect(desk.program.commands == [.toggle])
  }

  @Test
  func `a MIDI knob covers its target's range, for the tempo the fader's range`() {
    var desk = desk(
      "cc 7 = click/volume", "cc 1 = tempo 90..140", "cc 2 = tempo", "cc 3 = tempo 140..90",
      "cc 4 = pulse/rate")
    desk.play([0xB0, 7, 127])
    #expect(desk.program.state.choices.click.gain == 2)
    for (knob, value, tempo) in [(1, 127, 140.0), (1, 0, 90), (2, 0, 60), (2, 127, 180), (3, 0, 140)] {
      desk.play([0xB0, UInt8(knob), UInt8(value)])
      desk.wait(0.1)
      #expect(desk.program.state.tempo.beatsPerMinute == tempo, "cc \(knob)")
    }
    desk.play([0xB0, 4, 127])
    #expect(desk.program.state.choices.pulse.rate == .fortyEight)
    #expect(desk.errors.isEmpty)
  }

  @Test
  func `a MIDI key's fixed arguments are sent only when it is pressed`() {
    var desk = desk("note 40 = tempo 128", "note 41 = start now")
    for note: UInt8 in [40, 41] {
      desk.play([0x90, note, 1])
      desk.play([0x80, note, 1])
    }
    #expect(desk.program.commands == [.tempo(Tempo(128)), .start(.now)])
  }

  @Test
  func `a MIDI Start while tactus plays is ignored: it may be our own`() {
    var desk = Desk()
    desk.play([0xFA])
    #expect(desk.program.commands == [.rewind, .start(nil)])
    desk.play([0xFA])
    desk.play([0xFB])
    desk.play([0xF0, 0x7F, 0x7F, 6, 2, 0xF7])
    #expect(desk.program.commands.count == 2)
    desk.play([0xFC])
    desk.play([0xF0, 0x7F, 0x7F, 6, 0x44, 6, 1, 0, 0, 2, 0, 0, 0xF7])
    #expect(desk.program.commands.suffix(2) == [.stop, .locate(.seconds(2))])
  }

  @Test
  func `MIDI learn binds the next key, which is listed, kept and forgotten`() {
    var desk = Desk(.paired)
    desk.send("/tactus/subscribe", .int32(9000))
    desk.forget()
    desk.send("/tactus/midi/learn", .string("tempo/tap"))
    desk.wait(0.4)
    #expect(desk.valuesSent("midi/learn").last == [.string("tempo/tap")])
    desk.play([0x99, 38, 64])
    desk.wait(0.1)
    #expect(desk.valuesSent("midi/learned").last == [.string("note 38 ch 10 = tempo/tap")])
    #expect(desk.valuesSent("midi/learn").last == [.string("")])
    #expect(desk.valuesSent("midi/bound").last == [.int32(1)])
    #expect(desk.valuesSent("midi/last").last == [.string("note 38 ch 10")])
    #expect(desk.learned.map(\.description) == ["note 38 ch 10 = tempo/tap"])
    #expect(desk.notices.map(\.text).contains("MIDI: learned note 38 ch 10 = tempo/tap"))
    #expect(desk.program.commands.isEmpty)
    desk.send("/tactus/midi/list")
    #expect(
      desk.valuesSent("midi/binding").contains([.string("note 38 ch 10 = tempo/tap"), .string("learned")]))
    #expect(
      desk.valuesSent("midi/binding").contains([.string("start = rewind, start"), .string("standard")]))
    desk.send("/tactus/midi/forget", .string("note 38 ch 10"))
    #expect(desk.learned.isEmpty && desk.machine.midi.learned.isEmpty)
    desk.send("/tactus/midi/forget", .string("all"))
    #expect(desk.errorCodes == [4])
  }

  @Test
  func `MIDI learn can be cancelled`() {
    var desk = Desk(.paired)
    desk.send("/tactus/midi/learn", .string("stop"))
    desk.send("/tactus/midi/learn", .string(""))
    desk.play([0x90, 1, 1])
    #expect(desk.learned.isEmpty && desk.program.commands.isEmpty)
  }

  @Test(arguments: [
    ("tempo/tipp", "do you mean tempo/tap?"), ("peers", "can't be set"), ("quit", "quit"),
    ("locate", "needs its arguments"),
    ("tempo 5", "20 to 999"), ("cc 7", "no such address"), ("tempo 10..90", "20 to 999"),
    ("click/pattern", "needs"),
  ])
  func `an OSC address that MIDI cannot control is refused with the reason`(text: String, reason: String) {
    var desk = Desk(.paired)
    desk.send("/tactus/midi/learn", .string(text))
    #expect(desk.errorCodes == [3] && desk.errors[0].contains(reason), "\(desk.errors)")
    #expect(desk.machine.midi.lesson == nil)
  }

  @Test
  func `refusals of a MIDI pedal's command are shown in the terminal`() {
    var desk = desk("note 1 = start")
    desk.program.refuses = Refusal(.notNow, "no JACK server")
    desk.play([0x90, 1, 1])
    #expect(desk.notices.map(\.text) == ["MIDI: /tactus/start: no JACK server"])
    #expect(desk.sent.allSatisfy { $0.to.port == 0 })
  }

  @Test(
    arguments: [
      ("note 1 = click/pattern abc", "click/pattern: only the letters X (accent), x (beat) and . (silence)"),
      (
        "note 1 = start, click/pattern Xx?",
        "click/pattern: only the letters X (accent), x (beat) and . (silence)"
      ),
      ("note 1 = meter 4 5", "meter: 5 is no unit; 1, 2, 4, 8, 16 or 32"),
      ("note 1 = click/pattern Xx.", nil),
      // Whether tactus can obey these commands is known only when the key is pressed.
      ("note 1 = tempo/nudge 5", nil), ("note 1 = locate 3", nil), ("cc 1 = click/sound 0..3", nil),
    ] as [(String, String?)])
  func `a MIDI binding with arguments that can never be valid is refused`(
    text: String, words: String?
  ) throws {
    let objection = Table.standard.objection(to: try #require(MIDIBinding(text)).targets)
    if words == nil || text.contains("pattern") {
      #expect(objection == words)
    } else {
      #expect(objection != nil)
    }
  }

  @Test
  func `every standard MIDI binding names a command that accepts its values`() {
    for binding in MIDIMap.standard where binding.event.description != "mmc locate" {
      #expect(Table.standard.objection(to: binding.targets) == nil, "\(binding)")
    }
  }

  @Test
  func `random MIDI bytes at the control port break nothing`() {
    var mutator = PacketMutator(dice: 99)
    var desk = desk("cc 7 = click/volume", "cc 1 = tempo", "bend = phase", "note 60 = tap")
    for _ in 0..<20_000 {
      desk.now = desk.now + Micros(500)
      desk.play((0..<mutator.roll(4)).map { UInt8((($0 == 0 ? 0x80 : 0) + mutator.roll(128)) % 256) })
    }
    #expect((20...999).contains(desk.program.state.tempo.beatsPerMinute))
    #expect(desk.machine.counters.midi > 1000)
  }

  @Test
  func `MIDI input beyond the queue is dropped, and reported once a minute`() {
    var desk = desk()
    var hands = LocalInputQueue(at: .zero)
    for _ in 0..<SurfaceLimits.touches + 3 { hands.put(.key([]), at: .zero) }
    #expect(hands.takeLost() == 3 && hands.takeLost() == 0)
    for _ in 0..<100 { desk.machine.note(.touchesLost) }
    desk.drain()
    #expect(desk.notices == [.touchesLost])
  }
}

extension Desk {
  /// Presses a key with several targets, separated by commas.
  mutating func press(_ text: String) {
    machine.press(text.split(separator: ",").compactMap { Target($0) }, at: now, clocks: clocks)
    drain()
  }

  mutating func play(_ bytes: [UInt8], at time: Micros? = nil) {
    guard let message = MIDIMessage(bytes) else { return }
    machine.receive(message, at: time ?? now, clocks: clocks)
    drain()
  }
}
