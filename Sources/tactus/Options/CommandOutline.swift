// SPDX-License-Identifier: GPL-2.0-or-later

/// The program's command line, or that of one of its commands, for those who describe it.
struct CommandOutline: Sendable {
  /// nil: the program itself.
  var name: String?
  var summary = ""
  var operands = ""
  var description = ""
  var operandWords: [String] = []
  let options: [any OptionOutline]

  static let program = CommandOutline(options: Configuration.options)
  static let commands = Subcommands.all.map { outline(of: $0) }

  private static func outline<Command: Subcommand>(of command: Command.Type) -> CommandOutline {
    CommandOutline(
      name: command.name, summary: command.summary, operands: command.operands,
      description: command.description, operandWords: command.operandWords, options: command.allOptions)
  }
}
