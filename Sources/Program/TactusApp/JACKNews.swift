// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusJACK

extension JACKEvent {
  /// The line for the musician about this event; nil: the event needs no line.
  func line(serverWasStarted: Bool) -> String? {
    switch self {
    case .serverLost(let reason):
      "JACK server gone\(reason.isEmpty ? "" : " (\(reason))"); tactus "
        + (serverWasStarted
          ? "does not start it a second time; it reconnects when the server runs again"
          : "reconnects when the server runs again")
    case .serverNotStarted(let error): "\(error); tactus reconnects when the server runs"
    case .serverReturned(let server): "back on " + server.line
    case .serverSilent: "JACK does not answer"
    case .serverAnswers: "JACK answers again"
    case .stoodStill(let time):
      "tactus stood still for \(time.count / 1000) ms: it leaves JACK and reconnects"
    case .periodChanged(let frames): "JACK now has \(frames) frames a period"
    case .sampleRateChanged(let rate): "JACK now runs at \(rate) Hz"
    case .freewheel(let on):
      on ? "JACK is freewheeling: tactus leaves the Link session alone" : "JACK is in real time again"
    case .timebase(let standing):
      switch standing {
      case .uninvolved, .asked: nil
      case .master: "timebase master: JACK's transport shows the session's bars and beats"
      case .follower:
        "another client is timebase master: JACK's transport shows that client's bars and beats, not the session's"
      case .vacant: "JACK's transport has no timebase master any more"
      }
    }
  }
}

extension ServerDescription {
  /// The line about the server, such as: JACK server "default" (jack2 1.9.21): 48000 Hz, 256 frames a period
  /// (5.3 ms), real time, as "tactus"
  var line: String {
    let tenths = sampleRate > 0 ? (framesPerPeriod * 20_000 / sampleRate + 1) / 2 : 0
    return
      "JACK server \"\(server)\" (\(implementation)): \(sampleRate) Hz, \(framesPerPeriod) frames a period "
      + "(\(tenths / 10).\(tenths % 10) ms), \(isRealtime ? "real time" : "not real time"), as \"\(clientName)\""
  }
}

extension JACKError {
  /// Advice for the user, to append to an error's description that has none; empty: there is no
  /// advice.
  var advice: String {
    switch self {
    case .noServer where PipeWireLibrary.advice != nil: "; " + (PipeWireLibrary.advice ?? "")
    case .noServer: "; start it (or let --start-server do it), name another with --server, or --wait for it"
    case .notStarted(_, .notConfigured): "; write there what you would type, such as /usr/bin/jackd -d alsa"
    case .notStarted(_, .inVain): "; type that line yourself to see why"
    case .notStarted: ""
    case .unusableName, .versionMismatch, .sharedMemory, .refused, .portRefused, .activationRefused: ""
    }
  }

  var status: Tactus.Status {
    if case .unusableName = self { .usage } else { isForWantOfServer ? .unavailable : .failure }
  }
}

extension ClickCable {
  /// The line that tactus prints after the user has switched the click on; nil: no line.
  var line: String? {
    switch self {
    case .found: nil
    case .made(let ports): "the click plays on \(ports.joined(separator: " and "))"
    case .cut: "the click is connected to nothing: you have cut its cable; connect click_1 in a patchbay"
    case .refused(let ports):
      "JACK refuses to connect the click to \(ports.joined(separator: " and ")): connect click_1 in a patchbay"
    case .noSpeakers:
      "the click is connected to nothing: this JACK server has no sound card's outputs; connect click_1 in a patchbay"
    }
  }
}
