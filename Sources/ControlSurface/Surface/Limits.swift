// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

/// Every bound of the surface, in one place.
enum Limits {
  static let subscribers = 16
  /// Messages that wait for their time; so many of those are whose word may be anybody's, and half as many of one host's.
  static let agenda = 256
  static let agendaOfOthers = 128
  static let horizonSeconds = 60.0
  /// How long a tempo may wait for its bar: the longest, 64 beats at 20 BPM, takes 192 s.
  static let appointment = Micros(240_000_000)
  /// A subscription without a lease still ends after this long without a word from its host, unless that is paired.
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
  static let expectation = Micros(2_000_000)
  /// Sources whose rates are remembered, and for how long after their last word.
  static let sources = 1024
  static let sourceMemory = Micros(1_000_000)
  /// The same of a port that came back.
  static let regularMemory = Micros(60_000_000)
  /// Datagrams that wait in a line to be looked at, and their bytes with what it takes to keep one.
  static let inbox = 2048
  static let inboxBytes = 2 << 20
  static let letter = 64
  /// What has waited longer is not obeyed any more.
  static let patience = Micros(3_000_000)
  static let errorsPerSecond = 5.0
  /// Bytes told to one host that nobody named and that has not shown that it hears us, for its address may be forged: all values
  /// four times, and then so many for each byte that it sends.
  static let unprovenBytes = 32_768.0
  static let unprovenFactor = 8.0
  /// As much again after an hour.
  static let unprovenPerSecond = unprovenBytes / 3600
  /// What was not told for want of them is tried again so often.
  static let unprovenInterval = Micros(1_000_000)
  /// How long a sender that shows what a tactus shows is not obeyed until it has said what it is, and how long it is not asked again.
  static let suspicion = Micros(250_000)
  static let suspicionInterval = Micros(60_000_000)
  /// Keys, knobs and pedals that wait for the surface's thread.
  static let touches = 256
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

  mutating func gain(_ amount: Double, at now: Micros) {
    tokens = min(capacity, left(at: now) + amount)
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

/// How often the sources heard last may still be told of their errors, and how much their hosts may be told. Beyond as many as
/// can be remembered there is a crowd, which is limited together.
struct SourceRates {
  private struct Source {
    var errors: TokenBucket
    var bytes: TokenBucket
    var notes: TokenBucket
    var heard: Micros

    init(at now: Micros) {
      errors = TokenBucket(perSecond: Limits.errorsPerSecond, capacity: Limits.errorsPerSecond, at: now)
      bytes = TokenBucket(perSecond: Limits.unprovenPerSecond, capacity: Limits.unprovenBytes, at: now)
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

  mutating func mayBeTold(_ host: Address, bytes: Int, at now: Micros) -> Bool {
    with(Endpoint(host, port: 0), at: now) { $0.bytes.take(Double(bytes), at: now) }
  }

  mutating func left(for host: Address, at now: Micros) -> Double {
    with(Endpoint(host, port: 0), at: now) { $0.bytes.left(at: now) }
  }

  mutating func hear(_ host: Address, bytes: Int, at now: Micros) {
    with(Endpoint(host, port: 0), at: now) { $0.bytes.gain(Double(bytes) * Limits.unprovenFactor, at: now) }
  }

  private mutating func with<Result>(
    _ source: Endpoint, at now: Micros, _ body: (inout Source) -> Result
  ) -> Result {
    guard remember(source, at: now) else {
      var all = crowd ?? Source(at: now)
      defer { crowd = all }
      return body(&all)
    }
    return body(&sources[source, default: Source(at: now)])
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
