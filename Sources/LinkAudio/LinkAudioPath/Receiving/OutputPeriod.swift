// SPDX-License-Identifier: GPL-2.0-or-later

/// A period of an output and the session's beats in it: all that a `Playout` needs to know about the audio
/// cycle.
public struct OutputPeriod: Sendable, BitwiseCopyable {
  /// The number of frames in the period, at most 8192.
  public var frames: Int
  /// The nominal sample rate of the output.
  public var sampleRate: UInt32
  /// The host time at which frame 0 passes through the audio server, in microseconds with their fraction.
  public var start: Double
  /// The microseconds per frame, as a mean over many cycles: the times of a single cycle are whole
  /// microseconds, which is too rough.
  public var frameMicros: Double
  /// The time from the server to the speaker, in microseconds: the port's playback latency plus the user's
  /// offset.
  public var latencyMicros: Double
  /// The session's beats, as they were captured for this period.
  public var grid: SessionGrid

  /// Describes one period; make a new value for each period. Real-time-safe.
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

  /// The host time at which frame 0 is heard, in microseconds.
  var heard: Double { start + latencyMicros }

  var micros: Double { Double(frames) * frameMicros }

  /// Whether a server's cycle can have these values. NaN is refused, because every comparison with NaN is
  /// false.
  var isUsable: Bool {
    frames > 0 && frames <= Playout.mostFrames && frameMicros >= 1 && frameMicros <= 250 && sampleRate >= 4000
      && sampleRate <= 1_000_000 && abs(start) <= 0x1p62 && abs(latencyMicros) <= 60e6 && grid.isUsable
  }
}

/// The delay between a channel's beat and its sound.
public enum PlayoutDelay: Hashable, Sendable, BitwiseCopyable {
  /// A delay that is as short as the network allows, but at least `least` microseconds. It grows at once when
  /// chunks come late, and shrinks slowly.
  case adaptive(least: Double)
  /// A constant delay, in microseconds.
  case fixed(Double)
  /// A delay of whole beats: the sound stays in time, but is heard at a later beat of the song. After a
  /// change of tempo, the delay is the same number of beats at the new tempo.
  case beats(Int)

  /// An adaptive delay of at least 20 ms, which is enough for a wired network.
  public static var standard: PlayoutDelay {
    @_noLocks @_noAllocation get { .adaptive(least: 20_000) }
  }

  /// Whether kind and length are equal. The function is written out, because the audio thread may not call a
  /// derived one.
  @_noLocks @_noAllocation
  public static func == (left: PlayoutDelay, right: PlayoutDelay) -> Bool {
    switch (left, right) {
    case (.adaptive(let mine), .adaptive(let theirs)), (.fixed(let mine), .fixed(let theirs)): mine == theirs
    case (.beats(let mine), .beats(let theirs)): mine == theirs
    case (.adaptive, _), (.fixed, _), (.beats, _): false
    }
  }
}
