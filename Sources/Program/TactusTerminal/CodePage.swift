// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusQRCode
import TactusSurface

// The view's page with the QR code of the web page, and the web page's address as text.
extension TerminalView {
  /// The columns of the text beside the code. If there is no room beside the code, the text takes this many
  /// rows below it.
  private static let textWidth = 30
  private static let textRows = 3

  func drawCodePage(_ scene: Scene, on picture: inout Picture) {
    let facts = Facts(scene)
    let size = picture.size
    let place = facts.countIn.map { "count-in \($0)" } ?? facts.position
    let end = picture.write("\(facts.tempo) BPM  \(place)", row: 0, column: 0, style: .bold)
    BeatRow(scene).draw(on: &picture, rows: 0..<1, columns: end + 2..<max(end + 3, size.columns), glyphs)
    drawNews(scene, on: &picture, rows: size.rows - 1..<size.rows, columns: 0..<size.columns)
    let room = 1..<size.rows - 1
    guard let code = code(of: scene) else {
      return write(words(scene, problem: nil), on: &picture, rows: room, columns: 0..<size.columns)
    }
    let beside = Size(columns: size.columns - Self.textWidth - 2, rows: room.count)
    let above = Size(columns: size.columns, rows: room.count - Self.textRows)
    if let drawn = drawing(of: code, within: beside) {
      picture.put(drawn, row: room.lowerBound, column: 0)
      write(
        words(scene, problem: nil), on: &picture, rows: room,
        columns: drawn.size.columns + 2..<size.columns)
    } else if let drawn = drawing(of: code, within: above) {
      picture.put(drawn, row: room.lowerBound, column: 0)
      let below = room.lowerBound + drawn.size.rows..<room.upperBound
      write(words(scene, problem: nil), on: &picture, rows: below, columns: 0..<size.columns)
    } else {
      let least = leastSize(of: code)
      let problem =
        "The QR code needs \(least.columns)x\(least.rows + 2 + Self.textRows); this is \(size.columns)x\(size.rows)."
      write(words(scene, problem: problem), on: &picture, rows: room, columns: 0..<size.columns)
    }
  }

  /// The code that leads a phone to the page; nil: no phone can reach the page.
  private func code(of scene: Scene) -> QRCode? {
    guard case .network(let addresses) = scene.state.page.reach, let address = addresses.first,
      let code = scene.pairingCode
    else { return nil }
    return QRCode(Self.pairingAddress(address, code))
  }

  /// The address in the QR code. The pairing code is the address's fragment, which a browser never sends.
  public static func pairingAddress(_ address: String, _ code: String) -> String {
    "\(address)#\(code.split(separator: "-").joined())"
  }

  private func words(_ scene: Scene, problem: String?) -> [(text: String, style: Style)] {
    let addresses = scene.state.page.reach.addresses.map { ($0, Style.bold) }
    let code = scene.pairingCode.map { [("Code  \($0)", Style.plain)] } ?? []
    let back = keys.key(for: .code).map { "\(glyphs.name(of: $0)) or Esc: back." } ?? "Esc: back."
    let command = "tactus send web/open \(scene.state.choices.opensPage ? 0 : 1)"
    // Only the machine on which tactus runs may open or close the page.
    let lock = scene.place.map { "on \($0), \(command)" } ?? key(of: "web/open/toggle") ?? command
    let whose = scene.place == nil ? "this" : "that"
    let opening = [
      ("", Style.plain), ("\(lock): open it to \(whose) machine's networks.", .bold), (back, .plain),
    ]
    switch scene.state.page.reach {
    case .off: return [("The page is closed.", .plain)] + opening
    case .closed:
      let reasons = scene.state.page.missing.map { ($0, Style.bold) }
      return [("The page is not open yet.", .plain)] + reasons + [(back, .plain)]
    case .unknown: return [("Whether the page is open is unknown.", .plain), (back, .plain)]
    case .thisMachine: return [("Only this machine can open the page:", .plain)] + addresses + code + opening
    case .network([]):
      return [("The page is open, but this machine is in no network now.", .plain), (back, .plain)]
    case .network where scene.pairingCode == nil:
      let shower = "tactus web" + (scene.place.map { " on \($0)" } ?? "")
      return addresses + [("\(shower) shows the code that pairs a phone.", .bold), (back, .plain)]
    case .network:
      let closing =
        scene.state.choices.opensPage ? [("\(lock): close the page to everybody.", Style.plain)] : []
      return addresses + code + [(back, .plain)] + closing
        + [(problem ?? "Point a phone's camera here: that pairs it.", problem == nil ? .quiet : .plain)]
        + [("Everyone who sees this code can change settings.", .quiet)]
    }
  }

  func key(of path: String) -> String? {
    keys.key(of: path).map(glyphs.name(of:))
  }

  private func write(
    _ lines: [(text: String, style: Style)], on picture: inout Picture, rows: Range<Int>, columns: Range<Int>
  ) {
    let wrapped = lines.flatMap { line in
      // A line that fits keeps its own spacing.
      (line.text.unicodeScalars.count <= columns.count ? [line.text] : line.text.wrapped(to: columns.count))
        .map { ($0, line.style) }
    }
    for (row, line) in zip(rows, wrapped) {
      picture.write(line.0, row: row, column: columns.lowerBound, width: columns.count, style: line.1)
    }
  }
}

// Drawing of the code.
extension TerminalView {
  /// Draws the code with the widest light margin that fits, up to the standard's. nil: the code does not fit.
  public func drawing(of code: QRCode, within room: Size) -> Picture? {
    (QRCode.leastMargin...QRCode.margin).reversed().lazy.map { size(of: code, margin: $0) }.enumerated()
      .first { $0.element.columns <= room.columns && $0.element.rows <= room.rows }
      .map { draw(code, margin: QRCode.margin - $0.offset, size: $0.element) }
  }

  public func leastSize(of code: QRCode) -> Size { size(of: code, margin: QRCode.leastMargin) }

  /// The code's size in characters. A character is twice as high as wide: with half blocks it shows two
  /// squares, otherwise half a square.
  private func size(of code: QRCode, margin: Int) -> Size {
    let across = code.size + 2 * margin
    return glyphs.halves == nil
      ? Size(columns: 2 * across, rows: across) : Size(columns: across, rows: (across + 1) / 2)
  }

  private func draw(_ code: QRCode, margin: Int, size: Size) -> Picture {
    var picture = Picture(size)
    for row in 0..<size.rows {
      for column in 0..<size.columns {
        picture[row, column] =
          if let halves = glyphs.halves {
            halves.cell(
              upper: code.isDark(row: 2 * row - margin, column: column - margin),
              lower: code.isDark(row: 2 * row + 1 - margin, column: column - margin))
          } else {
            Cell(style: Style(.code, inverse: code.isDark(row: row - margin, column: column / 2 - margin)))
          }
      }
    }
    return picture
  }
}

/// Characters that show two squares, one above the other, dark on light.
struct HalfBlocks: Sendable {
  let both: Unicode.Scalar = "\u{2588}"
  let upper: Unicode.Scalar = "\u{2580}"
  let lower: Unicode.Scalar = "\u{2584}"

  func cell(upper isUpper: Bool, lower isLower: Bool) -> Cell {
    let scalar: Unicode.Scalar =
      switch (isUpper, isLower) {
      case (true, true): both
      case (true, false): upper
      case (false, true): lower
      case (false, false): " "
      }
    return Cell(scalar: scalar, style: Style(.code))
  }
}

extension Picture {
  mutating func put(_ other: Picture, row: Int, column: Int) {
    for line in 0..<other.size.rows {
      for place in 0..<other.size.columns { self[row + line, column + place] = other[line, place] }
    }
  }

  /// The picture as lines for a terminal that scrolls. Each line has its own styles, which end with the line.
  public var lines: [String] {
    (0..<size.rows).map { row in
      var text = ""
      var pen: Style?
      for column in 0..<size.columns {
        let cell = self[row, column]
        if cell.style != pen { text += Frame.code(of: cell.style, coloured: true) }
        pen = cell.style
        text.unicodeScalars.append(cell.scalar)
      }
      return text + "\u{1B}[0m"
    }
  }
}
