// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusTestSupport

/// Another name for the type `Dice` of the module with test support, because `LinkSession` has a type `Dice`,
/// too.
typealias RandomInput = TactusTestSupport.Dice

/// Random inputs that are distributed as in real sessions.
extension RandomInput {
  mutating func bits() -> UInt64 { next() }

  mutating func unit() -> Double { Double(bits() >> 11) * 0x1p-53 }

  mutating func integer(_ range: ClosedRange<Int64>) -> Int64 {
    range.lowerBound + Int64(bits() % UInt64(range.upperBound - range.lowerBound + 1))
  }

  /// A time, mostly near zero, sometimes weeks away.
  mutating func micros() -> Int64 {
    switch bits() % 4 {
    case 0: integer(-100...100)
    case 1: integer(-100_000_000...100_000_000)
    case 2: integer(0...100_000_000_000)
    default: integer(-1_000_000_000_000...1_000_000_000_000)
    }
  }

  mutating func beats() -> Int64 {
    switch bits() % 4 {
    case 0: integer(-20...20)
    case 1: integer(-64...64) * 500_000
    case 2: integer(-100_000_000...100_000_000)
    default: integer(-1_000_000_000_000...1_000_000_000_000)
    }
  }

  /// A quantum: zero, whole, fractional, or as small as one microbeat.
  mutating func quantum() -> Int64 {
    switch bits() % 8 {
    case 0: 0
    case 1: integer(1...10)
    case 2, 3: integer(1...32_000_000)
    default: integer(1...64) * 1_000_000
    }
  }

  /// A tempo as a user types it, as a slider gives it, or as it comes from the wire.
  mutating func tempo() -> Double {
    switch bits() % 3 {
    case 0: Double(integer(20...999))
    case 1: 20 + unit() * 979
    default: 60e6 / Double(integer(60_060...3_000_000))
    }
  }

  /// A tempo that a client may ask for, in range or not.
  mutating func askedTempo() -> Double { bits() % 8 == 0 ? unit() * 3000 - 100 : tempo() }

  mutating func timeline() -> Timeline {
    Timeline(tempo: Tempo(tempo()), beatOrigin: Beats(millionths: beats()), timeOrigin: Micros(micros()))
  }

  mutating func map() -> GhostMap { GhostMap(intercept: Micros(micros())) }

  mutating func state() -> SessionState {
    SessionState(
      timeline: timeline(),
      startStop: ClientStartStop(isPlaying: bits() & 1 == 0, time: Micros(micros()), timestamp: .zero),
      isConnected: bits() & 1 == 0)
  }
}
