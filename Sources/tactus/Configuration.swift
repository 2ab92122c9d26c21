// SPDX-License-Identifier: GPL-2.0-or-later

/// What the person who starts the program can choose, and the options that choose it.
struct Configuration: Equatable, Sendable {
  var answer = Answer.run
  var name = "tactus"
  /// nil: JACK's default, which `JACK_DEFAULT_SERVER` can name.
  var server: String?
  var wait = false
  var probe = false

  enum Answer: Sendable {
    case run, help, version
  }

  static let options: [Option<Configuration>] = [
    Option(
      "name", "n", in: .jack, .value(.text("NAME", upTo: 63, \.name)),
      help: "The JACK client's name (default: tactus). JACK adds a number if it is taken."),
    Option(
      "server", "s", in: .jack, .value(.text("NAME", upTo: 127, \.server)),
      help: "The JACK server to join (default: $JACK_DEFAULT_SERVER, or \"default\"). None is ever started."),
    Option(
      "wait", in: .jack, .flag(\.wait),
      help: "Without a server, wait until there is one instead of ending with status 69."),
    Option(
      "probe", in: .jack, .flag(\.probe),
      help: "Only see whether the server is there: end with status 0 if it is, 69 if not, without a word."),
    Option("help", "h", in: .other, .answer { $0.answer = .help }, help: "Print this, and nothing else."),
    Option("version", "V", in: .other, .answer { $0.answer = .version }, help: "Print the version."),
  ]

  /// Reads a command line, without the program's own name.
  init(arguments: some Sequence<String>) throws(UsageError) {
    let operands = try OptionParser(options: Self.options).parse(arguments, into: &self)
    if answer == .run, let stray = operands.first {
      throw UsageError(message: "don't know what to do with \"\(stray)\"")
    }
  }

  static var helpText: String {
    """
    Usage: tactus [OPTION]...
    Puts a Linux studio in time with every Ableton Link app on the network.

    \(HelpText(options: options).text)
    Ends with 0 after SIGINT or SIGTERM, 2 for a wrong command line, 69 without a
    JACK server, 1 for anything else.
    """
  }
}
