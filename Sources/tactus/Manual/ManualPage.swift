// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import TerminalView

/// tactus(1), in the man macros that every reader knows; options and commands from their tables.
enum ManualPage {
  static var text: String { filled(source) }

  /// Text in lines that editors and reviewers like; to a reader it makes no difference.
  static func filled(_ page: String) -> String {
    page.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line -> [String] in
      guard line.utf8.count > 80, !line.hasPrefix("."), !line.hasPrefix("'") else { return [String(line)] }
      return String(line).wrapped(to: 78).map { $0.hasPrefix(".") || $0.hasPrefix("'") ? "\\&" + $0 : $0 }
    }.joined(separator: "\n")
  }

  private static var source: String {
    """
    .TH TACTUS 1 \(Tactus.released) "tactus \(Tactus.version)" "User Commands"
    .SH NAME
    tactus \\- put a Linux studio in time with Ableton Link
    .SH SYNOPSIS
    .B tactus
    .RI [ OPTION ]...
    .br
    .B tactus
    .I COMMAND
    .RI [ OPTION ]...
    .SH DESCRIPTION
    .B tactus
    is a JACK client that keeps a Linux studio in time with every Ableton Link app on the network.
    It shows the session's bars and beats on JACK's transport, holds starts until the bar, plays a click, sends
    MIDI clock and pulses, follows or leads other programs, and is controlled over OSC.
    Everything is timed to be heard together: latencies are taken into account.
    .PP
    Without a command it plays until it is told to end.
    .SH OPTIONS
    A flag can be taken back with
    .BI \\-\\-no\\- NAME\\fR.
    What is typed comes before what was chosen while tactus played, and that before the configuration.
    \(options(of: .program))
    .SH COMMANDS
    \(CommandOutline.commands.map(command).joined(separator: "\n"))
    .SH KEYS
    In a terminal, tactus shows its view and takes these keys.
    .B \\-\\-key
    gives a key another meaning: any address of
    .BR tactus\\-osc (7)
    with its arguments.
    \(keys)
    .SH CONTROL BY OSC
    All that can be set, asked and told is in
    .BR tactus\\-osc (7).
    .SH EXIT STATUS
    .TP
    .B 0
    It ended as it was asked to, by a signal or a controller.
    .TP
    .B 1
    Something else went wrong; a line on standard error says what.
    .TP
    .B 2
    The command line or the configuration is wrong.
    .TP
    .B 69
    There is no JACK server, or for a command no running tactus.
    .SH SIGNALS
    .TP
    .B SIGINT\\fR, \\fBSIGTERM\\fR, \\fBSIGQUIT
    Leave the session and the server, and end with status 0. A second one, or ten seconds without an end, ends it at
    once with status 1, without waiting for a JACK server that does not answer.
    .TP
    .B SIGHUP
    In a terminal the same. A service, which has none, reads its configuration again: what that says otherwise than
    before holds at once, and if it is wrong everything stays as it was. Under
    .BR nohup (1)
    nothing happens.
    .TP
    .B SIGUSR1
    Write what was chosen now: the state file, and in a session manager's session that session.
    .TP
    .B SIGTSTP
    Leave the session and the server until it goes on.
    .SH ENVIRONMENT
    .TP
    .B JACK_DEFAULT_SERVER
    The JACK server to join.
    .TP
    .B JACK_NO_START_SERVER
    If it is set,
    .B \\-\\-start\\-server
    starts none.
    .TP
    .B XDG_CONFIG_HOME\\fR, \\fBXDG_CONFIG_DIRS\\fR, \\fBXDG_STATE_HOME\\fR, \\fBXDG_RUNTIME_DIR
    Where the files below are.
    .TP
    .B NSM_URL
    The session manager that started tactus.
    .TP
    .B NO_COLOR\\fR, \\fBTERM
    How the terminal view looks.
    .SH FILES
    .TP
    .I ~/.config/tactus/config.json5
    The configuration:
    .B tactus config \\-\\-print\\-default
    prints one with every key.
    .TP
    .I ~/.local/state/tactus/state.json5
    What was chosen while tactus played, kept by tactus itself.
    .TP
    .I $XDG_RUNTIME_DIR/tactus/
    Where each tactus that runs can be reached, for the commands.
    .TP
    .I ~/.jackdrc\\fR, \\fI/etc/jackdrc
    The line with which
    .B \\-\\-start\\-server
    starts a server. QjackCtl writes it.
    .SH EXAMPLES
    .TP
    .B tactus \\-b 96 \\-\\-click=rolling \\-P
    Begin at 96 BPM, with a click on the loudspeakers while the transport rolls.
    .TP
    .B tactus \\-\\-lead=auto \\-\\-start\\-stop\\-sync
    Let a DAW lead while it is timebase master, and start and stop with everyone.
    .TP
    .B tactus send start bar
    Start at the next bar.
    .SH BUGS
    Ableton Link has no authentication: whoever is in the network can change the tempo.
    .PP
    tactus is not affiliated with Ableton.
    .SH SEE ALSO
    .BR tactus\\-osc (7),
    .BR jackd (1),
    .BR jack_transport (1),
    .BR jack_connect (1),
    .BR klick (1)
    """
  }

  static func options(of program: CommandOutline) -> String {
    Section.allCases.compactMap { section in
      let options = program.options.filter { $0.section == section }
      guard !options.isEmpty else { return nil }
      return ".SS \(section.rawValue.roff)\n" + options.map(entry).joined(separator: "\n")
    }.joined(separator: "\n")
  }

  private static var keys: String {
    KeyMap.standard.map { row in
      ".TP\n.B \(row.keys(named: \.description).roff)\n\(row.meaning.roff)"
    }.joined(separator: "\n")
  }

  private static func command(_ command: CommandOutline) -> String {
    let name = "tactus \(command.name ?? "")"
    let operands = command.operands.isEmpty ? "" : " " + command.operands.roff
    return """
      .SS \(name)
      .B \(name)
      .RI [ OPTION ]...\(operands)
      .PP
      \(command.description.roff)
      \(command.options.map(entry).joined(separator: "\n"))
      """
  }

  private static func entry(_ option: any OptionOutline) -> String {
    let long = "\\fB\\-\\-\(option.long.roff)\\fR"
    let short = option.short.map { "\\fB\\-\($0)\\fR, " } ?? ""
    let value =
      option.takes.map { takes in
        let value = "=\\fI\(takes.placeholder.roff)\\fR"
        return takes.bare == nil ? value : "[\(value)]"
      } ?? ""
    return ".TP\n\(short)\(long)\(value)\n\(option.help.roff)"
  }
}
