// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The time and beats of a cycle, and the transport's frame in it. From these values the control thread
/// computes the times and frames of later cycles. The channels of Link Audio place their sound by the same
/// frame line and grid as the click.
public struct CycleStamp: Sendable, BitwiseCopyable {
  /// The transport's frame at frame 0 of the cycle.
  public var frame: UInt32 = 0
  public var frames: UInt32 = 0
  /// The times at which the cycle's frames are heard through the physical outputs, on Link's clock. The slope
  /// is the mean of many cycles: the slope of one cycle is rounded to microseconds, and that is too coarse
  /// for computing later cycles.
  public var heard = FrameLine(start: 0, frameMicros: 1)
  /// The time at which frame 0 passes through JACK, on Link's clock.
  public var due = 0.0
  /// The microseconds per beat of the session, at the time when the cycle is heard.
  public var beatMicros = 500_000.0
  public var sampleRate: UInt32 = 48_000
  /// The id of the session to which the beats belong. The two values after it are the time of this session's
  /// beat 0, and its microseconds per beat before a queued change of the tempo.
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
