// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

// The user's choices as plain values: each type and each default value exists here and nowhere else. A
// setting that can change while music plays is a choice; a setting that only a start can change is
// configuration. The audio thread reads the choices in each cycle, so they contain no strings, no key paths
// and no heap memory.

/// The choices that matter inside a cycle. They are replaced as a whole and take effect in the next cycle.
///
/// The struct has more than 20 properties: one for each choice or group of choices.
public struct Settings: Hashable, Sendable, BitwiseCopyable {
  public var meter = Meter()
  public var ownQuantum = Quantum.bar
  public var click = ClickSettings()
  public var clock = ClockSettings()
  public var pulse = PulseSettings()
  /// The correction, by the user, of the time at which a port is heard. Positive: the port is heard later
  /// than JACK's latencies say (an amplifier across the stage, an unreported converter), so we send earlier.
  /// nil: the port has the offset of the port `Port.follows`.
  public var offsets = PerPort<Micros?>(repeating: Micros(0))
  public var launch = LaunchSettings()
  /// The beat or bar line for which a stop waits, if the user stops the transport with tactus.
  public var stop = LaunchMoment.now
  public var stopPlace = StopPlace.here
  public var correction = Correction.off
  /// The smallest lag of a host (such as a DAW) behind the session that tactus corrects.
  public var correctAbove = Micros(3000)
  /// Whether tactus takes part in the Link session. While tactus rests (it is in the background, nothing
  /// rolls and no port is connected), it leaves the network in any case.
  public var isLinkEnabled = true
  public var lead = Lead.link
  /// Whether a host that leads may move the session's grid to its own beat even if other peers share the
  /// session.
  public var hostIsTheClock = false
  /// Whether a start or stop of the transport also starts or stops the session, and the other way round.
  public var syncsStartStop = false
  /// Whether the session's tactus programs share the place in the song. Only the control thread uses it.
  public var syncsSong = false
  /// Whether the user wants to record. JACK's transport cannot express this wish. MIDI Machine Control can,
  /// and some DAWs obey it (Ardour, Qtractor).
  public var records = false
  /// Whether browsers can reach the page from the networks that this machine is on.
  public var opensPage = false
  public var audio = AudioSettings()
  /// Whether we show the tick's fraction beside `tick` while we are timebase master. By default we do not:
  /// jack2 would drop the locates of programs that send back the position that they read.
  public var showsFineTicks = false
  public var far = FarChoices()
  public var bend = BendSettings()
  /// The JACK client or port at which other programs are heard; `*` stands for any text. Only the control
  /// thread uses this name.
  public var sink = ChosenName()
  /// The next change of tempo or meter that waits for its beat. The control surface chooses this change.
  public var queued: QueuedChange?

  public init() {
    offsets[.click2] = nil
    offsets[.run] = nil
  }

  /// The number of beats after which the grid repeats. Launches use this grid, and bars do while the
  /// transport does not roll.
  public var quantum: Double {
    @_noLocks @_noAllocation get {
      switch ownQuantum {
      case .bar: meter.length.value
      case .beats(let beats): beats
      }
    }
    set { ownQuantum = .beats(newValue) }
  }

  /// The length of the grid that a start waits for and that a locate lands on; zero: no grid.
  public var launchStep: Beats {
    @_noLocks @_noAllocation get {
      switch launch.moment {
      case .bar: Beats(quantum)
      case .beat: Beats(millionths: 1_000_000)
      case .now: .zero
      }
    }
  }

  /// The meter of the bars while nothing rolls: `meter`, if it fits the grid that peers share; otherwise a
  /// meter whose bars fill that grid.
  public var standingMeter: Meter {
    @_noLocks @_noAllocation get {
      guard case .beats(let beats) = ownQuantum else { return meter }
      return Meter(filling: ThirtySeconds.nearest(to: beats, grain: 1), orFitting: meter)
    }
  }

  /// The count-in that a start waits for: the longest count-in of all outputs.
  public var countIn: Beats {
    @_noLocks @_noAllocation get { countIn(bars: max(launch.countIn, launch.othersCountIn)) }
  }

  @_noLocks @_noAllocation
  public func countIn(bars: Int32) -> Beats {
    LaunchSettings.countIn(bars: bars, in: meter)
  }

  /// The offset that holds for this port. The function is inlined, so that a call does not copy all settings.
  @inlinable @_noLocks @_noAllocation
  public func offset(of port: Port) -> Micros {
    if let own = offsets[port] { return own }
    guard let leader = port.follows, let its = offsets[leader] else { return Micros(0) }
    return its
  }
}

/// The side that leads with its tempo and beat: the session, or a program on this machine.
public enum Lead: UInt8, Sendable, BitwiseCopyable {
  /// The session leads: we show it as bar and beat on JACK's transport.
  case link
  /// Another JACK client leads as timebase master: the client's tempo and beat go into the session.
  case host
  /// `host` while another client is master, `link` otherwise.
  case auto
  /// A sequencer leads by its MIDI clock at the port `control`: its tempo and beat go into the session.
  case midi
}

/// The times at which a click or a MIDI clock runs, if it is on.
public enum RunsWhen: UInt8, Sendable, BitwiseCopyable {
  /// The click or clock follows the session whether the transport rolls or not.
  case always
  case rolling
}

/// The built-in sounds.
public enum ClickSound: UInt8, Sendable, BitwiseCopyable {
  /// Sine tones; an accent is a fifth higher.
  case beep
  /// A wood block.
  case wood
  /// A short burst of noise, as an old sequencer's rim.
  case tick
  /// A cowbell: two detuned tones.
  case bell
}

public struct ClickSettings: Hashable, Sendable, BitwiseCopyable {
  public var isOn: Bool
  public var when = RunsWhen.always
  public var sound = ClickSound.beep
  /// The click's gain as a linear factor, 0...8.
  public var gain: Float = 0.5
  /// Clicks for each note of the meter, 1...8.
  public var subdivision: Int32 = 1
  /// The clicks of a bar. An empty pattern gives an accent on the bar's first beat, plain beats after it, and
  /// softer subdivisions.
  public var pattern = Pattern()
  public var swing = Swing()

  /// A click that a user has added is on as long as it exists.
  public init(isOn: Bool = false) { self.isOn = isOn }
}

public struct ClockSettings: Hashable, Sendable, BitwiseCopyable {
  public var isOn = true
  /// With `always`, clocks go out while the transport stands, too, so that hardware keeps its tempo.
  public var when = RunsWhen.rolling
  /// The time that the receiver gets to move to a song position before Continue follows, if the grid leaves
  /// room for this time.
  public var settle = Micros(100_000)
  /// Clock messages in a beat, 6...96: 24, or another number to make the machine faster or slower.
  public var perBeat: Int32 = 24
  /// Whether Start, Stop and Continue are sent; if not, the output sends clock messages alone.
  public var sendsTransport = true
  /// Whether song position and Continue are sent. If not, a start within a song is a Start on its next bar.
  public var sendsPosition = true
  /// Whether this receiver plays. If `plays` is switched off, this receiver alone is stopped. If it is
  /// switched on while the song rolls, the receiver starts with the next bar.
  public var plays = true
  public var swing = Swing()

  public init() {}
}

/// The boundary that a start, stop or change waits for: none, the next beat, or the next bar.
public enum LaunchMoment: UInt8, Sendable, BitwiseCopyable {
  case now, beat, bar
}

/// The accuracy with which the song's start position is heard on its beat.
public enum Alignment: UInt8, Sendable, BitwiseCopyable {
  /// The song starts in the cycle nearest to the beat, at most half a period off.
  case nearest
  /// The song's start is exact to the frame: the transport is first sent back by less than a period. If the
  /// boundary is too near for that, the start waits for the next boundary. A start from the song's first
  /// period cannot be sent back, so it is like `nearest`.
  case exact
}

/// The state of JACK's transport while a start of ours waits for its beat.
public enum LaunchWait: UInt8, Sendable, BitwiseCopyable {
  /// JACK's transport is starting: every slow client can get ready meanwhile.
  case starting
  /// JACK's transport stands until shortly before the beat. This is for programs that already play while the
  /// transport is starting.
  case stopped
}

/// The rules by which starts are quantised.
public struct LaunchSettings: Hashable, Sendable, BitwiseCopyable {
  public var moment = LaunchMoment.bar
  public var alignment = Alignment.exact
  public var wait = LaunchWait.starting
  public static var mostCountIn: Int32 {
    @_noLocks @_noAllocation get { 4 }
  }
  @_noLocks @_noAllocation
  public static func countIn(bars: Int32, in meter: Meter) -> Beats {
    Beats(millionths: Int64(min(mostCountIn, max(0, bars))) &* meter.length.millionths)
  }

  /// The number of whole bars of clicks before a start, up to `mostCountIn`. The start waits for them. A
  /// start that waits for no boundary has no count-in. Before a peer's start, only the part that fits before
  /// the peer's time is heard.
  public var countIn: Int32 = 0
  /// The longest count-in that one of the user's own outputs has.
  public var othersCountIn: Int32 = 0
  /// The longest wait for a boundary: a transport that waits longer looks broken. JACK's own timeout must be
  /// longer than this.
  public var longestWait = Micros(30_000_000)

  /// The longest wait for a peer's start, in microseconds. The peer chose that time, so this limit only ends
  /// a wait for an absurd time.
  public static var longestPeersWait: Double {
    @_noLocks @_noAllocation get { 900e6 }
  }

  /// The longest wait, in microseconds, of a start with a count-in of `countIn` microseconds.
  @_noLocks @_noAllocation
  public func longestWait(behind countIn: Double) -> Double {
    min(Double(longestWait.count) + countIn, 60_000_000)
  }

  public init() {}
}

/// The answer to the drift of a host that counts frames. `off`: tactus only reports the lag. `locate`: tactus
/// locates the transport to the right place at the next bar line.
public enum Correction: UInt8, Sendable, BitwiseCopyable {
  case off, locate
}

/// The settings of Link Audio: channels of sound between the session's peers.
public struct AudioSettings: Hashable, Sendable, BitwiseCopyable {
  public var isOn = false
  /// The name of this computer that peers show. Only the control thread uses it.
  public var peerName = ChosenName()
  /// The time by which a received channel is heard later than the beat of its stamp.
  public var delay = AudioDelay.auto
  /// The time by which sound at our inputs was played earlier than JACK's latencies say.
  public var sendOffset = Micros(0)
  /// The time by which sound from our outputs is heard later than JACK's latencies say.
  public var receiveOffset = Micros(0)

  public init() {}
}

public enum AudioDelay: Hashable, Sendable, BitwiseCopyable {
  /// The delay is as short as the network allows.
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
