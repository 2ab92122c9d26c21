// SPDX-License-Identifier: GPL-2.0-or-later

// The connections and latencies of our ports, and the sinks at which other clients are heard.
extension JACKHost {
  /// Whether the server freewheels.
  public var isFreewheeling: Bool { exchange.isFreewheeling }

  /// Whether the click is connected. nil without a server.
  public var isClickConnected: Bool? { running.map { $0.isConnected(.click1) || $0.isConnected(.click2) } }

  /// Connects the click to the sound card's first two playback ports, if the click has no connection. A cable
  /// that the user has cut since the program's start stays cut. nil: no server answers.
  public func connectClick() -> ClickCable? {
    guard let running, running.watchdog.isPrompt else { return nil }
    return Question.ask { patchbay.connectClick(on: running) }
  }

  public var latencies: PortLatencies { running?.latencies ?? .zero }

  /// The sinks at which other programs are heard, as far as JACK's connections show them.
  public var sinks: SinkChoice { running?.sinks ?? .none }
}

/// The result of `connectClick`.
public enum ClickCable: Hashable, Sendable {
  /// The click is connected already.
  case found
  /// The click is connected to these ports now.
  case made([String])
  /// The user has cut the cable that tactus made.
  case cut
  /// JACK has refused to connect these ports.
  case refused([String])
  /// The server has no playback ports of a sound card.
  case noSpeakers
}
