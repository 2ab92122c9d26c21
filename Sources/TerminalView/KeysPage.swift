// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface

// What the keys do, under one line that still says where the music is.
extension TerminalView {
  /// For every page on which they are listed.
  public static func keys(upAndDown: String, leftAndRight: String) -> [(key: String, words: String)] {
    [
      ("space", "start/stop"), ("t Enter", "tap tempo"), (upAndDown, "1 BPM"),
      (leftAndRight, "0.1 BPM"), ("PgUp/Dn", "10 BPM"), ("[ ]", "quantum"), ("Home", "rewind"),
      ("l", "who leads"), ("a", "Ableton Link"), ("s", "sync"), ("m", "click"), ("c", "clock"),
      ("p", "pulse"), ("Ctrl-L", "draw anew"), ("?", "back"), ("q", "quit"),
    ]
  }

  func drawKeys(_ scene: Scene, on picture: inout Picture) {
    let facts = Facts(scene)
    let size = picture.size
    let place = facts.countIn.map { "count-in \($0)" } ?? facts.position
    let end = picture.write("\(facts.tempo) BPM  \(place)", row: 0, column: 0, style: .bold)
    BeatRow(scene).draw(on: &picture, rows: 0..<1, columns: end + 2..<max(end + 3, size.columns), glyphs)
    let keys = Self.keys(upAndDown: glyphs.upAndDown, leftAndRight: glyphs.leftAndRight)
    let rows = (keys.count + 1) / 2
    for (index, entry) in keys.enumerated() {
      let column = index / rows * (size.columns / 2)
      picture.write(entry.key, row: 2 + index % rows, column: column, style: .bold)
      picture.write(entry.words, row: 2 + index % rows, column: column + 8, width: size.columns / 2 - 8)
    }
    drawNews(scene, on: &picture, row: size.rows - 1, columns: 0..<size.columns)
  }
}
