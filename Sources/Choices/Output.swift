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
  /// Of the others.
  public var gate = GateSettings()

  public init(_ kind: OutputKind) {
    self.kind = kind
    if case .reset = kind {
      gate.rate = Rate(isInBars: true)
      gate.when = .rolling
    }
  }

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

  @_noLocks @_noAllocation
  public init() {}
}

extension PulseSettings {
  /// The port `pulse`.
  public var gate: GateSettings {
    @_noLocks @_noAllocation get { asGate }
  }

  private var asGate: GateSettings {
    var gate = GateSettings()
    gate.isOn = isOn
    gate.when = when
    gate.rate = rate.perBeat.map { Rate(Int32(truncatingIfNeeded: $0)) } ?? Rate(isInBars: true)
    return gate
  }
}
