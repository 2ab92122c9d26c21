// SPDX-License-Identifier: GPL-2.0-or-later

/// From the first character to the last, without going back.
struct Reader {
  private let text: [Unicode.Scalar]
  private let limits: JSON5.Limits
  private var place = 0
  private(set) var line = 1
  private var values = 0

  init(_ bytes: [UInt8], limits: JSON5.Limits) throws(JSON5.Fault) {
    guard bytes.count <= limits.bytes else {
      throw JSON5.Fault(line: 1, text: "longer than \(limits.bytes) bytes")
    }
    guard let string = String(validating: bytes, as: UTF8.self) else {
      throw JSON5.Fault(line: Self.line(ofFirstFaultIn: bytes), text: "not UTF-8")
    }
    text = Array(string.unicodeScalars)
    self.limits = limits
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

  /// Whether nothing follows but space and comments.
  mutating func isEmpty() throws(JSON5.Fault) -> Bool {
    try skipSpace()
    return next == nil
  }

  mutating func document() throws(JSON5.Fault) -> JSON5.Element {
    let element = try element(depth: 0)
    try skipSpace()
    guard let rest = next else { return element }
    throw fault("something behind the end: \(rest.shown)")
  }

  // MARK: values

  private mutating func element(depth: Int) throws(JSON5.Fault) -> JSON5.Element {
    try skipSpace()
    try count()
    let start = line
    guard let first = next else { throw fault("a value is missing at the end") }
    let value: JSON5
    switch first {
    case "{": value = .object(try object(depth: depth))
    case "[": value = .array(try array(depth: depth))
    case "\"", "'": value = .string(try string())
    case "+", "-", ".", "0"..."9", "I", "N": value = try number()
    case _ where first.startsName: value = try word(isFirst: depth == 0)
    case "~":
      let text = takeWhole()
      throw unquoted(text)
    default: throw fault("a value was expected, not \(first.shown)")
    }
    return JSON5.Element(value: value, line: start)
  }

  private mutating func object(depth: Int) throws(JSON5.Fault) -> [JSON5.Member] {
    try descend(depth)
    advance()
    var members: [JSON5.Member] = []
    var lines: [String: Int] = [:]
    while true {
      try skipSpace()
      if take("}") { return members }
      let start = line
      let name = try name()
      if let before = lines.updateValue(start, forKey: name) {
        throw JSON5.Fault(line: start, text: "\"\(name.shortened)\" is there twice, first in line \(before)")
      }
      try skipSpace()
      guard take(":") else {
        if next == "-" {
          throw fault("\"\(name.shortened)\(takeWhole().shortened)\" needs its quotes, for the dash in it")
        }
        throw fault("a colon was expected after \"\(name.shortened)\"" + found)
      }
      try skipSpace()
      if next == "}" || next == "," { throw fault("the value of \"\(name.shortened)\" is missing") }
      members.append(JSON5.Member(name: name, line: start, element: try element(depth: depth + 1)))
      try skipSpace()
      guard take(",") else {
        if take("}") { return members }
        if let next, next.startsName || next == "\"" || next == "'" {
          throw fault("a comma is missing before \(takeWhole().shortened)")
        }
        throw fault("a comma or } was expected" + found)
      }
    }
  }

  private mutating func array(depth: Int) throws(JSON5.Fault) -> [JSON5.Element] {
    try descend(depth)
    advance()
    var elements: [JSON5.Element] = []
    while true {
      try skipSpace()
      if take("]") { return elements }
      elements.append(try element(depth: depth + 1))
      try skipSpace()
      guard take(",") else {
        if take("]") { return elements }
        throw fault("a comma or ] was expected" + found)
      }
    }
  }

  private mutating func name() throws(JSON5.Fault) -> String {
    try count()
    guard let first = next else { throw fault("a } is missing at the end") }
    if first == "\"" || first == "'" { return try string() }
    guard first.startsName || first == "\\" else {
      throw fault("a name or } was expected, not \(first.shown)")
    }
    var name = String.UnicodeScalarView()
    while let scalar = next {
      var scalar = scalar
      if scalar == "\\" {
        advance()
        guard take("u") else { throw fault("in a name, \\ begins only \\u and four digits") }
        scalar = try unicode()
        guard name.isEmpty ? scalar.startsName : scalar.continuesName else {
          throw fault("\(scalar.shown) in a name needs quotes around it")
        }
      } else if scalar.continuesName {
        advance()
      } else {
        break
      }
      name.append(scalar)
    }
    return String(name)
  }

  private mutating func word(isFirst: Bool) throws(JSON5.Fault) -> JSON5 {
    let start = line
    let word = takeWord()
    switch word {
    case "null": return .null
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    default:
      try skipSpace()
      guard isFirst, next == ":" else { throw unquoted(word, line: start) }
      throw JSON5.Fault(line: start, text: "a { is missing before \"\(word.shortened)\"")
    }
  }

  private func unquoted(_ text: String, line: Int? = nil) -> JSON5.Fault {
    JSON5.Fault(line: line ?? self.line, text: "\(text.shortened) is no value; text needs quotes around it")
  }

  /// Up to what may follow a value or a name: what somebody wrote without quotes.
  private mutating func takeWhole() -> String {
    var whole = String.UnicodeScalarView()
    while let scalar = next, !scalar.isSpace, !",:{}[]".unicodeScalars.contains(scalar) {
      whole.append(scalar)
      advance()
    }
    return String(whole)
  }

  private mutating func takeWord() -> String {
    var word = String.UnicodeScalarView()
    while let scalar = next, scalar.continuesName {
      word.append(scalar)
      advance()
    }
    return String(word)
  }

  // MARK: numbers

  private mutating func number() throws(JSON5.Fault) -> JSON5 {
    var written = ""
    while let scalar = next, scalar.continuesName || scalar == "+" || scalar == "-" || scalar == "." {
      written.unicodeScalars.append(scalar)
      advance()
    }
    // 7/8, and no comment.
    if next == "/", place + 1 < text.count, text[place + 1] != "/", text[place + 1] != "*" {
      written += takeWhole()
      throw unquoted(written)
    }
    guard let value = Double(json5: written) else { throw fault("\(written.shortened) is not a number") }
    return .number(value, written: written)
  }

  // MARK: text

  private mutating func string() throws(JSON5.Fault) -> String {
    let start = line
    let quote = next
    advance()
    var string = String.UnicodeScalarView()
    while let scalar = next {
      if scalar == quote {
        advance()
        return String(string)
      }
      guard scalar != "\n", scalar != "\r" else { break }
      advance()
      if scalar != "\\" {
        string.append(scalar)
      } else if let escaped = try escape() {
        string.append(escaped)
      }
    }
    throw JSON5.Fault(line: start, text: "text without its closing \(quote == "'" ? "'" : "\"")")
  }

  /// nil: the line goes on in the next one.
  private mutating func escape() throws(JSON5.Fault) -> Unicode.Scalar? {
    guard let scalar = next else { throw fault("text that ends in a \\") }
    advance()
    switch scalar {
    case "n": return "\n"
    case "t": return "\t"
    case "r": return "\r"
    case "b": return "\u{8}"
    case "f": return "\u{c}"
    case "v": return "\u{b}"
    case "0":
      guard let digit = next, ("0"..."9").contains(digit) else { return "\0" }
      throw fault("\\0 with another digit behind it")
    case "1"..."9": throw fault("\\\(scalar) means nothing")
    case "x": return Unicode.Scalar(UInt8(try code(digits: 2, of: "\\x")))
    case "u": return try unicode()
    case "\r":
      _ = take("\n")
      return nil
    case "\n", "\u{2028}", "\u{2029}": return nil
    default: return scalar
    }
  }

  private mutating func unicode() throws(JSON5.Fault) -> Unicode.Scalar {
    let high = try code(digits: 4, of: "\\u")
    if let scalar = Unicode.Scalar(high) { return scalar }
    guard high < 0xDC00, take("\\"), take("u") else { throw fault("half of a surrogate pair") }
    let low = try code(digits: 4, of: "\\u")
    guard (0xDC00...0xDFFF).contains(low),
      let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
    else { throw fault("half of a surrogate pair") }
    return scalar
  }

  private mutating func code(digits: Int, of escape: String) throws(JSON5.Fault) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<digits {
      guard let scalar = next, scalar.isASCII, let worth = Character(scalar).hexDigitValue else {
        throw fault("\(escape) needs \(digits == 2 ? "two" : "four") hexadecimal digits")
      }
      code = code << 4 | UInt32(worth)
      advance()
    }
    return code
  }

  // MARK: between

  private mutating func skipSpace() throws(JSON5.Fault) {
    while let scalar = next {
      if scalar == "/" {
        try skipComment()
      } else if scalar.isSpace {
        advance()
      } else {
        return
      }
    }
  }

  private mutating func skipComment() throws(JSON5.Fault) {
    let start = line
    advance()
    if take("/") {
      while let scalar = next, !scalar.endsLine { advance() }
    } else if take("*") {
      while let scalar = next {
        advance()
        if scalar == "*", take("/") { return }
      }
      throw JSON5.Fault(line: start, text: "a comment without its closing */")
    } else {
      let rest = takeWhole()
      throw rest.isEmpty ? fault("a value was expected, not /") : unquoted("/" + rest)
    }
  }

  private var next: Unicode.Scalar? { place < text.count ? text[place] : nil }

  private mutating func advance() {
    // A line ends with \n, \r\n or \r.
    if text[place] == "\n" || (text[place] == "\r" && (place + 1 >= text.count || text[place + 1] != "\n")) {
      line += 1
    }
    place += 1
  }

  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard next == scalar else { return false }
    advance()
    return true
  }

  private mutating func count() throws(JSON5.Fault) {
    values += 1
    guard values <= limits.values else { throw fault("more than \(limits.values) values") }
  }

  private func descend(_ depth: Int) throws(JSON5.Fault) {
    guard depth < limits.depth else { throw fault("more than \(limits.depth) brackets in each other") }
  }

  // MARK: complaints

  private func fault(_ text: String) -> JSON5.Fault { JSON5.Fault(line: line, text: text) }

  private var found: String { next.map { ", not \($0.shown)" } ?? " before the end" }
}
