// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// Watches how the session's grid moves from cycle to cycle. The grid moves a little when the session's clock
/// is corrected, and far when we join another session or have lost seconds.
struct GridWatch: BitwiseCopyable {
  /// The largest correction of the session's clock, in microseconds. A larger move at an unchanged tempo
  /// means another grid.
  static let largestCorrection = 20_000.0

  /// Whether the session's beat is not the expected beat, so that the outputs begin a new count of their
  /// boundaries (the places of clicks, clocks and pulses).
  private(set) var isJump = false
  /// The number of beats by which a jump moved the session's beat.
  private(set) var movedBeats = 0.0
  /// The microseconds by which the grid moved since the last cycle; 0 in the cycle of a jump.
  private(set) var correction = 0.0
  private var grid = Grid(origin: 0, beatMicros: 500_000)
  private var lastBeat = 0.0
  private var isStarted = false

  /// `heard` has the times at which the cycle is heard through the physical outputs. `passed` is the number
  /// of frames since the last cycle. `isCut`: time is discontinuous at this cycle (`CycleContext.isCut`), so
  /// boundaries from before it are not played any more.
  mutating func update(_ next: Grid, heard: FrameLine, passed: Int64, isCut: Bool = false) {
    let beat = next.beat(at: heard.start)
    isJump = false
    movedBeats = 0
    correction = 0
    if isStarted {
      let moved = beat - grid.beat(at: heard.start)
      let before = grid.beatMicros(at: heard.start)
      let after = next.beatMicros(at: heard.start)
      let missed = beat - lastBeat - Double(passed) * heard.frameMicros / before
      let isSameTempo = after == before
      if isCut || abs(missed) >= 0.5 || (isSameTempo && abs(moved) * after > Self.largestCorrection) {
        isJump = true
        movedBeats = missed
      } else {
        correction = abs(moved) * max(after, before)
      }
    }
    grid = next
    lastBeat = beat
    isStarted = true
  }
}
