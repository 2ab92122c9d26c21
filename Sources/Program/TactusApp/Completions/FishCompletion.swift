// SPDX-License-Identifier: GPL-2.0-or-later

enum FishCompletion {
  static func text(of program: CommandOutline = .program) -> String {
    let names = CommandOutline.commands.compactMap(\.name)
    var lines = ["# fish completion for tactus", "complete -c tactus -f"]
    for command in CommandOutline.commands {
      lines.append(
        "complete -c tactus -n __fish_use_subcommand -a \(command.name ?? "") -d \(quoted(command.summary))")
    }
    for command in [program] + CommandOutline.commands {
      let condition =
        command.name.map { "'__fish_seen_subcommand_from \($0)'" }
        ?? "'not __fish_seen_subcommand_from \(names.joined(separator: " "))'"
      lines += command.options.flatMap { entries($0, condition) }
      if !command.operandWords.isEmpty {
        let words = quoted(command.operandWords.joined(separator: " "))
        let unless = command.namesAfter.map { "; and not __fish_seen_subcommand_from \($0.word)'" }
        lines.append(
          "complete -c tactus -n \(unless.map { condition.dropLast() + $0 } ?? condition) -a \(words)")
      }
      if let names = command.namesAfter {
        lines.append(
          "complete -c tactus -n '__fish_seen_subcommand_from \(command.name ?? ""); and __fish_seen_subcommand_from \(names.word)'"
            + " -a \(quoted("(\(names.lister))"))")
      }
    }
    return lines.joined(separator: "\n")
  }

  private static func entries(_ option: any OptionOutline, _ condition: String) -> [String] {
    var line = "complete -c tactus -n \(condition) -l \(option.long)"
    if let short = option.short { line += " -s \(short)" }
    if let takes = option.takes {
      // In fish, -x means "no files", so an option that takes a file gets -r. Without -x or -r, fish offers
      // words only after `--name=`.
      if takes.bare == nil { line += takes.allowed.kind == .file ? " -r" : " -x" }
      line += arguments(takes.allowed)
    }
    line += " -d \(quoted(option.help.firstSentence))"
    guard option.canBeTakenBack else { return [line] }
    return [
      line, "complete -c tactus -n \(condition) -l no-\(option.long) -d \(quoted("Not --\(option.long)"))",
    ]
  }

  private static func arguments(_ allowed: ValueRule) -> String {
    switch allowed.kind {
    case .file: " -F"
    case .word, .numberOrWord, .numberOrText: " -a \(quoted(allowed.list.joined(separator: " ")))"
    case .connection: " -a '(jack_lsp 2>/dev/null)='"
    case .text, .number, .whole: ""
    }
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "'"
  }
}

extension String {
  /// The text up to the first full stop that a space follows.
  var firstSentence: String {
    guard let end = firstRange(of: ". ") else { return hasSuffix(".") ? String(dropLast()) : self }
    return String(self[..<end.lowerBound])
  }
}
