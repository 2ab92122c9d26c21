// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

// A written beat is a note's place in the score. A played beat is the session's beat at which the note is
// heard. For example, the eighth between the beats 3 and 4 is written at 3.5; with a swing of 60 % it is
// played at 3.6. Between the notes of a pair, written beats are spread evenly over played beats. Written and
// played beats agree where a pair begins and ends.

extension Swing {
  /// The length of a pair of notes in beats.
  fileprivate var pair: Double { 2 / Double(perBeat) }

  /// The number of played beats for each written beat, in the pair's first half and in its second half.
  fileprivate var slopes: (first: Double, second: Double) {
    let share = Double(share) / 1000
    return (2 * share, 2 - 2 * share)
  }

  fileprivate func played(_ written: Double) -> Double {
    let (half, begin) = (pair / 2, start(of: written))
    let inPair = written - begin
    return begin
      + (inPair < half ? inPair * slopes.first : half * slopes.first + (inPair - half) * slopes.second)
  }

  fileprivate func written(_ played: Double) -> Double {
    let (half, begin) = (pair / 2, start(of: played))
    let (inPair, turn) = (played - begin, half * slopes.first)
    return begin + (inPair < turn ? inPair / slopes.first : half + (inPair - turn) / slopes.second)
  }

  /// The number of played beats for each written beat, just before the written beat `written`.
  fileprivate func slope(upTo written: Double) -> Double {
    let half = pair / 2
    let halves = 0 &- Int64(flooring: 0 - written / half)
    return halves & 1 == 1 ? slopes.first : slopes.second
  }

  private func start(of beat: Double) -> Double { Double(Int64(flooring: beat / pair)) * pair }

  /// Returns this swing, or no swing if a bar of this meter is not a whole number of pairs: in such bars,
  /// swing would move every second downbeat.
  func fitting(_ meter: Meter) -> Swing {
    guard !isStraight, meter.bar % (2 * ThirtySeconds.perBeat / Int64(perBeat)) == 0 else { return Swing() }
    return self
  }
}

/// The written and played beats at one output, with at most one change of the swing ahead.
struct SwungBeats: BitwiseCopyable {
  private var swing = Swing()
  private var next = Swing()
  /// The beat, at the beginning of a pair, at which `next` replaces `swing`.
  private var change = -Double.infinity
  private var isNew = true

  /// Whether written and played beats are the same.
  var isStraight: Bool { swing.isStraight && next.isStraight }

  /// Prepares for this buffer. A new swing begins with the next pair of notes. It begins at once if the
  /// session's beat is not the expected beat.
  mutating func open(_ window: Window, _ swing: Swing, in bars: Bars) {
    let first = window.grid.beat(at: window.line.time(atFrame: -0.5))
    let wanted = swing.fitting(bars.meter)
    if first >= change { self.swing = next }
    if isNew || window.isJump { (self.swing, next, change, isNew) = (wanted, wanted, -.infinity, false) }
    guard wanted.share != next.share || wanted.perBeat != next.perBeat else { return }
    next = wanted
    let pair = max(self.swing.isStraight ? 0 : self.swing.pair, next.isStraight ? 0 : next.pair)
    change = 0 - Double(Int64(flooring: 0 - first / pair)) * pair
  }

  @inline(__always)
  func played(_ written: Double) -> Double { isStraight ? written : swing(at: written).played(written) }

  @inline(__always)
  func written(_ played: Double) -> Double { isStraight ? played : swing(at: played).written(played) }

  @inline(__always)
  func slope(upTo written: Double) -> Double {
    isStraight ? 1 : (written > change ? next : swing).slope(upTo: written)
  }

  /// Prepares for the first buffer of an output whose notes are straight. A swing that the user chooses later
  /// begins with a pair of notes.
  mutating func openStraight() { isNew = false }

  private func swing(at beat: Double) -> Swing { beat >= change ? next : swing }
}
