// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The time and beats of a cycle, and the transport's frame in it. The control thread computes the times and
/// frames of later cycles from them. The channels of Link Audio place their sound by the frame line and grid
/// that the click uses, too.
public struct CycleStamp: Sendable, BitwiseCopyable {
  /// The transport's frame at frame 0 of the cycle.
  public var frame: UInt32 = 0
  public var frames: UInt32 = 0
  /// The times at which the frames are heard through the physical outputs, on Link's clock. The slope is the
  /// mean of many cycles: the slope of one cycle is rounded to microseconds, so it is too coarse to be
  /// extended.
  public var heard = FrameLine(start: 0, frameMicros: 1)
  /// The time at which frame 0 passes through JACK, on Link's clock.
  public var due = 0.0
  /// Microseconds per beat of the session, at the time when the cycle is heard.
  public var beatMicros = 500_000.0
  public var sampleRate: UInt32 = 48_000
  /// The id of the session to which the beats belong, the time of its beat 0, and its microseconds per beat
  /// before a queued change of the tempo.
  public var session: UInt64 = 0
  public var origin = 0.0
  public var originMicros = 500_000.0

  public var cycleMicros: Double { Double(frames) * heard.frameMicros }
}

extension CycleStamp {
  init(_ now: borrowing CycleContext) {
    self.init(
      frame: now.transport.frame, frames: now.frames,
      heard: FrameLine(start: now.heard.start, frameMicros: now.frameMicros), due: now.line.start,
      beatMicros: now.heardBeatMicros, sampleRate: now.sampleRate, session: now.session.session,
      origin: now.grid.origin, originMicros: now.grid.beatMicros)
  }
}
