// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Where a song's bars are, in 32nds from its start, also behind a change of meter: that comes with a bar line, and the bars before
/// it keep their numbers.
///
/// Only the last change is known, which is what still sounds; whoever goes back behind it has bars of the earlier length as far as they
/// went, and a song that starts anew counts in its meter from the beginning.
public struct Bars: Hashable, Sendable, BitwiseCopyable {
  /// Bars of one length, from a line on.
  private struct Stretch: Hashable, BitwiseCopyable {
    /// Where its first bar begins, and how many bars are before that.
    var first: Int64 = 0
    var number: Int64 = 0
    var meter: Meter
  }

  private var present: Stretch
  private var before: Stretch

  @_noLocks @_noAllocation
  public init(_ meter: Meter = Meter()) {
    present = Stretch(meter: meter)
    before = present
  }

  /// As it was told by one who knows.
  public init(_ meter: Meter, countedFrom origin: Int64) {
    self.init(meter)
    present.first = origin
    before = present
  }

  /// The meter that holds from the last change on, and that change.
  public var meter: Meter {
    @_noLocks @_noAllocation get { present.meter }
  }
  public var first: Int64 {
    @_noLocks @_noAllocation get { present.first }
  }
  /// ==, for other modules' real-time code.
  @_noLocks @_noAllocation
  public func isSame(as other: Bars) -> Bool { self == other }

  /// Of the bar in which this place is.
  @_noLocks @_noAllocation
  public func meter(at place: Int64) -> Meter { stretch(at: place).meter }

  /// Where the first bar would begin, had all been as long as the one in which this place is.
  public func origin(at place: Int64) -> Int64 {
    let stretch = stretch(at: place)
    return stretch.first &- stretch.number &* stretch.meter.bar
  }

  @_noLocks @_noAllocation
  private func stretch(at place: Int64) -> Stretch { place < present.first ? before : present }

  @_noLocks @_noAllocation
  private func inBar(of place: Int64) -> (meter: Meter, bar: Int64, inBar: Int64) {
    let stretch = stretch(at: place)
    let length = stretch.meter.bar
    let from = place &- stretch.first
    let bar = from / length &- (from % length < 0 ? 1 : 0)
    return (stretch.meter, stretch.number &+ bar, from &- bar &* length)
  }

  /// Bar, note and the rest in 32nds, all from 0; bars before the song are below 0.
  @_noLocks @_noAllocation
  public func place(of place: Int64) -> (bar: Int64, note: Int64, rest: Int64) {
    let here = inBar(of: place)
    let note = here.inBar / here.meter.note
    return (here.bar, note, here.inBar &- note &* here.meter.note)
  }

  /// The same of any beat of the song's, with what has passed of the note, 0..<1.
  public func place(at beat: Double) -> (bar: Int64, note: Int64, passed: Double) {
    let whole = ThirtySeconds.before(beat)
    let here = place(of: whole)
    let passed = Double(here.rest) + (beat * Double(ThirtySeconds.perBeat) - Double(whole))
    return (here.bar, here.note, passed / Double(meter(at: whole).note))
  }

  /// The first bar line that is not before this beat, in 32nds.
  @_noLocks @_noAllocation
  public func line(atOrAfter beat: Double) -> Int64 {
    let whole = 0 &- ThirtySeconds.before(0 - beat)
    let here = inBar(of: whole)
    guard here.inBar > 0 else { return whole }
    let next = whole &- here.inBar &+ here.meter.bar
    // A change cuts no bar, so its line is one of both.
    return whole < present.first ? min(next, present.first) : next
  }

  /// Where this place is in a group of so many bars, from the group's first, and how long that is.
  @_noLocks @_noAllocation
  public func place(of place: Int64, inBars span: Int64) -> (place: Int64, length: Int64) {
    let here = inBar(of: place)
    let within = here.bar % span
    let bars = (within < 0 ? within &+ span : within) &* here.meter.bar
    return (bars &+ here.inBar, span &* here.meter.bar)
  }

  /// Into how many parts a beat has to be cut so that all of them, their notes, and a song that begins at `origin` fall on one: 1, 2, 4
  /// or 8.
  @_noLocks @_noAllocation
  public func parts(songFrom origin: Int64) -> Int64 {
    let all = present.first | present.meter.note | before.first | before.meter.note | origin
    return ThirtySeconds.perBeat >> Int64(min(3, all.trailingZeroBitCount))
  }

  /// Another meter, from the line next to this beat on: the one that was passed less than half a note ago (half a
  /// beat, if that is shorter), or else the next.
  @_noLocks @_noAllocation
  public mutating func change(to meter: Meter, at beat: Double) {
    guard meter != present.meter else { return }
    let half = ThirtySeconds.beats(present.meter.grain) / 2
    // One that has not come yet, or just now, is another one.
    guard beat >= ThirtySeconds.beats(present.first) + half else {
      present.meter = meter
      return
    }
    let next = line(atOrAfter: beat)
    let last = next &- present.meter.bar
    change(to: meter, from: ThirtySeconds.beats(last) + half > beat && last >= present.first ? last : next)
  }

  /// Another meter, from this bar line on.
  @_noLocks @_noAllocation
  public mutating func change(to meter: Meter, from line: Int64) {
    let number = inBar(of: line).bar
    if line > present.first { before = present }
    present = Stretch(first: line, number: number, meter: meter)
  }
}
