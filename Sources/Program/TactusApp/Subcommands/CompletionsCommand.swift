// SPDX-License-Identifier: GPL-2.0-or-later

/// `tactus completions bash`: prints a script with which the shell completes tactus's words.
struct CompletionsCommand: Subcommand {
  static let name = "completions"
  static let summary = "Print the completions for bash, zsh or fish"
  static let operands = "SHELL"
  static let operandWords = Shell.allCases.map(\.rawValue)
  static let description = """
    Prints a script with which the shell completes tactus's commands, options and values. Use
    it at once with eval "$(tactus completions bash)", or save it where the shell looks for it.
    """

  enum Shell: String, CaseIterable {
    case bash, zsh, fish
  }

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    guard operands.count == 1, let shell = Shell(rawValue: operands[0]) else {
      throw Self.objection(to: operands)
    }
    let text =
      switch shell {
      case .bash: BashCompletion.text()
      case .zsh: ZshCompletion.text()
      case .fish: FishCompletion.text()
      }
    return Console.answer(text)
  }
}
