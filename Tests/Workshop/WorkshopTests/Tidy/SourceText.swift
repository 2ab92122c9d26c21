// SPDX-License-Identifier: GPL-2.0-or-later

/// One file of the repository, as the rules see it. The file is not parsed, only split into words; strings
/// and comments are recognised.
struct SourceText {
  struct Word: Equatable {
    var text: String
    var line: Int
    /// The word's range in `code`.
    var range: Range<Int>
  }

  /// The path from the repository's root: "Sources/Link/LinkBeatMath/Beats.swift".
  let path: String
  let lines: [Substring]
  /// The file's bytes, with comments and string literals replaced by spaces.
  let code: [UInt8]
  /// The words of the code: letters, digits and underscores.
  let words: [Word]

  init(path: String, text: String) {
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    code = path.hasSuffix(".swift") ? Blanking(text).result : Array(text.utf8)
    words = Self.words(of: code)
  }

  /// The module of the file, "LinkBeatMath" for a file in Sources/Link/LinkBeatMath; nil: the file is in no
  /// module of Sources.
  var module: String? {
    let parts = path.split(separator: "/")
    return parts.count > 2 && parts[0] == "Sources" ? String(parts[parts.count > 3 ? 2 : 1]) : nil
  }

  /// The room (folder of Sources) of the file, "Link" for a file in Sources/Link/LinkBeatMath; nil: the file
  /// is outside Sources.
  var room: String? {
    let parts = path.split(separator: "/")
    return parts.count > 2 && parts[0] == "Sources" ? String(parts[1]) : nil
  }

  func complaint(_ line: Int, _ text: String) -> String { "\(path):\(line): \(text)" }

  /// The index of the first byte at or after `place` that is not white space.
  func solid(from place: Int) -> Int? {
    code[place...].firstIndex { $0 != 0x20 && $0 != 0x0A }
  }

  /// The index after the bracket that closes the bracket at `place`.
  func end(ofBracketAt place: Int) -> Int {
    var depth = 0
    for index in place..<code.count {
      switch code[index] {
      case UInt8(ascii: "("), UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: ")"), UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      default: break
      }
      if depth == 0 { return index + 1 }
    }
    return code.count
  }

  func words(in range: Range<Int>) -> [String] {
    words.filter { range.contains($0.range.lowerBound) }.map(\.text)
  }

  /// Whether the word is a member, as in `a.word` or `.word`; `Glibc.word` is not.
  func isMember(_ word: Word) -> Bool {
    guard word.range.lowerBound > 0, code[word.range.lowerBound - 1] == UInt8(ascii: ".") else {
      return false
    }
    return !words.contains { $0.text == "Glibc" && $0.range.upperBound == word.range.lowerBound - 1 }
  }

  /// Whether the word is an implicit member: `.word` with nothing before the dot.
  func isImplicitMember(_ word: Word) -> Bool {
    guard isMember(word), word.range.lowerBound > 1 else { return false }
    return [UInt8(ascii: " "), UInt8(ascii: "("), 0x0A].contains(code[word.range.lowerBound - 2])
  }

  /// Whether the word is a name declared here: `func word`, `case word`, `let word`.
  func isNamedHere(_ word: Word) -> Bool {
    guard let index = words.firstIndex(where: { $0.range == word.range }), index > 0 else { return false }
    return words[index - 1].line == word.line
      && ["func", "case", "let", "var"].contains(words[index - 1].text)
  }

  private static func words(of code: [UInt8]) -> [Word] {
    var words: [Word] = []
    var line = 1
    var start: Int?
    for index in 0...code.count {
      let byte = index < code.count ? code[index] : 0x0A
      let isLetter =
        (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte)
        || byte == UInt8(ascii: "_") || byte >= 0x80
      if isLetter {
        start = start ?? index
      } else if let begin = start {
        words.append(
          Word(text: String(decoding: code[begin..<index], as: UTF8.self), line: line, range: begin..<index))
        start = nil
      }
      if byte == 0x0A { line += 1 }
    }
    return words
  }
}

/// Replaces Swift's comments, string literals and names in backticks by
/// spaces. Lines and positions stay the same.
private struct Blanking {
  private(set) var result: [UInt8]
  private var place = 0

  init(_ text: String) {
    result = Array(text.utf8)
    while place < result.count {
      if starts(with: "//") {
        blank(until: "\n", inclusive: false)
      } else if starts(with: "/*") {
        blankNestedComment()
      } else if starts(with: "#\"") {
        blank(until: "\"#", inclusive: true, from: 2)
      } else if starts(with: "\"\"\"") {
        blank(until: "\"\"\"", inclusive: true, from: 3, escapes: true)
      } else if starts(with: "\"") {
        blank(until: "\"", inclusive: true, from: 1, escapes: true)
      } else if starts(with: "`"),
        let end = result[(place + 1)...].firstIndex(where: { $0 == UInt8(ascii: "`") || $0 == 0x0A }),
        result[end] != 0x0A
      {
        place += 1
        erase(end - place)
        place += 1
      } else {
        place += 1
      }
    }
  }

  private func starts(with text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard place + count <= result.count else { return false }
    for offset in 0..<count where result[place + offset] != text.utf8Start[offset] { return false }
    return true
  }

  private mutating func erase(_ count: Int) {
    for _ in 0..<count where place < result.count {
      if result[place] != 0x0A { result[place] = 0x20 }
      place += 1
    }
  }

  private mutating func blank(
    until end: StaticString, inclusive: Bool, from opening: Int = 2, escapes: Bool = false
  ) {
    erase(opening)
    while place < result.count, !starts(with: end) {
      erase(escapes && result[place] == UInt8(ascii: "\\") ? 2 : 1)
    }
    if inclusive { erase(end.utf8CodeUnitCount) }
  }

  private mutating func blankNestedComment() {
    var depth = 0
    repeat {
      if starts(with: "/*") {
        depth += 1
        erase(2)
      } else if starts(with: "*/") {
        depth -= 1
        erase(2)
      } else {
        erase(1)
      }
    } while depth > 0 && place < result.count
  }
}
