// SPDX-License-Identifier: GPL-2.0-or-later
import Choices
import ClickSounds
import ControlSurface

/// What the person who starts the program can choose, and the options that choose it.
struct Configuration: Equatable, Sendable {
  var answer = Answer.run
  /// nil: the one in its usual place, if it is there.
  var file: String?
  var name = "tactus"
  /// nil: JACK's default, which `JACK_DEFAULT_SERVER` can name.
  var server: String?
  var startsServer = false
  var wait = false
  var showsView = true
  var speaksJSON = false
  /// As `StandingConnection` reads them.
  var connections: [String] = []
  var autoconnects = false
  var probe = false
  var tempo = 120.0
  /// What can be chosen anew while it plays.
  var choices = Settings()
  var life = Presence.Life.always
  var sound = BuiltInSound.beep
  var soundFiles = SoundPaths()
  var offsets = Offsets()
  var surface = SurfaceChoice()
  /// What keys, knobs and pedals move: `MIDIBinding` as text.
  var bindings: [String] = []
  var learned: [String] = []

  enum Answer: Sendable {
    case run, help, oscHelp, version
  }

  /// Files that take the place of the chosen sound's parts.
  struct SoundPaths: Equatable, Sendable {
    var accent: String?
    var beat: String?
    var subdivision: String?
  }

  /// In milliseconds; positive means that it is heard later than JACK says.
  struct Offsets: Equatable, Sendable {
    var click = 0.0
    /// nil: as the first.
    var click2: Double?
    var clock = 0.0
    var pulse = 0.0
    /// nil: as the pulses.
    var run: Double?
    var transport = 0.0
  }

  static let options: [Option<Configuration>] =
    jackOptions + sessionOptions + outputOptions + midiOptions + surfaceOptions + answers

  private static let jackOptions: [Option<Configuration>] = [
    Option(
      "name", "n", in: .jack, .value(.text("NAME", upTo: 63, \.name)),
      help: "The JACK client's name (default: tactus). JACK adds a number if it is taken."),
    Option(
      "server", "s", in: .jack, .value(.text("NAME", upTo: 127, \.server)),
      help: "The JACK server to join (default: $JACK_DEFAULT_SERVER, or \"default\")."),
    Option(
      "start-server", in: .jack, .flag(\.startsServer),
      help:
        "If that server does not run, start it as ~/.jackdrc says, once; it ends with its last client. Without this "
        + "none is ever started."),
    Option(
      "connect", "c", in: .jack, .value(.list("PORT=PORT", .connection, \.connections)),
      help:
        "Keep these two connected: made whenever both are there. Ours need no client's name; * stands for anything. "
        + "Can be repeated."),
    Option(
      "autoconnect", "P", in: .jack, .flag(\.autoconnects),
      help: "Keep the click connected to the sound card's first two playback ports."),
    Option(
      "wait", in: .jack, .flag(\.wait),
      help: "Without a server, wait until there is one instead of ending with status 69."),
    Option(
      "probe", in: .jack, .flag(\.probe), isTypedOnly: true,
      help: "Only see whether the server is there: end with status 0 if it is, 69 if not, without a word."),
  ]

  private static let sessionOptions: [Option<Configuration>] = [
    Option(
      "bpm", "b", in: .session, .value(.number("BPM", 20...999, \.tempo)),
      help: "The tempo to begin with, 20 to 999 (default: 120). A session that is joined keeps its own."),
    Option(
      "quantum", "q", in: .session, .value(.number("BEATS", 0...64, \.choices.quantum)),
      help: "Beats after which the session's grid repeats: starts wait for it (default: 4; 0: none)."),
    Option(
      "meter", "m", in: .session,
      .value(
        Value(placeholder: "N/UNIT", allowed: .meter) {
          $0.choices.meter = Meter($1) ?? Meter()
        } read: {
          ["\($0.choices.meter.beatsPerBar)/\($0.choices.meter.beatType)"]
        }),
      help: "Beats in a bar and their unit, as JACK's clients are shown them (default: 4/4)."),
    Option(
      "link", in: .session, .flag(\.choices.isLinkEnabled),
      help: "Be in the Link session (default). --no-link stays alone."),
    Option(
      "life", in: .session, .value(.choice("WHEN", \.life)),
      help:
        "When Link, if enabled, is on the network: always (the default), or auto: in the background only while the "
        + "transport rolls, start/stop sync is on or a port is connected."),
    Option(
      "start-stop-sync", in: .session, .flag(\.choices.syncsStartStop),
      help: "Start and stop JACK's transport with the session's peers, and they with it."),
    Option(
      "lead", in: .session, .value(.choice("WHO", \.choices.lead)),
      help:
        "Who says what beat it is: the Link session (link, the default: we are timebase master), another JACK "
        + "client (host), that client while there is one (auto), or a sequencer's MIDI clock at control (midi)."
    ),
    Option(
      "host-is-clock", in: .session, .flag(\.choices.hostIsTheClock),
      help: "When a host leads, move the whole session's grid to its beat, not only its tempo."),
    Option(
      "launch", in: .session, .value(.choice("WHEN", \.choices.launch.moment)),
      help: "Where a start waits for: the quantum (bar, the default), the next beat, or nothing (now)."),
    Option(
      "align", in: .session, .value(.choice("HOW", \.choices.launch.alignment)),
      help:
        "How near to its beat a start is: in the nearest cycle (nearest, the default), or to the frame (exact), for "
        + "which the transport is sent back by less than a period first."),
    Option(
      "stop", in: .session, .value(.choice("WHEN", \.choices.stop)),
      help: "What a stop asked of tactus waits for: nothing (now, the default), the next beat, or the bar."),
    Option(
      "correct", in: .session, .value(.choice("HOW", \.choices.correction)),
      help:
        "What is done when a DAW has drifted from the session while it rolls: nothing (off, the default), or a "
        + "locate at the next bar, which is heard as a gap."),
    Option(
      "correct-above", in: .session, .value(.milliseconds("MS", 0.5...1000, \.choices.correctAbove)),
      help: "Drifts below this are not corrected (default: 3)."),
  ]

  private static let outputOptions: [Option<Configuration>] = [
    Option(
      "click", in: .outputs,
      .optionalValue(
        .switched("WHEN", ClickWhen.all.map(\.word)) {
          $0.choices.click.isOn = $1 != nil
          $0.choices.click.when = $1.flatMap { ClickWhen($0) } ?? ClickSettings().when
        } read: {
          $0.choices.click.isOn ? $0.choices.click.when.word : nil
        }, bare: "always"),
      help: "Play a click: always (also without WHEN), or only while the transport is rolling."),
    Option(
      "sound", in: .outputs, .value(.choice("NAME", \.sound)),
      help: "The click's sound: beep (the default), wood, tick or bell."),
    Option(
      "accent-file", in: .outputs, .value(.file("FILE", \.soundFiles.accent)),
      help: "A WAV or FLAC file for the accented beats, up to 10 seconds."),
    Option(
      "beat-file", in: .outputs, .value(.file("FILE", \.soundFiles.beat)),
      help: "The same for the other beats."),
    Option(
      "subdivision-file", in: .outputs, .value(.file("FILE", \.soundFiles.subdivision)),
      help: "The same for the clicks between the beats."),
    Option(
      "pattern", in: .outputs,
      .value(
        Value(placeholder: "LETTERS", allowed: .pattern, forget: { $0.choices.click.pattern = Pattern() }) {
          $0.choices.click.pattern = Pattern($1.utf8) ?? Pattern()
        } read: {
          $0.choices.click.pattern.count == 0 ? [] : [$0.choices.click.pattern.letters]
        }),
      help: "One letter a click from each bar line on: X accent, x beat, . silence."),
    Option(
      "subdivide", in: .outputs, .value(.integer("N", 1...8, \.choices.click.subdivision)),
      help: "Clicks a beat (default: 1)."),
    Option(
      "gain", in: .outputs, .value(.number("FACTOR", 0...8, \.choices.click.gain)),
      help: "The click's loudness (default: 0.5)."),
    Option(
      "count-in", in: .outputs, .flag(\.choices.click.countsIn),
      help: "Click while a start waits for its bar, too."),
    Option(
      "clock", in: .outputs,
      .optionalValue(
        .switched("WHEN", ClickWhen.all.map(\.word)) {
          $0.choices.clock.isOn = $1 != nil
          $0.choices.clock.runsWhileStopped = $1 == "always"
        } read: {
          $0.choices.clock.isOn ? $0.choices.clock.runsWhileStopped ? "always" : "rolling" : nil
        }, bare: "rolling"),
      help: "MIDI clock: only while rolling (default), always, or off."),
    Option(
      "pulse", in: .outputs,
      .value(
        .switched("RATE", PulseRate.all.map(\.word)) {
          $0.choices.pulse.isOn = $1 != nil
          $0.choices.pulse.rate = $1.flatMap { PulseRate($0) } ?? PulseSettings().rate
        } read: {
          $0.choices.pulse.isOn ? $0.choices.pulse.rate.word : nil
        }),
      help: "Pulses a beat: 1 (default), 2, 4, 24 or 48; bar for one a bar; off."),
    Option(
      "click-offset", in: .outputs, .value(.number("MS", -500...500, \.offsets.click)),
      help: "Send the click earlier by so much: it is heard later than JACK knows. Negative: later."),
    Option(
      "click-2-offset", in: .outputs, .value(.number("MS", -500...500, \.offsets.click2)),
      help: "The same for click_2 alone, if it is heard elsewhere (default: as --click-offset)."),
    Option(
      "clock-offset", in: .outputs, .value(.number("MS", -500...500, \.offsets.clock)),
      help: "The same for MIDI clock."),
    Option(
      "pulse-offset", in: .outputs, .value(.number("MS", -500...500, \.offsets.pulse)),
      help: "The same for the pulses and the run gate."),
    Option(
      "run-offset", in: .outputs, .value(.number("MS", -500...500, \.offsets.run)),
      help: "The same for the run gate alone (default: as --pulse-offset)."),
    Option(
      "jack-offset", in: .outputs, .value(.number("MS", -500...500, \.offsets.transport)),
      help: "The same for the bar and beat shown to other JACK clients, and for launches."),
  ]

  private static let answers: [Option<Configuration>] = [
    Option(
      "config", in: .other, .value(.file("FILE", \.file)), isTypedOnly: true,
      help:
        "Read this configuration instead of the user's. All options but a few are its keys: tactus config "
        + "--print-default. What is typed here comes first."),
    Option(
      "json", in: .other, .flag(\.speaksJSON),
      help: "Say what happens in lines of JSON, and show no view; tactus monitor tells more."),
    Option(
      "tui", in: .other, .flag(\.showsView),
      help:
        "In a terminal, show the view (default). --no-tui prints a line for each thing that happens instead."),
    Option("help", "h", in: .other, .answer { $0.answer = .help }, help: "Print this, and nothing else."),
    Option(
      "help-osc", in: .other, .answer { $0.answer = .oscHelp },
      help: "Print every OSC address and what it takes."),
    Option("version", "V", in: .other, .answer { $0.answer = .version }, help: "Print the version."),
  ]

  /// Reads a command line, without the program's own name.
  init(arguments: some Sequence<String>) throws(UsageError) {
    try read(arguments)
  }

  init() {}

  /// The same over what holds already.
  mutating func read(_ arguments: some Sequence<String>) throws(UsageError) {
    let parser = OptionParser(options: Self.options)
    guard let stray = try parser.parse(arguments, into: &self).first, answer == .run else { return }
    throw Subcommands.objection(to: stray, meant: parser.attaching(stray, in: Array(arguments)))
  }

  static let summary = "Puts a Linux studio in time with every Ableton Link app on the network"

  static var helpText: String {
    """
    Usage: tactus [OPTION]...
           tactus COMMAND [OPTION]...
    \(summary).

    \(HelpText(options: options).text)
    \(Subcommands.helpText)
    Ends with 0 after SIGINT, SIGTERM or SIGQUIT, 2 for a wrong command line, 69
    without a JACK server, 1 for anything else. SIGHUP ends it in a terminal, and
    makes a service read its configuration again; SIGUSR1 makes it write what it
    remembers.
    """
  }
}

extension Meter {
  /// 7/8
  init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let beats = Int32(parts[0]), let unit = Int32(parts[1]), (1...64).contains(beats),
      [1, 2, 4, 8, 16, 32].contains(unit)
    else { return nil }
    self.init(beatsPerBar: beats, beatType: unit)
  }
}
