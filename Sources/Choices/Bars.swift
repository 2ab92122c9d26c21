// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Where a song's bars are, in beats from its start, also behind a change of meter: that comes with a bar line, and the bars before
/// it keep their numbers.
///
/// Only the last change is known, which is what still sounds; whoever goes back behind it has bars of the earlier length as far as they
/// went, and a song that starts anew counts in its meter from the beginning.
public struct Bars: Hashable, Sendable, BitwiseCopyable {
  /// Bars of one length, from a line on.
  private struct Stretch: Hashable, BitwiseCopyable {
    /// The beat at which its first bar begins, and how many bars are before that.
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

  /// As it was told by one who knows, without what was before the change.
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
  /// Where its first bar would begin, had all been as long as they are now.
  public var origin: Int64 {
    @_noLocks @_noAllocation get { present.first &- present.number &* present.meter.beats }
  }

  /// Of the bar in which this beat is.
  @_noLocks @_noAllocation
  public func meter(at beat: Int64) -> Meter { beat < present.first ? before.meter : present.meter }

  /// Bar and beat of a beat, both from 0; bars before the song are below 0.
  @_noLocks @_noAllocation
  public func place(of beat: Int64) -> (bar: Int64, beat: Int64) {
    let stretch = beat < present.first ? before : present
    let length = stretch.meter.beats
    let from = beat &- stretch.first
    let bar = from / length &- (from % length < 0 ? 1 : 0)
    return (stretch.number &+ bar, from &- bar &* length)
  }

  /// The first bar line that is not before this beat.
  @_noLocks @_noAllocation
  public func line(atOrAfter beat: Double) -> Int64 {
    let whole = 0 &- Int64(flooring: 0 - beat)
    let there = place(of: whole).beat
    guard there > 0 else { return whole }
    let next = whole &- there &+ meter(at: whole).beats
    // A change cuts no bar, so its line is one of both.
    return whole < present.first ? min(next, present.first) : next
  }

  /// Where this beat is in a group of so many bars, in beats from the group's first.
  @_noLocks @_noAllocation
  public func place(of beat: Int64, inBars span: Int64) -> (beat: Int64, length: Int64) {
    let here = place(of: beat)
    let length = meter(at: beat).beats
    let within = here.bar % span
    return ((within < 0 ? within &+ span : within) &* length &+ here.beat, span &* length)
  }

  /// Another meter, from the line next to this beat on: the one that was passed less than half a beat ago, or else the next.
  @_noLocks @_noAllocation
  public mutating func change(to meter: Meter, at beat: Double) {
    guard meter != present.meter else { return }
    // One that has not come yet, or just now, is another one.
    guard beat >= Double(present.first) + 0.5 else {
      present.meter = meter
      return
    }
    let next = line(atOrAfter: beat)
    let last = next &- present.meter.beats
    let line = Double(last) + 0.5 > beat && last >= present.first ? last : next
    let number = place(of: line).bar
    if line > present.first { before = present }
    present = Stretch(first: line, number: number, meter: meter)
  }
}
