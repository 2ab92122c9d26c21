// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkBeatMath
import LinkSystem

/// One reading of JACK's clock and of Link's clock, taken as close together as a thread can.
struct ClockPair: Sendable {
  let jack: Micros
  /// The readings of Link's clock just before and just after the reading of JACK's clock.
  let before, after: Micros

  var link: Micros { Micros(before.count &+ (after.count &- before.count) / 2) }
  var bracket: Micros { after - before }
  var couldBeOneClock: Bool { before <= jack && jack <= after }
}

/// The line that maps JACK's clock to Link's, fitted through pairs of readings.
///
/// Only the newest few seconds count: NTP slews CLOCK_MONOTONIC, which is PipeWire's clock, against Link's
/// CLOCK_MONOTONIC_RAW by up to 500 ppm, and may change the rate at any time (facts: jack 2).
struct ClockComparison {
  static let interval = Micros(100_000)
  static let limit = 32
  /// The longest time between a pair's two readings of Link's clock. If the time is longer, this thread was
  /// interrupted in between, and the pair is discarded.
  static let widestBracket = Micros(20)
  /// The difference of a pair from the map that no drift of a clock explains. A larger difference means that
  /// a clock was set, or that JACK now uses another clock.
  static let jump = Micros(1_000)
  /// The shortest time that the pairs must span. Over a shorter time their slope is noise: a microsecond of
  /// rounding over half a second is 2 ppm.
  static let shortestSpan = Micros(500_000)
  /// The steepest slope of the map: twice the rate at which NTP may slew a clock.
  static let steepest = 1e-3

  private var pairs: [ClockPair] = []
  private(set) var map = ClockMap.identity
  private(set) var jumpCount = 0

  mutating func add(_ pair: ClockPair) {
    guard pair.bracket <= Self.widestBracket || pairs.isEmpty else { return }
    if !pairs.isEmpty {
      let error = pair.link - map.link(fromJACK: pair.jack)
      if error > Self.jump || error < -Self.jump {
        pairs.removeAll()
        jumpCount += 1
      }
    }
    if pairs.count == Self.limit { pairs.removeFirst() }
    pairs.append(pair)
    map = pairs.allSatisfy(\.couldBeOneClock) ? .identity : fit(through: pair)
  }

  /// Fits a straight line by least squares to the difference (Link's clock minus JACK's) over JACK's clock.
  /// The line's anchor is the newest pair's time.
  private func fit(through newest: ClockPair) -> ClockMap {
    let count = Double(pairs.count)
    let base = newest.link - newest.jack
    var meanTime = 0.0, meanOffset = 0.0
    for pair in pairs {
      meanTime += Double((pair.jack - newest.jack).count) / count
      meanOffset += Double((pair.link - pair.jack - base).count) / count
    }
    var spread = 0.0, common = 0.0
    for pair in pairs {
      let time = Double((pair.jack - newest.jack).count) - meanTime
      spread += time * time
      common += time * (Double((pair.link - pair.jack - base).count) - meanOffset)
    }
    let span = newest.jack - pairs[0].jack
    guard span >= Self.shortestSpan, spread > 0 else {
      return ClockMap(jackAnchor: newest.jack, linkAnchor: newest.link)
    }
    let skew = max(-Self.steepest, min(Self.steepest, common / spread))
    let offset = base + Micros(rounding: meanOffset - skew * meanTime)
    return ClockMap(jackAnchor: newest.jack, linkAnchor: newest.jack + offset, skew: skew)
  }
}

extension ClockPair {
  private static let attempts = 5

  /// Reads Link's clock, JACK's clock and once more Link's clock. Repeats this a few times and returns the
  /// pair that took the least time. A client must be open: without an open client jack_get_time crashes.
  /// [control]
  static func read() -> ClockPair {
    var best = readOnce()
    for _ in 1..<attempts where best.bracket.count > 0 {
      let pair = readOnce()
      if pair.bracket < best.bracket { best = pair }
    }
    return best
  }

  private static func readOnce() -> ClockPair {
    let before = HostClock.micros()
    let jack = Micros(Int64(truncatingIfNeeded: jack_get_time()))
    return ClockPair(jack: jack, before: before, after: HostClock.micros())
  }
}
