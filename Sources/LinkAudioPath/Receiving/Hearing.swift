// SPDX-License-Identifier: GPL-2.0-or-later

/// One period of an output, and the session's beats in it: what a `Playout` needs to know of the audio cycle.
public struct Hearing: Sendable, BitwiseCopyable {
  /// In the period; at most 8192.
  public var frames: Int
  /// Nominal, of the output.
  public var sampleRate: UInt32
  /// Host time at which frame 0 passes through the server, in microseconds with their fraction.
  public var start: Double
  /// Microseconds per frame over many cycles, not this one's own slope, which is rounded.
  public var frameMicros: Double
  /// From there to the speaker: the port's playback latency, and what the user adds to it.
  public var latencyMicros: Double
  /// The session's beats, as they were captured for this period.
  public var grid: SessionGrid

  /// To be made again for each period. Real-time-safe.
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

  /// When frame 0 is heard.
  var heard: Double { start + latencyMicros }

  var micros: Double { Double(frames) * frameMicros }

  /// A server's cycle can be like this. NaN is refused by every comparison.
  var isUsable: Bool {
    frames > 0 && frames <= Playout.mostFrames && frameMicros >= 1 && frameMicros <= 250 && sampleRate >= 4000
      && sampleRate <= 1_000_000 && abs(start) <= 0x1p62 && abs(latencyMicros) <= 60e6 && grid.isUsable
  }
}

/// How much later than at its beat a channel is heard.
public enum PlayoutDelay: Sendable, BitwiseCopyable {
  /// As short as the network allows, but not shorter than this, in microseconds. Grows at once when chunks come late,
  /// and shrinks slowly.
  case adaptive(least: Double)
  /// Always the same time, in microseconds.
  case fixed(Double)
  /// Whole beats: what is played there is heard here in time, later in the song. After a change of tempo it is as many
  /// beats of the new one.
  case beats(Int)

  /// What a wire needs.
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
