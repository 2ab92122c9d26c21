// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Every bound of the surface, in one place.
enum Limits {
  static let subscribers = 16
  /// Messages that wait for their time.
  static let agenda = 256
  static let horizonSeconds = 60.0
  /// How long a tempo may wait for its bar: the longest, 64 beats at 20 BPM, takes 192 s.
  static let appointment = Micros(240_000_000)
  /// News of one kind that any stranger can make: so many at once, then so many a second, for there is other news to read.
  static let complaints = 8.0
  static let complaintsPerSecond = 0.1
  /// A subscription without a lease still ends after this long without a word from its host, unless that is paired.
  static let silence = Micros(3_600_000_000)
  /// "Not obeyed" is said so seldom.
  static let strangerInterval = Micros(60_000_000)
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
  static let expectation = Micros(2_000_000)
  /// Sources whose rates are remembered, and for how long after their last word.
  static let sources = 1024
  static let sourceMemory = Micros(1_000_000)
  /// Datagrams that wait to be looked at.
  static let inbox = 2048
  static let errorsPerSecond = 5.0
  /// Keys, knobs and pedals that wait for the surface's thread.
  static let midi = 256
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

/// Rates of the sources heard last. Beyond as many as can be remembered there is a crowd: its errors are limited together,
/// and what it says by the turns of the `Inbox` alone.
struct SourceRates {
  private struct Source {
    var messages: TokenBucket
    var errors: TokenBucket
    var heard: Micros
  }

  let messagesPerSecond: Double
  private var sources: [Endpoint: Source] = [:]
  private var crowdErrors: TokenBucket?
  private var swept = Micros.zero

  init(messagesPerSecond: Double) {
    self.messagesPerSecond = messagesPerSecond
  }

  var count: Int { sources.count }

  mutating func mayAsk(_ source: Endpoint, at now: Micros) -> Bool {
    guard remember(source, at: now) else { return true }
    return sources[source]?.messages.take(at: now) ?? false
  }

  mutating func mayBeToldOff(_ source: Endpoint, at now: Micros) -> Bool {
    guard remember(source, at: now) else {
      if crowdErrors == nil {
        crowdErrors = TokenBucket(
          perSecond: Limits.errorsPerSecond, capacity: Limits.errorsPerSecond, at: now)
      }
      return crowdErrors?.take(at: now) ?? false
    }
    return sources[source]?.errors.take(at: now) ?? false
  }

  /// false: it is one of the crowd.
  private mutating func remember(_ source: Endpoint, at now: Micros) -> Bool {
    if sources[source] != nil {
      sources[source]?.heard = now
      return true
    }
    if sources.count >= Limits.sources {
      // Once in a while: a flood must not make us look through all of them for each of its packets.
      guard now - swept >= Limits.sourceMemory else { return false }
      swept = now
      sources = sources.filter { now - $0.value.heard < Limits.sourceMemory }
      guard sources.count < Limits.sources else { return false }
    }
    sources[source] = Source(
      messages: TokenBucket(perSecond: messagesPerSecond, capacity: messagesPerSecond, at: now),
      errors: TokenBucket(perSecond: Limits.errorsPerSecond, capacity: Limits.errorsPerSecond, at: now),
      heard: now)
    return true
  }
}
