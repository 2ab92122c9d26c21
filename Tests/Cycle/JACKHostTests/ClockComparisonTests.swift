// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

@testable import TactusJACK

@Suite struct ClockComparisonTests {
  /// Readings of a JACK clock that is `offset` microseconds away from Link's clock and loses `ppm` millionths
  /// against it. A reading takes 1 µs.
  private struct Clocks {
    var offset: Double
    var ppm: Double

    func jack(at link: Int64) -> Double { (Double(link) + offset) * (1 - ppm * 1e-6) }

    func pair(at link: Int64) -> ClockPair {
      ClockPair(
        jack: Micros(Int64(flooring: jack(at: link))), before: Micros(link), after: Micros(link + 1))
    }
  }

  @Test func `if JACK and Link share one clock, the clock map is the identity`() {
    var comparison = ClockComparison()
    for time in stride(from: Int64(0), to: 5_000_000, by: 100_000) {
      comparison.add(ClockPair(jack: Micros(time), before: Micros(time), after: Micros(time)))
      #expect(comparison.map == .identity)
    }
  }

  @Test(arguments: [-248_800.0, 1.0, 3_600_000_000], [-500.0, -130, 0, 0.5, 130, 500])
  func `the clock map finds the offset and rate of another JACK clock`(offset: Double, ppm: Double) {
    let clocks = Clocks(offset: offset, ppm: ppm)
    var comparison = ClockComparison()
    let start: Int64 = 1_000_000_000
    for index in 0..<64 as Range<Int64> {
      let now = start + index * 100_003
      comparison.add(clocks.pair(at: now))
      guard index > 8 else { continue }
      for ahead in [Int64(0), 500_000] {
        let jack = Micros(Int64(rounding: clocks.jack(at: now + ahead)))
        let error = comparison.map.link(fromJACK: jack) - Micros(now + ahead)
        #expect(abs(error.count) <= 2)
      }
    }
    #expect(abs(comparison.map.skew * 1e6 - ppm) < 1 || (offset == 1 && ppm == 0))
    #expect(comparison.jumpCount == 0)
  }

  @Test func `the map from JACK's to Link's clock steps by two microseconds at most`() {
    let clocks = Clocks(offset: -248_800, ppm: 130)
    var comparison = ClockComparison()
    for index in 0..<200 as Range<Int64> {
      let now = 1_000_000_000 + index * 100_000
      let jack = Micros(Int64(rounding: clocks.jack(at: now)))
      let before = comparison.map.link(fromJACK: jack)
      comparison.add(clocks.pair(at: now))
      let after = comparison.map.link(fromJACK: jack)
      if index > 8 { #expect(abs((after - before).count) <= 2) }
    }
  }

  @Test func `when NTP slews JACK's clock, the map's error stays small and vanishes`() {
    var comparison = ClockComparison()
    var jack = 5e8
    var worst: Int64 = 0, last: Int64 = 0
    for index in 0..<150 as Range<Int64> {
      let now = 1_000_000_000 + index * 100_000
      comparison.add(
        ClockPair(jack: Micros(Int64(jack)), before: Micros(now), after: Micros(now + 1)))
      // The error of the map just before the next pair of readings, as the audio thread sees it.
      jack += 100_000 * (1 + (index < 60 ? 10e-6 : 60e-6))
      last = abs((comparison.map.link(fromJACK: Micros(Int64(jack))) - Micros(now + 100_000)).count)
      if index > 8 { worst = max(worst, last) }
    }
    #expect(worst < 60)
    #expect(last <= 2)
  }

  @Test func `two clock readings with an interruption between them are not used`() {
    var comparison = ClockComparison()
    comparison.add(ClockPair(jack: Micros(1_000), before: Micros(9_000), after: Micros(9_001)))
    let map = comparison.map
    comparison.add(ClockPair(jack: Micros(2_000), before: Micros(10_000), after: Micros(10_900)))
    #expect(comparison.map == map)
    #expect(comparison.jumpCount == 0)
  }

  @Test func `a JACK clock that was set is followed at once`() {
    var comparison = ClockComparison()
    for index in 0..<20 as Range<Int64> {
      comparison.add(
        ClockPair(
          jack: Micros(index * 100_000), before: Micros(index * 100_000), after: Micros(index * 100_000)))
    }
    comparison.add(ClockPair(jack: Micros(9_000_000), before: Micros(2_000_000), after: Micros(2_000_000)))
    #expect(comparison.jumpCount == 1)
    #expect(comparison.map.link(fromJACK: Micros(9_000_000)) == Micros(2_000_000))
  }
}
