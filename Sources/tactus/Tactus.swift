// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface

/// The program: reads the command line, answers or plays, and says how it ended. [control]
enum Tactus {
  static let version = "0.1.0"

  /// How the program ends, as the shell sees it.
  enum Status: Int32 {
    case success = 0
    case failure = 1
    case usage = 2
    /// EX_UNAVAILABLE: no JACK server.
    case unavailable = 69
  }

  static func main(_ arguments: some Sequence<String>) -> Status {
    let signals = EndSignals()
    let configuration: Configuration
    do {
      configuration = try Configuration(arguments: arguments)
    } catch {
      Console.complain("\(error.message)\nTry 'tactus --help'.")
      return .usage
    }
    switch configuration.answer {
    case .help: return Console.say(Configuration.helpText) ? .success : .failure
    case .oscHelp: return Console.say(Table.helpText) ? .success : .failure
    case .version: return Console.say("tactus \(version)") ? .success : .failure
    case .run:
      do {
        return try Studio(configuration).play(until: signals)
      } catch {
        Console.complain(error.description)
        return .usage
      }
    }
  }
}
