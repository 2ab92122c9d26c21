// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// A stretch of beats that a host shows without a break, and the straight line that fits them best: how fast they pass,
/// whatever tempo is shown beside them.
///
/// The line is the least squares' own, kept as its end and its slope. Who leaves it for three cycles, or bends
/// away from it, begins another run: a locate, another tempo. A single cycle beside it, a master that was late, is no part.
struct BeatRun: BitwiseCopyable {
  /// Besides a tick, so much is jitter; further off is somewhere else (microseconds).
  static var jitter: Double { @_noLocks @_noAllocation get { 100 } }
  private static var tolerated: Double { @_noLocks @_noAllocation get { 400 } }
  /// The memory of the line: what was earlier fades.
  static var longest: Double { @_noLocks @_noAllocation get { 16e6 } }
  /// Ticks and cycles beat against each other: for so long, and so many ticks to a side, that is no bend.
  private static var lately: Double { @_noLocks @_noAllocation get { 100_000 } }
  private static var bend: Double { @_noLocks @_noAllocation get { 1 } }
  private static var longestGap: Double { @_noLocks @_noAllocation get { 2e6 } }
  private static var mostStrays: Int { @_noLocks @_noAllocation get { 3 } }

  /// Microseconds from its first beat to its last; and how many looks at it there were.
  private(set) var length = 0.0
  private(set) var looks = 0
  /// On the line, at the last look.
  private(set) var beat = 0.0
  /// Beats a microsecond.
  private var slope = 0.0
  private var moment = 0.0
  private var strays = 0
  /// How far from the line what was shown lately is, on average.
  private var lean = 0.0

  @_noLocks @_noAllocation
  init() {}

  /// Beats a minute.
  var tempo: Double { @_noLocks @_noAllocation get { slope * 60e6 } }

  @_noLocks @_noAllocation
  mutating func end() { looks = 0 }

  /// `tick`: what is shown is cut off to that (microseconds), `period` about a beat's length.
  @_noLocks @_noAllocation
  mutating func add(_ shown: Double, at now: Double, tick: Double, period: Double) {
    let elapsed = now - moment
    guard looks > 0, elapsed > 0, elapsed < Self.longestGap else { return begin(shown, at: now) }
    guard looks > 1 else {
      // Standing still is no run: the master was late.
      guard shown > beat else { return begin(shown, at: now) }
      slope = (shown - beat) / elapsed
      beat = shown
      moment = now
      length = elapsed
      looks = 2
      return
    }
    let away = shown - (beat + slope * elapsed)
    let few = 3 / Double(looks)
    let tolerance = (Self.tolerated + tick) * (1 + few) / period
    if abs(away) > tolerance {
      strays += 1
      if strays >= Self.mostStrays { begin(shown, at: now) }
      return
    }
    strays = 0
    lean += (away - lean) * min(1, elapsed / Self.lately)
    guard abs(lean) <= (Self.jitter + Self.bend * tick) / period else { return begin(shown, at: now) }
    moment = now
    length = min(length + elapsed, Self.longest)
    looks += 1
    // Of a line through so many points, evenly apart.
    let points = length / elapsed + 1
    beat += slope * elapsed + away * 2 * (2 * points - 1) / (points * (points + 1))
    slope += away * 6 / (points * (points + 1)) / elapsed
  }

  @_noLocks @_noAllocation
  private mutating func begin(_ shown: Double, at now: Double) {
    beat = shown
    slope = 0
    moment = now
    length = 0
    looks = 1
    strays = 0
    lean = 0
  }
}
