// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The places of a song's bars, in 32nds from the song's start. A change of meter comes at a bar line, and
/// the bars before that line keep their numbers.
///
/// Only the last change of meter is known: earlier bars no longer sound. All bars before that change count as
/// long as the bar just before it. A song that starts again counts in its present meter from the beginning.
public struct Bars: Hashable, Sendable, BitwiseCopyable {
  /// Successive bars of the same length, from a bar line on.
  private struct Stretch: Hashable, BitwiseCopyable {
    /// The beginning of the first bar in 32nds, and the number of bars before that bar.
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

  /// Bars that all have the same length. The first bar begins at `origin`.
  public init(_ meter: Meter, countedFrom origin: Int64) {
    self.init(meter)
    present.first = origin
    before = present
  }

  /// The meter from the last change on. `first` is the place of that change.
  public var meter: Meter {
    @_noLocks @_noAllocation get { present.meter }
  }
  public var first: Int64 {
    @_noLocks @_noAllocation get { present.first }
  }
  /// A replacement of the operator `==` for other modules: their real-time code may not call the operator
  /// itself.
  @_noLocks @_noAllocation
  public func isSame(as other: Bars) -> Bool { self == other }

  /// The meter of the bar that contains `place`.
  @_noLocks @_noAllocation
  public func meter(at place: Int64) -> Meter { stretch(at: place).meter }

  /// The place at which the first bar would begin if all bars were as long as the bar that contains `place`.
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

  /// The number of the bar, the number of the note within the bar, and the 32nds since that note began, all
  /// from 0. The bars before the song have negative numbers.
  @_noLocks @_noAllocation
  public func place(of place: Int64) -> (bar: Int64, note: Int64, rest: Int64) {
    let here = inBar(of: place)
    let note = here.inBar / here.meter.note
    return (here.bar, note, here.inBar &- note &* here.meter.note)
  }

  /// The bar and note of any beat of the song, and the part of the note that has passed, 0..<1.
  public func place(at beat: Double) -> (bar: Int64, note: Int64, passed: Double) {
    let whole = ThirtySeconds.before(beat)
    let here = place(of: whole)
    let passed = Double(here.rest) + (beat * Double(ThirtySeconds.perBeat) - Double(whole))
    return (here.bar, here.note, passed / Double(meter(at: whole).note))
  }

  /// The first bar line at or after this beat, in 32nds.
  @_noLocks @_noAllocation
  public func line(atOrAfter beat: Double) -> Int64 {
    let whole = 0 &- ThirtySeconds.before(0 - beat)
    let here = inBar(of: whole)
    guard here.inBar > 0 else { return whole }
    let next = whole &- here.inBar &+ here.meter.bar
    // A change of meter cuts no bar, so the bar line of the change belongs to both meters.
    return whole < present.first ? min(next, present.first) : next
  }

  /// The place within a group of `span` bars, counted from the group's first bar line, and the group's
  /// length.
  @_noLocks @_noAllocation
  public func place(of place: Int64, inBars span: Int64) -> (place: Int64, length: Int64) {
    let here = inBar(of: place)
    let within = here.bar % span
    let bars = (within < 0 ? within &+ span : within) &* here.meter.bar
    return (bars &+ here.inBar, span &* here.meter.bar)
  }

  /// The number of equal parts into which a beat is divided (1, 2, 4 or 8), so that all bars, all their
  /// notes, and a song that begins at `origin` begin on a part.
  @_noLocks @_noAllocation
  public func parts(songFrom origin: Int64) -> Int64 {
    let all = present.first | present.meter.note | before.first | before.meter.note | origin
    return ThirtySeconds.perBeat >> Int64(min(3, all.trailingZeroBitCount))
  }

  /// Changes the meter at the bar line next to `beat`: the line that was passed less than half a note ago
  /// (half a beat, if that is shorter), or else the next one.
  @_noLocks @_noAllocation
  public mutating func change(to meter: Meter, at beat: Double) {
    guard meter != present.meter else { return }
    let half = ThirtySeconds.beats(present.meter.grain) / 2
    // The last change of meter has not come yet, or came just now: replace its meter.
    guard beat >= ThirtySeconds.beats(present.first) + half else {
      present.meter = meter
      return
    }
    let next = line(atOrAfter: beat)
    let last = next &- present.meter.bar
    change(to: meter, from: ThirtySeconds.beats(last) + half > beat && last >= present.first ? last : next)
  }

  /// Changes the meter at `line`, a bar line.
  @_noLocks @_noAllocation
  public mutating func change(to meter: Meter, from line: Int64) {
    let number = inBar(of: line).bar
    if line > present.first { before = present }
    present = Stretch(first: line, number: number, meter: meter)
  }
}
