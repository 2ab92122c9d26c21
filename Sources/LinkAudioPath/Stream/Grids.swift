// SPDX-License-Identifier: GPL-2.0-or-later

/// The session's grid, and those that it had a moment ago: what is on its way when the tempo changes was stamped by them.
struct Grids: BitwiseCopyable {
  /// How long one is remembered, in microseconds.
  static var memory: Double { 2e6 }
  /// More than this at an unchanged tempo is not a correction of the session's clock: somebody moved the beats, and what is on
  /// its way was stamped before.
  static var largestCorrection: Double { 1500 }

  private(set) var now = SessionGrid(session: 0, origin: 0, beatMicros: 0)
  private var former = InlineArray<4, SessionGrid>(
    repeating: SessionGrid(session: 0, origin: 0, beatMicros: 0))
  private var until = InlineArray<4, Double>(repeating: -.infinity)
  private var next = 0

  /// By how much the session's clock was corrected, in microseconds.
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

  /// When a stamp's beat is, on the grid of its tempo; of several the one that is nearest to what is expected, and without
  /// an expectation the newest. Nil: nobody here knows of that tempo (yet).
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

  /// Others may round a tempo to the other side.
  private static func fits(_ stamp: Stamp, _ grid: SessionGrid) -> Bool {
    abs(Double(stamp.microsPerBeat) - grid.beatMicros) <= 1
  }
}
