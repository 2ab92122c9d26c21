// SPDX-License-Identifier: GPL-2.0-or-later

/// How long other slow clients have been seen to take to get ready, in microseconds: pressing play that close to the
/// boundary means the one after it.
///
/// Learned where the transport waited for nobody but them. A cycle that was lost meanwhile was the driver's delay or
/// ours, and teaches nothing. What is not needed any more is forgotten by and by, or when somebody leaves: a client that took two
/// seconds may be gone.
struct OthersTake: BitwiseCopyable {
  /// Nobody is taken to need longer than this.
  static let longest: Double = 2e6
  /// What is forgotten when they were ready at once, and when a start was in time.
  static let atOnce: Double = 0.5
  static let inTime: Double = 0.25
  static let tightlyInTime: Double = 0.03
  /// So much more than was too little is kept, and so slowly is it forgotten: less would be tried until it is too little again, and cost a
  /// bar each time.
  static let room: Double = 1.25
  static let least: Double = 0.002

  /// For a start that waits for its beat: too long a guess costs a bar.
  private(set) var micros = 0.0
  /// For a locate, an exact start, before which the transport is sent to its place, and one that JACK is asked for late: too short a
  /// guess costs a silence more, or a bar.
  private(set) var tightMicros = 0.0
  /// Less than this is not tried.
  private var leastMicros = 0.0
  private var isDisturbed = false
  /// How many clients there are, and were when it was learned.
  private var clients: Int32 = 0, learnedOf: Int32 = 0

  /// Once a cycle: whether the transport waits for them alone, whether no time was lost, and how many clients there are.
  mutating func see(isAwaited: Bool, isSound: Bool, clients: Int32) {
    isDisturbed = isAwaited && (isDisturbed || !isSound)
    self.clients = clients
    // Perhaps it was the slow one; who has come since was not.
    if clients < learnedOf { (tightMicros, leastMicros, learnedOf) = (0, 0, clients) }
  }

  /// They held a relocation for so long.
  mutating func took(_ time: Double, cycle cycleMicros: Double) {
    guard !isDisturbed else { return }
    if time > cycleMicros {
      micros = min(time + cycleMicros, Self.longest)
      (tightMicros, learnedOf) = (micros, clients)
    } else {
      Self.forget(Self.atOnce, of: &micros, cycleMicros)
      Self.forget(Self.atOnce, of: &tightMicros, cycleMicros)
      leastMicros = 0
    }
  }

  /// After so long they were not ready. `isGuess`: they had no longer than we guessed, and might need far more; twice as long is tried.
  mutating func needMore(than time: Double, cycle cycleMicros: Double, isGuess: Bool = false) {
    guard !isDisturbed else { return }
    let needed = min((isGuess ? 2 : 1) * time + cycleMicros, Self.longest)
    micros = max(micros, needed)
    (tightMicros, learnedOf) = (max(tightMicros, needed), clients)
    leastMicros = max(leastMicros, min(needed, Self.room * time))
  }

  /// Nobody was late for a start. `isTight`: they had no longer than we guessed; else that says nothing about how little is enough.
  mutating func wereInTime(isTight: Bool, cycle cycleMicros: Double) {
    Self.forget(isTight ? Self.tightlyInTime : Self.inTime, of: &micros, cycleMicros)
    guard isTight else { return }
    Self.forget(Self.tightlyInTime, of: &tightMicros, cycleMicros)
    tightMicros = max(tightMicros, leastMicros)
    Self.forget(Self.least, of: &leastMicros, cycleMicros)
  }

  private static func forget(_ share: Double, of micros: inout Double, _ cycleMicros: Double) {
    micros *= 1 - share
    if micros < cycleMicros { micros = 0 }
  }
}

/// A locate for which all clients get ready: its frame, when it began, and when we last held it.
struct Relocating: BitwiseCopyable {
  let frame: UInt32
  let since: Double
  var held = -Double.infinity
}
