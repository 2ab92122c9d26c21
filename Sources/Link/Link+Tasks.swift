// SPDX-License-Identifier: GPL-2.0-or-later

// What the callbacks tell, as streams for tasks: what changes from the call on, and of what is not read in time, the newest. Each call
// makes one of its own. It keeps nothing alive: it ends when the `Link` does.
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

/// A peer for as long as `body` runs: on the network when it begins, and gone, with a goodbye, when it returns or throws.
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
