// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The audio thread's description of a period that is sent. The period's samples follow in the same slot,
/// interleaved.
package struct SentPeriod: Sendable, BitwiseCopyable {
  /// The session to which the stamps' beats belong.
  package var session: UInt64
  /// The stamp of the first frame, in microbeats (`SessionGrid.stamp`).
  package var begin: Int64
  /// The stamp of the frame after the last one. From both stamps follows the card's real rate within this
  /// period, which differs from the nominal rate.
  package var end: Int64
  package var microsPerBeat: Int64
  package var sampleRate: UInt32
  /// The number of frames. A period that is too long for one slot is cut into parts, and each part has stamps
  /// of its own.
  package var frames: UInt16
  /// The number of audio channels, 1 or 2.
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

  /// The stamp of a frame within the period.
  func begin(atFrame frame: Int) -> Int64 {
    begin &+ Int64(rounding: Double(end &- begin) * Double(frame) / Double(max(1, frames)))
  }
}
