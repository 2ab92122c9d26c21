// SPDX-License-Identifier: GPL-2.0-or-later
import TactusSurface

/// The text of `--help`, made from the options: sections, with the spellings in one column and the help
/// wrapped beside them.
struct HelpText {
  let options: [any OptionOutline]
  let width = 80
  private let column = 26

  var text: String {
    Section.groups(options, by: \.section)
      .map { section, members in "\(section.rawValue):\n" + members.map(entry).joined() }
      .joined(separator: "\n")
  }

  private func entry(_ option: any OptionOutline) -> String {
    let spelling = "  " + spelling(of: option)
    let margin = String(repeating: " ", count: column)
    let lines = help(of: option).wrapped(to: width - column)
    // A spelling that is too long for its column gets a line of its own.
    let first = spelling.count + 2 > column ? spelling + "\n" + margin : spelling.padded(to: column)
    return first + lines.joined(separator: "\n" + margin) + "\n"
  }

  /// The option's help, and the words that may follow a flag.
  func help(of option: any OptionOutline) -> String {
    let words = option.wordChoices(among: options).flatMap(\.words)
    return words.isEmpty ? option.help : "\(option.help) It also takes a word: \(words.inWords)."
  }

  /// The option's spelling in the help, such as `-n, --name=NAME`.
  func spelling(of option: any OptionOutline) -> String {
    let value = option.takes.map { $0.bare == nil ? "=\($0.placeholder)" : "[=\($0.placeholder)]" } ?? ""
    return (option.short.map { "-\($0), " } ?? "    ") + "--" + option.long + value
  }
}

/// The outline of the program's command line or of one command's, for help, man page and completions.
struct CommandOutline: Sendable {
  /// The command's name; nil: this is the program's own command line.
  var name: String?
  var summary = ""
  var operands = ""
  var description = ""
  var operandWords: [String] = []
  var namesAfter: (word: String, lister: String)?
  let options: [any OptionOutline]

  static let program = CommandOutline(options: Configuration.options)
  static let commands = Subcommands.all.map { outline(of: $0) }

  private static func outline<Command: Subcommand>(of command: Command.Type) -> CommandOutline {
    CommandOutline(
      name: command.name, summary: command.summary, operands: command.operands,
      description: command.description, operandWords: command.operandWords, namesAfter: command.namesAfter,
      options: command.allOptions)
  }
}
