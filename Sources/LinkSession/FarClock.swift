// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// How far a relay's host clock is from ours, over a wire on which a datagram may need anything.
///
/// It compares the two *host clocks*, and never ends: crystals run evenly, whatever sessions come and go and however often a session's time is
/// corrected on the other side. The relay says with each answer what its session's time is by its clock, so that this is known to the microsecond.
///
/// The network only ever adds time, and what it adds on one way alone is half of it error. So the fastest quarter of two
/// minutes counts, the faster the more, and a line through it: 100 ppm between two crystals are 6 ms a minute. A sample says within half of
/// what its round trip took above the fastest how far the clocks are apart; if many in a row contradict the line, a clock has
/// stepped and all starts over. Nothing is repeated and nothing given up: pings go out in their rhythm for as long as the wire is there.
struct FarClock {
  private struct Exchange {
    /// The middle of our round trip, in host time from the first ping on: small numbers, so that nothing is lost in a `Double`.
    let time: Double
    /// The relay's clock ahead of ours, from the first exchange on.
    let offset: Double
    let roundTrip: Double
    /// It may be off by half of what the network added, beside what even the fastest are off by.
    func weight(fastest: Double, grain: Double) -> Double {
      let error = grain + (roundTrip - fastest) / 2
      return 1 / (error * error)
    }
  }

  /// A straight line through the offsets.
  private struct Line {
    let time: Double
    let offset: Double
    let slope: Double
    let fastest: Double

    func offset(at time: Double) -> Double { offset + slope * (time - self.time) }
  }

  /// What the samples of the best network are off by, in microseconds; and how many of the fastest show how much faster one could have been.
  private static let grain = 100.0
  private static let fastFew = 3
  /// A new line is drawn when this part of the samples is new: one more of thousands changes nothing.
  private static let refit = 64
  /// How far two crystals are apart, as long as we know nothing.
  private static let usualSlope = 50e-6
  /// More than a wandering crystal and a bent line can explain.
  private static let steppedBy = 5_000.0

  private var exchanges: [Exchange] = []
  private var next = 0
  private var origin: (host: Micros, offset: Micros)?
  private var line: Line?
  private var sinceFit = 0
  private var contradictions = 0
  private var outstanding: [Micros] = []
  private let opened: Micros
  /// In uptime.
  private(set) var nextPing: Micros
  private var heard: Micros?

  init(at uptime: Micros) {
    opened = uptime
    nextPing = uptime
  }

  /// Enough is known to go by it.
  var isReady: Bool { exchanges.count >= Limits.farEnough }

  /// Whether there is any use in waiting for an answer.
  func isAlive(at uptime: Micros) -> Bool { uptime - (heard ?? opened) < Limits.farSilence }

  /// The least round trip that counts at the moment: the clocks may be apart by half of it, and nobody who only measures can know better.
  var roundTrip: Micros? { line.map { Micros(rounding: $0.fastest) } }

  /// Less often if nobody answers.
  mutating func ping(at host: Micros, uptime: Micros) -> Micros {
    nextPing = uptime + (isAlive(at: uptime) ? Limits.farPings : Limits.farLook)
    if outstanding.count == Limits.farOutstanding { outstanding.removeFirst() }
    outstanding.append(host)
    return host
  }

  /// An answer to the ping of `host`, in which the relay's clock shows `relay`. Whether it is one.
  mutating func hear(host: Micros, relay: Micros, at now: Micros, uptime: Micros) -> Bool {
    guard let place = outstanding.firstIndex(of: host), now >= host else { return false }
    outstanding.remove(at: place)
    heard = uptime
    let middle = host + Micros((now - host).count / 2)
    let origin = origin ?? (middle, relay - middle)
    self.origin = origin
    add(
      Exchange(
        time: Double((middle - origin.host).count), offset: Double((relay - middle - origin.offset).count),
        roundTrip: Double((now - host).count)))
    return true
  }

  /// Either clock may have stepped: what was measured is worth nothing.
  mutating func forget() {
    exchanges.removeAll()
    next = 0
    origin = nil
    line = nil
    contradictions = 0
    outstanding.removeAll()
  }

  /// How far the relay's clock is ahead of ours now; nil as long as too little is known.
  func offset(at now: Micros) -> Micros? {
    guard isReady, let line, let origin else { return nil }
    return origin.offset + Micros(rounding: line.offset(at: Double((now - origin.host).count)))
  }

  private mutating func add(_ exchange: Exchange) {
    if isReady, let line, contradicts(exchange, line) {
      contradictions += 1
      if contradictions == Limits.farContradictions { forget() }
      return
    }
    contradictions = 0
    if exchanges.count < Limits.farExchanges {
      exchanges.append(exchange)
    } else {
      exchanges[next] = exchange
    }
    next = (next + 1) % Limits.farExchanges
    sinceFit += 1
    if !isReady || sinceFit >= exchanges.count / FarClock.refit { line = fitted() }
  }

  private func contradicts(_ exchange: Exchange, _ line: Line) -> Bool {
    let excess = max(0, exchange.roundTrip - line.fastest)
    return abs(exchange.offset - line.offset(at: exchange.time)) > excess / 2 + FarClock.steppedBy
  }

  /// The weighted line of least squares; its slope begins at none.
  private mutating func fitted() -> Line {
    sinceFit = 0
    let trips = exchanges.map { $0.roundTrip }.sorted()
    let (fastest, slowest) = (trips[0], trips[(trips.count - 1) / 4])
    let grain = FarClock.grain + (trips[min(FarClock.fastFew, trips.count - 1)] - fastest) / 2
    var (weights, times, offsets) = (0.0, 0.0, 0.0)
    for exchange in exchanges where exchange.roundTrip <= slowest {
      let weight = exchange.weight(fastest: fastest, grain: grain)
      weights += weight
      times += weight * exchange.time
      offsets += weight * exchange.offset
    }
    let (time, offset) = (times / weights, offsets / weights)
    var (along, squares) = (0.0, 1 / (FarClock.usualSlope * FarClock.usualSlope))
    for exchange in exchanges where exchange.roundTrip <= slowest {
      let weight = exchange.weight(fastest: fastest, grain: grain)
      along += weight * (exchange.time - time) * (exchange.offset - offset)
      squares += weight * (exchange.time - time) * (exchange.time - time)
    }
    return Line(time: time, offset: offset, slope: along / squares, fastest: fastest)
  }
}
