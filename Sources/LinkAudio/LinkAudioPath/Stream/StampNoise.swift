// SPDX-License-Identifier: GPL-2.0-or-later

/// Learns the error of a sender's single stamps, and detects when the sender's clock was measured again,
/// which moves all later stamps.
///
/// It compares each stamp with the stamps before it, and not with our clock, which moves for its own reasons.
/// A new measurement stays in one place, far beyond the noise; everything else is noise, which the line
/// averages. If a peer moves the session's beats, stamps step as well, but our own beats move with them, so
/// the error against the line does not step.
struct StampNoise: BitwiseCopyable {
  enum Word: BitwiseCopyable {
    case fits
    /// Far off, for a reason that is not known yet.
    case apart
    /// This stamp and those that were apart before it show that the clock is later by this, in microseconds.
    case moved(by: Double)
  }

  /// Largest error that is still noise, as a multiple of the typical one.
  static var widest: Double { 8 }
  /// Smallest step of a new measurement, in microseconds. A server's times jump by this much and return
  /// (`StreamClock`).
  static var least: Double { 50 }
  /// A new measurement is sure after this number of stamps and of microseconds. Stamps alone are not enough:
  /// all stamps of one long period have the same error.
  static var enough: Int { 8 }
  static var longEnough: Double { 40_000 }
  /// Stamps over which averages are taken.
  static var average: Double { 32 }
  static var memory: Double { 64 }

  /// Mean error of a stamp in microseconds; it starts large for an unknown sender.
  private(set) var typical = 20.0
  /// The last stamp's distance from the mean of those before it.
  private var offset = 0.0
  /// Mean distance of the stamps behind the line.
  private var usual = 0.0
  // Sums over successive stamps that are apart on one side.
  private var apart = 0
  private var sum = 0.0
  private var errors = 0.0
  private var nearest = 0.0
  private var farthest = 0.0
  private var elapsed = 0.0

  init() {}

  /// Largest error of a good stamp, in microseconds.
  var limit: Double { max(Self.least, Self.widest * typical) }

  /// `step` is how much later the stamp is than the stamp before it plus the frames between, in microseconds;
  /// `micros` is the time between them. `error` is the stamp's distance behind the line.
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

  /// Starts over, because the next stamp does not continue the last.
  mutating func cut() {
    offset = 0
    usual = 0
    clear()
  }

  /// The stamps that were apart were noise.
  private mutating func forgetApart() {
    for _ in 0..<min(apart, Self.enough) { typical += (limit - typical) / Self.memory }
    clear()
  }

  private mutating func clear() {
    (apart, sum, errors, nearest, farthest, elapsed) = (0, 0, 0, 0, 0, 0)
  }
}
