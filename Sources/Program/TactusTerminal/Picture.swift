// SPDX-License-Identifier: GPL-2.0-or-later

/// The look of a character. Colours only emphasise: everything can be understood without them.
public struct Style: Hashable, Sendable {
  public enum Colour: UInt8, Sendable {
    case plain, downbeat, beat, good, warning, alarm, quiet
    /// Black on white, whatever colours the terminal has: a camera must be able to read the QR code.
    case code
  }

  public var colour = Colour.plain
  public var isBold = false
  public var isInverse = false

  public init(_ colour: Colour = .plain, bold: Bool = false, inverse: Bool = false) {
    self.colour = colour
    isBold = bold
    isInverse = inverse
  }

  static let plain = Style()
  static let quiet = Style(.quiet)
  static let bold = Style(bold: true)
}

/// One cell of the screen: a character that is one column wide.
public struct Cell: Hashable, Sendable {
  public var scalar: Unicode.Scalar = " "
  public var style = Style()
}

/// Columns and rows of a terminal.
public struct Size: Hashable, Sendable {
  /// In a smaller terminal the view only says that it is too small.
  public static let smallest = Size(columns: 40, rows: 12)

  public let columns: Int
  public let rows: Int

  /// Limits both numbers: a terminal that claims to be larger than 1000x400 is mistaken.
  public init(columns: Int, rows: Int) {
    self.columns = min(max(columns, 1), 1000)
    self.rows = min(max(rows, 1), 400)
  }
}

/// The content of the whole terminal. Drawing outside its edges has no effect, so callers need not check
/// their columns and rows.
public struct Picture: Hashable, Sendable {
  public let size: Size
  private var cells: [Cell]

  public init(_ size: Size) {
    self.size = size
    cells = Array(repeating: Cell(), count: size.columns * size.rows)
  }

  public subscript(row: Int, column: Int) -> Cell {
    get { isInside(row, column) ? cells[row * size.columns + column] : Cell() }
    set { if isInside(row, column) { cells[row * size.columns + column] = newValue } }
  }

  private func isInside(_ row: Int, _ column: Int) -> Bool {
    row >= 0 && row < size.rows && column >= 0 && column < size.columns
  }

  /// A row of the picture as text, for tests and for the lines of a log.
  public func text(row: Int) -> String {
    var text = ""
    for column in 0..<size.columns { text.unicodeScalars.append(self[row, column].scalar) }
    while text.last == " " { text.removeLast() }
    return text
  }

  public var text: String { (0..<size.rows).map { text(row: $0) }.joined(separator: "\n") }
}

// Drawing.
extension Picture {
  /// Writes a text into at most `width` columns; a longer text ends in a mark. Returns the column after the
  /// text.
  @discardableResult
  mutating func write(
    _ text: String, row: Int, column: Int, width: Int = .max, style: Style = .plain
  ) -> Int {
    let room = min(width, size.columns - column)
    guard room > 0 else { return column }
    let isCut = text.unicodeScalars.count > room
    var place = column
    for scalar in text.unicodeScalars.prefix(isCut ? room - 1 : room) {
      self[row, place] = Cell(scalar: Self.shown(scalar), style: style)
      place += 1
    }
    if isCut {
      self[row, place] = Cell(scalar: "~", style: style)
      place += 1
    }
    return place
  }

  /// Writes a text that ends at the column before `end`.
  mutating func write(_ text: String, row: Int, endingAt end: Int, style: Style = .plain) {
    write(text, row: row, column: end - text.unicodeScalars.count, style: style)
  }

  mutating func fill(rows: Range<Int>, columns: Range<Int>, _ scalar: Unicode.Scalar, style: Style) {
    for row in rows {
      for column in columns { self[row, column] = Cell(scalar: scalar, style: style) }
    }
  }

  /// Replaces characters that move the cursor or may not take exactly one column. Client names and messages
  /// from outside can contain any character, and would damage the picture.
  private static func shown(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    switch scalar.value {
    // ASCII and Latin, Greek and Cyrillic, arrows, lines and blocks. Combining marks and the soft hyphen are
    // left out.
    case 0x20...0x7E, 0xA1...0xAC, 0xAE...0x24F, 0x370...0x482, 0x48A...0x52F, 0x2190...0x2193,
      0x2500...0x259F,
      0x25CB, 0x25CF:
      scalar
    default: "?"
    }
  }
}

/// The characters with which the view draws. Not every terminal has block characters; old serial terminals
/// have none.
public struct Glyphs: Sendable {
  let full: Unicode.Scalar
  /// The boxes of beats that do not sound now: with an accent, and without.
  let unlitAccent: Unicode.Scalar
  let unlit: Unicode.Scalar
  let passed: Unicode.Scalar
  /// A cell of the bar's line of which only the left half has passed.
  let halfPassed: Unicode.Scalar
  let ahead: Unicode.Scalar
  /// Half blocks for a QR code; nil: the terminal has none.
  let halves: HalfBlocks?
  /// The unit for microseconds.
  let micros: String
  fileprivate let arrows: [Key: String]

  /// Draws with full block, medium and light shade, heavy line, heavy line on the left, and light line.
  public static let unicode = Glyphs(
    full: "\u{2588}", unlitAccent: "\u{2592}", unlit: "\u{2591}", passed: "\u{2501}",
    halfPassed: "\u{2578}",
    ahead: "\u{2500}", halves: HalfBlocks(),
    micros: "\u{B5}s",
    arrows: [.up: "\u{2191}", .down: "\u{2193}", .left: "\u{2190}", .right: "\u{2192}"])
  public static let ascii = Glyphs(
    full: "#", unlitAccent: ":", unlit: ".", passed: "=", halfPassed: "-", ahead: " ",
    halves: nil, micros: "us", arrows: [.down: "dn", .left: "lt", .right: "rt"])

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
