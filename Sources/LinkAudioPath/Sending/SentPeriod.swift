// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// What the audio thread says about a period's samples, which lie behind it in the same slot, interleaved.
package struct SentPeriod: Sendable, BitwiseCopyable {
  /// The session that the stamp's beats are of.
  package var session: UInt64
  /// `SessionGrid.stamp` of its first frame, in microbeats.
  package var begin: Int64
  /// The stamp of the frame behind its last: within a period the sender's card counts, not its nominal rate.
  package var end: Int64
  package var microsPerBeat: Int64
  package var sampleRate: UInt32
  /// A period that is longer than a slot is cut, each part with its own stamps.
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

  /// The stamp of a frame of it.
  func begin(atFrame frame: Int) -> Int64 {
    begin &+ Int64(rounding: Double(end &- begin) * Double(frame) / Double(max(1, frames)))
  }
}
