// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import JACKHost

/// The program: reads the command line, brings the parts together, waits for the signal to end. [control]
///
/// It decides nothing about time or music; that is in the modules below.
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
    let settings: Settings
    do {
      settings = try Settings(arguments: arguments)
    } catch {
      Console.complain("\(error.message)\nTry 'tactus --help'.")
      return .usage
    }
    switch settings.answer {
    case .help: return Console.say(Settings.helpText) ? .success : .failure
    case .version: return Console.say("tactus \(version)") ? .success : .failure
    case .run: return run(settings, until: signals)
    }
  }

  private static func run(_ settings: Settings, until signals: EndSignals) -> Status {
    let host: JACKHost?
    do {
      host = try join(settings, until: signals)
    } catch {
      if settings.probe, case .noServer = error { return .unavailable }
      Console.complain(error.description + error.advice)
      return error.status
    }
    guard let host, !settings.probe else { return .success }
    Console.say(host.server.line)
    withExtendedLifetime(host) { signals.wait() }
    return .success
  }

  /// Opens the client; with `--wait`, as soon as there is a server. nil: asked to end before.
  private static func join(_ settings: Settings, until signals: EndSignals) throws(JACKError) -> JACKHost? {
    var announced = false
    while true {
      do {
        return try JACKHost(name: settings.name, server: settings.server)
      } catch {
        guard settings.wait, case .noServer = error else { throw error }
        if !announced { Console.complain("\(error.description); waiting for it") }
        announced = true
        if signals.came(withinMilliseconds: 500) { return nil }
      }
    }
  }
}

extension ServerDescription {
  /// "JACK server "default" (jack2 1.9.21): 48000 Hz, 256 frames a period (5.3 ms), real time, as "tactus""
  var line: String {
    let tenths = sampleRate > 0 ? (framesPerPeriod * 20_000 / sampleRate + 1) / 2 : 0
    return
      "JACK server \"\(server)\" (\(implementation)): \(sampleRate) Hz, \(framesPerPeriod) frames a period "
      + "(\(tenths / 10).\(tenths % 10) ms), \(isRealtime ? "real time" : "not real time"), as \"\(clientName)\""
  }
}

extension JACKError {
  /// What the user can do, where the description alone does not say it.
  fileprivate var advice: String {
    switch self {
    case .noServer: "; start it, name another with --server, or --wait for it"
    case .unusableName, .versionMismatch, .sharedMemory, .refused, .portRefused, .activationRefused: ""
    }
  }

  fileprivate var status: Tactus.Status {
    switch self {
    case .noServer: .unavailable
    case .unusableName: .usage
    case .versionMismatch, .sharedMemory, .refused, .portRefused, .activationRefused: .failure
    }
  }
}
