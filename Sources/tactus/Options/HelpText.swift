// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface

/// What `--help` prints, made from the options: sections, spellings in a column, words wrapped beside them.
struct HelpText {
  let options: [any OptionOutline]
  let width = 80
  private let column = 26

  var text: String {
    Section.allCases.compactMap(section).joined(separator: "\n")
  }

  private func section(_ section: Section) -> String? {
    let members = options.filter { $0.section == section }
    guard !members.isEmpty else { return nil }
    return "\(section.rawValue):\n" + members.map(entry).joined()
  }

  private func entry(_ option: any OptionOutline) -> String {
    let spelling = "  " + spelling(of: option)
    let margin = String(repeating: " ", count: column)
    let lines = option.help.wrapped(to: width - column)
    // A spelling that is too long for its column gets a line of its own.
    let first = spelling.count + 2 > column ? spelling + "\n" + margin : spelling.padded(to: column)
    return first + lines.joined(separator: "\n" + margin) + "\n"
  }

  /// `-n, --name=NAME`
  func spelling(of option: any OptionOutline) -> String {
    let value = option.takes.map { $0.bare == nil ? "=\($0.placeholder)" : "[=\($0.placeholder)]" } ?? ""
    return (option.short.map { "-\($0), " } ?? "    ") + "--" + option.long + value
  }
}
