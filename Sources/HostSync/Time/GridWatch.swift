// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Watches how the session's grid moves under us: a little, when its clock is corrected, or elsewhere, when another
/// session is joined or seconds were lost.
struct GridWatch: BitwiseCopyable {
  /// More than this at an unchanged tempo is not a correction of the session's clock but another grid.
  static let largestCorrection = 20_000.0

  /// The session's beat is not where it was expected: boundaries are to be counted again.
  private(set) var isJump = false
  /// By how many beats it is elsewhere, at a jump.
  private(set) var movedBeats = 0.0
  /// How far the grid moved since the last cycle, in microseconds, if it was not a jump.
  private(set) var correction = 0.0
  private var grid = Grid(origin: 0, beatMicros: 500_000)
  private var lastBeat = 0.0
  private var isStarted = false

  /// `heard` is when frame 0 is heard through the physical outputs, `passed` the frames since the last cycle's; `isCut`: time
  /// started again (`Now.isCut`), and no boundary before it is one of those to come.
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
