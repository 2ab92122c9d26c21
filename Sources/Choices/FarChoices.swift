// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// What is chosen of other rooms while it plays.
public struct FarChoices: Hashable, Sendable, BitwiseCopyable {
  /// The other rooms are so much earlier than measured: half of what the way there takes longer than the way back.
  public var offset = Micros(0)
  /// What a person can know of a way, in milliseconds.
  public static let offsets = -250.0...250.0
  /// So much later are their grids.
  public var distance = FarDistance.beats(0)

  public init() {}
}

/// Whole beats or bars, so that what is heard later is heard on a beat, or on a bar.
public enum FarDistance: Hashable, Sendable, BitwiseCopyable {
  case beats(Int32)
  case bars(Int32)

  public static var most: Int32 {
    @_noLocks @_noAllocation get { 64 }
  }

  /// As the delays of channels are, in bars of the meter.
  public func beats(in meter: Meter) -> Beats {
    switch self {
    case .beats(let count): Beats(micros: Int64(count) * 1_000_000)
    case .bars(let count): Beats(micros: Int64(count) * meter.length.micros)
    }
  }
}
