// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface

/// An option without what it sets: what the man page and the completions have to know of it, whosever it is.
struct OptionOutline: Sendable {
  enum Takes: Sendable {
    case nothing
    case value(placeholder: String, Allowed)
    /// Only if it is attached.
    case attachedValue(placeholder: String, Allowed)
  }

  let long: String
  let short: Character?
  let section: Section
  let takes: Takes
  let canBeTakenBack: Bool
  let repeats: Bool
  let help: String

  init<Settings>(_ option: Option<Settings>) {
    long = option.long
    short = option.short
    section = option.section
    help = option.help
    canBeTakenBack = option.off != nil
    switch option.form {
    case .flag, .answer:
      takes = .nothing
      repeats = false
    case .value(let value):
      takes = .value(placeholder: value.placeholder, value.allowed)
      repeats = value.clear != nil
    case .optionalValue(let value, _):
      takes = .attachedValue(placeholder: value.placeholder, value.allowed)
      repeats = value.clear != nil
    }
  }
}

/// The program's command line, or that of one of its commands, for those who describe it.
struct CommandOutline: Sendable {
  /// nil: the program itself.
  let name: String?
  let summary: String
  let operands: String
  let description: String
  let operandWords: [String]
  let options: [OptionOutline]

  static let program = CommandOutline(
    name: nil, summary: Configuration.summary, operands: "", description: "", operandWords: [],
    options: Configuration.options.map { OptionOutline($0) })

  static let commands = Subcommands.all.map { outline(of: $0) }

  private static func outline<Command: Subcommand>(of command: Command.Type) -> CommandOutline {
    CommandOutline(
      name: command.name, summary: command.summary, operands: command.operands,
      description: command.description, operandWords: command.operandWords,
      options: command.allOptions.map { OptionOutline($0) })
  }
}
