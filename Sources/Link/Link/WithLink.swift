// SPDX-License-Identifier: GPL-2.0-or-later

/// Runs `body` with a peer that is on the network from the start, and leaves with a goodbye when `body`
/// returns or throws.
///
/// - Parameters:
///   - tempo: The tempo until a peer is found, clamped to 20...999 BPM.
///   - isolation: The actor on which `body` runs: the caller's.
///   - body: Uses the peer.
/// - Returns: The result of `body`.
///
/// Thread-safe: yes. Real-time-safe: no.
public func withLink<Result, Failure: Error>(
  tempo: Double = 120, isolation: isolated (any Actor)? = #isolation,
  _ body: (Link) async throws(Failure) -> Result
) async throws(Failure) -> Result {
  let link = Link(tempo: tempo)
  link.isEnabled = true
  defer { link.isEnabled = false }
  return try await body(link)
}

/// Runs `body` with a peer of this configuration, like `withLink(tempo:)`. Throws if the configuration is
/// invalid.
///
/// - Parameters:
///   - configuration: How the peer starts.
///   - isolation: The actor on which `body` runs: the caller's.
///   - body: Uses the peer.
/// - Returns: The result of `body`.
/// - Throws: `Link.ConfigurationError`, or the error of `body`.
///
/// Thread-safe: yes. Real-time-safe: no.
public func withLink<Result>(
  _ configuration: Link.Configuration, isolation: isolated (any Actor)? = #isolation,
  _ body: (Link) async throws -> Result
) async throws -> Result {
  let link = try Link(configuration: configuration)
  link.isEnabled = true
  defer { link.isEnabled = false }
  return try await body(link)
}
