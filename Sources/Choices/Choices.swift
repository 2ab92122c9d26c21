// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

// The user's choices as plain values: each type and each default exists here and nowhere else. What a hand can change while
// music plays is a choice; what only a start can is configuration. Real-time code, as all that reads it in a cycle: no words,
// no key paths, no heap.

/// The choices that matter inside a cycle. Changed whole; every field takes effect in the next cycle.
public struct Settings: Hashable, Sendable, BitwiseCopyable {
  public var meter = Meter()
  public var ownQuantum = Quantum.bar
  public var click = ClickSettings()
  public var clock = ClockSettings()
  public var pulse = PulseSettings()
  /// Added to the time at which a port is heard. Positive: what leaves here is heard later than JACK's latencies say (an
  /// amplifier across the stage, an unreported converter), so it is sent earlier. nil: as the port that it follows.
  public var offsets = PerPort<Micros?>(repeating: Micros(0))
  public var launch = LaunchSettings()
  /// What a stop that we are asked for waits for.
  public var stop = LaunchMoment.now
  public var correction = Correction.off
  /// Lags below this are not corrected.
  public var correctAbove = Micros(3000)
  /// In the Link session; on the network only while the program is, too.
  public var isLinkEnabled = true
  public var lead = Lead.link
  /// The host is the clock: the session's grid is moved to the host's beat even when others share it.
  public var hostIsTheClock = false
  /// A start or stop of the transport starts or stops the session (the other way round is the program's part).
  public var syncsStartStop = false
  /// The wish to record. JACK's transport has no word for it; machine control has, and DAWs obey it (Ardour, Qtractor).
  public var records = false
  /// The page for browsers can be reached from the networks that this machine is on.
  public var opensPage = false
  public var audio = AudioSettings()
  /// As timebase master, beside `tick`. Off: jack2 drops the locates of programs that send back the position that they read.
  public var showsFineTicks = false
  public var far = FarChoices()
  public var bend = BendSettings()
  /// Where other programs are heard; for the control thread.
  public var sink = SinkName()
  /// The next change that waits for its beat; the control surface says which.
  public var queued: QueuedChange?

  public init() {
    offsets[.click2] = nil
    offsets[.run] = nil
  }

  /// Beats after which the session's grid repeats, for launches and for bars while nothing rolls.
  public var quantum: Double {
    @_noLocks @_noAllocation get {
      switch ownQuantum {
      case .bar: meter.length.value
      case .beats(let beats): beats
      }
    }
    set { ownQuantum = .beats(newValue) }
  }

  /// The grid that a start waits for, and a locate lands on; zero: none.
  public var launchStep: Beats {
    @_noLocks @_noAllocation get {
      switch launch.moment {
      case .bar: Beats(quantum)
      case .beat: Beats(micros: 1_000_000)
      case .now: .zero
      }
    }
  }

  /// What bars are of while nothing rolls: the meter, if it fits the grid that is shared with others; or else that grid's own notes.
  public var standingMeter: Meter {
    @_noLocks @_noAllocation get {
      guard case .beats(let beats) = ownQuantum else { return meter }
      return Meter(filling: ThirtySeconds.nearest(to: beats, grain: 1), orFitting: meter)
    }
  }

  /// What a start waits for, the longest count-in of all outputs.
  public var countIn: Beats {
    @_noLocks @_noAllocation get { countIn(bars: max(launch.countIn, launch.othersCountIn)) }
  }

  @_noLocks @_noAllocation
  public func countIn(bars: Int32) -> Beats {
    LaunchSettings.countIn(bars: bars, in: meter)
  }

  /// The offset that holds for this port. Inlined, so that nobody needs a copy of all settings to ask.
  @inlinable @_noLocks @_noAllocation
  public func offset(of port: Port) -> Micros {
    if let own = offsets[port] { return own }
    guard let leader = port.follows, let its = offsets[leader] else { return Micros(0) }
    return its
  }
}

/// Who says what beat it is.
public enum Lead: UInt8, Sendable, BitwiseCopyable {
  /// The session: we show it as bar and beat on JACK's transport.
  case link
  /// Another JACK client, the timebase master: its tempo and beat go into the session.
  case host
  /// `host` while another client is master, `link` otherwise.
  case auto
  /// A sequencer's MIDI clock at `control`: its tempo and beat go into the session.
  case midi
}

/// When a click or a clock that is on runs.
public enum RunsWhen: UInt8, Sendable, BitwiseCopyable {
  /// Follows the session whether the transport rolls or not.
  case always
  case rolling
}

/// The sounds that need no file.
public enum ClickSound: UInt8, Sendable, BitwiseCopyable {
  /// Two sine tones, a fourth apart.
  case beep
  /// A wood block.
  case wood
  /// A short burst of noise, as an old sequencer's rim.
  case tick
  /// A cowbell: two detuned tones.
  case bell
}

public struct ClickSettings: Hashable, Sendable, BitwiseCopyable {
  public var isOn = false
  public var when = RunsWhen.always
  public var sound = ClickSound.beep
  /// Linear; 0...8.
  public var gain: Float = 0.5
  /// Clicks for each note of the meter, 1...8.
  public var subdivision: Int32 = 1
  /// Empty: the bar's first beat accented, then beats, subdivisions softer.
  public var pattern = Pattern()

  public init() {}
}

public struct ClockSettings: Hashable, Sendable, BitwiseCopyable {
  public var isOn = true
  /// Always: the clocks run while the transport stands, too, so that hardware stays locked.
  public var when = RunsWhen.rolling
  /// What a receiver gets between a song position and Continue, if the grid leaves room for it.
  public var settle = Micros(100_000)
  /// Clocks a beat, 6...96: 24, or a multiple or a part of it for a machine that shall play faster or slower.
  public var perBeat: Int32 = 24
  /// Start, Stop and Continue; else clocks alone.
  public var sendsTransport = true
  /// Song position and Continue; else a start in the middle of a song is a Start on its next bar.
  public var sendsPosition = true
  /// Off, the receiver is stopped, alone. On again while the song rolls, it is started with the next bar.
  public var plays = true

  public init() {}
}

/// How often `pulse` goes high: once a bar, or so often a beat.
public enum PulseRate: UInt8, Sendable, BitwiseCopyable {
  case bar, one, two, four, twentyFour, fortyEight

  /// Nil: once a bar.
  public var perBeat: Int64? {
    @_noLocks @_noAllocation get {
      switch self {
      case .bar: nil
      case .one: 1
      case .two: 2
      case .four: 4
      case .twentyFour: 24
      case .fortyEight: 48
      }
    }
  }
}

public struct PulseSettings: Hashable, Sendable, BitwiseCopyable {
  public var isOn = true
  public var rate = PulseRate.one
  /// Always: it follows the session whether the transport rolls or not; `run` says which.
  public var when = RunsWhen.always

  public init() {}
}

/// What something waits for that is asked for now: nothing, the next beat, or the next bar.
public enum LaunchMoment: UInt8, Sendable, BitwiseCopyable {
  case now, beat, bar
}

/// How near to its beat the song's start position is heard.
public enum Alignment: UInt8, Sendable, BitwiseCopyable {
  /// In the nearest cycle: at most half a period off.
  case nearest
  /// To the frame: the transport is sent back by less than a period first. A boundary that is too near for that is
  /// left for the next. Not from the song's first period, which has no room before it: that starts as `nearest` does.
  case exact
}

/// What JACK's transport says while a start of ours waits for its beat.
public enum LaunchWait: UInt8, Sendable, BitwiseCopyable {
  /// That it starts: every slow client can get ready meanwhile.
  case starting
  /// That it stands, until shortly before: for programs that already play when it says that it starts.
  case stopped
}

/// How starts are quantised.
public struct LaunchSettings: Hashable, Sendable, BitwiseCopyable {
  public var moment = LaunchMoment.bar
  public var alignment = Alignment.nearest
  public var wait = LaunchWait.starting
  public static var mostCountIn: Int32 {
    @_noLocks @_noAllocation get { 4 }
  }
  @_noLocks @_noAllocation
  public static func countIn(bars: Int32, in meter: Meter) -> Beats {
    Beats(micros: Int64(min(mostCountIn, max(0, bars))) &* meter.length.micros)
  }

  /// Whole bars of clicks before a start, which waits for them; up to `mostCountIn`. Not when it waits for nothing, and as much as is left
  /// of them when a peer has said when it starts.
  public var countIn: Int32 = 0
  /// The longest that one of the user's own outputs wants.
  public var othersCountIn: Int32 = 0
  /// A transport that waits longer looks broken; and JACK's own timeout must be longer.
  public var longestWait = Micros(30_000_000)

  /// The longest wait for a peer's start, in microseconds. The session has fixed its time; only an absurd time ends the wait.
  public static var longestPeersWait: Double {
    @_noLocks @_noAllocation get { 900e6 }
  }

  /// The same with a count-in, in microseconds.
  @_noLocks @_noAllocation
  public func longestWait(behind countIn: Double) -> Double {
    min(Double(longestWait.count) + countIn, 60_000_000)
  }

  public init() {}
}

/// What is done about a host that counts frames and has drifted from the session: nothing but telling, or a locate to where it
/// should be, at the next bar line.
public enum Correction: UInt8, Sendable, BitwiseCopyable {
  case off, locate
}

/// Channels of audio between the session's peers.
public struct AudioSettings: Hashable, Sendable, BitwiseCopyable {
  public var isOn = false
  /// How much later than at its beat a channel is heard.
  public var delay = AudioDelay.auto
  /// What comes in at our inputs was played earlier than JACK's latencies say, by this.
  public var sendOffset = Micros(0)
  /// What we play is heard later than JACK's latencies say, by this.
  public var receiveOffset = Micros(0)

  public init() {}
}

public enum AudioDelay: Hashable, Sendable, BitwiseCopyable {
  /// As short as the network allows.
  case auto
  case time(Micros)
  case beats(Int32)
  case bars(Int32)

  public static var longest: Micros {
    @_noLocks @_noAllocation get { Micros(2_000_000) }
  }
  public static var mostBeats: Int32 {
    @_noLocks @_noAllocation get { 16 }
  }
  public static var mostBars: Int32 {
    @_noLocks @_noAllocation get { 4 }
  }
}
