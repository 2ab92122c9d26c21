// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Finds the boundaries of a grid (beats, or equal parts of them) that fall into a port's buffer.
///
/// Boundaries have numbers and are taken in order: the ticker computes the time of the next one. It does not
/// watch a phase wrap, which is how other programs skip and double clicks (facts: jack 11). When time moves
/// back over a boundary that was taken, it is not taken again. When time moves forward over one that was not,
/// that one is late, and is taken at once unless the delay would be audible.
struct Ticker: BitwiseCopyable {
  /// Up to this delay, a late boundary is better than none. A correction of the session's time adds to it.
  static let latenessMicros: Double = 5000
  /// More boundaries than 8192 frames at 999 BPM hold at 96 for each 32nd.
  static let limit: Int = 2560

  struct Tick: BitwiseCopyable {
    var number: Int64
    /// The frame within the buffer.
    var frame: Int
  }

  private(set) var perBeat: Int64 = 0
  /// Every `whole`-th boundary is a main one: a beat, or a note.
  private var whole: Int64 = 1
  /// The next boundary to be taken.
  private(set) var next: Int64 = 0
  /// The beat at the end of the last buffer.
  private var end = 0.0
  private var taken = 0

  /// Prepares for a buffer; returns true if the boundaries had to be counted again. Every `whole`-th boundary
  /// is a main one, which is never left out for another; default: each beat.
  mutating func open(_ window: Window, perBeat wanted: Int64, whole: Int64? = nil, _ missed: SkippedCycles)
    -> Bool
  {
    self.whole = whole ?? wanted
    let first = window.firstBeat
    if let last = missed.endBeat { end = last }
    let isNew = perBeat == 0 || window.isJump || abs(first - end) >= 0.5
    if isNew {
      next = Self.number(atOrAfter: first, perBeat: wanted)
    } else if wanted != perBeat {
      // Finer or coarser boundaries up to the last one that was taken are past.
      let lastTaken = Double(next &- 1) / Double(perBeat)
      next = max(
        Self.number(atOrAfter: end, perBeat: wanted), Int64(flooring: lastTaken * Double(wanted)) &+ 1)
    }
    perBeat = wanted
    end = window.endBeat
    taken = 0
    return isNew
  }

  /// The time of the next boundary, by the grid.
  func time(in window: Window) -> Double { window.grid.time(of: Double(next) / Double(perBeat)) }

  /// The frame of the next boundary, with its fraction, whether it is in this buffer or not.
  func position(in window: Window) -> Double { window.line.frame(at: time(in: window)) }

  /// Takes the next boundary of this buffer, if there is one more.
  mutating func next(in window: Window) -> Tick? {
    guard taken < Self.limit else { return nil }
    taken += 1
    if let number = takeLate(from: window) { return Tick(number: number, frame: 0) }
    let frame = Window.nearest(position(in: window))
    guard frame < window.frames else { return nil }
    defer { next = next &+ 1 }
    return Tick(number: next, frame: frame)
  }

  /// Takes a boundary that should have sounded before this buffer. Of several only one is taken: the last
  /// main one, or else the last.
  private mutating func takeLate(from window: Window) -> Int64? {
    guard position(in: window) < -0.5 else { return nil }
    let last = max(next, Self.number(atOrAfter: window.firstBeat, perBeat: perBeat) &- 1)
    let most = Self.floorDivide(last, whole) &* whole
    let chosen = most >= next ? most : last
    let delay = window.line.start - window.grid.time(of: Double(chosen) / Double(perBeat))
    next = last &+ 1
    guard delay <= Self.latenessMicros + window.correction else { return nil }
    if isCrowded(by: next, in: window) {
      // Two clicks at once sound like one that is too loud, so the minor one is left out.
      guard chosen % whole == 0 else { return nil }
      if next % whole != 0 { next = next &+ 1 }
    }
    return chosen
  }

  /// Returns whether boundary `number` comes right after the buffer's first frame.
  private func isCrowded(by number: Int64, in window: Window) -> Bool {
    guard perBeat > 1 else { return false }
    let beat = Double(number) / Double(perBeat)
    let spacing = window.grid.beatMicros(upTo: beat) / Double(perBeat) / window.line.frameMicros
    return window.frame(of: beat) < spacing / 4
  }

  /// Skips the next boundary, wherever it is.
  mutating func pass() {
    next = next &+ 1
  }

  static func number(atOrAfter beat: Double, perBeat: Int64) -> Int64 {
    0 &- Int64(flooring: 0 - beat * Double(perBeat))
  }

  /// Rounds down, also below zero. `divisor` is above zero.
  static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient &- 1 : quotient
  }

  static func floorRemainder(_ value: Int64, _ divisor: Int64) -> Int64 {
    let remainder = value % divisor
    return remainder < 0 ? remainder &+ divisor : remainder
  }
}
