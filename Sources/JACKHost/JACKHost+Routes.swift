// SPDX-License-Identifier: GPL-2.0-or-later

// Where our ports and other clients' lead to.
extension JACKHost {
  /// Whether the click is connected. nil without a server.
  public var isClickConnected: Bool? { running.map { $0.isConnected(.click1) || $0.isConnected(.click2) } }

  public var latencies: PortLatencies { running?.latencies ?? .zero }

  /// Where other programs are heard, as far as that can be known.
  public var sinks: SinkChoice { running?.sinks ?? .none }
}
