// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// The audio thread's description of a period. Its samples follow in the same slot, interleaved.
package struct SentPeriod: Sendable, BitwiseCopyable {
  /// The session that the stamps' beats belong to.
  package var session: UInt64
  /// `SessionGrid.stamp` of the first frame, in microbeats.
  package var begin: Int64
  /// The stamp of the frame after the last: within a period the card's real rate counts, not the nominal one.
  package var end: Int64
  package var microsPerBeat: Int64
  package var sampleRate: UInt32
  /// A period that is longer than a slot is cut into parts, each with its own stamps.
  package var frames: UInt16
  /// 1 or 2.
  package var channels: UInt8

  @_noLocks @_noAllocation
  package init(
    session: UInt64, begin: Int64, end: Int64, microsPerBeat: Int64, sampleRate: UInt32, frames: UInt16,
    channels: UInt8
  ) {
    self.session = session
    self.begin = begin
    self.end = end
    self.microsPerBeat = microsPerBeat
    self.sampleRate = sampleRate
    self.frames = frames
    self.channels = channels
  }

  /// The stamp of a frame of the period.
  func begin(atFrame frame: Int) -> Int64 {
    begin &+ Int64(rounding: Double(end &- begin) * Double(frame) / Double(max(1, frames)))
  }
}
