// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusSurface

/// The position in the bar that is heard now: a box for each beat, which is lit during the beat and darker if
/// the beat has an accent. Below the boxes a line grows through the bar without steps.
struct BeatRow {
  let count: Int
  let current: Int
  /// The part of the bar that has passed: 0 at the downbeat, 1 at the next downbeat.
  let passed: Double
  /// Whether a start waits. If so, the row shows the beats before the song.
  let isCountIn: Bool
  /// The click's pattern; each beat has this many letters of it.
  private let pattern: Pattern
  private let letters: Int

  init(_ scene: Scene) {
    let state = scene.state
    count = state.shownBar(at: scene.now)
    let phase = state.shownPlace(at: scene.now)
    current = min(Int(phase), count - 1)
    passed = phase / Double(count)
    isCountIn = if case .waiting = state.transport { true } else { false }
    pattern = state.choices.click.pattern
    letters = Int(state.choices.click.subdivision)
  }

  /// The bar's first beat is accented, and so are the beats that the click's pattern accents.
  private func isAccented(_ beat: Int) -> Bool { beat == 0 || pattern[Int64(beat * letters)] == .accent }

  func draw(on picture: inout Picture, rows: Range<Int>, columns: Range<Int>, _ glyphs: Glyphs) {
    let gap = columns.count / count >= 8 ? 2 : columns.count / count >= 3 ? 1 : 0
    guard columns.count >= count else { return drawMark(on: &picture, rows: rows, columns: columns, glyphs) }
    for beat in 0..<count {
      let left = columns.lowerBound + beat * (columns.count + gap) / count
      let width = columns.lowerBound + (beat + 1) * (columns.count + gap) / count - gap - left
      let isLit = beat == current
      let style = isLit ? style(of: beat) : .quiet
      picture.fill(
        rows: rows, columns: left..<left + width,
        isLit ? glyphs.full : isAccented(beat) ? glyphs.unlitAccent : glyphs.unlit, style: style)
      if rows.count >= 3, width >= 3 {
        let text = "\(beat + 1)"
        picture.write(
          text, row: rows.lowerBound + rows.count / 2, column: left + (width - text.count) / 2,
          style: Style(style.colour, bold: isLit, inverse: isLit))
      }
    }
  }

  /// Draws a single moving mark, if there are more beats than columns.
  private func drawMark(
    on picture: inout Picture, rows: Range<Int>, columns: Range<Int>, _ glyphs: Glyphs
  ) {
    picture.fill(rows: rows, columns: columns, glyphs.unlit, style: .quiet)
    let place = columns.lowerBound + current * columns.count / count
    picture.fill(rows: rows, columns: place..<place + 1, glyphs.full, style: style(of: current))
  }

  private func style(of beat: Int) -> Style {
    isCountIn
      ? Style(.quiet, bold: true)
      : beat == 0 ? Style(.downbeat, bold: true) : Style(.beat, bold: isAccented(beat))
  }

  func drawPhase(on picture: inout Picture, row: Int, columns: Range<Int>, _ glyphs: Glyphs) {
    let halves = min(Int(passed * Double(columns.count * 2)), columns.count * 2 - 1)
    let whole = columns.lowerBound + halves / 2
    picture.fill(rows: row..<row + 1, columns: columns, glyphs.ahead, style: .quiet)
    picture.fill(
      rows: row..<row + 1, columns: columns.lowerBound..<whole, glyphs.passed, style: style(of: current))
    if halves % 2 == 1 {
      picture[row, whole] = Cell(scalar: glyphs.halfPassed, style: style(of: current))
    }
  }
}
