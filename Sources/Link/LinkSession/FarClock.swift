// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The offset of a relay's host clock from ours, measured over a connection with any delay.
///
/// This measurement compares the two *host clocks* and never ends: crystals run evenly, however many sessions
/// come and go, and however often the other side corrects its session's time. Each answer also gives the
/// relay's session time by the relay's clock, so that we know their difference to the microsecond.
///
/// The network only adds time. Half of the time that it adds in one direction alone becomes an error. So only
/// the fastest quarter of the samples of the last two minutes counts; a faster sample has more weight. We fit
/// a line through these samples: two crystals that differ by 100 ppm drift 6 ms a minute. A sample is exact
/// within half of the time by which its round trip exceeded the fastest round trip. If many samples in a row
/// contradict the line, a clock has stepped and we drop all samples. No ping is repeated: the next ping goes
/// out at its regular time in any case.
struct FarClock {
  private struct Exchange {
    /// The host time in the middle of our round trip, counted from the first exchange, so that no precision
    /// is lost in a `Double`.
    let time: Double
    /// The time by which the relay's clock is ahead of ours, less the same time at the first exchange.
    let offset: Double
    let roundTrip: Double
    /// The weight of this sample. It falls with the largest possible error: half of the time by which the
    /// round trip was longer than the fastest one, plus `grain`, the error of the fastest samples.
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

  /// `grain`: the least error of a sample, in microseconds. `fastFew`: the round trip at this rank is
  /// compared with the fastest. If the fastest is 100 µs faster, the error is 50 µs more, because even faster
  /// round trips seem possible.
  private static let grain = 100.0
  private static let fastFew = 3
  /// A new line is fitted after this many new samples: a single new sample among thousands changes nothing.
  private static let refit = 64
  /// The assumed difference in rate between two crystals, as a ratio, until we have measured it.
  private static let usualSlope = 50e-6
  /// The error in microseconds that shows a step of a clock: more than a wandering crystal can explain.
  private static let steppedBy = 5_000.0

  private var exchanges: [Exchange] = []
  private var next = 0
  private var origin: (host: Micros, offset: Micros)?
  private var line: Line?
  private var sinceFit = 0
  private var contradictions = 0
  private var outstanding: [Micros] = []
  private let opened: Micros
  /// The uptime of the next ping.
  private(set) var nextPing: Micros
  private var heard: Micros?

  init(at uptime: Micros) {
    opened = uptime
    nextPing = uptime
  }

  /// Whether enough samples are known to use the offset.
  var isReady: Bool { exchanges.count >= Limits.farEnough }

  /// Whether the relay has answered lately, so that waiting for an answer makes sense.
  func isAlive(at uptime: Micros) -> Bool { uptime - (heard ?? opened) < Limits.farSilence }

  /// The shortest round trip that is used. If one direction takes the whole round trip, our result is wrong
  /// by half of the round trip, and no measurement can show this.
  var roundTrip: Micros? { line.map { Micros(rounding: $0.fastest) } }

  /// Registers a ping and sets the time of the next ping, which is later while the relay does not answer.
  mutating func ping(at host: Micros, uptime: Micros) -> Micros {
    nextPing = uptime + (isAlive(at: uptime) ? Limits.farPings : Limits.farLook)
    if outstanding.count == Limits.farOutstanding { outstanding.removeFirst() }
    outstanding.append(host)
    return host
  }

  /// Handles an answer to the ping that was sent at the host time `host`; `relay` is the time of the relay's
  /// clock. Returns false if no such ping waits for an answer.
  mutating func receive(host: Micros, relay: Micros, at now: Micros, uptime: Micros) -> Bool {
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

  /// Drops all samples, because either clock may have stepped.
  mutating func forget() {
    exchanges.removeAll()
    next = 0
    origin = nil
    line = nil
    contradictions = 0
    outstanding.removeAll()
  }

  /// The time by which the relay's clock is ahead of ours now; nil until enough samples are known.
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

  /// The line of weighted least squares through the samples. With few samples its slope is near zero; with
  /// more samples it becomes the measured slope.
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
