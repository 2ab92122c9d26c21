// SPDX-License-Identifier: GPL-2.0-or-later
import TactusSurface
import TactusTerminal

/// `tactus man`: prints the pages of the manual, made from the tables that the program itself uses.
struct ManCommand: Subcommand {
  static let name = "man"
  static let summary = "Print a page of the manual for man -l"
  static let operands = "[PAGE]"
  static let operandWords = Page.allCases.map(\.rawValue)
  static let description = """
    Prints tactus(1), or tactus-osc(7) if PAGE is osc. To read it: tactus man | man -l -
    """

  enum Page: String, CaseIterable {
    case tactus, osc
  }

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    guard operands.count < 2, let page = Page(rawValue: operands.first ?? "tactus") else {
      throw Self.objection(to: operands)
    }
    switch page {
    case .tactus: return Console.answer(ManualPage.text)
    case .osc:
      let page = Table.standard.manPage(version: Tactus.version, date: Tactus.released)
      return Console.answer(ManualPage.filled(page))
    }
  }
}

/// tactus(1), in the man macros that every reader of man pages knows. Options and commands come from the
/// program's tables.
enum ManualPage {
  static var text: String { filled(source) }

  /// Wraps long lines for editors and reviewers; man shows the same text either way.
  static func filled(_ page: String) -> String {
    page.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line -> [String] in
      guard line.utf8.count > 80, !line.hasPrefix("."), !line.hasPrefix("'") else { return [String(line)] }
      return String(line).wrapped(to: 78).map { $0.hasPrefix(".") || $0.hasPrefix("'") ? "\\&" + $0 : $0 }
    }.joined(separator: "\n")
  }

  private static var source: String {
    [opening, control, ending, files].joined(separator: "\n")
  }

  private static var opening: String {
    """
    .TH TACTUS 1 \(Tactus.released) "tactus \(Tactus.version)" "User Commands"
    .SH NAME
    tactus \\- keep a Linux studio in time with Ableton Link
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
    It shows the session's bars and beats on JACK's transport, starts programs on the bar, plays a click, sends
    MIDI clock and pulses, and follows or leads other programs. You control it in its terminal, on its page in a browser (tactus web), by MIDI or over OSC.
    It takes latencies into account, so that you hear everything together.
    .PP
    Without a command it plays until you end it.
    .SH OPTIONS
    .BI \\-\\-no\\- NAME
    switches a flag off.
    Options on the command line win over the choices that tactus remembers, and those over the configuration.
    \(options(of: .program))
    .SH COMMANDS
    \(CommandOutline.commands.map(command).joined(separator: "\n"))
    """
  }

  private static var control: String {
    """
    .SH KEYS
    In a terminal, tactus shows its view and takes these keys.
    .B \\-\\-key
    gives a key another command: any address of
    .BR tactus\\-osc (7)
    with its arguments.
    \(keys)
    .SH THE PAGE
    The page is for every browser in the room: tempo, transport, the beat, and all settings.
    .B o
    in the view, or
    .BR "tactus send web/open 1" ,
    opens it to the networks of this machine;
    .B w
    in the view, or
    .BR "tactus web" ,
    shows its address, and a QR code that pairs a phone. With
    .B \\-\\-web
    it is there from the start, for this machine alone. Everybody who reaches it may watch; only paired browsers may
    change something, until
    .B tactus web \\-\\-forget
    unpairs them all. It is plain HTTP: who can listen to an open Wi\\-Fi can read what a paired browser shows.
    .SH CONTROL BY OSC
    .BR tactus\\-osc (7)
    lists every address.
    """
  }

  private static var ending: String {
    """
    .SH EXIT STATUS
    .TP
    .B 0
    You ended it, by a key, a signal or a controller.
    .TP
    .B 1
    Something else is wrong; a line on standard error says what.
    .TP
    .B 2
    The command line or the configuration is wrong.
    .TP
    .B 69
    No JACK server runs, or for a command no tactus.
    .SH SIGNALS
    .TP
    .B SIGINT\\fR, \\fBSIGTERM\\fR, \\fBSIGQUIT
    Leave the session and the server, and end with status 0. A second signal ends it at once with status 1, without
    waiting for a JACK server that does not answer; so do ten seconds in which it could not end.
    .TP
    .B SIGHUP
    In a terminal the same. Without a terminal, as a service, read the configuration again and apply at once what has
    changed in it; if it is wrong, everything stays as it was. Under
    .BR nohup (1)
    nothing happens.
    .TP
    .B SIGUSR1
    Save the remembered choices now, and under a session manager the session.
    .TP
    .B SIGTSTP
    Leave the session and the server until SIGCONT
    .RB ( fg
    in a shell).
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
    """
  }

  private static var files: String {
    """
    .SH FILES
    .TP
    .I ~/.config/tactus/config.json5
    The configuration:
    .B tactus config \\-\\-print\\-default
    prints one with every key.
    .TP
    .I ~/.local/state/tactus/state.json5
    The choices that tactus remembers. It writes this file itself.
    .TP
    .I ~/.local/state/tactus/pairing.json5
    The secret that pairs browsers with the page.
    .TP
    .I $XDG_RUNTIME_DIR/tactus/
    Here the commands find each running tactus.
    .TP
    .I ~/.jackdrc\\fR, \\fI/etc/jackdrc
    The line with which
    .B \\-\\-start\\-server
    starts a server. QjackCtl writes it.
    .SH EXAMPLES
    .TP
    .B tactus \\-t 96 \\-\\-click \\-\\-click\\-when=rolling \\-P
    Begin at 96 BPM, with a click on the loudspeakers while the transport rolls.
    .TP
    .B tactus \\-\\-lead=auto \\-\\-startstop
    Let a DAW lead while it is timebase master, and start and stop with everyone.
    .TP
    .B tactus \\-\\-web\\-open \\-\\-click
    With the page for every phone in the room.
    .TP
    .B tactus send start bar
    Start at the next bar.
    .SH BUGS
    Ableton Link has no passwords: everybody on the network can change the tempo.
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
    Section.groups(program.options, by: \.section).map { section, options in
      ".SS \(section.rawValue.roff)\n" + entries(options, of: program)
    }.joined(separator: "\n")
  }

  private static var keys: String {
    KeyMap.standard.map { row in
      ".TP\n.B \(row.keys(named: \.description).roff)\n\(row.meaning.roff)"
    }.joined(separator: "\n")
  }

  private static func command(_ command: CommandOutline) -> String {
    let name = "tactus \(command.name ?? "")"
    // The operands stand on a line of their own, because .RI joins its arguments. \& after the points says
    // that no sentence ends there.
    let operands = command.operands.isEmpty ? "" : command.operands.roff + "\n"
    return """
      .SS \(name)
      .B \(name)
      .RI [ OPTION ]...\\&
      \(operands).PP
      \(command.description.roff)
      \(entries(command.options, of: command))
      """
  }

  private static func entries(_ options: [any OptionOutline], of command: CommandOutline) -> String {
    let text = HelpText(options: command.options)
    return options.map { entry($0, text.help(of: $0)) }.joined(separator: "\n")
  }

  private static func entry(_ option: any OptionOutline, _ help: String) -> String {
    let long = "\\fB\\-\\-\(option.long.roff)\\fR"
    let short = option.short.map { "\\fB\\-\($0)\\fR, " } ?? ""
    let value =
      option.takes.map { takes in
        let value = "=\\fI\(takes.placeholder.roff)\\fR"
        return takes.bare == nil ? value : "[\(value)]"
      } ?? ""
    return ".TP\n\(short)\(long)\(value)\n\(help.roff)"
  }
}
