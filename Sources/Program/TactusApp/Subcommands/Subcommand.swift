// SPDX-License-Identifier: GPL-2.0-or-later
import TactusSurface

/// A command, `tactus WORD`. A value's properties hold what the command line set by options.
///
/// Each command has a file of its own and an entry in `Subcommands.all`, from which help, man page and
/// completions are made. `allOptions` adds `--help` to its options.
protocol Subcommand: Sendable {
  static var name: String { get }
  /// The text beside the name in the list of commands: one line without a full stop.
  static var summary: String { get }
  /// The operands as the usage line shows them, for instance `COMMAND [VALUE]...`; empty: none.
  static var operands: String { get }
  /// The words from which an operand is chosen, if they can be listed.
  static var operandWords: [String] { get }
  /// An operand that takes a name of something on this machine, such as a session: the word before the
  /// name, and the shell command that prints all such names. nil: no operand takes such a name.
  static var namesAfter: (word: String, lister: String)? { get }
  /// The text above the options in the command's help.
  static var description: String { get }
  /// Says where the options of other commands belong, for a command line with an unknown option; empty: no
  /// hint.
  static var optionHint: String { get }
  /// The options without `--help`.
  static var options: [Option<Self>] { get }

  init()
  func run(_ operands: [String]) throws(UserError) -> Tactus.Status
}

extension Subcommand {
  static var operands: String { "" }
  static var operandWords: [String] { [] }
  static var namesAfter: (word: String, lister: String)? { nil }
  static var optionHint: String { "" }
  static var options: [Option<Self>] { [] }

  static var allOptions: [Option<Self>] {
    options + [Option("help", "h", in: .other, .answer { _ in }, help: "Print this help.")]
  }

  /// The complaint about operands that are not among `operandWords`.
  static func objection(to operands: [String]) -> UserError {
    let given = operands.isEmpty ? "" : ", not \"\(operands.joined(separator: " "))\""
    return UserError("takes \(operandWords.inWords)" + given, .mistyped)
  }

  static var helpText: String {
    """
    Usage: tactus \(name) [OPTION]...\(operands.isEmpty ? "" : " " + operands)
    \(description)

    \(HelpText(options: allOptions).text)
    """
  }

  /// Reads the arguments after the command's name, and runs the command.
  static func run(arguments: some Sequence<String>) -> Tactus.Status {
    do throws(UserError) {
      var command = Self()
      var parser = OptionParser(options: allOptions)
      let words: [String]
      do throws(UserError) {
        words = try parser.read(arguments, into: &command)
      } catch {
        throw optionHint.isEmpty ? error : UserError("\(error.text); \(optionHint)", .mistyped)
      }
      if parser.isAnswered { return Console.answer(helpText) }
      if operands.isEmpty, let stray = words.first {
        throw UserError("takes no \"\(stray)\"", .mistyped)
      }
      let status = try command.run(words)
      return status == .success && Console.hasFailed ? .failure : status
    } catch {
      Console.complain(
        error.kind == .mistyped ? "\(name): \(error.text)\nTry 'tactus \(name) --help'." : error.text)
      return error.status
    }
  }
}

/// The commands, each of which can stand first on the command line.
enum Subcommands {
  /// All commands, in the order of the help.
  static let all: [any Subcommand.Type] = [
    StatusCommand.self, ViewCommand.self, WebCommand.self, MonitorCommand.self, SendCommand.self,
    DoctorCommand.self, PeersCommand.self,
    CheckCommand.self, FarKeyCommand.self, ConfigCommand.self, SaveCommand.self, SessionCommand.self,
    ManCommand.self, CompletionsCommand.self,
  ]

  static func named(_ name: String) -> (any Subcommand.Type)? { all.first { $0.name == name } }

  /// Runs the command that the first argument names; nil: it names none.
  static func run(_ arguments: some Collection<String>) -> Tactus.Status? {
    guard let name = arguments.first, let command = named(name) else { return nil }
    Signals.release()
    return command.run(arguments: arguments.dropFirst())
  }

  /// The complaint about a word on the program's command line that is no option.
  static func objection(to word: String) -> UserError {
    if named(word) != nil { return UserError("\"\(word)\" comes first: tactus \(word)", .mistyped) }
    let command = Table.standard.row(word).map { _ in "send \(word)" }
    let hint = (command ?? word.nearest(among: all.map { $0.name })).map {
      ": do you mean \"\($0)\"?"
    }
    return UserError("there is no command \"\(word.shortened)\"" + (hint ?? ""), .mistyped)
  }

  /// The list of commands in the program's help.
  static var helpText: String {
    let column = 2 + (all.map { $0.name.count }.max() ?? 0) + 2
    return "Commands:\n"
      + all.map { "  \($0.name)".padded(to: column) + $0.summary + "\n" }.joined()
  }
}
