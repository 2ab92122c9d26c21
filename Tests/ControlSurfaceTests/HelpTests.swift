// SPDX-License-Identifier: GPL-2.0-or-later
import TestSupport
import Testing

@testable import ControlSurface

@Suite("The table in words")
struct HelpTests {
  @Test("The help text and the man page name every row, and fit a terminal")
  func complete() {
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

  @Test("man reads the man page without a warning")
  func manPage() throws {
    let scratch = try ScratchFolder()
    let path = try scratch.write(Table.standard.manPage(version: "1.0"), to: "tactus-osc.7")
    let shown = try ChildProcess.run(["groff", "-man", "-Tutf8", "-ww", "-z", path])
    #expect(shown.status == 0 && shown.errors.isEmpty, "\(shown.errors.prefix(400))")
  }
}
