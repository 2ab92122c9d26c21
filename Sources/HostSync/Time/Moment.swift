// SPDX-License-Identifier: GPL-2.0-or-later

/// When and where a cycle is, so that the control thread can say the same of those to come.
public struct Moment: Sendable, BitwiseCopyable {
  /// JACK's running number of frame 0, and the transport's frame there.
  public var number: UInt32
  public var frame: UInt32
  public var frames: UInt32
  /// When the frames are heard through the physical outputs, on Link's clock, with the slope of many cycles: the one of
  /// a single cycle is rounded to microseconds and leads nowhere.
  public var heard: FrameLine
  /// When frame 0 passes through JACK, on the same clock.
  public var due: Double
  /// Microseconds of a session's beat.
  public var period: Double
  public var sampleRate: UInt32

  @_noLocks @_noAllocation
  public init() {
    self.init(
      number: 0, frame: 0, frames: 0, heard: FrameLine(start: 0, frameMicros: 1), due: 0, period: 500_000,
      sampleRate: 48_000)
  }

  @_noLocks @_noAllocation
  public init(
    number: UInt32, frame: UInt32, frames: UInt32, heard: FrameLine, due: Double, period: Double,
    sampleRate: UInt32
  ) {
    self.number = number
    self.frame = frame
    self.frames = frames
    self.heard = heard
    self.due = due
    self.period = period
    self.sampleRate = sampleRate
  }

  init(_ now: borrowing Now) {
    self.init(
      number: now.number, frame: now.transport.frame, frames: now.frames,
      heard: FrameLine(start: now.heard.start, frameMicros: now.frameMicros), due: now.line.start,
      period: now.grid.beatMicros, sampleRate: now.sampleRate)
  }

  /// Microseconds of a cycle.
  public var cycle: Double {
    @_noLocks @_noAllocation get { Double(frames) * heard.frameMicros }
  }
}
