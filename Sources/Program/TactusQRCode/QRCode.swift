// SPDX-License-Identifier: GPL-2.0-or-later
internal import CTactusQRencode

/// A QR code: the squares that a phone's camera reads as an address. Pure.
///
/// Drawing is left out on purpose: the terminal view and `tactus web` ask for the squares and draw them. One
/// invariant: a camera can read every code that the initializer returns; for other texts it returns nil.
///
/// Start reading at `QRCode(_:)`, then `isDark`.
public struct QRCode: Hashable, Sendable {
  /// The width, in squares, of the light margin around a code. The standard requires this width, and phones
  /// accept no smaller one.
  public static let margin = 4
  public static let leastMargin = 2

  /// The longest text in bytes: many times the length of an address with its secret.
  static let longest = 512

  /// The number of squares in a row, and of rows.
  public let size: Int
  private let squares: [Bool]

  /// Makes the code of a text; nil: the text is empty or too long.
  ///
  /// The code is as small as the text allows, with as much error correction as fits into that size, since a
  /// screen may reflect light.
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

  /// Whether the square is dark. Outside the code every square is light.
  public func isDark(row: Int, column: Int) -> Bool {
    let inside = 0..<size
    return inside.contains(row) && inside.contains(column) && squares[row * size + column]
  }
}
