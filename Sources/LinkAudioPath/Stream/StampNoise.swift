// SPDX-License-Identifier: GPL-2.0-or-later

/// What a sender's stamps are wrong by, each for itself; and whether its clock was measured again, so that all of them are
/// elsewhere from then on.
///
/// The sender's own stamps are asked, each against those before it, and not our clock, which moves for reasons of its own. A new
/// measurement is one that stays, in one place, and is far beyond the noise; all else is noise, for the line to average. When
/// somebody moved the session's beats, stamps step as well, but our own beats have moved with them: then the line's error,
/// which knows both, did not step.
struct StampNoise: BitwiseCopyable {
  enum Word: BitwiseCopyable {
    case fits
    /// Far off; nobody knows yet why.
    case apart
    /// This one and those that were apart before it say that the clock is so many microseconds later.
    case moved(by: Double)
  }

  /// Of a stamp that is nothing but noise, its distance in typical ones.
  static var widest: Double { 8 }
  /// Less is no new measurement, in microseconds: a server's line jumps by so much, and comes back (`Course`).
  static var least: Double { 50 }
  /// So many stamps, over so many microseconds, are enough: those of one long period are all wrong by the same.
  static var enough: Int { 8 }
  static var longEnough: Double { 40_000 }
  /// For how many stamps things are remembered.
  static var average: Double { 32 }
  static var memory: Double { 64 }

  /// The distance from its place that a stamp has on average, in microseconds. Of a stranger it is taken for large.
  private(set) var typical = 20.0
  /// The last stamp's, from where those before it were on average.
  private var offset = 0.0
  /// By how much stamps were behind the line, on average.
  private var usual = 0.0
  // Of those that are apart, one after another, on one side.
  private var apart = 0
  private var sum = 0.0
  private var errors = 0.0
  private var nearest = 0.0
  private var farthest = 0.0
  private var elapsed = 0.0

  init() {}

  /// What a stamp may be wrong by and still be right, in microseconds.
  var limit: Double { max(Self.least, Self.widest * typical) }

  /// `step` is how much later a stamp is than the one before it and their frames say, in microseconds; `micros` lie between.
  /// `error` is how far it is behind the line.
  mutating func read(_ step: Double, error: Double, micros: Double) -> Word {
    offset += step
    let size = abs(offset)
    guard size > limit else {
      forgetApart()
      typical += (size - typical) / Self.memory
      offset -= offset / Self.average
      usual += (error - usual) / Self.average
      return .fits
    }
    if apart > 0 && (sum > 0) != (offset > 0) { forgetApart() }
    nearest = apart == 0 ? size : min(nearest, size)
    farthest = max(farthest, size)
    apart += 1
    sum += offset
    errors += error
    elapsed += micros
    guard apart >= Self.enough, elapsed >= Self.longEnough else { return .apart }
    let moved = sum / Double(apart)
    guard farthest - nearest <= abs(moved) else {
      forgetApart()
      return .apart
    }
    let stepped = errors / Double(apart) - usual
    offset -= moved
    clear()
    return abs(stepped - moved) < abs(moved) / 2 ? .moved(by: moved) : .fits
  }

  /// What comes next does not go on from what was.
  mutating func cut() {
    offset = 0
    usual = 0
    clear()
  }

  /// They were noise.
  private mutating func forgetApart() {
    for _ in 0..<min(apart, Self.enough) { typical += (limit - typical) / Self.memory }
    clear()
  }

  private mutating func clear() {
    (apart, sum, errors, nearest, farthest, elapsed) = (0, 0, 0, 0, 0, 0)
  }
}
