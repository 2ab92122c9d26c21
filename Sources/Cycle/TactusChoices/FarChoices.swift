// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// The choices about other rooms (networks that a relay joins to this one) that can change while music plays.
public struct FarChoices: Hashable, Sendable, BitwiseCopyable {
  /// The time by which the clocks of the other rooms are earlier than measured. It is half of the difference
  /// between a datagram's time to the other room and its time back.
  public var offset = Micros(0)
  /// The range of `offset`, in milliseconds.
  public static let offsets = -250.0...250.0
  /// The distance by which the grids of the other rooms come later than our grid.
  public var distance = FarDistance.beats(0)

  public init() {}
}

/// A distance between rooms in whole beats or bars, so that the delayed sound is heard on a beat or on a bar
/// line.
public enum FarDistance: Hashable, Sendable, BitwiseCopyable {
  case beats(Int32)
  case bars(Int32)

  public static var most: Int32 {
    @_noLocks @_noAllocation get { 64 }
  }

  /// The distance between the rooms in beats. If it is given in bars, a bar is one bar of `meter`.
  public func beats(in meter: Meter) -> Beats {
    switch self {
    case .beats(let count): Beats(millionths: Int64(count) * 1_000_000)
    case .bars(let count): Beats(millionths: Int64(count) * meter.length.millionths)
    }
  }
}
