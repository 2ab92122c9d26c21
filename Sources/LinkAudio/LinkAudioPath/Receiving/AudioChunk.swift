// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The network thread's description of a received chunk. The chunk's samples follow in the same slot,
/// interleaved, as floats. The network thread has checked that the chunk belongs to the channel and is no
/// longer than its datagram. `Playout` checks whether the chunk's values are plausible.
package struct AudioChunk: Sendable, BitwiseCopyable {
  /// The most samples that fit into the largest datagram, those of both channels counted together.
  package static var mostSamples: Int { @inlinable @_noLocks @_noAllocation get { 563 } }

  /// The session that the stamp's beats belong to.
  package var session: UInt64
  package var number: UInt64
  /// The session's beat at the chunk's first frame, in microbeats.
  package var begin: Int64
  package var microsPerBeat: Int64
  /// The host time at which the chunk arrived.
  package var arrival: Int64
  package var sampleRate: UInt32
  package var frames: UInt16
  package var channels: UInt8

  @_noLocks @_noAllocation
  package init(
    session: UInt64, number: UInt64, begin: Int64, microsPerBeat: Int64, arrival: Int64, sampleRate: UInt32,
    frames: UInt16, channels: UInt8
  ) {
    self.session = session
    self.number = number
    self.begin = begin
    self.microsPerBeat = microsPerBeat
    self.arrival = arrival
    self.sampleRate = sampleRate
    self.frames = frames
    self.channels = channels
  }

  var stamp: Stamp { Stamp(begin: begin, microsPerBeat: microsPerBeat) }

  /// The duration of `frames` frames at the nominal rate, in microbeats. The result is rounded as the
  /// reference rounds when it computes the beat of its next chunk.
  func nominalMicrobeats(frames: Int64) -> Int64 {
    Int64(rounding: Double(frames) / Double(max(1, sampleRate)) * 1e12 / Double(max(1, microsPerBeat)))
  }

  func isAlike(_ other: AudioChunk) -> Bool {
    sampleRate == other.sampleRate && channels == other.channels && session == other.session
  }

  func isSound(samples: Int) -> Bool {
    guard channels == 1 || channels == 2, frames > 0 else { return false }
    let count = Int(frames) * Int(channels)
    return count <= Self.mostSamples && samples >= count && sampleRate >= 8000 && sampleRate <= 192_000
  }
}

/// The session's beat at a chunk's first frame, and the tempo at that beat.
struct Stamp: BitwiseCopyable {
  /// The session's beat at the chunk's first frame, in microbeats.
  var begin: Int64
  var microsPerBeat: Int64
}
