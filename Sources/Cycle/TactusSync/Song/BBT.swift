// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusChoices

/// Bar, beat and tick as JACK carries them. Bars and beats count from 1, ticks from 0.
public struct BBT: Hashable, Sendable, BitwiseCopyable {
  public var bar: Int32
  public var beat: Int32
  public var tick: Int32
  /// Ticks from the song's start to the start of this bar.
  public var barStartTick: Double
  public var beatsPerBar: Float
  public var beatType: Float
  public var ticksPerBeat: Double
  public var beatsPerMinute: Double
  /// The tick with its fraction; nil: the fraction is not shown.
  public var fineTick: Double?

  @_noLocks @_noAllocation
  public init(
    bar: Int32, beat: Int32, tick: Int32, barStartTick: Double, beatsPerBar: Float, beatType: Float,
    ticksPerBeat: Double, beatsPerMinute: Double, fineTick: Double? = nil
  ) {
    self.bar = bar
    self.beat = beat
    self.tick = tick
    self.barStartTick = barStartTick
    self.beatsPerBar = beatsPerBar
    self.beatType = beatType
    self.ticksPerBeat = ticksPerBeat
    self.beatsPerMinute = beatsPerMinute
    self.fineTick = fineTick
  }
}

extension BBT {
  /// The number of ticks per beat that we show. Old PipeWire assumes this number, and every reader divides by
  /// it (facts: jack 7).
  public static var publishedTicksPerBeat: Int64 { 1920 }

  /// The position if all bars have the same length from the song's start on.
  public init(song: Beats, meter: Meter, beatsPerMinute: Double, grace: Beats = .zero, isFine: Bool = false) {
    self.init(song: song, bars: Bars(meter), beatsPerMinute: beatsPerMinute, grace: grace, isFine: isFine)
  }

  /// The position that we show as timebase master. JACK's beats are the meter's notes; `song` and
  /// `beatsPerMinute` count the session's beats, which are quarters.
  ///
  /// JACK's readers do not know bars before the first: Hydrogen refuses them and PipeWire rounds them to the
  /// wrong side. Up to `grace` before the song we show the song's first tick: a launch in the nearest cycle
  /// may be half a period early. Earlier than that we show the first bar, with the session's beat and tick.
  public init(song: Beats, bars: Bars, beatsPerMinute: Double, grace: Beats = .zero, isFine: Bool = false) {
    var position = song
    if position < .zero {
      position = position >= -grace ? .zero : position.phase(in: bars.meter(at: 0).length)
    }
    let whole = position.millionths / ThirtySeconds.millionths
    let place = bars.place(of: whole)
    let meter = bars.meter(at: whole)
    let note = meter.note &* ThirtySeconds.millionths
    let part = place.rest &* ThirtySeconds.millionths &+ position.millionths % ThirtySeconds.millionths
    let start = whole &- place.rest &- place.note &* meter.note
    self.init(
      bar: Int32(clamping: place.bar &+ 1), beat: Int32(truncatingIfNeeded: place.note &+ 1),
      tick: Int32(truncatingIfNeeded: part &* Self.publishedTicksPerBeat / note),
      barStartTick: Double(start) / Double(meter.note) * Double(Self.publishedTicksPerBeat),
      beatsPerBar: Float(meter.beats), beatType: Float(meter.beatType),
      ticksPerBeat: Double(Self.publishedTicksPerBeat), beatsPerMinute: beatsPerMinute * meter.notesPerBeat,
      fineTick: isFine
        ? Double(part &* Self.publishedTicksPerBeat) / Double(note) : nil)
  }

  /// The number of this position's beats (notes of `beatType`) in a beat of the session. An impossible beat
  /// type counts as a quarter.
  public var notesPerBeat: Double {
    @_noLocks @_noAllocation get {
      switch beatType {
      case 1, 2, 8, 16, 32: Double(beatType) / 4
      default: 1
      }
    }
  }

  /// The tempo in the session's beats a minute.
  public var tempo: Double {
    @_noLocks @_noAllocation get { beatsPerMinute / notesPerBeat }
  }

  /// Returns whether this position is `other`, as the server gives it back. jack2 gives a position back
  /// unchanged. PipeWire carries it as beats and may lose a tick (facts: jack 7).
  func isCopy(of other: BBT) -> Bool {
    guard let here = beats, let there = other.beats else { return self == other }
    return abs(here - there) * other.notesPerBeat * other.ticksPerBeat < 2.5
      && abs(beatsPerMinute - other.beatsPerMinute) < 1e-6
  }

  /// The song position that another client published, in the session's beats; nil: the position makes no
  /// sense.
  ///
  /// Other clients write zero bars, NaN tempos and uninitialised memory (facts: jack 6, 7). Even jack2 does
  /// so in the cycle after a plain locate. Clients round ticks down, so half a tick is added. A fine tick is
  /// exact.
  public var beats: Double? {
    guard bar >= 1, beat >= 1, tick >= 0,
      beatsPerBar >= 1, beatsPerBar <= 256, Float(beat) < beatsPerBar + 1,
      ticksPerBeat >= 1, ticksPerBeat <= 1e6, Double(tick) < ticksPerBeat,
      beatsPerMinute >= 1, beatsPerMinute <= 9999
    else { return nil }
    let notes =
      Double(bar &- 1) * Double(beatsPerBar) + Double(beat &- 1)
      + (knownFineTick ?? Double(tick) + 0.5) / ticksPerBeat
    return notes / notesPerBeat
  }

  /// The fine tick, if it differs from the tick by 1 at most: some clients round one of the two and cut off
  /// the other.
  private var knownFineTick: Double? {
    guard let fineTick, fineTick >= 0, fineTick < ticksPerBeat, abs(fineTick - Double(tick)) <= 1 else {
      return nil
    }
    return fineTick
  }

  /// The value of `beats` for a standing transport. A transport is sent to a beat, not to a place shortly
  /// after a beat, so tick 0 means exactly the beat.
  var standingBeats: Double? {
    guard let beats else { return nil }
    return tick == 0 && knownFineTick == nil ? beats - 0.5 / ticksPerBeat / notesPerBeat : beats
  }
}
