// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Numbers the session's beats so that the numbers go on when the session does not.
///
/// Joining another session, or a stall of seconds, moves the session's beat by any amount. Everything here counts
/// in numbers that move by less than half a beat then: `number = session beat - shift`, `shift` whole. The
/// phase is untouched, so a boundary is a boundary in both.
struct BeatTracker: BitwiseCopyable {
  /// More than this at an unchanged tempo is not a correction of the session's clock but another grid.
  static let largestCorrection: Double = 20_000

  private(set) var shift: Int64 = 0
  /// The session's own grid, and the one with our numbers.
  private(set) var session = Grid(origin: 0, period: 500_000)
  private(set) var grid = Grid(origin: 0, period: 500_000)
  private(set) var isJump = false
  /// By how much the session's beat moved against what was expected, at a jump.
  private(set) var movedBeats = 0.0
  /// How far the grid moved under us since the last cycle, in microseconds, if it was not a jump.
  private(set) var correction = 0.0
  private(set) var jumps: UInt64 = 0
  private var lastBeat = 0.0
  private var isStarted = false

  init() {}

  /// `heard` is when frame 0 is heard through the physical outputs, `passed` the frames since the last cycle's; `isCut`: time
  /// began anew (`Now.isCut`), and no boundary before it is one of those to come.
  mutating func update(_ next: Grid, heard: FrameLine, passed: Int64, isCut: Bool = false) {
    let beat = next.beat(at: heard.start)
    isJump = false
    movedBeats = 0
    correction = 0
    if isStarted {
      let moved = beat - session.beat(at: heard.start)
      let expected = lastBeat + Double(passed) * heard.perFrame / session.period
      let isSameTempo = next.period == session.period
      let missed = beat - expected
      if isCut || abs(missed) >= 0.5 || (isSameTempo && abs(moved) * next.period > Self.largestCorrection) {
        isJump = true
        jumps &+= 1
        movedBeats = missed
        shift = shift &+ Int64(rounding: missed)
      } else {
        correction = abs(moved) * max(next.period, session.period)
      }
    }
    session = next
    grid = next.renumbered(by: shift)
    lastBeat = beat
    isStarted = true
  }
}
