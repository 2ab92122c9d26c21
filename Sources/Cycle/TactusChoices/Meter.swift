// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// The meter of a bar. A beat of Link is a quarter in every meter, so that bars agree with those of other
/// peers: a bar of 7/8 is three and a half beats long.
public struct Meter: Hashable, Sendable, BitwiseCopyable {
  /// The number of notes in a bar; 1...64.
  public var beatsPerBar: Int32
  /// The value of the notes, which JACK calls `beat_type`: 1, 2, 4, 8, 16 or 32, from a whole note to a 32nd.
  public var beatType: Int32

  public init(beatsPerBar: Int32 = 4, beatType: Int32 = 4) {
    self.beatsPerBar = beatsPerBar
    self.beatType = beatType
  }

  /// A meter whose bar fills a grid of `grid` 32nds. Its notes are the longest that fit, but at most
  /// quarters. The result is `other` if the grid is a whole number of bars of `other`, or a bar of `other` a
  /// whole number of grids. It is also `other` if there is no grid, or if the grid has more notes than a
  /// meter may have.
  @_noLocks @_noAllocation
  init(filling grid: Int64, orFitting other: Meter) {
    self = other
    guard grid > 0, grid % other.bar != 0, other.bar % grid != 0 else { return }
    let note = min(ThirtySeconds.perBeat, grid & (0 &- grid))
    guard grid / note <= 64 else { return }
    self = Meter(beatsPerBar: Int32(grid / note), beatType: Int32(32 / note))
  }

  /// `beatsPerBar`, clamped to 1...64.
  public var beats: Int64 {
    @_noLocks @_noAllocation get { Int64(min(64, max(1, beatsPerBar))) }
  }

  /// The length of a note, in 32nds.
  public var note: Int64 {
    @_noLocks @_noAllocation get { 32 / Int64(min(32, max(1, beatType))) }
  }

  /// The length of a bar, in 32nds.
  public var bar: Int64 {
    @_noLocks @_noAllocation get { beats &* note }
  }

  /// The length of a bar, in Link's beats.
  public var length: Beats {
    @_noLocks @_noAllocation get { Beats(millionths: bar &* ThirtySeconds.millionths) }
  }

  /// The number of the meter's notes in one of Link's beats.
  public var notesPerBeat: Double {
    @_noLocks @_noAllocation get { Double(ThirtySeconds.perBeat) / Double(note) }
  }

  /// The unit by which a song is moved into phase, in 32nds: a beat, or the meter's note if the note is
  /// shorter.
  public var grain: Int64 {
    @_noLocks @_noAllocation get { min(ThirtySeconds.perBeat, note) }
  }
}

/// The length of the grid that peers share. Starts use this grid, and so do bars while the transport does not
/// roll.
public enum Quantum: Hashable, Sendable, BitwiseCopyable {
  /// The length of one bar; it changes with the meter.
  case bar
  /// A number of beats, in multiples of a 32nd; 0: no grid.
  case beats(Double)

  /// The longest bar that a meter can have, in beats: 64 whole notes.
  public static var most: Double { 256 }
}

/// The 32nd is the shortest note that a meter can have. Bars, and a song's beginning in the session, are
/// counted in 32nds, which is exact in every meter.
public enum ThirtySeconds {
  /// 32nds in one of Link's beats.
  public static var perBeat: Int64 {
    @_noLocks @_noAllocation get { 8 }
  }

  /// The length of a 32nd, in millionths of a beat.
  public static var millionths: Int64 {
    @_noLocks @_noAllocation get { 1_000_000 / perBeat }
  }

  /// Converts `count` 32nds to Link's beats.
  @_noLocks @_noAllocation
  public static func beats(_ count: Int64) -> Double { Double(count) / Double(perBeat) }

  /// The number of whole 32nds from beat 0 to this beat.
  @_noLocks @_noAllocation
  public static func before(_ beat: Double) -> Int64 { Int64(flooring: beat * Double(perBeat)) }

  /// The multiple of `grain` 32nds that is nearest to this beat.
  @_noLocks @_noAllocation
  public static func nearest(to beat: Double, grain: Int64) -> Int64 {
    Int64(rounding: beat * Double(perBeat) / Double(grain)) &* grain
  }
}
