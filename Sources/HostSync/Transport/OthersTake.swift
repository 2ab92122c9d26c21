// SPDX-License-Identifier: GPL-2.0-or-later

/// How long other slow clients have been seen to take to get ready, in microseconds: pressing play that close to the
/// boundary means the one after it.
///
/// Learned where the transport waited for nobody but them. A cycle that was lost meanwhile was the driver's delay or
/// ours, and teaches nothing. What is not needed any more is forgotten by and by: a client that took two seconds may be
/// gone.
struct OthersTake: BitwiseCopyable {
  /// Nobody is taken to need longer than this.
  static let longest: Double = 2e6
  /// What is forgotten when they were ready at once, and when a start was in time. Before an exact start the transport is sent to
  /// its place, and before one that JACK is asked for late it stands: each guess that is too short costs a bar.
  static let atOnce: Double = 0.5
  static let inTime: Double = 0.25
  static let tightlyInTime: Double = 0.03

  private(set) var micros = 0.0
  private var isDisturbed = false

  /// Once a cycle: whether the transport waits for them alone, and whether no time was lost.
  mutating func see(isAwaited: Bool, isSound: Bool) {
    isDisturbed = isAwaited && (isDisturbed || !isSound)
  }

  /// They held a relocation for so long.
  mutating func took(_ time: Double, cycle cycleMicros: Double) {
    guard !isDisturbed else { return }
    if time > cycleMicros {
      micros = min(time + cycleMicros, Self.longest)
    } else {
      forget(Self.atOnce, cycleMicros)
    }
  }

  /// After so long they were not ready. `isGuess`: they had no longer than we guessed, and might need far more; twice as long is tried.
  mutating func needMore(than time: Double, cycle cycleMicros: Double, isGuess: Bool = false) {
    guard !isDisturbed else { return }
    micros = min(max(micros, (isGuess ? 2 : 1) * time + cycleMicros), Self.longest)
  }

  /// Nobody was late for a start. `isTight`: each guess that is too short costs one a bar.
  mutating func wereInTime(isTight: Bool, cycle cycleMicros: Double) {
    forget(isTight ? Self.tightlyInTime : Self.inTime, cycleMicros)
  }

  private mutating func forget(_ share: Double, _ cycleMicros: Double) {
    micros *= 1 - share
    if micros < cycleMicros { micros = 0 }
  }
}
