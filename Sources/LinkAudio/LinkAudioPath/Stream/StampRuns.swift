// SPDX-License-Identifier: GPL-2.0-or-later

/// Finds the stamps that say something new.
///
/// The reference takes a stamp for one in 251 of its buffers and computes the following ones at the nominal
/// rate, each rounded. Its stamps drift from the truth by some frames and jump back, a sawtooth. Of such a
/// sender (a reckoner) only the stamps after a jump are measurements. A sender that stamps each period never
/// repeats the same step for long, unless its card is perfect.
struct StampRuns: BitwiseCopyable {
  enum Word: BitwiseCopyable {
    /// A measurement like any other.
    case plain
    /// Computed from the stamp before: says nothing new.
    case reckoned
    /// Measured, by a sender that mostly reckons; `isFirst` if the sender has just been recognized as a
    /// reckoner.
    case anew(isFirst: Bool)
  }

  /// Largest rounding error, in microbeats.
  static var rounding: Int64 { 3 }
  /// Equal steps in a row that make a sender a reckoner.
  static var runOfReckoner: Int { 32 }
  /// A reckoner measures again within this time, in microseconds; its buffers would else be 5700 frames long.
  static var runTimeout: Double { 30e6 }

  private var run = 0
  private var step: Int64 = 0
  private(set) var isReckoner = false
  private var silence = 0.0
  private var interval = 0.0

  init() {}

  /// `residual` is the stamp minus the one computed from the stamp before, in microbeats; `missing` chunks
  /// lie between, and `micros` have passed.
  mutating func read(_ residual: Int64, missing: Int64, micros: Double) -> Word {
    silence += micros
    if abs(residual) > Self.rounding &+ missing {
      return jump()
    }
    // A step across missing chunks sums several roundings and shows nothing.
    if missing == 0 {
      if residual != step {
        // A reckoner's new stamp may happen to differ by only a rounding.
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

  /// Ends the run, because the next stamp does not continue the last.
  mutating func cut() { run = 0 }
}
