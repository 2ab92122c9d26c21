// SPDX-License-Identifier: GPL-2.0-or-later

extension StringProtocol {
  /// Without control characters and invisible format characters.
  package var isPrintable: Bool {
    let scalars = String(self).unicodeScalars
    return scalars.indices.allSatisfy { !scalars.isHidden(at: $0) }
  }
}

/// Text from outside, safe to show in a terminal: no control or invisible format characters, cut at `limit`.
package func printable(_ text: String, limit: Int) -> String {
  let scalars = text.unicodeScalars
  var shown = ""
  for index in scalars.indices.prefix(limit) {
    shown.unicodeScalars.append(scalars.isHidden(at: index) ? "?" : scalars[index])
  }
  return scalars.count > limit ? shown + "..." : shown
}

extension String.UnicodeScalarView {
  /// Returns whether this scalar changes or hides the visible text, so that two names look alike.
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

  /// Returns whether this joiner can change what is seen between these scalars. Both change the letters
  /// beside a virama (Indic scripts). The non-joiner separates two letters that would be joined (Persian),
  /// and the joiner makes one emoji of two.
  fileprivate func isSeen(between before: Unicode.Scalar, and next: Unicode.Scalar?) -> Bool {
    if before.isVirama || next?.isVirama == true { return true }
    guard let next else { return false }
    if value == 0x200C { return before.isCursive && next.isCursive }
    return (before.isEmoji || before.properties.isVariationSelector) && next.isEmoji
  }

  private var isVirama: Bool { properties.canonicalCombiningClass == .virama }

  /// The digits are emoji, too, in Unicode's table.
  private var isEmoji: Bool { properties.isEmoji && !isASCII }

  /// A character of a script whose letters join: from Arabic to Arabic Extended-A, Mongolian, Arabic's
  /// presentation forms, and Adlam.
  private var isCursive: Bool {
    switch value {
    case 0x0600...0x08FF, 0x1800...0x18AF, 0xFB50...0xFDFF, 0xFE70...0xFEFC, 0x1E900...0x1E95F: true
    default: false
    }
  }
}
