// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// How notes make bars. A beat of Link's is a quarter, whatever the meter's note is, so that bars agree with those of other peers: one of
/// 7/8 is three and a half beats long.
public struct Meter: Hashable, Sendable, BitwiseCopyable {
  /// How many of its notes; 1...64.
  public var beatsPerBar: Int32
  /// Its note, which JACK calls `beat_type`: 1, 2, 4, 8, 16 or 32, a whole note to a 32nd.
  public var beatType: Int32

  public init(beatsPerBar: Int32 = 4, beatType: Int32 = 4) {
    self.beatsPerBar = beatsPerBar
    self.beatType = beatType
  }

  /// Of quarters, or of the longest notes that make one bar of so many 32nds. If whole bars of `other` make that grid, or whole grids a
  /// bar, it is `other`; so it is where there is no grid, or one of more notes than a meter has.
  @_noLocks @_noAllocation
  init(filling grid: Int64, orFitting other: Meter) {
    self = other
    guard grid > 0, grid % other.bar != 0, other.bar % grid != 0 else { return }
    let note = min(ThirtySeconds.perBeat, grid & (0 &- grid))
    guard grid / note <= 64 else { return }
    self = Meter(beatsPerBar: Int32(grid / note), beatType: Int32(32 / note))
  }

  /// `beatsPerBar`, whatever was asked for, within 1...64.
  public var beats: Int64 {
    @_noLocks @_noAllocation get { Int64(min(64, max(1, beatsPerBar))) }
  }

  /// One of its notes, in 32nds.
  public var note: Int64 {
    @_noLocks @_noAllocation get { 32 / Int64(min(32, max(1, beatType))) }
  }

  /// A bar, in 32nds.
  public var bar: Int64 {
    @_noLocks @_noAllocation get { beats &* note }
  }

  /// A bar, in Link's beats.
  public var length: Beats {
    @_noLocks @_noAllocation get { Beats(micros: bar &* ThirtySeconds.micros) }
  }

  /// Of its notes in one of Link's beats.
  public var notesPerBeat: Double {
    @_noLocks @_noAllocation get { Double(ThirtySeconds.perBeat) / Double(note) }
  }

  /// What a song in it is moved by to be in phase: a beat, or its note where that is shorter. In 32nds.
  public var grain: Int64 {
    @_noLocks @_noAllocation get { min(ThirtySeconds.perBeat, note) }
  }
}

/// The grid that peers share, for starts, and for bars while nothing rolls.
public enum Quantum: Hashable, Sendable, BitwiseCopyable {
  /// One bar of the meter, whatever that is.
  case bar
  /// So many, in 32nds of a whole note; 0: none.
  case beats(Double)

  /// The longest bar that a meter can have.
  public static var most: Double { 256 }
}

/// The shortest note that a meter can have. Bars, and where a song begins in the session, are counted in them: exactly, in every meter.
public enum ThirtySeconds {
  /// In one of Link's beats.
  public static var perBeat: Int64 {
    @_noLocks @_noAllocation get { 8 }
  }

  /// The length of one, in millionths of a beat.
  public static var micros: Int64 {
    @_noLocks @_noAllocation get { 1_000_000 / perBeat }
  }

  /// So many, in Link's beats.
  @_noLocks @_noAllocation
  public static func beats(_ count: Int64) -> Double { Double(count) / Double(perBeat) }

  /// The whole ones up to a beat.
  @_noLocks @_noAllocation
  public static func before(_ beat: Double) -> Int64 { Int64(flooring: beat * Double(perBeat)) }

  /// The nearest multiple of `grain` of them to a beat.
  @_noLocks @_noAllocation
  public static func nearest(to beat: Double, grain: Int64) -> Int64 {
    Int64(rounding: beat * Double(perBeat) / Double(grain)) &* grain
  }
}
