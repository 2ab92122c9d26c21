// SPDX-License-Identifier: GPL-2.0-or-later

/// A period of an output and the session's beats in it: all that a `Playout` needs to know about the audio
/// cycle.
public struct OutputPeriod: Sendable, BitwiseCopyable {
  /// Frames in the period; at most 8192.
  public var frames: Int
  /// Nominal rate of the output.
  public var sampleRate: UInt32
  /// Host time at which frame 0 passes through the server, in microseconds with their fraction.
  public var start: Double
  /// Mean microseconds per frame over many cycles, because the slope of a single cycle is rounded.
  public var frameMicros: Double
  /// Time from the server to the speaker: the port's playback latency plus the user's offset.
  public var latencyMicros: Double
  /// The session's beats, as they were captured for this period.
  public var grid: SessionGrid

  /// Make a new one for each period. Real-time-safe.
  @_noLocks @_noAllocation
  public init(
    frames: Int, sampleRate: UInt32, start: Double, frameMicros: Double, latencyMicros: Double,
    grid: SessionGrid
  ) {
    self.frames = frames
    self.sampleRate = sampleRate
    self.start = start
    self.frameMicros = frameMicros
    self.latencyMicros = latencyMicros
    self.grid = grid
  }

  /// Time at which frame 0 is heard.
  var heard: Double { start + latencyMicros }

  var micros: Double { Double(frames) * frameMicros }

  /// Whether a server's cycle can have these values. Every comparison refuses NaN.
  var isUsable: Bool {
    frames > 0 && frames <= Playout.mostFrames && frameMicros >= 1 && frameMicros <= 250 && sampleRate >= 4000
      && sampleRate <= 1_000_000 && abs(start) <= 0x1p62 && abs(latencyMicros) <= 60e6 && grid.isUsable
  }
}

/// The delay between a channel's beat and its sound.
public enum PlayoutDelay: Sendable, BitwiseCopyable {
  /// As short as the network allows, but at least this, in microseconds. Grows at once when chunks come late,
  /// and shrinks slowly.
  case adaptive(least: Double)
  /// Constant, in microseconds.
  case fixed(Double)
  /// Whole beats: the sound stays in time, at a later point of the song. After a change of tempo it is the
  /// same number of the new beats.
  case beats(Int)

  /// Enough for a wired network.
  public static var standard: PlayoutDelay {
    @_noLocks @_noAllocation get { .adaptive(least: 20_000) }
  }

  @_noLocks @_noAllocation
  func isSame(as other: PlayoutDelay) -> Bool {
    switch (self, other) {
    case (.adaptive(let mine), .adaptive(let theirs)), (.fixed(let mine), .fixed(let theirs)): mine == theirs
    case (.beats(let mine), .beats(let theirs)): mine == theirs
    case (.adaptive, _), (.fixed, _), (.beats, _): false
    }
  }
}
