// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// A MIDI message that came in through `control`, and when. What it means is not judged here.
public struct ControlMessage: Sendable, BitwiseCopyable {
  /// Machine control's locate has 13 bytes.
  static var longest: Int { 16 }

  /// On Link's clock.
  public private(set) var moment: Micros
  private var count: UInt8
  private var storage = InlineArray<16, UInt8>(repeating: 0)

  /// `count` at most `longest`.
  init(_ bytes: UnsafePointer<UInt8>, count: Int, at moment: Micros) {
    self.moment = moment
    self.count = UInt8(truncatingIfNeeded: min(count, Self.longest))
    for index in 0..<Int(self.count) { storage[index] = bytes[index] }
  }

  /// [control]
  public var bytes: [UInt8] { (0..<Int(count)).map { storage[$0] } }
}
