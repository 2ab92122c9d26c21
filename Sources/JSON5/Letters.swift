// SPDX-License-Identifier: GPL-2.0-or-later

/// Which characters may be where, by ECMAScript 5.1.
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

  /// For a complaint.
  var shown: String {
    let isVisible = value >= 0x20 && value != 0x7F && !isSpace
    return isVisible ? "\(self)" : "U+" + String(value, radix: 16, uppercase: true)
  }
}

extension String {
  /// For a complaint: on one line, and without what a terminal would obey.
  var shortened: String {
    let safe = unicodeScalars.prefix(40).map { scalar in
      scalar.endsLine || scalar.properties.generalCategory == .control ? "?" : Character(scalar)
    }
    return String(safe) + (unicodeScalars.count > 40 ? "..." : "")
  }
}
