// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import TactusSurface

/// The program: reads the command line, then answers or plays, and returns its exit status. [control]
public enum Tactus {
  static let version = "0.2.0"
  static let released = "2026-11-21"

  /// The exit status.
  enum Status: Int32 {
    case success = 0
    case failure = 1
    case usage = 2
    /// EX_UNAVAILABLE: no JACK server.
    case unavailable = 69
  }

  public static func main() {
    Signals.hold()
    exit(main(CommandLine.arguments.dropFirst()).rawValue)
  }

  private static func main(_ words: some Collection<String>) -> Status {
    // Many programs have a command `help`, so accept `tactus help` and `tactus help send`, too.
    let arguments = words.first == "help" ? words.dropFirst() + ["--help"] : Array(words)
    if let status = Subcommands.run(arguments) { return status }
    let signals = Signals(reloads: !Signals.hasTerminal)
    let startup: Startup
    do {
      startup = try Startup(arguments)
    } catch {
      Console.complain(error.text)
      return .usage
    }
    switch startup.configuration.answer {
    case .help:
      let isWhole = [arguments.first, arguments.last].contains("all")
      return Console.answer(isWhole ? Configuration.helpText : Configuration.briefHelp)
    case .oscHelp: return Console.answer(Table.standard.helpText.withMicros())
    case .version: return Console.answer("tactus \(version)")
    case .run: return run(startup, arguments, until: signals)
    }
  }

  /// Plays at once; under a session manager, plays when the manager opens a project.
  private static func run(_ startup: Startup, _ arguments: [String], until signals: Signals) -> Status {
    let url = startup.configuration.probe ? nil : Environment.text("NSM_URL")
    switch ManagedProject.arrive(arguments, url: url, until: signals) {
    case .alone: return play(startup, in: nil, until: signals)
    case .open(let project): return play(project.startup, in: project, until: signals)
    case .ended(let status): return status
    }
  }

  private static func play(_ startup: Startup, in project: ManagedProject?, until signals: Signals)
    -> Status
  {
    if startup.configuration.speaksJSON { Console.speakJSON() }
    for notice in startup.notices { Console.complain(notice) }
    let rooms: FarSettings?
    do throws(UserError) {
      rooms = try startup.configuration.probe ? nil : startup.configuration.farSettings()
    } catch {
      Console.complain(error.text)
      project?.failed(error.text)
      return .failure
    }
    do {
      return try App(startup, to: rooms, in: project).play(until: signals)
    } catch {
      Console.complain(error.description)
      project?.failed(error.description)
      return .usage
    }
  }
}
