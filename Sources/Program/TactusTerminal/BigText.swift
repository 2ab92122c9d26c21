// SPDX-License-Identifier: GPL-2.0-or-later

/// Digits that can be read from two metres. A digit has three by five dots; each dot is some columns wide and
/// some rows high.
struct BigText {
  static let dots = 5

  let text: String
  /// The columns and rows of a dot.
  var across = 1
  var down = 1

  /// The dots of a character: each number is a row, and its highest bit is the leftmost dot.
  private static func pattern(_ character: Character) -> (width: Int, rows: [UInt8]) {
    switch character {
    case "0": (3, [0b111, 0b101, 0b101, 0b101, 0b111])
    case "1": (3, [0b010, 0b110, 0b010, 0b010, 0b111])
    case "2": (3, [0b111, 0b001, 0b111, 0b100, 0b111])
    case "3": (3, [0b111, 0b001, 0b111, 0b001, 0b111])
    case "4": (3, [0b101, 0b101, 0b111, 0b001, 0b001])
    case "5": (3, [0b111, 0b100, 0b111, 0b001, 0b111])
    case "6": (3, [0b111, 0b100, 0b111, 0b101, 0b111])
    case "7": (3, [0b111, 0b001, 0b001, 0b001, 0b001])
    case "8": (3, [0b111, 0b101, 0b111, 0b101, 0b111])
    case "9": (3, [0b111, 0b101, 0b111, 0b001, 0b111])
    case "-": (2, [0b00, 0b00, 0b11, 0b00, 0b00])
    // The bar line is drawn as two dots: a line would look like a 1.
    case "|": (1, [0, 1, 0, 1, 0])
    case ".": (1, [0, 0, 0, 0, 1])
    default: (1, [0, 0, 0, 0, 0])
    }
  }

  private var gap: Int { (across + 1) / 2 }
  var rows: Int { Self.dots * down }

  var columns: Int {
    text.reduce(-gap) { $0 + Self.pattern($1).width * across + gap }
  }

  func draw(on picture: inout Picture, row: Int, column: Int, glyph: Unicode.Scalar, style: Style) {
    var left = column
    for character in text {
      let (width, rows) = Self.pattern(character)
      for (y, dots) in rows.enumerated() {
        for x in 0..<width where dots >> UInt8(width - 1 - x) & 1 == 1 {
          let top = row + y * down
          picture.fill(
            rows: top..<top + down, columns: left + x * across..<left + (x + 1) * across, glyph, style: style)
        }
      }
      left += width * across + gap
    }
  }
}
