// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import TactusChoices
import TactusClickSounds
import TactusSurface

/// All that a user can choose at the start, and the options that set it.
///
/// More than 20 properties: one for each option or group of options.
struct Configuration: Equatable, Sendable {
  var answer = Answer.run
  /// The configuration file's path; nil: the file in its usual place, if that file exists.
  var file: String?
  var name = "tactus"
  /// The JACK server's name; nil: JACK's default, which `JACK_DEFAULT_SERVER` can name.
  var server: String?
  var startsServer = false
  var wait = false
  var showsView = true
  var speaksJSON = false
  /// The connections to keep: each is a `StandingConnection` as text.
  var connections: [String] = []
  var autoconnects = false
  var probe = false
  var tempo = 120.0
  /// The network interfaces that Link uses; empty: all.
  var interfaces: [String] = []
  /// The settings that can change while tactus plays.
  var choices = Settings()
  var life = Presence.Life.always
  var soundFiles = SoundPaths()
  var far = FarChoice()
  var surface = SurfaceChoice()
  /// Bindings of the terminal view's keys: `KeyBinding` as text.
  var keys: [String] = []
  /// Bindings of knobs and pedals: `MIDIBinding` as text.
  var bindings: [String] = []
  var learned: [String] = []
  /// Channels of Link Audio to send and to receive: `SentText` and `ReceivedText` as text.
  var sends: [String] = []
  var receives: [String] = []
  /// The user's own outputs: `NamedOutput` as text.
  var outputs: [String] = []
  /// The set list: `SetSong` as text.
  var songs: [String] = []

  /// Whether to show the view if there is a terminal that can display it.
  var wantsView: Bool { showsView && !speaksJSON && !probe }

  enum Answer: Sendable {
    case run, help, oscHelp, version
  }

  /// The user's sound files, each of which replaces a part of the chosen click sound.
  struct SoundPaths: Equatable, Sendable {
    var accent: String?
    var beat: String?
    var subdivision: String?
  }

  static let options = options(of: .standard)

  static func options(of table: Table) -> [Option<Configuration>] {
    jackOptions + sessionOptions + setOptions + farOptions
      + table.choices.filter { !$0.isMomentary }.map { Option($0) }
      + audioOptions
      + outputOptions
      + soundFiles + midiOptions + surfaceOptions + outwardOptions + pageOptions + answers
  }

  private static let jackOptions: [Option<Configuration>] = [
    Option(
      "name", "n", in: .jack, .value("NAME", .text(63), \.name),
      reach: .start, help: "The name as a JACK client (default: tactus). JACK adds a number if it is taken."),
    Option(
      "server", "s", in: .jack, .value("NAME", .text(127), \.server),
      reach: .start, help: "The JACK server to join (default: $JACK_DEFAULT_SERVER, or \"default\")."),
    Option(
      "start-server", in: .jack, .flag(\.startsServer),
      reach: .start,
      help:
        "If that server does not run, start it once, with the line in ~/.jackdrc; it ends with its last client. Without "
        + "this option tactus never starts a server."),
    Option(
      "connect", "c", in: .jack, .value("PORT=PORT", .connection, \.connections),
      help:
        "Keep these two ports connected, whenever both exist. Write a port of tactus without a client's "
        + "name, and an output of your own as out/NAME; * stands for anything. Can be repeated."),
    Option(
      "autoconnect", "P", in: .jack, .flag(\.autoconnects),
      help: "Keep the click connected to the sound card's first two playback ports."),
    Option(
      "wait", in: .jack, .flag(\.wait),
      reach: .start, help: "If no server runs, wait for one instead of ending with status 69."),
    Option(
      "probe", in: .jack, .flag(\.probe), reach: .typed,
      help: "Only check whether the server runs: end with status 0 if it does, 69 if not, and print nothing."),
  ]

  private static let sessionOptions: [Option<Configuration>] = [
    Option(
      "tempo", "t", in: .session, .value("BPM", .number(20...999), \.tempo), reach: .start,
      isRemembered: true,
      help: "The tempo to begin with, 20 to 999 (default: 120). A session that you join keeps its own."),
    Option(
      "life", in: .session, .value("WHEN", .word(Presence.Life.allCases.map(\.rawValue)), \.life),
      help:
        "When Link, if enabled, is on the network: always (the default), or auto, which takes it off in the background, "
        + "unless the transport rolls, start/stop sync is on or a port is connected."),
    Option(
      "link-interface", in: .session, .value("NAME", .interface, \.interfaces), reach: .start,
      help:
        "Play with others on this network interface only, such as eth0 or wlan0, or lo for the programs of this machine (default: all). "
        + "Can be repeated."),
  ]

  /// The settings that Link starts with.
  var link: Link.Configuration {
    Link.Configuration(tempo: tempo, interfaces: interfaces.isEmpty ? nil : Set(interfaces))
  }

  private static let soundFiles: [Option<Configuration>] = [
    Option(
      "accent-file", in: .outputs, .value("FILE", .file, \.soundFiles.accent),
      help: "A WAV or FLAC file for the accented beats, up to 10 seconds."),
    Option(
      "beat-file", in: .outputs, .value("FILE", .file, \.soundFiles.beat),
      help: "A WAV or FLAC file for the other beats."),
    Option(
      "subdivision-file", in: .outputs, .value("FILE", .file, \.soundFiles.subdivision),
      help: "A WAV or FLAC file for the clicks between the beats."),
  ]

  private static let answers: [Option<Configuration>] = [
    Option(
      "config", in: .other, .value("FILE", .file, \.file), reach: .typed,
      help:
        "Read this configuration file instead of your usual one. Nearly every option is a key in it: tactus config "
        + "--print-default. Options on the command line win over it."),
    Option(
      "json", in: .other, .flag(\.speaksJSON),
      reach: .start,
      help: "Print what happens as lines of JSON instead of the view; tactus monitor prints more."),
    Option(
      "tui", in: .other, .flag(\.showsView),
      reach: .start,
      help:
        "Show the view, in a terminal (default). --no-tui prints what happens, line by line, instead."),
    Option(
      "key", in: .other, .value("KEY=COMMAND", .key, \.keys),
      reach: .start,
      help:
        "Give a key of the view another command: \"x = click/pattern Xx.\", \"pageup = tempo/double\", "
        + "\"1 = tempo 128 bar\". --help-osc lists the commands. Can be repeated."),
    Option(
      "help", "h", in: .other, .answer { $0.answer = .help },
      help: "Print a short help with the everyday options; --help all prints every option."),
    Option(
      "help-osc", in: .other, .answer { $0.answer = .oscHelp },
      help: "Print every OSC address and its arguments."),
    Option("version", "V", in: .other, .answer { $0.answer = .version }, help: "Print the version."),
  ]

  /// Reads a command line, without the program's own name.
  init(arguments: some Sequence<String>) throws(UserError) {
    try read(arguments)
  }

  init() {}

  /// Reads a command line into this configuration; options that it does not name keep their values.
  mutating func read(_ arguments: some Sequence<String>) throws(UserError) {
    let parser = OptionParser(options: Self.options, takesOperands: false)
    guard let stray = try parser.parse(arguments, into: &self).first, answer == .run else { return }
    throw Subcommands.objection(to: stray)
  }

  /// Typical first command lines; a test parses each of them.
  static let examples = """
    Examples:
      tactus --click --autoconnect         hear the session's beat
      tactus --click rolling --meter 7/8   only while the transport rolls, in 7/8
      tactus --startstop                   start and stop with the Link apps
      tactus --web                         a page for browsers; o opens it to phones
      tactus --osc-listen 0.0.0.0          let tablets on the network control it
      tactus view                          show the one that runs as a service

    """

  /// The options for everyday use with short descriptions; a test checks that each option exists.
  static let daily: [(name: String, words: String)] = [
    ("click", "play the click, or --click rolling"),
    ("autoconnect", "connect the click to the loudspeakers"),
    ("click-offset", "send the click this much earlier"),
    ("click-pattern", "X accent, x beat, . silence, as XxxXxxx"),
    ("count-in", "click this many bars before each start"),
    ("tempo", "the tempo to begin with"),
    ("meter", "the notes of a bar, such as 4/4 or 7/8"),
    ("startstop", "start and stop together with the Link apps"),
    ("lead", "where the tempo and the beat come from"),
    ("web", "the page for browsers on this machine"),
    ("osc-listen", "OSC from tablets; 0.0.0.0 is every network"),
    ("midi", "a pedal: --midi \"cc 64 = toggle\""),
    ("wait", "wait for a JACK server"),
    ("config", "use this configuration file"),
    ("version", "print the version"),
  ]

  /// The short help with everyday options, in at most two screens of 24 lines.
  static var briefHelp: String {
    let help = HelpText(options: options)
    let lines = daily.compactMap { name, words in
      options.first { $0.long == name }.map { "  \(help.spelling(of: $0))".padded(to: 34) + words }
    }
    return """
      Usage: tactus [OPTION]...
             tactus COMMAND [OPTION]...
      \(summary).

      \(examples)
      Options:
      \(lines.joined(separator: "\n"))

      \(Subcommands.helpText)
      tactus --help all lists every option, tactus COMMAND --help those of a command.
      """
  }

  static let summary = "Keeps a Linux studio in time with every Ableton Link app on the network"

  static var helpText: String {
    """
    Usage: tactus [OPTION]...
           tactus COMMAND [OPTION]...
    \(summary).

    \(examples)
    \(HelpText(options: options).text)
    \(Subcommands.helpText)
    Ends with status 0 after SIGINT, SIGTERM or SIGQUIT, 2 if the command line is
    wrong, 69 without a JACK server, 1 for anything else. SIGHUP ends it in a
    terminal; without one, as a service, it reads its configuration again. At
    SIGUSR1 it saves what it remembers.
    """
  }
}
