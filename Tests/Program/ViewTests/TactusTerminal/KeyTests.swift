// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusTestSupport
import Testing

@testable import TactusTerminal

@Suite("Keys")
struct KeyTests {
  private func keys(_ text: String) -> [Key] {
    var reader = KeyReader()
    var keys = text.utf8.compactMap { reader.read($0, at: .zero) }
    if let last = reader.pause(at: Micros(1_000_000)) { keys.append(last) }
    return keys
  }

  @Test
  func `every known byte sequence of a terminal's key is read as that key`() {
    for (bytes, key) in [
      ("\u{1B}[A", Key.up), ("\u{1B}OA", .up), ("\u{1B}[B", .down), ("\u{1B}[C", .right), ("\u{1B}OD", .left),
      ("\u{1B}[1;2A", .pageUp), ("\u{1B}[1;5B", .pageDown), ("\u{1B}[5~", .pageUp), ("\u{1B}[6~", .pageDown),
      ("\u{1B}[H", .home), ("\u{1B}OH", .home), ("\u{1B}[1~", .home), ("\u{1B}[7~", .home), ("\r", .enter),
      ("\n", .enter), ("\u{1B}", .escape), (" ", .character(" ")), ("q", .character("q")),
      ("\u{0C}", .character("\u{0C}")), ("\u{7F}", .backspace), ("\u{8}", .backspace),
    ] {
      #expect(keys(bytes) == [key], "\(bytes.debugDescription)")
      #expect(keys(bytes + "x").last == .character("x") || bytes == "\u{1B}", "\(bytes.debugDescription)")
    }
    #expect(keys("\u{1B}[A\u{1B}[A ") == [.up, .up, .character(" ")])
  }

  @Test
  func `pasted text, Alt and unknown keys press nothing`() {
    for bytes in [
      "\u{1B}[200~q q\u{1B}[A\r\u{1B}[5~\u{1B}[201~", "\u{1B}q", "\u{1B}[15~", "\u{1B}[200~",
      "\u{1B}[99;99;99R", "é€",
      "\u{1}", "\u{0}", "\u{1B}[" + String(repeating: "1", count: 12) + "A",
    ] {
      let pressed = keys(bytes)
      #expect(pressed.isEmpty || pressed == [.up], "\(bytes.debugDescription): \(pressed)")
    }
    #expect(keys("\u{1B}[200~q\u{1B}[201~q") == [.character("q")])
  }

  @Test
  func `after any bytes and a pause, the next key is read correctly`() {
    var chance = Dice(seed: 7)
    for _ in 0..<2000 {
      var reader = KeyReader()
      for _ in 0..<20 { _ = reader.read(UInt8(truncatingIfNeeded: chance.next()) & 0x7F, at: .zero) }
      _ = reader.pause(at: Micros(1_000_000))
      // Complete any escape sequence that has begun: these bytes are more than the longest sequence has.
      var last: Key?
      for byte in "\u{1B}[201~".utf8 { last = reader.read(byte, at: .zero) ?? last }
      for _ in 0..<20 { last = reader.read(UInt8(ascii: "x"), at: .zero) }
      #expect(last == .character("x"))
    }
  }
}
