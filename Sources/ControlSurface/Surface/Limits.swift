// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Every bound of the surface, in one place.
enum Limits {
  static let subscribers = 16
  /// Messages that wait for their time.
  static let agenda = 256
  static let horizonSeconds = 60.0
  /// A subscription without a lease still ends after this long without a word from its host.
  static let silence = Micros(3_600_000_000)
  /// Changes go to a subscriber at most 50 times a second.
  static let flushInterval = Micros(20_000)
  static let phaseInterval = Micros(33_400)
  static let positionInterval = Micros(100_000)
  static let heartbeatInterval = Micros(1_000_000)
  /// While a controller moves a fader, that fader is not moved back under the finger.
  static let holdOff = Micros(250_000)
  /// A renewed subscription is told everything again, which heals what Wi-Fi lost, but not more often than this.
  static let dumpInterval = Micros(2_000_000)
  /// A tempo asked for is the ground for the next nudge until the session shows it, or so long.
  static let expectation = Micros(500_000)
  /// Sources whose rates are remembered.
  static let sources = 64
  static let errorsPerSecond = 5.0
  /// "Nobody listens there", this often in a row, ends a subscription.
  static let unreachable = 3
}

/// How much one source may still send.
struct TokenBucket {
  let perSecond: Double
  let capacity: Double
  private var tokens: Double
  private var last: Micros

  init(perSecond: Double, capacity: Double, at now: Micros) {
    self.perSecond = perSecond
    self.capacity = capacity
    tokens = capacity
    last = now
  }

  mutating func take(at now: Micros) -> Bool {
    tokens = min(capacity, tokens + max(0, Double((now - last).count)) / 1e6 * perSecond)
    last = now
    guard tokens >= 1 else { return false }
    tokens -= 1
    return true
  }
}

/// Rates of the sources heard last; of too many, the one silent for longest is forgotten.
struct SourceRates {
  private struct Source {
    var messages: TokenBucket
    var errors: TokenBucket
    var heard: Micros
  }

  let messagesPerSecond: Double
  private var sources: [Endpoint: Source] = [:]

  init(messagesPerSecond: Double) {
    self.messagesPerSecond = messagesPerSecond
  }

  mutating func mayAsk(_ source: Endpoint, at now: Micros) -> Bool {
    remember(source, at: now)
    return sources[source]?.messages.take(at: now) ?? false
  }

  mutating func mayBeToldOff(_ source: Endpoint, at now: Micros) -> Bool {
    remember(source, at: now)
    return sources[source]?.errors.take(at: now) ?? false
  }

  private mutating func remember(_ source: Endpoint, at now: Micros) {
    if sources[source] != nil {
      sources[source]?.heard = now
      return
    }
    if sources.count >= Limits.sources, let oldest = sources.min(by: { $0.value.heard < $1.value.heard }) {
      sources[oldest.key] = nil
    }
    sources[source] = Source(
      messages: TokenBucket(perSecond: messagesPerSecond, capacity: messagesPerSecond, at: now),
      errors: TokenBucket(perSecond: Limits.errorsPerSecond, capacity: Limits.errorsPerSecond, at: now),
      heard: now)
  }
}
