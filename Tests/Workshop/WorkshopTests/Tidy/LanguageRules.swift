// SPDX-License-Identifier: GPL-2.0-or-later

/// The rules of language that a program can judge without false alarms; docs/CONTRIBUTING.md has the rules
/// that need a reader.
extension Rules {
  static let lineLimit = 110
  static let testNameLimit = 70

  static let ofLanguage: [@Sendable (SourceText) -> [String]] = [
    docCommentsBeginWithTheirSubject, commentsNameTheThing, commentLinesFit, testNamesAreShort,
  ]

  /// A doc comment that begins with one of these words hides its subject.
  static func docCommentsBeginWithTheirSubject(_ file: SourceText) -> [String] {
    guard file.path.hasSuffix(".swift") else { return [] }
    let hidden: Set = ["Of", "Who", "Whom", "Whose", "Whoever", "What"]
    return file.comments.compactMap { number, text in
      guard text.hasPrefix("/// "), number == 1 || file.comment(on: number - 1)?.hasPrefix("///") != true
      else {
        return nil
      }
      let words = text.dropFirst(4).split(separator: " ").prefix(2).map { $0.filter(\.isLetter) }
      let isHidden = words.first.map(hidden.contains) == true || words == ["So", "many"]
      return isHidden ? file.complaint(number, "a doc comment begins with a noun phrase or a verb") : nil
    }
  }

  static func commentsNameTheThing(_ file: SourceText) -> [String] {
    let pronouns: Set = ["whoever", "whom", "whomever"]
    return file.comments.compactMap { number, text in
      text.split { !$0.isLetter }.contains { pronouns.contains($0.lowercased()) }
        ? file.complaint(number, "name the thing: the peer, the output, the receiver") : nil
    }
  }

  /// The formatter wraps code but leaves comments as they are, so a test checks their width.
  static func commentLinesFit(_ file: SourceText) -> [String] {
    guard file.path.hasSuffix(".swift") else { return [] }
    return file.comments.compactMap { number, _ in
      file.lines[number - 1].count > lineLimit
        ? file.complaint(number, "a line of a comment has at most \(lineLimit) columns") : nil
    }
  }

  static func testNamesAreShort(_ file: SourceText) -> [String] {
    guard file.path.hasPrefix("Tests/") else { return [] }
    return file.lines.indices.compactMap { place in
      let parts = file.lines[place].split(separator: "`", omittingEmptySubsequences: false)
      guard parts.count > 2, parts[0].hasSuffix("func ") else { return nil }
      return parts[1].count > testNameLimit
        ? file.complaint(place + 1, "the name of a test has at most \(testNameLimit) characters") : nil
    }
  }
}

extension SourceText {
  /// All lines that consist of a comment, with their numbers from 1.
  var comments: [(number: Int, text: Substring)] {
    lines.indices.compactMap { place in comment(on: place + 1).map { (place + 1, $0) } }
  }

  /// The text of a line that consists of a comment; nil: another line. A line of a string literal that looks
  /// like a comment counts, too.
  func comment(on number: Int) -> Substring? {
    let text = lines[number - 1].drop { $0 == " " }
    return text.hasPrefix("//") || (!path.hasSuffix(".swift") && text.hasPrefix("# ")) ? text : nil
  }
}
