// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// Finds the boundaries of a grid (beats, or equal parts of them) that fall into a port's buffer.
///
/// Boundaries have numbers and are taken in order: the ticker computes the time of the next boundary. It does
/// not watch a phase wrap: in this way other programs skip and double clicks (facts: jack 11). When time
/// moves back over a boundary that was taken, the boundary is not taken a second time. When time moves
/// forward over a boundary that was not taken, that boundary is late. A late boundary is taken at once unless
/// the delay would be audible.
struct Ticker: BitwiseCopyable {
  /// The delay in microseconds up to which a late boundary is better than no boundary. A correction of the
  /// session's time adds to this limit.
  static let latenessMicros: Double = 5000
  /// The greatest number of boundaries in a buffer. 8192 frames at 999 BPM hold fewer, even with 96
  /// boundaries for each 32nd.
  static let limit: Int = 2560

  struct Tick: BitwiseCopyable {
    var number: Int64
    /// The frame within the buffer.
    var frame: Int
  }

  private(set) var perBeat: Int64 = 0
  /// The number of boundaries from one main boundary to the next. A main boundary is a beat, or a note of the
  /// meter.
  private var whole: Int64 = 1
  /// The number of the next boundary to be taken.
  private(set) var next: Int64 = 0
  /// The beat at the end of the last buffer.
  private var end = 0.0
  private var taken = 0

  /// Prepares for a buffer, and returns true if a new count of the boundaries begins. Every `whole`-th
  /// boundary (by default each beat) is a main boundary. A main boundary is never left out in favour of
  /// another one.
  mutating func open(_ window: Window, perBeat wanted: Int64, whole: Int64? = nil, _ missed: SkippedCycles)
    -> Bool
  {
    self.whole = whole ?? wanted
    let first = window.firstBeat
    if let last = missed.endBeat { end = window.beats.written(last) }
    let isNew = perBeat == 0 || window.isJump || abs(first - end) >= 0.5
    if isNew {
      next = Self.number(atOrAfter: first, perBeat: wanted)
    } else if wanted != perBeat {
      // The new boundaries are finer or coarser. They count as past up to the place of the boundary that was
      // taken last.
      let lastTaken = Double(next &- 1) / Double(perBeat)
      next = max(
        Self.number(atOrAfter: end, perBeat: wanted), Int64(flooring: lastTaken * Double(wanted)) &+ 1)
    }
    perBeat = wanted
    end = window.endBeat
    taken = 0
    return isNew
  }

  /// The time of the next boundary by the grid.
  func time(in window: Window) -> Double { window.time(of: Double(next) / Double(perBeat)) }

  /// The position of the next boundary in frames, with a fraction. It may lie after this buffer.
  func position(in window: Window) -> Double { window.line.frame(at: time(in: window)) }

  /// Takes the next boundary of this buffer; nil: the buffer has no more boundaries.
  mutating func next(in window: Window) -> Tick? {
    guard taken < Self.limit else { return nil }
    taken += 1
    if let number = takeLate(from: window) { return Tick(number: number, frame: 0) }
    let frame = Window.nearest(position(in: window))
    guard frame < window.frames else { return nil }
    defer { next = next &+ 1 }
    return Tick(number: next, frame: frame)
  }

  /// Takes a boundary that should have sounded before this buffer. Of several such boundaries only the last
  /// main boundary is taken, or else the last boundary.
  private mutating func takeLate(from window: Window) -> Int64? {
    guard position(in: window) < -0.5 else { return nil }
    let last = max(next, Self.number(atOrAfter: window.firstBeat, perBeat: perBeat) &- 1)
    let most = Self.floorDivide(last, whole) &* whole
    let chosen = most >= next ? most : last
    let delay = window.line.start - window.time(of: Double(chosen) / Double(perBeat))
    next = last &+ 1
    guard delay <= Self.latenessMicros + window.correction else { return nil }
    if isCrowded(by: next, in: window) {
      // Two clicks at once sound like one click that is too loud, so the click of the minor boundary is left
      // out.
      guard chosen % whole == 0 else { return nil }
      if next % whole != 0 { next = next &+ 1 }
    }
    return chosen
  }

  /// Returns whether boundary `number` comes right after the first frame of the buffer.
  private func isCrowded(by number: Int64, in window: Window) -> Bool {
    guard perBeat > 1 else { return false }
    let beat = Double(number) / Double(perBeat)
    let spacing = window.beatMicros(upTo: beat) / Double(perBeat) / window.line.frameMicros
    return window.frame(of: beat) < spacing / 4
  }

  /// Skips the next boundary, in this buffer or a later one.
  mutating func pass() {
    next = next &+ 1
  }

  static func number(atOrAfter beat: Double, perBeat: Int64) -> Int64 {
    0 &- Int64(flooring: 0 - beat * Double(perBeat))
  }

  /// The quotient, rounded down even below zero. `divisor` must be above zero.
  static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient &- 1 : quotient
  }

  static func floorRemainder(_ value: Int64, _ divisor: Int64) -> Int64 {
    let remainder = value % divisor
    return remainder < 0 ? remainder &+ divisor : remainder
  }
}
