// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

private func file(_ text: String, at path: String = "Sources/Cycle/TactusSync/Planted.swift") -> SourceText {
  SourceText(path: path, text: text)
}

@Test(arguments: ["Of", "Who", "What", "So many", "Whose", "What,"])
func `a doc comment that begins with What, Who or So many is refused`(begin: String) {
  #expect(
    Rules.docCommentsBeginWithTheirSubject(file("let a = 1\n\n/// \(begin) things are here.")).count == 1)
  // These words are allowed in the middle of a sentence, and in comments inside functions.
  #expect(Rules.docCommentsBeginWithTheirSubject(file("/// The beat\n/// \(begin) things.")).isEmpty)
  #expect(Rules.docCommentsBeginWithTheirSubject(file("// \(begin) things.")).isEmpty)
}

@Test func `a comment with whoever or whom is refused`() {
  #expect(Rules.commentsNameTheThing(file("// Whoever comes\nlet a = 1\n  /// for whom it is")).count == 2)
  #expect(Rules.commentsNameTheThing(file("# whoever asks", at: "tools/lib/a.py")).count == 1)
  #expect(Rules.commentsNameTheThing(file("let whom = \"whoever\"")).isEmpty)
}

@Test func `a comment line of 111 columns is refused`() {
  #expect(Rules.commentLinesFit(file("//" + String(repeating: "x", count: 109))).count == 1)
  #expect(Rules.commentLinesFit(file("//" + String(repeating: "x", count: 108))).isEmpty)
}

@Test func `a test name of 71 characters is refused`() {
  let name = String(repeating: "x", count: 70)
  let test = "Tests/Link/LinkTests/ATests.swift"
  #expect(Rules.testNamesAreShort(file("  @Test func `\(name)x`() {}", at: test)).count == 1)
  #expect(Rules.testNamesAreShort(file("  @Test func `\(name)`() {}", at: test)).isEmpty)
}
