// SPDX-License-Identifier: GPL-2.0-or-later

/// The time of a cycle and the transport's frame in it, from which the control thread computes the times and
/// frames of later cycles.
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
  /// Microseconds per beat of the session.
  public var beatMicros = 500_000.0
  public var sampleRate: UInt32 = 48_000

  public var cycleMicros: Double { Double(frames) * heard.frameMicros }
}

extension CycleStamp {
  init(_ now: borrowing CycleContext) {
    self.init(
      frame: now.transport.frame, frames: now.frames,
      heard: FrameLine(start: now.heard.start, frameMicros: now.frameMicros), due: now.line.start,
      beatMicros: now.heardBeatMicros, sampleRate: now.sampleRate)
  }
}
