// SPDX-License-Identifier: GPL-2.0-or-later

/// JACK's transport as it is for this whole cycle.
public struct Transport: Sendable, BitwiseCopyable {
  public enum State: UInt8, Sendable, BitwiseCopyable {
    case stopped
    /// Somebody pressed play; slow clients are still getting ready. JACK's "net starting" counts too.
    case starting
    /// JACK's "looping" counts too.
    case rolling
  }

  public var state: State
  /// The transport's frame at frame 0 of this cycle.
  public var frame: UInt32
  /// What the timebase master shows for this cycle.
  public var bbt: BBT?

  @_noLocks @_noAllocation
  public init(state: State, frame: UInt32, bbt: BBT? = nil) {
    self.state = state
    self.frame = frame
    self.bbt = bbt
  }
}

/// Bar, beat, tick as JACK carries it: bar and beat count from 1, ticks from 0.
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

  @_noLocks @_noAllocation
  public init(
    bar: Int32, beat: Int32, tick: Int32, barStartTick: Double, beatsPerBar: Float, beatType: Float,
    ticksPerBeat: Double, beatsPerMinute: Double
  ) {
    self.bar = bar
    self.beat = beat
    self.tick = tick
    self.barStartTick = barStartTick
    self.beatsPerBar = beatsPerBar
    self.beatType = beatType
    self.ticksPerBeat = ticksPerBeat
    self.beatsPerMinute = beatsPerMinute
  }

  @_noLocks @_noAllocation
  public static func == (left: BBT, right: BBT) -> Bool {
    left.bar == right.bar && left.beat == right.beat && left.tick == right.tick
      && left.barStartTick == right.barStartTick && left.beatsPerBar == right.beatsPerBar
      && left.beatType == right.beatType && left.ticksPerBeat == right.ticksPerBeat
      && left.beatsPerMinute == right.beatsPerMinute
  }
}
