// SPDX-License-Identifier: GPL-2.0-or-later

/// Which stamps say something new.
///
/// The reference stamps once in 251 of its buffers and reckons from there on at the nominal rate, each chunk rounded: its
/// stamps run away from the truth by some frames and jump back, a sawtooth. Of such a sender only the stamps behind a jump
/// are measurements. One that stamps each period never repeats the same step for long, unless its card is perfect.
struct StampRuns: BitwiseCopyable {
  enum Word: BitwiseCopyable {
    /// As good as any other.
    case plain
    /// Reckoned from the stamp before: says nothing.
    case reckoned
    /// Stamped for itself, by a sender that mostly reckons; the first time it is seen as such, or again.
    case anew(isFirst: Bool)
  }

  /// In microbeats: roundings are less.
  static var rounding: Int64 { 3 }
  /// A run of so many equal steps is reckoned.
  static var runOfReckoner: Int { 32 }
  /// A reckoner that does not stamp anew for so long is none (its buffers would be of 5700 frames), in microseconds.
  static var patience: Double { 30e6 }

  private var run = 0
  private var step: Int64 = 0
  private(set) var isReckoner = false
  private var silence = 0.0
  private var interval = 0.0

  init() {}

  /// `residual` is the stamp less what was reckoned from the one before, in microbeats; `missing` chunks lie between, and
  /// `micros` passed.
  mutating func read(_ residual: Int64, missing: Int64, micros: Double) -> Word {
    silence += micros
    if abs(residual) > Self.rounding &+ missing {
      return jump()
    }
    // A step over chunks that are missing is of several roundings, and shows nothing.
    if missing == 0 {
      if residual != step {
        // By chance a reckoner's new stamp may be no further off than a rounding.
        if isReckoner && run >= Self.runOfReckoner { return jump() }
        // A step of another size: stamped anew each time.
        if run > 0 { isReckoner = false }
        step = residual
        run = 0
      }
      run = min(run + 1, 1_000_000)
    }
    if silence > max(Self.patience, 3 * interval) { isReckoner = false }
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

  /// What comes next does not go on from what was.
  mutating func cut() { run = 0 }
}
