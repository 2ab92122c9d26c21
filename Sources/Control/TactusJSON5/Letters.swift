// SPDX-License-Identifier: GPL-2.0-or-later

/// Tests which characters may begin or continue a name, or count as space, by ECMAScript 5.1.
extension Unicode.Scalar {
  var startsName: Bool {
    if self == "$" || self == "_" { return true }
    let letters: [Unicode.GeneralCategory] = [
      .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .letterNumber,
    ]
    return letters.contains(properties.generalCategory)
  }

  var continuesName: Bool {
    if startsName || self == "\u{200C}" || self == "\u{200D}" { return true }
    let others: [Unicode.GeneralCategory] = [
      .nonspacingMark, .spacingMark, .decimalNumber, .connectorPunctuation,
    ]
    return others.contains(properties.generalCategory)
  }

  var endsLine: Bool { self == "\n" || self == "\r" || self == "\u{2028}" || self == "\u{2029}" }

  var isSpace: Bool {
    if endsLine { return true }
    switch self {
    case " ", "\t", "\u{b}", "\u{c}", "\u{a0}", "\u{feff}": return true
    default: return properties.generalCategory == .spaceSeparator
    }
  }

  /// A character for an error message.
  var shown: String {
    let isVisible = value >= 0x20 && value != 0x7F && !isSpace
    return isVisible ? "\(self)" : "U+" + String(value, radix: 16, uppercase: true)
  }
}

extension String {
  /// The text for an error message: cut, on one line, and without characters that control a terminal.
  var shortened: String {
    let safe = unicodeScalars.prefix(40).map { scalar in
      scalar.endsLine || scalar.properties.generalCategory == .control ? "?" : Character(scalar)
    }
    return String(safe) + (unicodeScalars.count > 40 ? "..." : "")
  }

  /// Whether JSON allows this number of JSON5, too: it has no plus in front, is not hexadecimal, and has
  /// digits on both sides of a point.
  var isJSONNumber: Bool {
    let mantissa = drop { $0 == "-" }.prefix { $0 != "e" && $0 != "E" }
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    return mantissa.utf8.first.map(digits.contains) == true && mantissa.utf8.last.map(digits.contains) == true
      && !mantissa.contains { $0 == "x" || $0 == "X" }
  }
}

extension Double {
  /// Reads a number in JSON5's notation; nil: the text is no such number.
  init?(json5 text: String) {
    var digits = Substring(text)
    let isNegative = digits.hasPrefix("-")
    if isNegative || digits.hasPrefix("+") { digits.removeFirst() }
    guard let magnitude = Self.magnitude(digits) else { return nil }
    self = isNegative ? -magnitude : magnitude
  }

  private static func magnitude(_ text: Substring) -> Double? {
    if text == "Infinity" { return .infinity }
    if text == "NaN" { return .nan }
    if text.hasPrefix("0x") || text.hasPrefix("0X") {
      let digits = text.dropFirst(2)
      guard !digits.isEmpty else { return nil }
      var value = 0.0
      for digit in digits {
        guard digit.isASCII, let worth = digit.hexDigitValue else { return nil }
        value = value * 16 + Double(worth)
      }
      return value
    }
    // Accept digits with a point and an exponent. Double(_:) alone would also accept words such as
    // "infinity".
    var mantissa = text
    if let e = text.firstIndex(where: { $0 == "e" || $0 == "E" }) {
      var exponent = text[text.index(after: e)...]
      if exponent.hasPrefix("+") || exponent.hasPrefix("-") { exponent.removeFirst() }
      guard !exponent.isEmpty, exponent.utf8.allSatisfy(isDigit) else { return nil }
      mantissa = text[..<e]
    }
    let parts = mantissa.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ $0.utf8.allSatisfy(isDigit) }),
      parts.contains(where: { !$0.isEmpty }), parts[0] == "0" || !parts[0].hasPrefix("0")
    else { return nil }
    let whole = parts[0].isEmpty ? "0" : parts[0]
    let fraction = parts.count > 1 && !parts[1].isEmpty ? "." + parts[1] : ""
    return Double(whole + fraction + String(text[mantissa.endIndex...]))
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
