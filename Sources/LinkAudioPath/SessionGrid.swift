// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// A session's beats against the host's time, as one audio period sees them.
public struct SessionGrid: Sendable, BitwiseCopyable {
  /// Which session it is: `SessionState.session`.
  public var session: UInt64
  /// Host time of the session's beat 0, in microseconds with their fraction.
  public var origin: Double
  /// Microseconds per beat: whole, as Link's tempo acts.
  public var beatMicros: Double

  /// From a program that has a timeline of its own; `SessionGrid(state)` of `LinkAudio` is for all others. Real-time-safe.
  @_noLocks @_noAllocation
  public init(session: UInt64, origin: Double, beatMicros: Double) {
    self.session = session
    self.origin = origin
    self.beatMicros = beatMicros
  }

  /// When a stamp's beat is. Every stamp gives a number, but not one that is near.
  @inlinable @_noLocks @_noAllocation
  package func time(of microbeats: Int64) -> Double { origin + Double(microbeats) * 1e-6 * beatMicros }

  /// The session's beat at a time, in whole microbeats.
  @inlinable @_noLocks @_noAllocation
  package func microbeats(at time: Double) -> Int64 { Int64(rounding: (time - origin) / beatMicros * 1e6) }

  /// The beat of one frame of an input's period: when it was at the microphone, not when it passed through JACK.
  ///
  /// `start` and `frameMicros` are the period's line, `captureFrames` the port's capture latency, and `offset` what the
  /// user says that the sound is early by, in microseconds. Made again for each period, from the line that the click uses.
  /// [audio]
  @inlinable @_noLocks @_noAllocation
  package func stamp(
    ofFrame frame: Int, start: Double, frameMicros: Double, captureFrames: Double, offset: Double
  ) -> Int64 {
    microbeats(at: start + (Double(frame) - captureFrames) * frameMicros + offset)
  }

  /// Within what a session can have; anything else is heard as silence.
  var isUsable: Bool {
    beatMicros >= 50_000 && beatMicros <= 4_000_000 && origin >= -0x1p62 && origin <= 0x1p62
  }
}
