// SPDX-License-Identifier: GPL-2.0-or-later

/// The bytes that turn the picture on a terminal into the next picture. Only changed cells are written: a
/// serial line or a remote shell gets some dozen bytes at a time.
///
/// The memory for the bytes is reserved from the start. Cells for which it has no room are drawn with the
/// next frame.
public struct Frame {
  /// The bytes of a whole screen of 200x60 cells with all colours.
  public static let limit = 65_536
  /// The bytes of the longest output for a cell: a cursor move, a style and a character.
  private static let longestStep = 40
  /// Writing up to this many unchanged cells again costs fewer bytes than a cursor move over them.
  private static let bridge = 4

  public private(set) var bytes: [UInt8] = []
  /// The picture on the terminal once `bytes` are written.
  private var shown: Picture?
  private var pen: Style?
  private var cursor: (row: Int, column: Int)?
  private let isColoured: Bool

  public init(coloured: Bool) {
    isColoured = coloured
    bytes.reserveCapacity(Self.limit)
  }

  /// Forgets the picture on the screen, so that the next frame draws everything.
  public mutating func forget() {
    shown = nil
  }

  /// Replaces `bytes` by the bytes that turn the shown picture into `next`.
  public mutating func draw(_ next: Picture) {
    bytes.removeAll(keepingCapacity: true)
    // Cursor and style are known only within one frame, because other programs may write in between.
    pen = nil
    cursor = nil
    if shown?.size != next.size {
      put("\u{1B}[0m\u{1B}[2J")
      shown = Picture(next.size)
    }
    for row in 0..<next.size.rows {
      for column in 0..<next.size.columns where shown?[row, column] != next[row, column] {
        guard bytes.count + Self.longestStep * (Self.bridge + 1) <= Self.limit else { return }
        move(to: row, column, through: next)
        put(next[row, column])
      }
    }
  }

  private mutating func move(to row: Int, _ column: Int, through next: Picture) {
    if let cursor, cursor.row == row, cursor.column <= column, column - cursor.column <= Self.bridge {
      let between = cursor.column..<column
      if between.allSatisfy({ next[row, $0].style == pen }) {
        for place in between { put(next[row, place]) }
        return
      }
    }
    put("\u{1B}[\(row + 1);\(column + 1)H")
    cursor = (row, column)
  }

  private mutating func put(_ cell: Cell) {
    if pen != cell.style {
      put(Self.code(of: cell.style, coloured: isColoured))
      pen = cell.style
    }
    for byte in UTF8.encode(cell.scalar) ?? UTF8.encode("?")! { bytes.append(byte) }
    guard let place = cursor else { return }
    shown?[place.row, place.column] = cell
    cursor = (place.row, place.column + 1)
  }

  private mutating func put(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  /// The escape sequence for a style. It uses the sixteen colours that every terminal has, as its user
  /// configured them.
  static func code(of style: Style, coloured: Bool) -> String {
    var code = "\u{1B}[0"
    if style.isBold { code += ";1" }
    if style.isInverse { code += ";7" }
    // A QR code uses two of the 256 colours, which no theme changes, even without `coloured`.
    if style.colour == .code { code += ";38;5;16;48;5;231" }
    if coloured {
      switch style.colour {
      case .plain, .code: break
      case .downbeat: code += ";93"
      case .beat: code += ";36"
      case .good: code += ";32"
      case .warning: code += ";33"
      case .alarm: code += ";91"
      case .quiet: code += ";90"
      }
    }
    return code + "m"
  }
}
