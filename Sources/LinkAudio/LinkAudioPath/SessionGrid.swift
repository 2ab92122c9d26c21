// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The relation of a session's beats to host time, as it is in one audio period.
public struct SessionGrid: Sendable, BitwiseCopyable {
  /// The session's id as a number, as in `SessionState.session`.
  public var session: UInt64
  /// The host time of the session's beat 0, in microseconds with their fraction.
  public var origin: Double
  /// The microseconds per beat: a whole number, as Link computes with it.
  public var beatMicros: Double

  /// Makes a grid from its values, for a program with a timeline of its own. Other programs use
  /// `SessionGrid(state)` of the module `LinkAudio`. Real-time-safe.
  @_noLocks @_noAllocation
  public init(session: UInt64, origin: Double, beatMicros: Double) {
    self.session = session
    self.origin = origin
    self.beatMicros = beatMicros
  }

  /// The host time of a stamp's beat, in microseconds. Every stamp gives a finite time, but the time may be
  /// far from now.
  @inlinable @_noLocks @_noAllocation
  package func time(of microbeats: Int64) -> Double { origin + Double(microbeats) * 1e-6 * beatMicros }

  /// The session's beat at a host time, in whole microbeats.
  @inlinable @_noLocks @_noAllocation
  package func microbeats(at time: Double) -> Int64 { Int64(rounding: (time - origin) / beatMicros * 1e6) }

  /// The stamp of an input's frame: the beat at which the sound reached the microphone, and not the later
  /// beat at which the frame passed through JACK.
  ///
  /// `start` and `frameMicros` give the period's times, `captureFrames` is the port's capture latency, and
  /// `offset` is the user's correction in microseconds. The stamps of each period are computed from the same
  /// times as the period's clicks. [audio]
  @inlinable @_noLocks @_noAllocation
  package func stamp(
    ofFrame frame: Int, start: Double, frameMicros: Double, captureFrames: Double, offset: Double
  ) -> Int64 {
    microbeats(at: start + (Double(frame) - captureFrames) * frameMicros + offset)
  }

  /// Whether a session can have these values. If not, the output is silent.
  var isUsable: Bool {
    beatMicros >= 50_000 && beatMicros <= 4_000_000 && origin >= -0x1p62 && origin <= 0x1p62
  }
}
