// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// The user's shift of our outputs' phase by hand; the session goes on as it is.
public struct BendSettings: Hashable, Sendable, BitwiseCopyable {
  /// Per cent by which the outputs run faster than the session while a control is held; negative: slower.
  /// Within `most`.
  public var percent = 0.0
  /// The sum of all turns since the program's start, negative for backwards. The outputs follow as fast as
  /// `most` lets them.
  public var turned = Micros(0)
  /// Counts the requests to return to the session.
  public var returns: UInt32 = 0

  /// Per cent; the fastest bend, as far as a turntable's pitch fader goes.
  public static var most: Double {
    @_noLocks @_noAllocation get { 10 }
  }
  /// The farthest that outputs go from the session.
  public static var farthest: Micros {
    @_noLocks @_noAllocation get { Micros(2_000_000) }
  }

  @_noLocks @_noAllocation
  public init() {}
}
