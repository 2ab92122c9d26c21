// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// The kind of an output that the user has added.
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

  /// The port's type: MIDI, or audio.
  public var isMIDI: Bool {
    @_noLocks @_noAllocation get {
      switch self {
      case .clock, .mtc: true
      case .pulse, .run, .reset, .click, .ltc: false
      }
    }
  }

  /// A timecode tells the transport's position, independent of beats.
  public var isTimecode: Bool {
    @_noLocks @_noAllocation get {
      switch self {
      case .ltc, .mtc: true
      case .clock, .pulse, .run, .reset, .click: false
      }
    }
  }
}

/// A rate: `count` times in `span` beats or bars.
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
  /// The same meaning as `Settings.offsets`: positive is earlier.
  public var offset = Micros(0)
  /// For a clock.
  public var clock = ClockSettings()
  /// For a clock: the sounds of its machine.
  public var programs = Programs()
  /// For a pulse, a run gate, a reset.
  public var gate = GateSettings()
  /// For a click, which is on as long as it exists.
  public var click = ClickSettings()
  /// Bars of clicks at this port before a start, which waits for them; up to `LaunchSettings.mostCountIn`.
  public var countIn: Int32 = 0
  /// For timecode.
  public var timecode = TimecodeSettings()

  public init(_ kind: OutputKind) {
    self.kind = kind
    click.isOn = true
    if case .reset = kind {
      gate.rate = Rate(isInBars: true)
      gate.when = .rolling
    }
  }

  /// Bars that a start waits for this output.
  public var longestCountIn: Int32 { if case .click = kind { countIn } else { 0 } }

  /// The most outputs that a user can add.
  public static let limit = 32
}

/// Pulses for modular gear or a sync box.
public struct GateSettings: Hashable, Sendable, BitwiseCopyable {
  public var isOn = true
  public var rate = Rate()
  public var when = RunsWhen.always
  /// The width of a pulse; it is shorter if pulses come close.
  public var width = Micros(5000)
  /// A share of full scale, which is the maximum of a sound card's output.
  public var level: Float = 1
  /// High at rest, low for the pulse.
  public var isInverted = false
  /// Places edges between two frames, not at the nearest frame.
  public var isFine = false

  @_noLocks @_noAllocation
  public init() {}
}

extension PulseSettings {
  /// The settings of the port `pulse` as a gate.
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
