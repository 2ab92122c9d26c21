// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// The meter of a bar. A beat of Link is a quarter in every meter, so that bars agree with those of other
/// peers: a bar of 7/8 is three and a half beats long.
public struct Meter: Hashable, Sendable, BitwiseCopyable {
  /// The number of notes in a bar; 1...64.
  public var beatsPerBar: Int32
  /// The note's value, which JACK calls `beat_type`: 1, 2, 4, 8, 16 or 32, a whole note to a 32nd.
  public var beatType: Int32

  public init(beatsPerBar: Int32 = 4, beatType: Int32 = 4) {
    self.beatsPerBar = beatsPerBar
    self.beatType = beatType
  }

  /// A bar that fills a grid of `grid` 32nds, in quarters or the longest notes that fit. It is `other` if
  /// whole bars of `other` make the grid, or whole grids a bar; also if there is no grid, or one of more
  /// notes than a meter may have.
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
    @_noLocks @_noAllocation get { Beats(micros: bar &* ThirtySeconds.micros) }
  }

  /// Notes of the meter in one of Link's beats.
  public var notesPerBeat: Double {
    @_noLocks @_noAllocation get { Double(ThirtySeconds.perBeat) / Double(note) }
  }

  /// The unit by which a song is moved into phase: a beat, or the note if that is shorter. In 32nds.
  public var grain: Int64 {
    @_noLocks @_noAllocation get { min(ThirtySeconds.perBeat, note) }
  }
}

/// The grid that peers share, for starts, and for bars while nothing rolls.
public enum Quantum: Hashable, Sendable, BitwiseCopyable {
  /// The length of one bar, also when the meter changes.
  case bar
  /// Beats, in multiples of a 32nd; 0: no grid.
  case beats(Double)

  /// The longest bar that a meter can have.
  public static var most: Double { 256 }
}

/// The shortest note that a meter can have. Bars, and a song's beginning in the session, are counted in
/// 32nds: exactly, in every meter.
public enum ThirtySeconds {
  /// 32nds in one of Link's beats.
  public static var perBeat: Int64 {
    @_noLocks @_noAllocation get { 8 }
  }

  /// The length of a 32nd, in millionths of a beat.
  public static var micros: Int64 {
    @_noLocks @_noAllocation get { 1_000_000 / perBeat }
  }

  /// Converts `count` 32nds to Link's beats.
  @_noLocks @_noAllocation
  public static func beats(_ count: Int64) -> Double { Double(count) / Double(perBeat) }

  /// The number of whole 32nds up to a beat.
  @_noLocks @_noAllocation
  public static func before(_ beat: Double) -> Int64 { Int64(flooring: beat * Double(perBeat)) }

  /// The nearest multiple of `grain` 32nds to a beat.
  @_noLocks @_noAllocation
  public static func nearest(to beat: Double, grain: Int64) -> Int64 {
    Int64(rounding: beat * Double(perBeat) / Double(grain)) &* grain
  }
}
