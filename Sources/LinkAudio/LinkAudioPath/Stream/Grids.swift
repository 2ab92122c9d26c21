// SPDX-License-Identifier: GPL-2.0-or-later

/// The session's grid and recent former ones: chunks on their way during a tempo change carry stamps of the
/// former grid.
struct Grids: BitwiseCopyable {
  /// How long a former grid is kept, in microseconds.
  static var memory: Double { 2e6 }
  /// A larger shift at the same tempo is no correction of the session's clock: a peer moved the beats, and
  /// chunks on their way have stamps of the former grid.
  static var largestCorrection: Double { 1500 }

  private(set) var now = SessionGrid(session: 0, origin: 0, beatMicros: 0)
  private var former = InlineArray<4, SessionGrid>(
    repeating: SessionGrid(session: 0, origin: 0, beatMicros: 0))
  private var until = InlineArray<4, Double>(repeating: -.infinity)
  private var next = 0

  /// Returns by how much the session's clock was corrected, in microseconds.
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

  /// The time of a stamp's beat on a grid with its tempo. If several fit, the time nearest to `expected`, or
  /// without it that of the newest grid. nil: the tempo is not known (yet).
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

  /// Peers may round a tempo to the other side.
  private static func fits(_ stamp: Stamp, _ grid: SessionGrid) -> Bool {
    abs(Double(stamp.microsPerBeat) - grid.beatMicros) <= 1
  }
}
