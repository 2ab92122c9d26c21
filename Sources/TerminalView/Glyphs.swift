// SPDX-License-Identifier: GPL-2.0-or-later

/// The characters to draw with: not every terminal, and no serial line of old, has blocks.
public enum Glyphs: Sendable {
  case unicode, ascii

  var full: Unicode.Scalar {
    switch self {
    case .unicode: "\u{2588}"  // full block
    case .ascii: "#"
    }
  }

  /// A beat that is not now; the downbeat can be told from the others even then.
  func unlit(isDownbeat: Bool) -> Unicode.Scalar {
    switch self {
    case .unicode: isDownbeat ? "\u{2592}" : "\u{2591}"  // medium and light shade
    case .ascii: isDownbeat ? ":" : "."
    }
  }

  var passed: Unicode.Scalar {
    switch self {
    case .unicode: "\u{2501}"  // heavy line
    case .ascii: "="
    }
  }

  /// Half a column is passed.
  var halfPassed: Unicode.Scalar {
    switch self {
    case .unicode: "\u{2578}"  // heavy line on the left
    case .ascii: "-"
    }
  }

  var ahead: Unicode.Scalar {
    switch self {
    case .unicode: "\u{2500}"  // light line
    case .ascii: " "
    }
  }

  func name(of key: Key) -> String {
    switch (key, self) {
    case (.up, .unicode): "\u{2191}"
    case (.down, .unicode): "\u{2193}"
    case (.left, .unicode): "\u{2190}"
    case (.right, .unicode): "\u{2192}"
    case (.down, .ascii): "dn"
    case (.left, .ascii): "lt"
    case (.right, .ascii): "rt"
    case (.pageUp, _): "PgUp"
    case (.pageDown, _): "PgDn"
    case (.home, _): "Home"
    case (.enter, _): "Enter"
    default: key.description
    }
  }
}
