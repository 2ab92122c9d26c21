// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// What an output of the user's own sends.
public enum OutputKind: UInt8, Sendable, BitwiseCopyable {
  /// MIDI clock.
  case clock
  /// A gate signal at a rate of its own.
  case pulse
  /// High while the song plays.
  case run
  /// A pulse when the song starts, and more of them while it plays.
  case reset
  /// A click with a sound, a level and a pattern of its own.
  case click
  /// Linear timecode, as sound.
  case ltc
  /// MIDI timecode.
  case mtc

  /// Its port's type.
  public var isMIDI: Bool {
    @_noLocks @_noAllocation get {
      switch self {
      case .clock, .mtc: true
      case .pulse, .run, .reset, .click, .ltc: false
      }
    }
  }

  /// It tells where the transport is, and knows no beat.
  public var isTimecode: Bool {
    @_noLocks @_noAllocation get {
      switch self {
      case .ltc, .mtc: true
      case .clock, .pulse, .run, .reset, .click: false
      }
    }
  }
}

/// How often: so many times in so many beats, or bars.
public struct Rate: Hashable, Sendable, BitwiseCopyable {
  /// 0: never.
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

/// An output that the user has added: a port of its own.
public struct OutputSettings: Hashable, Sendable, BitwiseCopyable {
  public var kind: OutputKind
  /// As `Settings.offsets`: positive is earlier.
  public var offset = Micros(0)
  /// Of a clock.
  public var clock = ClockSettings()
  /// Of a clock's machine.
  public var programs = Programs()
  /// Of a pulse, a run gate, a reset.
  public var gate = GateSettings()
  /// Of a click, which is on as long as it is there.
  public var click = ClickSettings()
  /// Bars of clicks at this port before a start, which waits for them; up to `LaunchSettings.mostCountIn`.
  public var countIn: Int32 = 0
  /// Of timecode.
  public var timecode = TimecodeSettings()

  public init(_ kind: OutputKind) {
    self.kind = kind
    click.isOn = true
    if case .reset = kind {
      gate.rate = Rate(isInBars: true)
      gate.when = .rolling
    }
  }

  /// Bars that a start waits for it.
  public var longestCountIn: Int32 { if case .click = kind { countIn } else { 0 } }

  /// So many there can be.
  public static let limit = 32
}

/// Pulses as a modular or a sync box wants them.
public struct GateSettings: Hashable, Sendable, BitwiseCopyable {
  public var isOn = true
  public var rate = Rate()
  public var when = RunsWhen.always
  /// Less where pulses come close.
  public var width = Micros(5000)
  /// Of 1, which is what a sound card's output can do.
  public var level: Float = 1
  /// High at rest, low for the pulse.
  public var isInverted = false
  /// Edges where they belong between two frames, not at the nearest.
  public var isFine = false

  @_noLocks @_noAllocation
  public init() {}
}

extension PulseSettings {
  /// The port `pulse`.
  public var gate: GateSettings {
    @_noLocks @_noAllocation get {
      var gate = GateSettings()
      gate.isOn = isOn
      gate.when = when
      gate.rate = Rate(isInBars: true)
      if let perBeat = rate.perBeat { gate.rate = Rate(Int32(truncatingIfNeeded: perBeat)) }
      return gate
    }
  }
}
