// SPDX-License-Identifier: GPL-2.0-or-later

/// Gives the document's characters one after another, without going back, and counts the lines.
struct Scanner {
  private let text: [Unicode.Scalar]
  private let isStrict: Bool
  private var place = 0
  private(set) var line = 1

  init(_ bytes: [UInt8], _ limits: JSON5.Limits) throws(JSON5.Fault) {
    isStrict = limits.isStrict
    guard bytes.count <= limits.bytes else {
      throw JSON5.Fault(line: 1, text: "longer than \(limits.bytes) bytes")
    }
    guard let string = String(validating: bytes, as: UTF8.self) else {
      throw JSON5.Fault(line: Self.line(ofFirstFaultIn: bytes), text: "not UTF-8")
    }
    text = Array(string.unicodeScalars)
  }

  private static func line(ofFirstFaultIn bytes: [UInt8]) -> Int {
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    var line = 1
    while true {
      switch decoder.decode(&iterator) {
      case .scalarValue(let scalar): if scalar == "\n" { line += 1 }
      case .emptyInput, .error: return line
      }
    }
  }

  /// The next character; nil: the document ends.
  var next: Unicode.Scalar? { place < text.count ? text[place] : nil }

  /// Whether the next character is a slash that does not begin a comment.
  var isPlainSlash: Bool {
    next == "/" && place + 1 < text.count && text[place + 1] != "/" && text[place + 1] != "*"
  }

  mutating func advance() {
    // A line ends with \n, \r\n or \r.
    if text[place] == "\n" || (text[place] == "\r" && (place + 1 >= text.count || text[place + 1] != "\n")) {
      line += 1
    }
    place += 1
  }

  mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard next == scalar else { return false }
    advance()
    return true
  }

  mutating func skipSpace() throws(JSON5.Fault) {
    while let scalar = next {
      if scalar == "/", !isStrict {
        try skipComment()
      } else if isStrict ? " \t\r\n".unicodeScalars.contains(scalar) : scalar.isSpace {
        advance()
      } else {
        return
      }
    }
  }

  private mutating func skipComment() throws(JSON5.Fault) {
    let start = line
    advance()
    if skip("/") {
      while let scalar = next, !scalar.endsLine { advance() }
    } else if skip("*") {
      while let scalar = next {
        advance()
        if scalar == "*", skip("/") { return }
      }
      throw JSON5.Fault(line: start, text: "a comment without its closing */")
    } else {
      let rest = takeWhole()
      throw rest.isEmpty ? fault("a value was expected, not /") : unquoted("/" + rest)
    }
  }

  /// Takes all characters up to one that may follow a value or a name. Together they are probably a text
  /// whose quotes the user has forgotten.
  mutating func takeWhole() -> String {
    var whole = String.UnicodeScalarView()
    while let scalar = next, !scalar.isSpace, !",:{}[]".unicodeScalars.contains(scalar) {
      whole.append(scalar)
      advance()
    }
    return String(whole)
  }

  mutating func takeWord() -> String {
    var word = String.UnicodeScalarView()
    while let scalar = next, scalar.continuesName {
      word.append(scalar)
      advance()
    }
    return String(word)
  }

  func fault(_ text: String) -> JSON5.Fault { JSON5.Fault(line: line, text: text) }

  var found: String { next.map { ", not \($0.shown)" } ?? " before the end" }

  func unquoted(_ text: String, line: Int? = nil) -> JSON5.Fault {
    JSON5.Fault(line: line ?? self.line, text: "\(text.shortened) is no value; text needs quotes around it")
  }
}
