// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

/// Limits how many errors each recent source gets, and how many bytes its host. Sources for which there is
/// no memory share one limit.
struct SourceRates {
  private struct Source {
    var errors: TokenBucket
    var bytes: TokenBucket
    var notes: TokenBucket
    var heard: Micros
    /// Whether the host's limit is in the memory that is reserved for subscribed hosts.
    var isReserved = false

    init(at now: Micros) {
      errors = TokenBucket(
        perSecond: SurfaceLimits.errorsPerSecond, capacity: SurfaceLimits.errorsPerSecond, at: now)
      bytes = TokenBucket(
        perSecond: SurfaceLimits.unprovenPerSecond, capacity: SurfaceLimits.unprovenBytes, at: now)
      notes = TokenBucket(perSecond: 1 / 60, capacity: 1, at: now)
      heard = now
    }
  }

  private var sources: [Endpoint: Source] = [:]
  private var crowd: Source?
  private var swept = Micros.zero

  var count: Int { sources.count }

  mutating func mayReplyWithError(_ source: Endpoint, at now: Micros) -> Bool {
    with(source, at: now) { $0.errors.trySpend(at: now) }
  }

  /// Limits the suggestions to each host, because they are costly to find.
  mutating func mayBeAdvised(_ host: Address, at now: Micros) -> Bool {
    mayReplyWithError(Endpoint(host, port: 0), at: now)
  }

  /// Allows a reminder once a minute.
  mutating func mayBeReminded(_ host: Address, at now: Micros) -> Bool {
    with(Endpoint(host, port: 0), at: now) { $0.notes.trySpend(at: now) }
  }

  /// - Parameter isReserved: whether the host is subscribed. It then has a limit of its own, however many
  /// other hosts there are. Otherwise a flood of forged sources could keep a new tablet from getting its
  /// `proof`.
  mutating func maySend(_ host: Address, bytes: Int, at now: Micros, isReserved: Bool = false) -> Bool {
    with(Endpoint(host, port: 0), at: now, isReserved) { $0.bytes.trySpend(Double(bytes), at: now) }
  }

  mutating func left(for host: Address, at now: Micros, isReserved: Bool = false) -> Double {
    with(Endpoint(host, port: 0), at: now, isReserved) { $0.bytes.left(at: now) }
  }

  mutating func receive(_ host: Address, bytes: Int, at now: Micros) {
    with(Endpoint(host, port: 0), at: now) {
      $0.bytes.gain(Double(bytes) * SurfaceLimits.unprovenFactor, at: now)
    }
  }

  private mutating func with<Result>(
    _ source: Endpoint, at now: Micros, _ isReserved: Bool = false, _ body: (inout Source) -> Result
  ) -> Result {
    guard remember(source, at: now, isReserved) else {
      var all = crowd ?? Source(at: now)
      defer { crowd = all }
      return body(&all)
    }
    return body(&sources[source, default: Source(at: now)])
  }

  /// Returns false if there is no room to remember the source, so that it uses the shared limit.
  private mutating func remember(_ source: Endpoint, at now: Micros, _ isReserved: Bool) -> Bool {
    if sources[source] != nil {
      sources[source]?.heard = now
      return true
    }
    let limit = SurfaceLimits.sources + (isReserved ? SurfaceLimits.reservedSources : 0)
    if sources.count >= limit {
      // Search only once in a while: a flood must not cause a search of all sources for each packet.
      guard now - swept >= SurfaceLimits.sourceMemory else { return false }
      swept = now
      sources = sources.filter {
        now - $0.value.heard
          < ($0.value.isReserved ? SurfaceLimits.reservedMemory : SurfaceLimits.sourceMemory)
      }
      guard sources.count < limit else { return false }
    }
    sources[source] = Source(at: now)
    sources[source]?.isReserved = isReserved
    return true
  }
}
