// SPDX-License-Identifier: GPL-2.0-or-later

/// The session's present grid and its recent former grids. They are needed because chunks that are on their
/// way during a tempo change have stamps of the former grid.
struct Grids: BitwiseCopyable {
  /// The time for which a former grid is kept, in microseconds.
  static var memory: Double { 2e6 }
  /// The largest shift of the grid, in microseconds, that counts as a correction of the session's clock. If
  /// the grid shifts by more at the same tempo, a peer moved the beats, and chunks on their way have stamps
  /// of the former grid.
  static var largestCorrection: Double { 1500 }

  private(set) var now = SessionGrid(session: 0, origin: 0, beatMicros: 0)
  private var former = InlineArray<4, SessionGrid>(
    repeating: SessionGrid(session: 0, origin: 0, beatMicros: 0))
  private var until = InlineArray<4, Double>(repeating: -.infinity)
  private var next = 0

  /// Takes the grid of the present period. Returns the microseconds by which the session's clock was
  /// corrected.
  mutating func follow(_ grid: SessionGrid, at time: Double) -> Double {
    if grid.session != now.session {
      now = grid
      until = InlineArray(repeating: -.infinity)
      return 0
    }
    let moved = grid.origin - now.origin
    if grid.beatMicros == now.beatMicros && abs(moved) <= Self.largestCorrection {
      now = grid
      return moved
    }
    former[next] = now
    until[next] = time + Self.memory
    next = (next + 1) % 4
    now = grid
    return 0
  }

  /// The host time of a stamp's beat, by a grid that has the stamp's tempo. If several grids have this tempo,
  /// the result is the time nearest to `expected`, or the time by the newest of the grids if `expected` is
  /// nil. Returns nil if no grid has the stamp's tempo; such a grid may still arrive.
  func time(of stamp: Stamp, expected: Double?, at present: Double) -> Double? {
    var best: Double?
    var newest = -Double.infinity
    if Self.fits(stamp, now) {
      best = now.time(of: stamp.begin)
      newest = .infinity
    }
    for index in 0..<4 where until[index] > present && Self.fits(stamp, former[index]) {
      let time = former[index].time(of: stamp.begin)
      let isBetter: Bool
      if let expected, let best {
        isBetter = abs(time - expected) < abs(best - expected)
      } else {
        isBetter = until[index] > newest
      }
      if isBetter {
        best = time
        newest = until[index]
      }
    }
    return best
  }

  /// Whether the grid has the stamp's tempo. A difference of one microsecond per beat is allowed, because
  /// peers may round a tempo differently.
  private static func fits(_ stamp: Stamp, _ grid: SessionGrid) -> Bool {
    abs(Double(stamp.microsPerBeat) - grid.beatMicros) <= 1
  }
}
