// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusSurface

// The layout for 40x12 and more: the same facts as in the large layout, in as few words as possible.
extension TerminalView {
  private static let panel = 16

  func drawSmall(_ scene: Scene, on picture: inout Picture) {
    let facts = Facts(scene)
    let size = picture.size
    let all = 0..<size.columns
    drawSession(facts, on: &picture)
    var tempo = BigText(text: facts.tempo)
    while BigText(text: tempo.text, across: tempo.across + 1).columns + Self.panel + 2 <= size.columns,
      tempo.across < 40
    {
      tempo.across += 1
    }
    tempo.down = max(1, min(tempo.across, (size.rows - 7) / BigText.dots))
    tempo.draw(on: &picture, row: 1, column: 0, glyph: glyphs.full, style: .bold)
    drawPanel(facts, on: &picture, row: 1, rows: tempo.rows, column: tempo.columns + 2)
    let beats = BeatRow(scene)
    let top = 1 + tempo.rows
    let boxes = top..<top + max(1, min(size.rows - top - 5, 3 * tempo.down))
    beats.draw(on: &picture, rows: boxes, columns: all, glyphs)
    beats.drawPhase(on: &picture, row: boxes.upperBound, columns: all, glyphs)
    let half = size.columns / 2
    picture.write(facts.shortClick, row: size.rows - 4, column: 0, width: half)
    picture.write("clock \(facts.clock)\(facts.shortOffset(.clock))", row: size.rows - 4, column: half)
    let end = picture.write("OSC \(facts.shortReach)", row: size.rows - 3, column: 0, style: .bold)
    let page = facts.shortPage
    if end + 2 + page.unicodeScalars.count <= size.columns {
      picture.write(page, row: size.rows - 3, endingAt: size.columns, style: .bold)
    }
    drawNews(scene, on: &picture, rows: size.rows - 2..<size.rows - 1, columns: all)
    drawHint(on: &picture, row: size.rows - 1, columns: all)
  }

  private func drawSession(_ facts: Facts, on picture: inout Picture) {
    let state = facts.scene.state
    let end = picture.write(
      "Ableton Link \(state.linkWord)", row: 0, column: 0,
      style: Style(state.choices.isLinkEnabled ? .good : .plain, bold: true))
    picture.write(facts.peers, row: 0, column: end + 1)
    picture.write("sync \(facts.sync)", row: 0, endingAt: picture.size.columns)
  }

  /// Draws as many facts as there are rows, the most important first.
  private func drawPanel(_ facts: Facts, on picture: inout Picture, row: Int, rows: Int, column: Int) {
    let place: (String, Style) =
      facts.countIn.map { ("count-in \($0)", Style(.downbeat, bold: true, inverse: true)) }
      ?? ("bar \(facts.position)", .bold)
    let lead = facts.scene.state.choices.lead
    let leader =
      switch facts.scene.state.leading {
      case .auto: "leader \(SurfaceState.unknown)"
      case .link: lead == .link ? "Link leads" : lead == .midi ? "Link, no clock" : "Link, no host"
      case .host: "JACK leads"
      case .midi: "MIDI leads"
      }
    let lines: [(String, Style)] =
      [
        place,
        (facts.countIn == nil ? facts.transport(within: Self.panel) : "waiting", transportStyle(facts)),
      ] + facts.alarms.map { ("\($0.name) \($0.words)", Style(.warning)) }
      + facts.set.map { ($0.name == "Song" ? $0.words : "\($0.name.lowercased()) \($0.words)", .plain) }
      + [(facts.launch, .plain), (leader, .plain)]
    for (offset, line) in lines.prefix(rows).enumerated() {
      picture.write(line.0, row: row + offset, column: column, style: line.1)
    }
  }
}
