// SPDX-License-Identifier: GPL-2.0-or-later

/// The swing of a click, pulse or MIDI clock: each second note of a pair comes later than written.
public struct Swing: Hashable, Sendable, BitwiseCopyable {
  /// The share of a pair that its first note gets, in tenths of a percent. At 500 both notes are equal.
  public var share: Int16
  /// The notes of a beat: 2 for eighths, 4 for sixteenths.
  public var perBeat: Int16

  @_noLocks @_noAllocation
  public init(share: Int16 = straight, perBeat: Int16 = 2) {
    self.share = share
    self.perBeat = perBeat
  }

  public static var straight: Int16 { @_noLocks @_noAllocation get { 500 } }
  public static var most: Int16 { @_noLocks @_noAllocation get { 750 } }

  public var isStraight: Bool { @_noLocks @_noAllocation get { share == Self.straight } }
}
