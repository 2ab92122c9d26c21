// SPDX-License-Identifier: GPL-2.0-or-later

extension StringProtocol {
  /// Whether the text has no control characters and no invisible format characters.
  package var isPrintable: Bool {
    let scalars = String(self).unicodeScalars
    return scalars.indices.allSatisfy { !scalars.isHidden(at: $0) }
  }
}

/// Text from outside, made safe for a terminal: without control or invisible format characters, cut at
/// `limit`.
package func printable(_ text: String, limit: Int) -> String {
  let scalars = text.unicodeScalars
  var shown = ""
  for index in scalars.indices.prefix(limit) {
    shown.unicodeScalars.append(scalars.isHidden(at: index) ? "?" : scalars[index])
  }
  return scalars.count > limit ? shown + "..." : shown
}

extension String.UnicodeScalarView {
  /// Whether the scalar at this index changes or hides visible text, so that two different names look alike.
  fileprivate func isHidden(at index: Index) -> Bool {
    guard self[index].isJoiner else { return self[index].isHidden }
    guard index > startIndex else { return true }
    let before = self[self.index(before: index)], next = self.index(after: index)
    return !self[index].isSeen(between: before, and: next < endIndex ? self[next] : nil)
  }
}

extension Unicode.Scalar {
  /// A control character, an end of a line or paragraph, or a format character (Unicode's Cf) such as a mark
  /// of direction or a space without width.
  fileprivate var isHidden: Bool {
    if isASCII { return value < 0x20 || value == 0x7F }
    let category = properties.generalCategory
    if category == .format || category == .control { return true }
    return category == .lineSeparator || category == .paragraphSeparator
  }

  /// The two format characters that spelling needs: U+200C, the non-joiner, and U+200D, the joiner.
  fileprivate var isJoiner: Bool { value == 0x200C || value == 0x200D }

  /// Whether this joiner changes how the scalars before and after it look. Both joiners change the letters
  /// beside a virama (Indic scripts). The non-joiner separates two letters that would be joined (Persian),
  /// and the joiner combines two emoji.
  fileprivate func isSeen(between before: Unicode.Scalar, and next: Unicode.Scalar?) -> Bool {
    if before.isVirama || next?.isVirama == true { return true }
    guard let next else { return false }
    if value == 0x200C { return before.isCursive && next.isCursive }
    return (before.isEmoji || before.properties.isVariationSelector) && next.isEmoji
  }

  private var isVirama: Bool { properties.canonicalCombiningClass == .virama }

  /// Whether the scalar is an emoji. Unicode's table lists the digits as emoji, too: leave them out.
  private var isEmoji: Bool { properties.isEmoji && !isASCII }

  /// Whether the scalar belongs to a script whose letters join: from Arabic to Arabic Extended-A, Mongolian,
  /// Arabic's presentation forms, and Adlam.
  private var isCursive: Bool {
    switch value {
    case 0x0600...0x08FF, 0x1800...0x18AF, 0xFB50...0xFDFF, 0xFE70...0xFEFC, 0x1E900...0x1E95F: true
    default: false
    }
  }
}
