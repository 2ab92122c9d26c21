// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface

/// The words that may stand first on the command line.
enum Subcommands {
  /// In the order in which help lists them.
  static let all: [any Subcommand.Type] = [
    StatusCommand.self, MonitorCommand.self, SendCommand.self, DoctorCommand.self, CheckCommand.self,
    ConfigCommand.self, SessionCommand.self,
    ManCommand.self, CompletionsCommand.self,
  ]

  static func named(_ name: String) -> (any Subcommand.Type)? { all.first { $0.name == name } }

  /// nil: the word names none of them, and is nothing else either.
  static func run(_ arguments: some Collection<String>) -> Tactus.Status? {
    guard let name = arguments.first, let command = named(name) else { return nil }
    Signals.release()
    return command.run(arguments: arguments.dropFirst())
  }

  /// What is wrong with a word that is no option.
  ///
  /// - Parameter meant: an option that it may belong to.
  static func objection(to word: String, meant: String? = nil) -> Complaint {
    if named(word) != nil { return Complaint("\"\(word)\" comes first: tactus \(word)", .mistyped) }
    let hint = (meant ?? word.nearest(among: all.map { $0.name })).map { ": do you mean \"\($0)\"?" }
    return Complaint("there is no command \"\(word.shortened)\"" + (hint ?? ""), .mistyped)
  }

  /// The list in the program's help.
  static var helpText: String {
    let column = 2 + (all.map { $0.name.count }.max() ?? 0) + 2
    return "Commands:\n"
      + all.map { "  \($0.name)".padded(to: column) + $0.summary + "\n" }.joined()
  }
}
