// SPDX-License-Identifier: GPL-2.0-or-later

/// Finds the stamps that the sender measured, and not just computed from earlier stamps.
///
/// The reference measures the stamp of one in 251 of its buffers, and computes the stamps of the others at
/// the nominal rate, each rounded. These stamps drift from the truth by some frames and then jump back, like
/// a sawtooth. Of such a sender (a reckoner) only the stamps after a jump are measurements. A sender that
/// stamps each period never repeats the same step for long, unless its card is perfect.
struct StampRuns: BitwiseCopyable {
  enum Word: BitwiseCopyable {
    /// The stamp is a measurement, of a sender that measures every stamp.
    case plain
    /// The sender computed the stamp from the stamp before, so the stamp says nothing new.
    case reckoned
    /// The stamp is a measurement of a sender that computes most stamps (a reckoner). `isFirst`: this stamp
    /// has shown that the sender is a reckoner.
    case anew(isFirst: Bool)
  }

  /// The largest rounding error of a stamp, in microbeats.
  static var rounding: Int64 { 3 }
  /// The number of equal steps in a row after which a sender counts as a reckoner: it computes most stamps.
  static var runOfReckoner: Int { 32 }
  /// After this time without a measured stamp, in microseconds, a sender is no reckoner. A reckoner measures
  /// one stamp in 251 buffers, so it would have to send buffers of 5700 frames to need so long.
  static var runTimeout: Double { 30e6 }

  private var run = 0
  private var step: Int64 = 0
  private(set) var isReckoner = false
  private var silence = 0.0
  private var interval = 0.0

  init() {}

  /// Judges a stamp. `residual`: the stamp minus the stamp that follows from the last stamp at the nominal
  /// rate, in microbeats. Between the two stamps, `missing` chunks are missing and `micros` have passed.
  mutating func read(_ residual: Int64, missing: Int64, micros: Double) -> Word {
    silence += micros
    if abs(residual) > Self.rounding &+ missing {
      return jump()
    }
    // A step across missing chunks is the sum of several rounding errors and shows nothing.
    if missing == 0 {
      if residual != step {
        // A stamp that a reckoner measured may differ from the computed stamp by only a rounding error.
        if isReckoner && run >= Self.runOfReckoner { return jump() }
        // If the size of the steps differs, the sender measures each stamp anew.
        if run > 0 { isReckoner = false }
        step = residual
        run = 0
      }
      run = min(run + 1, 1_000_000)
    }
    if silence > max(Self.runTimeout, 3 * interval) { isReckoner = false }
    return isReckoner ? .reckoned : .plain
  }

  private mutating func jump() -> Word {
    defer {
      interval = silence
      silence = 0
      run = 0
    }
    if isReckoner { return .anew(isFirst: false) }
    guard run >= Self.runOfReckoner else { return .plain }
    isReckoner = true
    return .anew(isFirst: true)
  }

  /// Ends the run of equal steps, because the next stamp does not continue the last stamp.
  mutating func cut() { run = 0 }
}
