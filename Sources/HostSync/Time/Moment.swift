// SPDX-License-Identifier: GPL-2.0-or-later

/// When and where a cycle is, so that the control thread can say the same of those to come.
public struct Moment: Sendable, BitwiseCopyable {
  /// The transport's frame at frame 0.
  public var frame: UInt32 = 0
  public var frames: UInt32 = 0
  /// When the frames are heard through the physical outputs, on Link's clock, with the slope of many cycles: the one of
  /// a single cycle is rounded to microseconds and leads nowhere.
  public var heard = FrameLine(start: 0, frameMicros: 1)
  /// When frame 0 passes through JACK, on the same clock.
  public var due = 0.0
  /// Of a session's beat.
  public var beatMicros = 500_000.0
  public var sampleRate: UInt32 = 48_000

  public var cycleMicros: Double { Double(frames) * heard.frameMicros }
}

extension Moment {
  init(_ now: borrowing Now) {
    self.init(
      frame: now.transport.frame, frames: now.frames,
      heard: FrameLine(start: now.heard.start, frameMicros: now.frameMicros), due: now.line.start,
      beatMicros: now.heardBeatMicros, sampleRate: now.sampleRate)
  }
}
