// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

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
  /// Datagrams that wait to be looked at, and their bytes with what it takes to keep one.
  static let inbox = 2048
  static let inboxBytes = 4 << 20
  static let letter = 64
  /// What has waited longer is not obeyed any more.
  static let patience = Micros(3_000_000)
  static let errorsPerSecond = 5.0
  /// Bytes of answers to one host that nobody named in `allow`: its address may be forged. Eight times all values at once, then all
  /// of them every two seconds.
  static let answersAtOnce = 65_536.0
  static let answersPerSecond = 4096.0
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

  mutating func take(_ amount: Double = 1, at now: Micros) -> Bool {
    guard has(amount, at: now) else { return false }
    tokens -= amount
    return true
  }

  mutating func has(_ amount: Double, at now: Micros) -> Bool { left(at: now) >= amount }

  mutating func left(at now: Micros) -> Double {
    tokens = min(capacity, tokens + max(0, Double((now - last).count)) / 1e6 * perSecond)
    last = now
    return tokens
  }

  /// Whether it is there or not.
  mutating func spend(_ amount: Double, at now: Micros) {
    tokens = left(at: now) - amount
  }

  /// When so much will be there.
  func time(of amount: Double) -> Micros {
    last + Micros(rounding: (max(0, amount - tokens) / perSecond * 1e6).rounded(.up))
  }
}

/// How often the sources heard last may still be told of their errors, and how much may be answered to their hosts. Beyond as many as can be remembered there is a crowd,
/// which is limited together.
struct SourceRates {
  private struct Source {
    var errors: TokenBucket
    var answers: TokenBucket
    var heard: Micros

    init(at now: Micros) {
      errors = TokenBucket(perSecond: Limits.errorsPerSecond, capacity: Limits.errorsPerSecond, at: now)
      answers = TokenBucket(perSecond: Limits.answersPerSecond, capacity: Limits.answersAtOnce, at: now)
      heard = now
    }
  }

  private var sources: [Endpoint: Source] = [:]
  private var crowd: Source?
  private var swept = Micros.zero

  var count: Int { sources.count }

  mutating func mayBeToldOff(_ source: Endpoint, at now: Micros) -> Bool {
    guard remember(source, at: now) else {
      crowd = crowd ?? Source(at: now)
      return crowd?.errors.take(at: now) ?? false
    }
    return sources[source]?.errors.take(at: now) ?? false
  }

  mutating func mayBeAnswered(_ host: Address, bytes: Int, at now: Micros) -> Bool {
    let source = Endpoint(host, port: 0)
    guard remember(source, at: now) else {
      crowd = crowd ?? Source(at: now)
      return crowd?.answers.take(Double(bytes), at: now) ?? false
    }
    return sources[source]?.answers.take(Double(bytes), at: now) ?? false
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
    sources[source] = Source(at: now)
    return true
  }
}
