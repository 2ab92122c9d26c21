// SPDX-License-Identifier: GPL-2.0-or-later

/// Builds values from characters, within the limits.
struct Reader {
  private var scanner: Scanner
  private let limits: JSON5.Limits
  private var values = 0

  init(_ bytes: [UInt8], limits: JSON5.Limits) throws(JSON5.Fault) {
    scanner = try Scanner(bytes, limits)
    self.limits = limits
  }

  /// Whether only space and comments follow.
  mutating func isEmpty() throws(JSON5.Fault) -> Bool {
    try scanner.skipSpace()
    return scanner.next == nil
  }

  mutating func document() throws(JSON5.Fault) -> JSON5.Element {
    let element = try element(depth: 0)
    try scanner.skipSpace()
    guard let rest = scanner.next else { return element }
    throw scanner.fault("text after the end: \(rest.shown)")
  }

  // MARK: values

  private mutating func element(depth: Int) throws(JSON5.Fault) -> JSON5.Element {
    try scanner.skipSpace()
    try count()
    let start = scanner.line
    guard let first = scanner.next else { throw scanner.fault("a value is missing at the end") }
    let value: JSON5
    switch first {
    case "{": value = .object(try object(depth: depth))
    case "[": value = .array(try array(depth: depth))
    case "\"": value = .string(try string())
    case "-", "0"..."9": value = try number()
    case "'" where !limits.isStrict: value = .string(try string())
    case _ where !limits.isStrict && "+.IN".unicodeScalars.contains(first): value = try number()
    case _ where first.startsName: value = try word(isFirst: depth == 0)
    case "~":
      let text = scanner.takeWhole()
      throw scanner.unquoted(text)
    default: throw scanner.fault("a value was expected, not \(first.shown)")
    }
    return JSON5.Element(value: value, line: start)
  }

  private mutating func object(depth: Int) throws(JSON5.Fault) -> [JSON5.Member] {
    try descend(depth)
    scanner.advance()
    var members: [JSON5.Member] = []
    var lines: [String: Int] = [:]
    while true {
      try scanner.skipSpace()
      if members.isEmpty || !limits.isStrict, scanner.skip("}") { return members }
      let start = scanner.line
      let name = try name()
      if let before = lines.updateValue(start, forKey: name) {
        throw JSON5.Fault(line: start, text: "\"\(name.shortened)\" is there twice, first in line \(before)")
      }
      try scanner.skipSpace()
      guard scanner.skip(":") else {
        if scanner.next == "-" {
          throw scanner.fault(
            "\"\(name.shortened)\(scanner.takeWhole().shortened)\" needs quotes, because of the dash in it")
        }
        throw scanner.fault("a colon was expected after \"\(name.shortened)\"" + scanner.found)
      }
      try scanner.skipSpace()
      if scanner.next == "}" || scanner.next == "," {
        throw scanner.fault("the value of \"\(name.shortened)\" is missing")
      }
      members.append(JSON5.Member(name: name, line: start, element: try element(depth: depth + 1)))
      try scanner.skipSpace()
      guard scanner.skip(",") else {
        if scanner.skip("}") { return members }
        if let next = scanner.next, next.startsName || next == "\"" || next == "'" {
          throw scanner.fault("a comma is missing before \(scanner.takeWhole().shortened)")
        }
        throw scanner.fault("a comma or } was expected" + scanner.found)
      }
    }
  }

  private mutating func array(depth: Int) throws(JSON5.Fault) -> [JSON5.Element] {
    try descend(depth)
    scanner.advance()
    var elements: [JSON5.Element] = []
    while true {
      try scanner.skipSpace()
      if elements.isEmpty || !limits.isStrict, scanner.skip("]") { return elements }
      elements.append(try element(depth: depth + 1))
      try scanner.skipSpace()
      guard scanner.skip(",") else {
        if scanner.skip("]") { return elements }
        throw scanner.fault("a comma or ] was expected" + scanner.found)
      }
    }
  }

  private mutating func name() throws(JSON5.Fault) -> String {
    try count()
    guard let first = scanner.next else { throw scanner.fault("a } is missing at the end") }
    if first == "\"" || first == "'" && !limits.isStrict { return try string() }
    guard !limits.isStrict else { throw scanner.fault("a name in quotes was expected, not \(first.shown)") }
    guard first.startsName || first == "\\" else {
      throw scanner.fault("a name or } was expected, not \(first.shown)")
    }
    var name = String.UnicodeScalarView()
    while let scalar = scanner.next {
      var scalar = scalar
      if scalar == "\\" {
        scanner.advance()
        guard scanner.skip("u") else {
          throw scanner.fault("in a name, \\ is valid only before u and four digits")
        }
        scalar = try unicode()
        guard name.isEmpty ? scalar.startsName : scalar.continuesName else {
          throw scanner.fault("\(scalar.shown) in a name needs quotes around it")
        }
      } else if scalar.continuesName {
        scanner.advance()
      } else {
        break
      }
      name.append(scalar)
    }
    return String(name)
  }

  private mutating func word(isFirst: Bool) throws(JSON5.Fault) -> JSON5 {
    let start = scanner.line
    let word = scanner.takeWord()
    switch word {
    case "null": return .null
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    default:
      try scanner.skipSpace()
      guard isFirst, scanner.next == ":" else { throw scanner.unquoted(word, line: start) }
      throw JSON5.Fault(line: start, text: "a { is missing before \"\(word.shortened)\"")
    }
  }

  // MARK: numbers

  private mutating func number() throws(JSON5.Fault) -> JSON5 {
    var written = ""
    while let scalar = scanner.next, scalar.continuesName || scalar == "+" || scalar == "-" || scalar == "." {
      written.unicodeScalars.append(scalar)
      scanner.advance()
    }
    // In text such as 7/8 the slash does not begin a comment, so the error shows the whole text.
    if scanner.isPlainSlash {
      written += scanner.takeWhole()
      throw scanner.unquoted(written)
    }
    guard let value = Double(json5: written), !limits.isStrict || value.isFinite && written.isJSONNumber
    else {
      throw scanner.fault("\(written.shortened) is not a number")
    }
    return .number(value, written: written)
  }

  // MARK: text

  private mutating func string() throws(JSON5.Fault) -> String {
    let start = scanner.line
    let quote = scanner.next
    scanner.advance()
    var string = String.UnicodeScalarView()
    while let scalar = scanner.next {
      if scalar == quote {
        scanner.advance()
        return String(string)
      }
      guard scalar != "\n", scalar != "\r", !limits.isStrict || scalar.value >= 0x20 else { break }
      scanner.advance()
      if scalar != "\\" {
        string.append(scalar)
      } else if let escaped = try escape() {
        string.append(escaped)
      }
    }
    throw JSON5.Fault(line: start, text: "text without its closing \(quote == "'" ? "'" : "\"")")
  }

  private static let escapesOfJSON: [Unicode.Scalar] = ["\"", "\\", "/", "b", "f", "n", "r", "t", "u"]

  /// Reads an escape sequence. nil: a backslash at the end of a line, which continues the string on the next
  /// line.
  private mutating func escape() throws(JSON5.Fault) -> Unicode.Scalar? {
    guard let scalar = scanner.next else { throw scanner.fault("text that ends in a \\") }
    guard !limits.isStrict || Self.escapesOfJSON.contains(scalar) else {
      throw scanner.fault("\\\(scalar.shown) means nothing")
    }
    scanner.advance()
    switch scalar {
    case "n": return "\n"
    case "t": return "\t"
    case "r": return "\r"
    case "b": return "\u{8}"
    case "f": return "\u{c}"
    case "v": return "\u{b}"
    case "0":
      guard let digit = scanner.next, ("0"..."9").contains(digit) else { return "\0" }
      throw scanner.fault("\\0 with another digit behind it")
    case "1"..."9": throw scanner.fault("\\\(scalar) means nothing")
    case "x": return Unicode.Scalar(UInt8(try code(digits: 2, of: "\\x")))
    case "u": return try unicode()
    case "\r":
      _ = scanner.skip("\n")
      return nil
    case "\n", "\u{2028}", "\u{2029}": return nil
    case let itself: return itself
    }
  }

  private mutating func unicode() throws(JSON5.Fault) -> Unicode.Scalar {
    let high = try code(digits: 4, of: "\\u")
    if let scalar = Unicode.Scalar(high) { return scalar }
    guard high < 0xDC00, scanner.skip("\\"), scanner.skip("u") else {
      throw scanner.fault("half of a pair: codes from d800 to dfff are valid only in pairs")
    }
    let low = try code(digits: 4, of: "\\u")
    guard (0xDC00...0xDFFF).contains(low),
      let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
    else { throw scanner.fault("half of a pair: codes from d800 to dfff are valid only in pairs") }
    return scalar
  }

  private mutating func code(digits: Int, of escape: String) throws(JSON5.Fault) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<digits {
      guard let scalar = scanner.next, scalar.isASCII, let worth = Character(scalar).hexDigitValue else {
        throw scanner.fault("\(escape) needs \(digits == 2 ? "two" : "four") hexadecimal digits")
      }
      code = code << 4 | UInt32(worth)
      scanner.advance()
    }
    return code
  }

  private mutating func count() throws(JSON5.Fault) {
    values += 1
    guard values <= limits.values else { throw scanner.fault("more than \(limits.values) values") }
  }

  private func descend(_ depth: Int) throws(JSON5.Fault) {
    guard depth < limits.depth else {
      throw scanner.fault("more than \(limits.depth) nested brackets")
    }
  }
}
