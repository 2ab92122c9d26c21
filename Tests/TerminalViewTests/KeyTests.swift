// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import TestSupport
import Testing

@testable import TerminalView

@Suite("Keys")
struct KeyTests {
  private func keys(_ text: String) -> [Key] {
    var reader = KeyReader()
    var keys = text.utf8.compactMap { reader.read($0, at: .zero) }
    if let last = reader.pause(at: Micros(1_000_000)) { keys.append(last) }
    return keys
  }

  @Test("Each terminal's way of saying a key is the key")
  func names() {
    for (bytes, key) in [
      ("\u{1B}[A", Key.up), ("\u{1B}OA", .up), ("\u{1B}[B", .down), ("\u{1B}[C", .right), ("\u{1B}OD", .left),
      ("\u{1B}[1;2A", .pageUp), ("\u{1B}[1;5B", .pageDown), ("\u{1B}[5~", .pageUp), ("\u{1B}[6~", .pageDown),
      ("\u{1B}[H", .home), ("\u{1B}OH", .home), ("\u{1B}[1~", .home), ("\u{1B}[7~", .home), ("\r", .enter),
      ("\n", .enter), ("\u{1B}", .escape), (" ", .character(" ")), ("q", .character("q")),
      ("\u{0C}", .character("\u{0C}")),
    ] {
      #expect(keys(bytes) == [key], "\(bytes.debugDescription)")
      #expect(keys(bytes + "x").last == .character("x") || bytes == "\u{1B}", "\(bytes.debugDescription)")
    }
    #expect(keys("\u{1B}[A\u{1B}[A ") == [.up, .up, .character(" ")])
  }

  @Test("What is pasted, Alt and unknown keys press nothing")
  func nothing() {
    for bytes in [
      "\u{1B}[200~q q\u{1B}[A\r\u{1B}[5~\u{1B}[201~", "\u{1B}q", "\u{1B}[15~", "\u{1B}[200~",
      "\u{1B}[99;99;99R", "é€",
      "\u{7F}", "\u{1}", "\u{0}", "\u{1B}[" + String(repeating: "1", count: 12) + "A",
    ] {
      let pressed = keys(bytes)
      #expect(pressed.isEmpty || pressed == [.up], "\(bytes.debugDescription): \(pressed)")
    }
    #expect(keys("\u{1B}[200~q\u{1B}[201~q") == [.character("q")])
  }

  @Test("Any bytes at all are survived, and after a pause a key is a key again")
  func noise() {
    var chance = Dice(seed: 7)
    for _ in 0..<2000 {
      var reader = KeyReader()
      for _ in 0..<20 { _ = reader.read(UInt8(truncatingIfNeeded: chance.next()) & 0x7F, at: .zero) }
      _ = reader.pause(at: Micros(1_000_000))
      // Ends whatever was begun, at the latest after the longest.
      var last: Key?
      for byte in "\u{1B}[201~".utf8 { last = reader.read(byte, at: .zero) ?? last }
      for _ in 0..<20 { last = reader.read(UInt8(ascii: "x"), at: .zero) }
      #expect(last == .character("x"))
    }
  }

  private func press(_ keys: [Key], _ state: SurfaceState, every micros: Int64 = 100_000) -> [Command] {
    var hands = Hands()
    var commands: [Command] = []
    var now = Micros(1_000_000)
    func take(_ action: Action?) {
      if case .command(let command) = action { commands.append(command) }
    }
    for key in keys {
      take(hands.press(key, state, at: now))
      now = now + Micros(micros)
      take(hands.due(at: now))
    }
    take(hands.due(at: now + Micros(1_000_000)))
    return commands
  }

  @Test("Keys are the surface's commands")
  func commands() {
    let state = Scenes.scene { $0.choices.isLinkEnabled = false }.state
    for (key, command) in [
      (" ", Command.toggle), ("a", .set("link", .flag(true))), ("s", .set("startstop", .flag(true))),
      ("m", .set("click", .flag(true))), ("c", .set("clock", .flag(true))), ("p", .set("pulse", .flag(true))),
      ("[", .set("quantum", .number(3))), ("]", .set("quantum", .number(5))), ("l", .set("lead", .word(1))),
      ("+", .tempo(Tempo(121))),
      ("=", .tempo(Tempo(121))), ("-", .tempo(Tempo(119))),
    ] as [(Unicode.Scalar, Command)] {
      #expect(press([.character(key)], state) == [command], "\(key)")
    }
    for (key, command) in [
      (Key.up, Command.tempo(Tempo(121))), (.down, .tempo(Tempo(119))), (.right, .tempo(Tempo(120.1))),
      (.left, .tempo(Tempo(119.9))), (.pageUp, .tempo(Tempo(130))), (.pageDown, .tempo(Tempo(110))),
      (.home, .rewind),
    ] {
      #expect(press([key], state) == [command], "\(key)")
    }
    var on = state
    on.choices.isLinkEnabled = true
    on.choices.syncsStartStop = true
    on.choices.click.isOn = true
    on.choices.lead = .auto
    on.choices.quantum = 1
    #expect(press([.character("a")], on) == [.set("link", .flag(false))])
    #expect(press([.character("s")], on) == [.set("startstop", .flag(false))])
    #expect(press([.character("m")], on) == [.set("click", .flag(false))])
    #expect(press([.character("l")], on) == [.set("lead", .word(3))])
    #expect(press([.character("[")], on) == [.set("quantum", .number(1))])
  }

  @Test("Quick steps add up before the session shows them, and a held key asks 20 times a second at most")
  func quickSteps() {
    let state = SurfaceState()
    #expect(press([.up, .up, .up], state).last == .tempo(Tempo(123)))
    let held = press(Array(repeating: .up, count: 60), state, every: 16_667)
    #expect(held.last == .tempo(Tempo(180)))
    #expect(held.count <= 22)
    #expect(press(Array(repeating: .pageDown, count: 30), state).last == .tempo(Tempo(20)))
  }

  @Test("Steps go from hundredth to hundredth, whatever the session rounds")
  func hundredths() {
    var state = SurfaceState()
    state.timeline.tempo = Tempo(120.099936)
    #expect(press([.right], state) == [.tempo(Tempo(120.2))])
  }

  @Test("Taps make the tempo")
  func taps() {
    let commands = press(Array(repeating: .character("t"), count: 5), SurfaceState(), every: 400_000)
    #expect(commands.last == .tempo(Tempo(150)))
    #expect(press([.enter, .enter], SurfaceState(), every: 600_000).last == .tempo(Tempo(100)))
  }

  @Test("q ends it at once while stopped, and at the second time while it rolls")
  func quitting() {
    func isQuit(_ action: Action?) -> Bool {
      if case .quit = action { true } else { false }
    }
    var rolling = SurfaceState()
    rolling.transport = .rolling(origin: .zero)
    var hands = Hands()
    let q = Key.character("q")
    let stopped = hands.press(q, SurfaceState(), at: .zero)
    #expect(isQuit(stopped))
    let first = hands.press(q, rolling, at: Micros(1_000_000))
    let second = hands.press(q, rolling, at: Micros(3_000_000))
    #expect(!isQuit(first) && isQuit(second))
    hands = Hands()
    _ = hands.press(q, rolling, at: Micros(1_000_000))
    let late = hands.press(q, rolling, at: Micros(9_000_000))
    #expect(!isQuit(late))
  }
}

extension Command {
  fileprivate static func set(_ path: String, _ value: Value) -> Command {
    .choose(Table.standard.choices.first { $0.path == path }!, [value])
  }
}
