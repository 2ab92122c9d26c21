// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusSurface

// The layout for 76x23 and more: every value has its name, and free rows make the digits larger.
extension TerminalView {
  /// The rows of the right column; the left column may need more.
  private static let factRows = 7
  /// The rows that are not for digits, beats, facts or `ownRows`: title, gaps, phase, message, keys.
  private static let otherRows = 8
  private static let label = 12

  private func lists(_ facts: Facts) -> [(name: String, words: String)] {
    [("Outputs", facts.outputs), ("Channels", facts.channels)].compactMap { name, words in
      words.map { (name, $0) }
    }
  }

  /// The rows for facts: as many as the left column needs, provided that the smallest digits still fit.
  private func factRows(_ facts: Facts, _ size: Size) -> Int {
    let room = size.rows - Self.otherRows - BigText.dots - 1 - lists(facts).count
    return max(Self.factRows, min(leftFacts(facts, size).count, room))
  }

  /// The lines for the user's own outputs and for the channels of Link Audio, if there are any. Each list
  /// gets one row. It gets more rows for a longer text while the smallest digits still fit, up to a quarter
  /// of all rows. A text that is still too long ends in a mark.
  private func ownRows(_ facts: Facts, _ size: Size) -> [(name: String, words: String)] {
    let lists = lists(facts).map { list in
      (name: list.name, lines: list.words.wrapped(to: size.columns - 6 - Self.label))
    }
    let taken = Self.otherRows + factRows(facts, size)
    var spare = min(size.rows / 4, size.rows - taken - BigText.dots - 1) - lists.count
    return lists.flatMap { name, lines in
      let more = max(0, min(lines.count - 1, spare))
      spare -= more
      let last = lines[more...].joined(separator: " ")
      return zip([name] + Array(repeating: "", count: more), lines.prefix(more) + [last]).map { ($0, $1) }
    }
  }

  func drawLarge(_ scene: Scene, on picture: inout Picture) {
    let facts = Facts(scene)
    let size = picture.size
    let inside = 2..<size.columns - 2
    drawTitle(facts, on: &picture)
    let own = ownRows(facts, size)
    let factRows = factRows(facts, size)
    let (tempo, position, count) = digits(
      facts, size, rows: size.rows - Self.otherRows - factRows - own.count)
    tempo.draw(on: &picture, row: 2, column: inside.lowerBound, glyph: glyphs.full, style: .bold)
    let bottom = 2 + tempo.rows
    picture.write("BPM", row: bottom - 1, column: inside.lowerBound + tempo.columns + 1, style: .quiet)
    let left = inside.upperBound - position.columns
    position.draw(
      on: &picture, row: 2, column: left, glyph: glyphs.full,
      style: facts.countIn == nil ? .plain : Style(.downbeat, bold: true))
    if facts.countIn != nil {
      picture.write(
        " count-in ", row: bottom - 1, endingAt: left - 1, style: Style(.downbeat, bold: true, inverse: true))
    } else {
      picture.write("bar|beat", row: bottom - 1, endingAt: left - 1, style: .quiet)
    }
    let beats = BeatRow(scene)
    let boxes = bottom + 1..<bottom + 1 + count
    beats.draw(on: &picture, rows: boxes, columns: inside, glyphs)
    beats.drawPhase(on: &picture, row: boxes.upperBound, columns: inside, glyphs)
    let top = boxes.upperBound + 2
    drawFacts(facts, on: &picture, rows: top..<top + factRows, columns: inside)
    for (offset, line) in own.enumerated() {
      let row = top + factRows + offset
      picture.write(line.name, row: row, column: inside.lowerBound, style: .quiet)
      picture.write(
        line.words, row: row, column: inside.lowerBound + Self.label + 2,
        width: inside.count - Self.label - 2, style: .plain)
    }
    // The rows that are left for messages, below an empty row.
    let free = min(top + factRows + own.count + 1, size.rows - 2)..<size.rows - 1
    let used = drawNews(scene, on: &picture, rows: free, columns: inside)
    if let earlier = scene.earlierNews, free.count > used {
      picture.write(
        earlier.text, row: free.upperBound - used - 1, column: inside.lowerBound, width: inside.count,
        style: .quiet)
    }
    drawHint(on: &picture, row: size.rows - 1, columns: inside)
  }

  private func drawTitle(_ facts: Facts, on picture: inout Picture) {
    let size = picture.size
    let end = picture.write("tactus", row: 0, column: 2, style: .bold)
    if let place = facts.scene.place {
      picture.write("at \(place)", row: 0, column: end + 1, width: size.columns / 2 - end - 2)
    }
    let style = facts.scene.state.jack.isRunning ? Style.quiet : Style(.alarm, bold: true)
    let server =
      facts.scene.state.jack.isRunning ? "JACK \(facts.server), \(facts.xruns)" : "no JACK server"
    picture.write(server, row: 0, endingAt: size.columns - 2, style: style)
  }

  /// The largest digits with which tempo and position fit side by side into this many rows, and the number of
  /// rows that are left for the beats.
  private func digits(_ facts: Facts, _ size: Size, rows spare: Int) -> (
    tempo: BigText, position: BigText, beats: Int
  ) {
    var tempo = BigText(text: facts.tempo)
    var position = BigText(text: facts.countIn.map { "-\($0)" } ?? facts.position)
    let room = size.columns - 20
    for scale in 2...40 {
      var wider = tempo
      wider.across = scale
      guard wider.columns + (BigText(text: "8", across: scale).columns * 3) <= room else { break }
      tempo.across = scale
    }
    position.across = tempo.across
    while position.across > 1, tempo.columns + position.columns > room { position.across -= 1 }
    // A dot of the large digits is square if it has twice as many columns as rows. Digits up to twice as high
    // are even easier to read, so use the free rows for that.
    tempo.down = max(1, min(tempo.across, (spare - 3) / BigText.dots))
    position.down = tempo.down
    return (tempo, position, max(1, min(spare - tempo.rows, 3 * tempo.down)))
  }

  private typealias Fact = (name: String, words: String, style: Style)

  /// The facts of the left column, the most important first: the last ones are left out if there is no room.
  private func leftFacts(_ facts: Facts, _ size: Size) -> [Fact] {
    let state = facts.scene.state
    let link = Style(state.choices.isLinkEnabled ? .good : .plain, bold: true)
    let room = (size.columns - 4) / 2 - Self.label - 2
    return [
      ("Ableton Link", "\(state.linkWord), \(facts.peers)", link),
      ("Start/stop", facts.wholeSync, state.choices.syncsStartStop ? Style(.good) : .plain),
      ("Transport", facts.transport(within: room), transportStyle(facts)),
    ] + facts.set.map { ($0.name, $0.words, $0.name == "Next" ? .plain : .bold) } + [
      ("Launch", facts.launch, .plain), ("Leads", facts.leads(within: room), .plain),
    ] + facts.alarms.map { ($0.name, $0.words, Style(.warning)) }
  }

  private func rightFacts(_ facts: Facts, _ size: Size) -> [Fact] {
    let choices = facts.scene.state.choices
    let reach = facts.reach
    return [
      ("Click", facts.wholeClick, facts.scene.state.isClickLost ? Style(.warning, bold: true) : .plain),
      ("Clock", facts.wholeClock + facts.offset(.clock) + facts.jitter(.clock, glyphs), .plain),
      ("Pulse", facts.pulse + facts.offset(.pulse, .run) + facts.jitter(.pulse, glyphs), .plain),
      (
        "Quantum",
        "\(shortest(choices.quantum)), meter \(choices.meter.beatsPerBar)/\(choices.meter.beatType)",
        .plain
      ),
      ("OSC", reach[0], .bold),
      facts.audio.map { ("Audio", $0, Style(.good)) } ?? ("", reach.count > 1 ? reach[1] : "", .bold),
      (
        "Page", facts.page(within: size.columns / 2 - 11, opener: key(of: "web/open/toggle")),
        Style(bold: facts.scene.state.page.reach.isOpen)
      ),
    ]
  }

  private func drawFacts(_ facts: Facts, on picture: inout Picture, rows: Range<Int>, columns: Range<Int>) {
    let half = columns.count / 2
    let sides = [leftFacts(facts, picture.size), rightFacts(facts, picture.size)]
    for (index, lines) in sides.enumerated() {
      let column = columns.lowerBound + index * (half + 1)
      let label = index == 0 ? Self.label + 2 : 9
      for (row, line) in zip(rows, lines) {
        picture.write(line.name, row: row, column: column, style: .quiet)
        picture.write(line.words, row: row, column: column + label, width: half - label, style: line.style)
      }
    }
  }

  func transportStyle(_ facts: Facts) -> Style {
    guard facts.scene.state.jack.isRunning else { return Style(.alarm, bold: true) }
    switch facts.scene.state.transport {
    case .stopped: return .plain
    case .waiting: return Style(.downbeat, bold: true)
    case .rolling: return Style(.good, bold: true)
    }
  }

  /// Draws the messages into the last of these rows, and into as many above as needed. Returns the number of
  /// used rows.
  @discardableResult
  func drawNews(_ scene: Scene, on picture: inout Picture, rows: Range<Int>, columns: Range<Int>) -> Int {
    guard let news = scene.news, !rows.isEmpty else { return 0 }
    let isFresh = scene.now - news.time < News.fresh
    let style = Style(news.isComplaint ? .alarm : .plain, bold: news.isComplaint, inverse: isFresh)
    let room = columns.count - (isFresh ? 2 : 0)
    var lines = news.text.unicodeScalars.count <= room ? [news.text] : news.text.wrapped(to: room)
    if lines.count > rows.count {
      // A text that is too long for these rows ends in a mark.
      lines = lines.prefix(rows.count - 1) + [lines[(rows.count - 1)...].joined(separator: " ")]
    }
    for (row, line) in zip(rows.suffix(lines.count), lines) {
      picture.write(
        isFresh ? " \(line) " : line, row: row, column: columns.lowerBound, width: columns.count, style: style
      )
    }
    return lines.count
  }
}
