// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc
import HostSync
import JACKHost

/// Where the parts meet: brings them together, looks after them, tells what happens. [control]
///
/// It decides nothing about time or music; that is in the modules below.
enum Studio {
  private static let step = 20
  private static let retry = 500

  static func play(_ configuration: Configuration, until signals: EndSignals) -> Tactus.Status {
    do {
      guard let host = try join(configuration, until: signals), !configuration.probe else { return .success }
      try host.start(at: linkTime())
      Console.say(host.server.line)
      while !signals.came(withinMilliseconds: step) {
        for event in host.step(at: linkTime()) {
          if let line = event.line { Console.say(line) }
        }
      }
      host.close()
      return .success
    } catch {
      if configuration.probe, case .noServer = error { return .unavailable }
      Console.complain(error.description + error.advice)
      return error.status
    }
  }

  /// Opens the client; with `--wait`, as soon as there is a server. nil: asked to end before.
  private static func join(
    _ configuration: Configuration, until signals: EndSignals
  ) throws(JACKError) -> JACKHost? {
    let session = SessionState(
      timeline: Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: linkTime()),
      startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero), isConnected: false)
    let exchange = AudioExchange(session: session, settings: Settings())
    var announced = false
    while true {
      do throws(JACKError) {
        return try JACKHost(name: configuration.name, server: configuration.server, exchange: exchange)
      } catch {
        guard configuration.wait, case .noServer = error else { throw error }
        if !announced { Console.complain("\(error.description); waiting for it") }
        announced = true
        if signals.came(withinMilliseconds: retry) { return nil }
      }
    }
  }

  /// Link's host clock.
  private static func linkTime() -> Micros {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_RAW, &time)
    return Micros(Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
  }
}

extension JACKEvent {
  /// What a musician should know of it; nil if nothing.
  fileprivate var line: String? {
    switch self {
    case .serverLost(let reason): "JACK server gone (\(reason)); coming back with it"
    case .serverReturned(let server): "back on " + server.line
    case .periodChanged(let frames): "JACK now has \(frames) frames a period"
    case .sampleRateChanged(let rate): "JACK now runs at \(rate) Hz"
    case .freewheel(let on):
      on ? "JACK is freewheeling: the session is left alone" : "JACK is in real time again"
    case .latenciesChanged: nil
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
