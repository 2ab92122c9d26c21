// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// A session's beats against the host's time, as one audio period sees them.
public struct SessionGrid: Sendable, BitwiseCopyable {
  /// The session's identity: `SessionState.session`.
  public var session: UInt64
  /// Host time of the session's beat 0, in microseconds with their fraction.
  public var origin: Double
  /// Microseconds per beat: whole, as Link's tempo acts.
  public var beatMicros: Double

  /// For a program with its own timeline; all others use `SessionGrid(state)` of `LinkAudio`. Real-time-safe.
  @_noLocks @_noAllocation
  public init(session: UInt64, origin: Double, beatMicros: Double) {
    self.session = session
    self.origin = origin
    self.beatMicros = beatMicros
  }

  /// The time of a stamp's beat. Any stamp gives a number, but it may be far from now.
  @inlinable @_noLocks @_noAllocation
  package func time(of microbeats: Int64) -> Double { origin + Double(microbeats) * 1e-6 * beatMicros }

  /// The session's beat at a time, in whole microbeats.
  @inlinable @_noLocks @_noAllocation
  package func microbeats(at time: Double) -> Int64 { Int64(rounding: (time - origin) / beatMicros * 1e6) }

  /// The beat at which an input's frame reached the microphone, not the one at which it passed through JACK.
  ///
  /// `start` and `frameMicros` give the period's times, `captureFrames` is the port's capture latency, and
  /// `offset` the user's correction in microseconds. Computed for each period, from the same times as the
  /// click. [audio]
  @inlinable @_noLocks @_noAllocation
  package func stamp(
    ofFrame frame: Int, start: Double, frameMicros: Double, captureFrames: Double, offset: Double
  ) -> Int64 {
    microbeats(at: start + (Double(frame) - captureFrames) * frameMicros + offset)
  }

  /// Whether the values are possible for a session; otherwise the output is silent.
  var isUsable: Bool {
    beatMicros >= 50_000 && beatMicros <= 4_000_000 && origin >= -0x1p62 && origin <= 0x1p62
  }
}
