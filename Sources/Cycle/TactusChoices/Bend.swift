// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// The user's shift of our outputs' phase by hand. The session goes on unchanged.
public struct BendSettings: Hashable, Sendable, BitwiseCopyable {
  /// Per cent by which the outputs run faster than the session while the user holds a control; negative:
  /// slower. Within +-`most`.
  public var percent = 0.0
  /// The sum of all the user's turns of a knob since the program's start; negative: later. The outputs follow
  /// this sum as fast as `most` allows.
  public var turned = Micros(0)
  /// The number of requests to bring the outputs back to the session's beat.
  public var returns: UInt32 = 0

  /// The fastest bend in per cent. It is the range of a turntable's pitch fader.
  public static var most: Double {
    @_noLocks @_noAllocation get { 10 }
  }
  /// The greatest distance of the outputs from the session.
  public static var farthest: Micros {
    @_noLocks @_noAllocation get { Micros(2_000_000) }
  }

  @_noLocks @_noAllocation
  public init() {}
}
