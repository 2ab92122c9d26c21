// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@testable import TactusSurface

@Suite("The table in words")
struct HelpTests {
  @Test
  func `OSC help and man page name every row of the table, and fit a terminal`() {
    let help = Table.standard.helpText
    for section in Table.sections {
      for line in Table.standard.lines(section) {
        #expect(help.contains("\n  \(line.address)"), "\(line.address)")
        #expect(!line.words.isEmpty)
      }
    }
    for row in Table.standard.rows {
      #expect(Table.sections.filter { $0.kind == row.kind }.count == 1)
    }
    for line in help.split(separator: "\n") where !line.hasPrefix("  ") || line.hasPrefix("      ") {
      #expect(line.count <= 80, "\(line)")
    }
  }

  @Test
  func `a tally counts repeated items, and the items that do not fit`() {
    #expect(tally([], of: 0) == "")
    #expect(tally([("10.0.0.2", 2), ("10.0.0.7", 1)], of: 3) == "10.0.0.2 (2), 10.0.0.7")
    #expect(tally([("a", 1), ("b", 2), ("c", 1)], of: 4, limit: 6) == "a and 3 more")
    #expect(tally([("a", 1)], of: 4000) == "a and 3999 more")
    #expect(tally((0..<500).map { ("10.0.0.\($0)", 1) }, of: 4096).utf8.count <= 240)
  }

  @Test
  func `man reads tactus's OSC man page without a warning`() throws {
    let scratch = try ScratchFolder()
    let path = try scratch.write(Table.standard.manPage(version: "1.0"), to: "tactus-osc.7")
    let shown = try ChildProcess.run(["groff", "-man", "-Tutf8", "-ww", "-z", path])
    #expect(shown.status == 0 && shown.errors.isEmpty, "\(shown.errors.prefix(400))")
  }
}
