// SPDX-License-Identifier: GPL-2.0-or-later

/// What `tactus WORD` does other than play. The type's values hold what its options say.
///
/// One file for each, and a place in `Subcommands.all`; help, man page and completions then know it. `--help` is
/// the frame's.
protocol Subcommand: Sendable {
  static var name: String { get }
  /// Beside the name in the list of them all: a line without a full stop.
  static var summary: String { get }
  /// As the usage line shows them, for instance `COMMAND [VALUE]...`; empty if it takes none.
  static var operands: String { get }
  /// What an operand may be, as far as that is a list.
  static var operandWords: [String] { get }
  /// Above the options in its own help.
  static var description: String { get }
  /// Without `--help`.
  static var options: [Option<Self>] { get }

  init()
  /// The frame's: only help was asked for.
  var asksForHelp: Bool { get set }
  func run(_ operands: [String]) throws(Complaint) -> Tactus.Status
}

extension Subcommand {
  static var operands: String { "" }
  static var operandWords: [String] { [] }
  static var options: [Option<Self>] { [] }

  static var allOptions: [Option<Self>] {
    options + [Option("help", "h", in: .other, .answer { $0.asksForHelp = true }, help: "Print this.")]
  }

  static var helpText: String {
    """
    Usage: tactus \(name) [OPTION]...\(operands.isEmpty ? "" : " " + operands)
    \(description)

    \(HelpText(options: allOptions).text)
    """
  }

  /// Reads what stands behind its name, and does it.
  static func run(arguments: some Sequence<String>) -> Tactus.Status {
    do throws(Complaint) {
      var command = Self()
      let words = try OptionParser(options: allOptions).parse(arguments, into: &command)
      if command.asksForHelp { return Console.answer(helpText) }
      if operands.isEmpty, let stray = words.first {
        throw Complaint("takes no \"\(stray)\"", .mistyped)
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
