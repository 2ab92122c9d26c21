// SPDX-License-Identifier: GPL-2.0-or-later
internal import CQRencode

/// A QR code: the squares that a phone's camera reads as an address.
///
/// It lacks a screen, on purpose: who shows it (the terminal view, `tactus web`) asks for its squares and draws them.
/// One invariant: what was made is readable; a text for which there is no code makes none.
///
/// The way in: `QRCode(_:)`, then `isDark`. Pure.
public struct QRCode: Hashable, Sendable {
  /// Squares of light around it without which a camera does not find it, as its standard wants it; and what phones still read.
  public static let margin = 4
  public static let leastMargin = 2

  /// Many times the longest address with its secret.
  static let longest = 512

  /// Squares in a row, and rows.
  public let size: Int
  private let squares: [Bool]

  /// nil: too long, or without a letter.
  ///
  /// As small as the text allows, and then as robust as that size allows: a screen reflects lamps.
  public init?(_ text: String) {
    guard (1...Self.longest).contains(text.utf8.count), !text.utf8.contains(0),
      let smallest = Self(text, QR_ECLEVEL_L)
    else { return nil }
    let better = [QR_ECLEVEL_H, QR_ECLEVEL_Q, QR_ECLEVEL_M].lazy.compactMap { Self(text, $0) }
    self = better.first { $0.size == smallest.size } ?? smallest
  }

  private init?(_ text: String, _ level: QRecLevel) {
    guard let code = QRcode_encodeString(text, 0, level, QR_MODE_8, 1) else { return nil }
    defer { QRcode_free(code) }
    size = Int(code.pointee.width)
    squares = (0..<size * size).map { [data = code.pointee.data] in (data?[$0] ?? 0) & 1 == 1 }
  }

  /// Around the code everything is light.
  public func isDark(row: Int, column: Int) -> Bool {
    let inside = 0..<size
    return inside.contains(row) && inside.contains(column) && squares[row * size + column]
  }
}
