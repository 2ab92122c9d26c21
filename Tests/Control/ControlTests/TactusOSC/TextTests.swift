// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import TactusOSC

@Suite("Text from outside")
struct TextTests {
  private static let hidden: [UInt32] =
    [0x00, 0x1B, 0x7F, 0x85, 0x9F, 0x061C, 0x200E, 0x200F, 0x2028, 0x2029]
    + Array(0x202A...0x202E) + Array(0x2066...0x2069)
    // Characters without width: soft hyphen, Mongolian separator, zero width space, word joiner, byte order
    // mark, annotation, a tag.
    + [0x00AD, 0x180E, 0x200B, 0x2060, 0x2064, 0x206A, 0xFEFF, 0xFFF9, 0x1D173, 0xE0001, 0xE0061]

  @Test func `control characters and invisible ones are refused, and shown as ?`() throws {
    for value in Self.hidden {
      let name = "a\(try #require(Unicode.Scalar(value)))b"
      #expect(!name.isPrintable, "U+\(String(value, radix: 16))")
      #expect(printable(name, limit: 10) == "a?b")
    }
  }

  @Test func `names in any script are printable text`() {
    for name in [
      "Bühne", "ドラム", "עברית", "العربية", "👩‍🎤 drums", "é", "می\u{200C}خواهم", "❤\u{FE0F}",
      "naïve — 7/8",
    ] {
      #expect(name.isPrintable)
      #expect(printable(name, limit: 40) == name)
    }
  }

  @Test(arguments: [
    "👩\u{200D}🎤", "👩🏽\u{200D}🎤", "❤\u{FE0F}\u{200D}🔥", "می\u{200C}خواهم", "ന്\u{200D}", "ক্\u{200C}ষ",
    "ರ\u{200D}್ಕ",
  ])
  func `a zero-width joiner that the spelling needs is printable`(name: String) {
    #expect(name.isPrintable)
    #expect(printable(name, limit: 40) == name)
  }

  @Test(arguments: [
    "Dr%ums", "%Drums", "Drums%", "Bü%hne", "ド%ラム", "1%2", "a%%b", "می%%خواهم", "🥁%", "%🥁", "a%🥁", "خ%b",
  ])
  func `a zero-width joiner without effect is refused, and shown as ?`(name: String) {
    for joiner in ["\u{200C}", "\u{200D}"] {
      let hidden = name.split(separator: "%", omittingEmptySubsequences: false).joined(separator: joiner)
      #expect(!hidden.isPrintable, "\(hidden.unicodeScalars.map { $0.value })")
      #expect(printable(hidden, limit: 40) == name.replacing("%", with: "?"))
    }
  }

  @Test func `a zero-width joiner is printable only beside letters that it changes`() {
    #expect(!"🥁\u{200C}🎸".isPrintable)
    #expect(!"می\u{200D}خواهم".isPrintable)
  }
}
