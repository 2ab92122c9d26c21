// SPDX-License-Identifier: GPL-2.0-or-later

/// Learns the error of a sender's single stamps, and detects when the sender's clock was measured again,
/// which moves all later stamps.
///
/// Each stamp is compared with the stamps before it, and not with our clock, which may be corrected, too. If
/// the sender measured its clock again, all stamps differ from the earlier ones by the same time, far beyond
/// the noise. All other differences are noise, which the line averages. If a peer moves the session's beats,
/// the stamps step as well. But our own beats move with them, so the stamps' distance from the line does not
/// step.
struct StampNoise: BitwiseCopyable {
  enum Word: BitwiseCopyable {
    case fits
    /// The stamp is far off, for a reason that is not known yet.
    case apart
    /// This stamp and the stamps that were `apart` before it show that the sender's clock is later by this
    /// time, in microseconds.
    case moved(by: Double)
  }

  /// The largest error that is still noise, as a multiple of the typical error.
  static var widest: Double { 8 }
  /// The smallest step of the stamps, in microseconds, that can mean that the sender's clock was measured
  /// again. The times of a sender's audio server may jump by this much and return (`StreamClock`).
  static var least: Double { 50 }
  /// A new measurement is certain after `enough` stamps within at least `longEnough` microseconds. The number
  /// of stamps alone is not enough, because all stamps of one long period have the same error.
  static var enough: Int { 8 }
  static var longEnough: Double { 40_000 }
  /// The numbers of stamps over which averages are taken: `average` for offsets, `memory` for the typical
  /// error.
  static var average: Double { 32 }
  static var memory: Double { 64 }

  /// The mean error of a stamp in microseconds. Its first value is large, because the sender is unknown.
  private(set) var typical = 20.0
  /// The last stamp's distance from the mean of the stamps before it.
  private var offset = 0.0
  /// The mean time by which the stamps are later than the line.
  private var usual = 0.0
  // Counts and sums over successive stamps that are `apart` in the same direction.
  private var apart = 0
  private var sum = 0.0
  private var errors = 0.0
  private var nearest = 0.0
  private var farthest = 0.0
  private var elapsed = 0.0

  init() {}

  /// The largest error of a stamp that is still noise, in microseconds.
  var limit: Double { max(Self.least, Self.widest * typical) }

  /// Judges a stamp. `step`: the microseconds by which the stamp is later than the last stamp plus the frames
  /// between the two. `micros`: the time between the two. `error`: the microseconds by which the stamp is
  /// later than the line.
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

  /// Starts over, because the next stamp does not continue the last stamp.
  mutating func cut() {
    offset = 0
    usual = 0
    clear()
  }

  /// Treats the stamps that deviated (`apart`) as noise.
  private mutating func forgetApart() {
    for _ in 0..<min(apart, Self.enough) { typical += (limit - typical) / Self.memory }
    clear()
  }

  private mutating func clear() {
    (apart, sum, errors, nearest, farthest, elapsed) = (0, 0, 0, 0, 0, 0)
  }
}
