// SPDX-License-Identifier: GPL-2.0-or-later

/// The characters to draw with: not every terminal, and no serial line of old, has blocks.
public struct Glyphs: Sendable {
  let full: Unicode.Scalar
  /// A beat that is not now; the downbeat can be told from the others even then.
  let unlitDownbeat: Unicode.Scalar
  let unlit: Unicode.Scalar
  let passed: Unicode.Scalar
  /// Half a column is passed.
  let halfPassed: Unicode.Scalar
  let ahead: Unicode.Scalar
  fileprivate let arrows: [Key: String]

  /// Full block, medium and light shade, heavy line, heavy line on the left, light line.
  public static let unicode = Glyphs(
    full: "\u{2588}", unlitDownbeat: "\u{2592}", unlit: "\u{2591}", passed: "\u{2501}",
    halfPassed: "\u{2578}",
    ahead: "\u{2500}", arrows: [.up: "\u{2191}", .down: "\u{2193}", .left: "\u{2190}", .right: "\u{2192}"])
  public static let ascii = Glyphs(
    full: "#", unlitDownbeat: ":", unlit: ".", passed: "=", halfPassed: "-", ahead: " ",
    arrows: [.down: "dn", .left: "lt", .right: "rt"])

  func name(of key: Key) -> String {
    switch key {
    case .pageUp: "PgUp"
    case .pageDown: "PgDn"
    case .home: "Home"
    case .enter: "Enter"
    case .character, .up, .down, .left, .right, .backspace, .escape: arrows[key] ?? key.description
    }
  }
}
