// SPDX-License-Identifier: GPL-2.0-or-later

// The routes from our ports, and from other clients', to the sinks.
extension JACKHost {
  /// Whether the click is connected. nil without a server.
  public var isClickConnected: Bool? { running.map { $0.isConnected(.click1) || $0.isConnected(.click2) } }

  public var latencies: PortLatencies { running?.latencies ?? .zero }

  /// The sinks at which other programs are heard, as far as JACK shows it.
  public var sinks: SinkChoice { running?.sinks ?? .none }
}
