// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

/// How much one source may still send.
package struct TokenBucket {
  package let perSecond: Double
  package let capacity: Double
  private var tokens: Double
  private var last: Micros

  package init(perSecond: Double, capacity: Double, at now: Micros) {
    self.perSecond = perSecond
    self.capacity = capacity
    tokens = capacity
    last = now
  }

  package mutating func take(_ amount: Double = 1, at now: Micros) -> Bool {
    guard has(amount, at: now) else { return false }
    tokens -= amount
    return true
  }

  package mutating func has(_ amount: Double, at now: Micros) -> Bool { left(at: now) >= amount }

  package mutating func left(at now: Micros) -> Double {
    tokens = min(capacity, tokens + max(0, Double((now - last).count)) / 1e6 * perSecond)
    last = now
    return tokens
  }

  mutating func gain(_ amount: Double, at now: Micros) {
    tokens = min(capacity, left(at: now) + amount)
  }

  /// Whether it is there or not.
  package mutating func spend(_ amount: Double, at now: Micros) {
    tokens = left(at: now) - amount
  }

  /// When so much will be there.
  package func time(of amount: Double) -> Micros {
    last + Micros(rounding: (max(0, amount - tokens) / perSecond * 1e6).rounded(.up))
  }
}

/// How often the sources heard last may still be told of their errors, and how much their hosts may be told. Beyond as many as
/// can be remembered there is a crowd, which is limited together.
struct SourceRates {
  private struct Source {
    var errors: TokenBucket
    var bytes: TokenBucket
    var notes: TokenBucket
    var heard: Micros
    /// It is in a place beside the crowd.
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

  mutating func mayBeToldOff(_ source: Endpoint, at now: Micros) -> Bool {
    with(source, at: now) { $0.errors.take(at: now) }
  }

  /// What it may have meant takes long to find.
  mutating func mayBeAdvised(_ host: Address, at now: Micros) -> Bool {
    mayBeToldOff(Endpoint(host, port: 0), at: now)
  }

  /// Once a minute.
  mutating func mayBeReminded(_ host: Address, at now: Micros) -> Bool {
    with(Endpoint(host, port: 0), at: now) { $0.notes.take(at: now) }
  }

  /// - Parameter isReserved: the host is subscribed, so that it has a purse of its own, however many others there are: else a flood
  ///   of forged sources could keep a new tablet's `proof` from it.
  mutating func mayBeTold(_ host: Address, bytes: Int, at now: Micros, isReserved: Bool = false) -> Bool {
    with(Endpoint(host, port: 0), at: now, isReserved) { $0.bytes.take(Double(bytes), at: now) }
  }

  mutating func left(for host: Address, at now: Micros, isReserved: Bool = false) -> Double {
    with(Endpoint(host, port: 0), at: now, isReserved) { $0.bytes.left(at: now) }
  }

  mutating func hear(_ host: Address, bytes: Int, at now: Micros) {
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

  /// false: it is one of the crowd.
  private mutating func remember(_ source: Endpoint, at now: Micros, _ isReserved: Bool) -> Bool {
    if sources[source] != nil {
      sources[source]?.heard = now
      return true
    }
    let limit = SurfaceLimits.sources + (isReserved ? SurfaceLimits.reservedSources : 0)
    if sources.count >= limit {
      // Once in a while: a flood must not make us look through all of them for each of its packets.
      guard now - swept >= SurfaceLimits.sourceMemory else { return false }
      swept = now
      sources = sources.filter {
        now - $0.value.heard
          < ($0.value.isReserved ? SurfaceLimits.regularMemory : SurfaceLimits.sourceMemory)
      }
      guard sources.count < limit else { return false }
    }
    sources[source] = Source(at: now)
    sources[source]?.isReserved = isReserved
    return true
  }
}
