// SPDX-License-Identifier: GPL-2.0-or-later

enum ZshCompletion {
  static func text(of program: CommandOutline = .program) -> String {
    """
    #compdef tactus
    _tactus() {
      local command=
      if (( CURRENT > 2 )) && [[ $words[2] != -* ]]; then
        command=$words[2]
        shift words
        (( CURRENT-- ))
      fi
      case $command in
    \(([program] + CommandOutline.commands).map(branch).joined(separator: "\n"))
      esac
    }
    _tactus_commands() {
      local -a commands=(
    \(CommandOutline.commands.map { "    " + quoted("\($0.name ?? ""):\($0.summary)") }.joined(separator: "\n"))
      )
      _describe command commands
    }
    if [ "$funcstack[1]" = _tactus ]; then _tactus "$@"; else compdef _tactus tactus; fi
    """
  }

  private static func branch(_ command: CommandOutline) -> String {
    var specifications = command.options.flatMap(specification)
    if command.name == nil {
      specifications.append("'1:command:_tactus_commands'")
    } else if let names = command.namesAfter {
      specifications += [
        "'1:\(command.name ?? ""):(\(command.operandWords.joined(separator: " ")))'",
        quoted(#"2:name:{local -a names=(${(f)"$(\#(names.lister))"}); compadd -a names}"#),
      ]
    } else if !command.operandWords.isEmpty {
      specifications.append(quoted("*:\(command.operands):(\(command.operandWords.joined(separator: " ")))"))
    }
    let lines = specifications.map { "      " + $0 }.joined(separator: " \\\n")
    return "    \(command.name ?? "''")) _arguments -s -S \\\n\(lines) ;;"
  }

  private static func specification(_ option: any OptionOutline) -> [String] {
    let help = "[\(escaped(option.help.firstSentence))]"
    var specifications: [String]
    if let takes = option.takes {
      let star = takes.repeats ? "*" : ""
      let value = ":\(escaped(takes.placeholder)):\(action(takes.allowed))"
      let (long, short, rest) = takes.bare == nil ? ("=", "+", help + value) : ("=-", "-", help + ":" + value)
      specifications =
        ["\(star)--\(option.long)\(long)\(rest)"]
        + (option.short.map { ["\(star)-\($0)\(short)\(rest)"] } ?? [])
    } else {
      specifications = ["--\(option.long)\(help)"] + (option.short.map { ["-\($0)\(help)"] } ?? [])
    }
    if option.canBeTakenBack { specifications.append("--no-\(option.long)[not --\(option.long)]") }
    return specifications.map(quoted)
  }

  private static func action(_ allowed: ValueRule) -> String {
    switch allowed.kind {
    case .file: "_files"
    case .word, .numberOrWord, .numberOrText: "(\(allowed.list.joined(separator: " ")))"
    case .connection: "{local -a ports=(${(f)\"$(jack_lsp 2>/dev/null)\"}); compadd -S = -a ports}"
    case .text, .number, .whole: " "
    }
  }

  private static func escaped(_ text: String) -> String {
    text.map { "[]:\\".contains($0) ? "\\\($0)" : "\($0)" }.joined()
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.map { $0 == "'" ? #"'\''"# : "\($0)" }.joined() + "'"
  }
}
