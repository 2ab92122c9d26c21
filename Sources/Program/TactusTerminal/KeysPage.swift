// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusSurface

// The page that lists the keys, below one line that still shows the tempo and the position.
extension TerminalView {
  func drawKeys(_ scene: Scene, on picture: inout Picture) {
    let facts = Facts(scene)
    let size = picture.size
    let place = facts.countIn.map { "count-in \($0)" } ?? facts.position
    let end = picture.write("\(facts.tempo) BPM  \(place)", row: 0, column: 0, style: .bold)
    BeatRow(scene).draw(on: &picture, rows: 0..<1, columns: end + 2..<max(end + 3, size.columns), glyphs)
    // If there are many keys, leave out the empty row below the title, and use the message row while there is
    // no new message.
    let count = keys.rows.count
    let top = count > 2 * (size.rows - 3) ? 1 : 2
    let isNewsFresh = scene.news.map { scene.now - $0.time < News.fresh } ?? false
    let isFull = count > 2 * (size.rows - 2) && !isNewsFresh
    let room = size.rows - (isFull ? 0 : 1) - top
    let width = size.columns / 2
    for (index, row) in keys.rows.prefix(2 * room).enumerated() {
      let column = index / room * width
      picture.write(
        row.keys(named: glyphs.name(of:)), row: top + index % room, column: column, style: .bold)
      let brief = row.words.unicodeScalars.count > width - 11 ? row.brief : nil
      picture.write(brief ?? row.words, row: top + index % room, column: column + 10, width: width - 10)
    }
    if !isFull {
      drawNews(scene, on: &picture, rows: size.rows - 1..<size.rows, columns: 0..<size.columns)
    }
  }

  /// Draws the hints for as many keys as fit. The last hint, for the list of all keys, always stays. The
  /// hint before it, for the web page, is left out only if little room remains.
  func drawHint(on picture: inout Picture, row: Int, columns: Range<Int>) {
    var hints = keys.rows.compactMap { row in
      row.hint.map { hint in
        (row.bindings.prefix(hint.keys).map { glyphs.name(of: $0.event) } + [hint.words]).joined(
          separator: " ")
      }
    }
    func text() -> String { hints.joined(separator: "  ") }
    while hints.count > 1, text().unicodeScalars.count > columns.count {
      hints.remove(at: hints.count - (hints.count > 5 ? 3 : 2))
    }
    picture.write(text(), row: row, column: columns.lowerBound, width: columns.count, style: .quiet)
  }

  /// Draws the click's offset, which the user adjusts by ear, into the last row.
  func drawTuning(_ scene: Scene, on picture: inout Picture) {
    let row = picture.size.rows - 1
    picture.fill(rows: row..<row + 1, columns: 0..<picture.size.columns, " ", style: .plain)
    let end = picture.write(
      "click offset \(Facts(scene).clickOffset) ms", row: row, column: 0, style: Style(.beat, bold: true))
    let meanings = keys.rows.flatMap(\.bindings).compactMap { binding -> String? in
      guard let amount = binding.targets.first(where: { $0.path == Keyboard.tuning })?.arguments.first else {
        return nil
      }
      return "\(glyphs.name(of: binding.event)) " + (amount.hasPrefix("-") ? "later" : "earlier")
    }
    picture.write(meanings.joined(separator: "  "), row: row, column: end + 2, style: .quiet)
  }

  /// Draws the tempo that the user is typing into the last row, which every page has.
  func drawTyped(_ typed: Keyboard.OptionValueType, on picture: inout Picture) {
    let row = picture.size.rows - 1
    picture.fill(rows: row..<row + 1, columns: 0..<picture.size.columns, " ", style: .plain)
    let end = picture.write("\(typed.text)_ BPM", row: row, column: 0, style: Style(.beat, bold: true))
    picture.write(
      typed.objection ?? "Enter sets it, Esc leaves", row: row, column: end + 2,
      style: typed.objection == nil ? .quiet : Style(.alarm, bold: true))
  }
}
