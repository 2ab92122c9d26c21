// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import TactusSync
import Testing

struct PatternTests {
  @Test func `a click pattern's letters are read and repeat`() throws {
    let pattern = try #require(Pattern("X.x".utf8))
    #expect(pattern.count == 3)
    #expect(
      (-3..<6).map { pattern[$0] } == [
        .accent, .silent, .beat, .accent, .silent, .beat, .accent, .silent, .beat,
      ])
  }

  @Test func `a click pattern with wrong or too many letters is refused`() {
    #expect(Pattern("X.y".utf8) == nil)
    #expect(Pattern(repeatElement(UInt8(ascii: "x"), count: 65)) == nil)
    #expect(Pattern(repeatElement(UInt8(ascii: "x"), count: 64))?.count == 64)
    #expect(Pattern("".utf8) == Pattern())
  }
}
