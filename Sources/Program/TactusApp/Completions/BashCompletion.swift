// SPDX-License-Identifier: GPL-2.0-or-later

/// The script for bash, which does not need the functions of the bash-completion package.
///
/// Readline splits words at `=` and at colons, as in `--lead=ho` and `system:playback_1`, so the script looks
/// back over the pieces for the option.
enum BashCompletion {
  static func text(of program: CommandOutline = .program) -> String {
    let all = [program] + CommandOutline.commands
    return """
      # bash completion for tactus
      _tactus_ports() {
        # Readline begins again at each = and colon: what stands before them must not be offered again.
        local so_far=${COMP_LINE:0:COMP_POINT} port client
        so_far=${so_far##*[ =]}
        client=${so_far%"${so_far##*:}"}
        while IFS= read -r port; do
          case $port in "$so_far"*) COMPREPLY+=("${port#"$client"}") ;; esac
        done < <(jack_lsp 2>/dev/null)
        compopt -o nospace 2>/dev/null || :
      }
      _tactus() {
        local word=${COMP_WORDS[COMP_CWORD]} place=$COMP_CWORD before command= attached=
        case $word in = | :) word= ;; *) ((place--)) ;; esac
        # Back over "--connect" "=" "system" ":" "out" to the option that it belongs to.
        while case ${COMP_WORDS[place]} in = | :) true ;; *) false ;; esac; do
          ((place--))
          case ${COMP_WORDS[place]} in -*) attached== && break ;; esac
          ((place--))
        done
        before=${COMP_WORDS[place]}
        [ "$COMP_CWORD" -le 1 ] || case ${COMP_WORDS[1]} in -*) ;; *) command=${COMP_WORDS[1]} ;; esac
        COMPREPLY=()
        case $command/$before$attached in
      \(values(all))
        esac
        [ -z "$attached" ] || return
        case $command/$word in
      \(names(all))
        esac
      }
      complete -F _tactus tactus
      """
  }

  /// The branches of the script's `case` that complete the values of options, and the names after an operand.
  private static func values(_ all: [CommandOutline]) -> String {
    all.flatMap { command in
      let names = command.namesAfter.map { names in
        #"    \#(command.name ?? "")/\#(names.word)) mapfile -t COMPREPLY < <(compgen -W "$(\#(names.lister))" -- "$word"); return ;;"#
      }
      return [names].compactMap(\.self)
        + command.options.compactMap { option -> String? in
          guard let takes = option.takes else { return nil }
          let apart = ["--" + option.long] + (option.short.map { ["-\($0)"] } ?? [])
          let places = (takes.bare == nil ? apart : []) + ["--\(option.long)="]
          let patterns = places.map { "\(command.name ?? "")/\($0)" }.joined(separator: " | ")
          return "    \(patterns)) \(reply(takes.allowed)); return ;;"
        }
    }.joined(separator: "\n")
  }

  private static func reply(_ allowed: ValueRule) -> String {
    switch allowed.kind {
    case .file: #"mapfile -t COMPREPLY < <(compgen -f -- "$word")"#
    case .word, .numberOrWord, .numberOrText: words(allowed.list)
    case .connection: "_tactus_ports"
    case .text, .number, .whole: ":"
    }
  }

  /// The branches of the script's `case` that complete commands, options and operands.
  private static func names(_ all: [CommandOutline]) -> String {
    all.map { command in
      let name = command.name ?? ""
      let options = command.options.flatMap { option in
        ["--" + option.long] + (option.canBeTakenBack ? ["--no-" + option.long] : [])
      }
      let operands = command.name == nil ? CommandOutline.commands.compactMap(\.name) : command.operandWords
      return """
            \(name)/-*) \(words(options)) ;;
            \(name)/*) \(operands.isEmpty ? ":" : words(operands)) ;;
        """
    }.joined(separator: "\n")
  }

  private static func words(_ words: [String]) -> String {
    #"mapfile -t COMPREPLY < <(compgen -W "\#(words.joined(separator: " "))" -- "$word")"#
  }
}
