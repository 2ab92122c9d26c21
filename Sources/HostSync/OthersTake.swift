// SPDX-License-Identifier: GPL-2.0-or-later

/// How long other slow clients have been seen to take to get ready, in microseconds: pressing play that close to the
/// boundary means the one after it.
///
/// Learned where the transport waited for nobody but them. A cycle that was lost meanwhile was the driver's delay or
/// ours, and teaches nothing. What is not needed any more is forgotten by and by: a client that took two seconds may be
/// gone.
struct OthersTake: BitwiseCopyable {
  /// Nobody is taken to need longer than this.
  static var longest: Double { @_noLocks @_noAllocation get { 2e6 } }
  /// What is forgotten when they were ready at once, and when a start was in time. An exact start sends the transport to
  /// its place shortly before, and each guess that is too short costs it a bar.
  static var atOnce: Double { @_noLocks @_noAllocation get { 0.5 } }
  static var inTime: Double { @_noLocks @_noAllocation get { 0.25 } }
  static var exactlyInTime: Double { @_noLocks @_noAllocation get { 0.03 } }

  private(set) var micros = 0.0
  private var isDisturbed = false

  @_noLocks @_noAllocation
  init() {}

  /// Once a cycle: whether the transport waits for them alone, and whether no time was lost.
  @_noLocks @_noAllocation
  mutating func see(isAwaited: Bool, isSound: Bool) {
    isDisturbed = isAwaited && (isDisturbed || !isSound)
  }

  /// They held a relocation for so long.
  @_noLocks @_noAllocation
  mutating func took(_ time: Double, period: Double) {
    guard !isDisturbed else { return }
    if time > period { micros = min(time + period, Self.longest) } else { forget(Self.atOnce, period) }
  }

  /// After so long they were not ready.
  @_noLocks @_noAllocation
  mutating func needMore(than time: Double, period: Double) {
    guard !isDisturbed else { return }
    micros = min(max(micros, time + period), Self.longest)
  }

  /// Nobody was late for a start.
  @_noLocks @_noAllocation
  mutating func wereInTime(isExact: Bool, period: Double) {
    forget(isExact ? Self.exactlyInTime : Self.inTime, period)
  }

  @_noLocks @_noAllocation
  private mutating func forget(_ share: Double, _ period: Double) {
    micros *= 1 - share
    if micros < period { micros = 0 }
  }
}
