// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// `tactus config`: shows which files are read, checks them, and explains their keys.
struct ConfigCommand: Subcommand {
  static let name = "config"
  static let summary = "Show, check or explain the configuration"
  static let description = """
    Shows which configuration file tactus reads, what is wrong with it, and which choices
    tactus remembers from earlier runs.
    """
  static let options: [Option<ConfigCommand>] = [
    Option(
      "config", in: .other, .value("FILE", .file, \.file),
      help: "Look at this configuration instead of the user's."),
    Option(
      "print-default", in: .other, .flag(\.printsDefault),
      help: "Print a configuration with every key, its meaning and its default."),
    Option(
      "print", in: .other, .flag(\.prints),
      help: "Print what tactus would start with, remembered choices included, as a configuration."),
    Option(
      "forget", in: .other, .flag(\.forgets), help: "Forget the remembered choices."),
  ]

  var file: String?
  var printsDefault = false
  var prints = false
  var forgets = false

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    if printsDefault {
      return Console.answer(
        ConfigurationFile.text(of: Configuration(), heading: Self.heading("Every key with its default.")))
    }
    do {
      let startup = try Startup(file.map { ["--config", $0] } ?? [])
      for notice in startup.notices { Console.complain(notice) }
      if forgets { return forget(startup) }
      return Console.answer(
        prints
          ? ConfigurationFile.text(
            of: startup.configuration, heading: Self.heading("The settings when this was written."))
          : overview(startup))
    } catch {
      Console.complain(error.text)
      return .usage
    }
  }

  private static func heading(_ words: String) -> String {
    "A configuration of tactus \(Tactus.version), in JSON5, for ~/.config/tactus/config.json5. \(words) "
      + "null means: as if the key were not here. Options on the command line win over this file; so does a choice that "
      + "tactus remembers, until you edit its key here."
  }

  private func overview(_ startup: Startup) -> String {
    var lines: [String] = []
    let shown = file ?? Places.ofThisUser.presentConfiguration
    switch (shown, startup.places.configuration) {
    case (let path?, _): lines.append("configuration: \(path), nothing wrong with it")
    case (nil, let path?): lines.append("configuration: none; it would be \(path)")
    case (nil, nil): lines.append("configuration: none, and no place for one: HOME is not set")
    }
    let state = startup.places.state.map { access($0, F_OK) == 0 ? $0 : $0 + " (none yet)" }
    lines.append("remembered: " + (state ?? "nothing, there is no place for it: HOME is not set"))
    for (key, value) in startup.remembered { lines.append("  \(key) \(value.text)") }
    return lines.joined(separator: "\n")
  }

  private func forget(_ startup: Startup) -> Tactus.Status {
    if !RunningNote.all().isEmpty {
      Console.complain("forgotten for the next start; the running tactus keeps its values until it ends")
    }
    guard let path = startup.places.state, unlink(path) != 0, errno != ENOENT else { return .success }
    Console.complain(UserError(path, code: errno).text)
    return .failure
  }
}
