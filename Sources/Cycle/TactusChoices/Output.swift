// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// The kind of an output that the user has added.
public enum OutputKind: UInt8, Sendable, BitwiseCopyable {
  /// MIDI clock.
  case clock
  /// A gate signal: pulses at the output's own rate.
  case pulse
  /// A signal that is high while the song plays.
  case run
  /// A pulse when the song starts, and more pulses while the song plays.
  case reset
  /// A click with a sound, a level and a pattern of its own.
  case click
  /// Linear timecode, as sound.
  case ltc
  /// MIDI timecode.
  case mtc

  /// The group of ports in which patchbays show the output. The group also decides the port's type.
  public var group: PortGroup {
    @_noLocks @_noAllocation get {
      switch self {
      case .clock, .mtc: .midi
      case .pulse, .run, .reset: .gates
      case .click: .click
      case .ltc: .timecode
      }
    }
  }

  /// The words by which patchbays show the kind; nil: the kind's own name.
  public var label: StaticString? {
    switch self {
    case .clock: "MIDI clock"
    case .mtc: "MIDI timecode"
    case .ltc: "timecode"
    case .pulse, .run, .reset, .click: nil
    }
  }

  /// The port's type: MIDI, or audio.
  public var isMIDI: Bool { @_noLocks @_noAllocation get { group == .midi } }

  /// Whether the kind is a timecode, which tells the transport's position, independent of beats.
  public var isTimecode: Bool { @_noLocks @_noAllocation get { self == .ltc || self == .mtc } }
}

public enum PortGroup: UInt8, Sendable, BitwiseCopyable {
  case midi, gates, click, timecode
}

/// A rate: `count` pulses in `span` beats or bars.
public struct Rate: Hashable, Sendable, BitwiseCopyable {
  /// The number of pulses in `span` beats or bars; 0: no pulses.
  public var count: Int32
  public var span: Int32
  public var isInBars: Bool

  @_noLocks @_noAllocation
  public init(_ count: Int32 = 1, in span: Int32 = 1, isInBars: Bool = false) {
    self.count = count
    self.span = span
    self.isInBars = isInBars
  }

  public static let mostCount: Int32 = 96
  public static let longestSpan: Int32 = 64
}

/// The settings of an output that the user has added. Each kind of output has its own settings.
public enum OutputSettings: Hashable, Sendable, BitwiseCopyable {
  /// A MIDI clock. `programs` are the sounds that the receiving machine was asked for.
  case clock(ClockSettings, programs: Programs = Programs())
  case pulse(GateSettings)
  case run(GateSettings)
  case reset(GateSettings)
  /// A click. `countIn` is the number of bars of clicks at this port before a start, up to
  /// `LaunchSettings.mostCountIn`. The start waits for them.
  case click(ClickSettings, countIn: Int32 = 0)
  case ltc(TimecodeSettings)
  case mtc(TimecodeSettings)

  /// The settings with which an output of this kind begins.
  public init(_ kind: OutputKind) {
    switch kind {
    case .clock: self = .clock(ClockSettings())
    case .pulse: self = .pulse(GateSettings())
    case .run: self = .run(GateSettings())
    case .reset: self = .reset(GateSettings(rate: Rate(isInBars: true), when: .rolling))
    case .click: self = .click(ClickSettings(isOn: true))
    case .ltc: self = .ltc(TimecodeSettings())
    case .mtc: self = .mtc(TimecodeSettings())
    }
  }

  public var kind: OutputKind {
    @_noLocks @_noAllocation get {
      switch self {
      case .clock: .clock
      case .pulse: .pulse
      case .run: .run
      case .reset: .reset
      case .click: .click
      case .ltc: .ltc
      case .mtc: .mtc
      }
    }
  }

  /// The most outputs that a user can add.
  public static let limit = 32
}

/// The parts of the settings that only some kinds have. nil: this kind lacks the part. Assigning nil, or
/// assigning to a part that the kind lacks, has no effect.
extension OutputSettings {
  public var clock: ClockSettings? {
    get { if case .clock(let clock, _) = self { clock } else { nil } }
    set {
      if let newValue, case .clock(_, let programs) = self { self = .clock(newValue, programs: programs) }
    }
  }

  public var programs: Programs? {
    get { if case .clock(_, let programs) = self { programs } else { nil } }
    set { if let newValue, case .clock(let clock, _) = self { self = .clock(clock, programs: newValue) } }
  }

  public var gate: GateSettings? {
    get {
      switch self {
      case .pulse(let gate), .run(let gate), .reset(let gate): gate
      case .clock, .click, .ltc, .mtc: nil
      }
    }
    set {
      guard let newValue else { return }
      switch self {
      case .pulse: self = .pulse(newValue)
      case .run: self = .run(newValue)
      case .reset: self = .reset(newValue)
      case .clock, .click, .ltc, .mtc: break
      }
    }
  }

  public var click: ClickSettings? {
    get { if case .click(let click, _) = self { click } else { nil } }
    set { if let newValue, case .click(_, let countIn) = self { self = .click(newValue, countIn: countIn) } }
  }

  public var countIn: Int32? {
    get { if case .click(_, let countIn) = self { countIn } else { nil } }
    set { if let newValue, case .click(let click, _) = self { self = .click(click, countIn: newValue) } }
  }

  public var timecode: TimecodeSettings? {
    get {
      switch self {
      case .ltc(let timecode), .mtc(let timecode): timecode
      case .clock, .pulse, .run, .reset, .click: nil
      }
    }
    set {
      guard let newValue else { return }
      switch self {
      case .ltc: self = .ltc(newValue)
      case .mtc: self = .mtc(newValue)
      case .clock, .pulse, .run, .reset, .click: break
      }
    }
  }
}

/// Pulses for modular gear or a sync box.
public struct GateSettings: Hashable, Sendable, BitwiseCopyable {
  public var isOn = true
  public var rate: Rate
  public var when: RunsWhen
  /// The width of a pulse. If pulses come close together, they are shorter.
  public var width = Micros(5000)
  /// The level of the signal, as a share of full scale, which is the maximum of a sound card's output.
  public var level: Float = 1
  /// Whether the signal is high at rest and low during a pulse.
  public var isInverted = false
  /// Whether an edge may lie between two frames. If not, each edge is at the nearest frame.
  public var isFine = false
  public var swing = Swing()

  @_noLocks @_noAllocation
  public init(rate: Rate = Rate(), when: RunsWhen = .always) {
    self.rate = rate
    self.when = when
  }
}

/// The rate of `pulse`: once a bar, or a number of times a beat.
public enum PulseRate: UInt8, Sendable, BitwiseCopyable {
  case bar, one, two, four, twentyFour, fortyEight

  /// The number of pulses in a beat; nil: once a bar.
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
  /// When pulses go out. With `always` they follow the session whether the transport rolls or not; the port
  /// `run` shows whether the transport rolls.
  public var when = RunsWhen.always
  public var swing = Swing()

  public init() {}
}

extension PulseSettings {
  /// The settings of the port `pulse` as a gate.
  public var gate: GateSettings {
    @_noLocks @_noAllocation get {
      let rate = rate.perBeat.map { Rate(Int32(truncatingIfNeeded: $0)) } ?? Rate(isInBars: true)
      var gate = GateSettings(rate: rate, when: when)
      gate.isOn = isOn
      gate.swing = swing
      return gate
    }
  }
}
