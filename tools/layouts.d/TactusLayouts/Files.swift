// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusSurface
import TactusTerminal

/// The files to write, relative to the top of the repository.
enum Files {
  /// The documentation pages with a table that this program makes from the command table.
  static let pages: [(path: String, table: String)] = [
    ("docs/osc.md", Table.standard.markdown),
    ("docs/keys.md", "| key | does |\n| --- | --- |\n" + KeyMap.standard.map(\.markdown).joined() + "\n"),
  ]
  private static let mark = (
    begin: "<!-- the table: tools/layouts writes it -->\n", end: "<!-- end of the table -->\n"
  )

  static var layouts: [(path: String, bytes: [UInt8])] {
    Layout.all.flatMap { layout in
      [
        ("sessions/controllers/\(layout.name).tosc", TouchOSC.document(layout)),
        ("docs/images/\(layout.name).svg", Array(Drawing.svg(layout).utf8)),
      ]
    } + [
      ("sessions/controllers/tactus-open-stage-control.json", Array(OpenStageControl.document(.tablet).utf8))
    ]
  }

  /// The page with its present table; nil if its marks are missing.
  static func documentation(_ page: String, with table: String) -> String? {
    guard let begin = page.firstRange(of: mark.begin), let end = page.firstRange(of: mark.end),
      begin.upperBound <= end.lowerBound
    else { return nil }
    return page[..<begin.upperBound] + "\n" + table + page[end.lowerBound...]
  }

  static func read(_ path: String) -> [UInt8]? {
    guard let file = fopen(path, "rb") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = fread(&chunk, 1, chunk.count, file)
      guard count > 0 else { return bytes }
      bytes += chunk[..<count]
    }
  }

  static func write(_ bytes: [UInt8], to path: String) -> Bool {
    guard let file = fopen(path, "wb") else { return false }
    let count = fwrite(bytes, 1, bytes.count, file)
    return fclose(file) == 0 && count == bytes.count
  }
}
