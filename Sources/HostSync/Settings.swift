// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// The user's choices that matter inside a cycle. Changed whole; every field takes effect in the next cycle.
public struct Settings: Sendable, BitwiseCopyable {
  public var meter = Meter()
  /// Beats after which the session's grid repeats, for launches and for bars while nothing rolls. Not the meter.
  public var quantum = 4.0
  public var click = ClickSettings()
  public var clock = ClockSettings()
  public var pulse = PulseSettings()
  public var offsets = Offsets()
  public var launch = LaunchSettings()
  public var lead = Lead.link
  /// The host is the clock: the session's grid is moved to the host's beat even when others share it.
  public var hostIsTheClock = false
  /// A start or stop of the transport starts or stops the session (the other way round is the program's part).
  public var syncsStartStop = false
  /// The wish to record. JACK's transport has no word for it; machine control has, and DAWs obey it (Ardour, Qtractor).
  public var records = false

  @_noLocks @_noAllocation
  public init() {}
}

/// Who says what beat it is.
public enum Lead: UInt8, Sendable, BitwiseCopyable {
  /// The session: we show it as bar and beat on JACK's transport.
  case link
  /// Another JACK client, the timebase master: its tempo and beat go into the session.
  case host
  /// `host` while another client is master, `link` otherwise.
  case automatic
  /// A sequencer's MIDI clock at `control`: its tempo and beat go into the session.
  case midi
}

/// How beats make bars.
public struct Meter: Hashable, Sendable, BitwiseCopyable {
  /// 1...64.
  public var beatsPerBar: Int32
  /// What JACK calls `beat_type`; no arithmetic depends on it: a beat is the session's beat.
  public var beatType: Int32

  @_noLocks @_noAllocation
  public init(beatsPerBar: Int32 = 4, beatType: Int32 = 4) {
    self.beatsPerBar = beatsPerBar
    self.beatType = beatType
  }

  @_noLocks @_noAllocation
  public static func == (left: Meter, right: Meter) -> Bool {
    left.beatsPerBar == right.beatsPerBar && left.beatType == right.beatType
  }

  /// `beatsPerBar`, whatever was asked for, within 1...64.
  var beats: Int64 { Int64(min(64, max(1, beatsPerBar))) }
}

/// Added to the time at which a port is heard. Positive: what leaves here is heard later than JACK's latencies
/// say (an amplifier across the stage, an unreported converter), so it is sent earlier.
public struct Offsets: Hashable, Sendable, BitwiseCopyable {
  public var click1 = Micros(0)
  public var click2 = Micros(0)
  public var clock = Micros(0)
  public var pulse = Micros(0)
  public var run = Micros(0)
  /// For other clients: their bar and beat, and their launch.
  public var transport = Micros(0)

  @_noLocks @_noAllocation
  public init() {}

  @_noLocks @_noAllocation
  public static func == (left: Offsets, right: Offsets) -> Bool {
    left.click1 == right.click1 && left.click2 == right.click2 && left.clock == right.clock
      && left.pulse == right.pulse && left.run == right.run && left.transport == right.transport
  }
}

/// When the click sounds.
public enum ClickMode: UInt8, Sendable, BitwiseCopyable {
  case off
  case whileRolling
  /// Follows the session whether the transport rolls or not.
  case always
}

public struct ClickSettings: Sendable, BitwiseCopyable {
  public var mode = ClickMode.off
  /// Linear; 0...8.
  public var gain: Float = 0.5
  /// Clicks per beat, 1...8.
  public var subdivision: Int32 = 1
  /// Empty: the bar's first beat accented, then beats, subdivisions softer.
  public var pattern = Pattern()
  /// While a launch waits, the beats before the song's first one sound too.
  public var countsIn = false

  @_noLocks @_noAllocation
  public init() {}
}

public struct ClockSettings: Sendable, BitwiseCopyable {
  public var isOn = true
  /// Keeps the clocks running while the transport stands, so that hardware stays locked.
  public var runsWhileStopped = false
  /// What a receiver gets between a song position and Continue, if the grid leaves room for it.
  public var settle = Micros(100_000)

  @_noLocks @_noAllocation
  public init() {}
}

/// How often `pulse` goes high.
public enum PulseRate: Sendable, BitwiseCopyable {
  case off
  /// 1, 2, 4, 24 or 48; anything in 1...48 works.
  case perBeat(Int32)
  case perBar
}

public struct PulseSettings: Sendable, BitwiseCopyable {
  public var rate = PulseRate.perBeat(1)
  /// Follows the session whether the transport rolls or not; `run` says which.
  public var runsWhileStopped = true

  @_noLocks @_noAllocation
  public init() {}
}
