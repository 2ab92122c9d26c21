// SPDX-License-Identifier: GPL-2.0-or-later

// The callbacks' values as streams for tasks. A stream has the changes after the call; of unread ones it
// keeps only the newest. Each call returns a new stream, which does not keep the `Link` alive and ends with
// it.
extension Link {
  /// Tempos as ``onTempo(_:)`` tells them.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func tempoChanges() -> AsyncStream<Double> { network.audience.stream(\.tempo) }

  /// Starts and stops as ``onStartStop(_:)`` tells them.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func startStopChanges() -> AsyncStream<Bool> { network.audience.stream(\.startStop) }

  /// Numbers of peers as ``onPeers(_:)`` tells them.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func peerChanges() -> AsyncStream<Int> { network.audience.stream(\.peers) }

  /// First peers that come and last ones that go, as ``onConnection(_:)`` tells them.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func connectionChanges() -> AsyncStream<Bool> { network.audience.stream(\.connection) }
}

/// Runs `body` with a peer that is on the network from the start, and leaves with a goodbye when `body`
/// returns or throws.
///
/// Thread-safe: yes. Real-time-safe: no.
public func withLink<Result>(
  _ configuration: Link.Configuration = Link.Configuration(), isolation: isolated (any Actor)? = #isolation,
  _ body: (Link) async throws -> Result
) async throws -> Result {
  let link = try Link(configuration: configuration)
  link.isEnabled = true
  defer { link.isEnabled = false }
  return try await body(link)
}
