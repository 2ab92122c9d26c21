// SPDX-License-Identifier: GPL-2.0-or-later

/// The state and the counters of a received channel. The counters run on as long as its `Playout` lives.
public struct PlayoutFigures: Sendable, BitwiseCopyable {
  /// Whether chunks came within the last half second.
  public var isReceiving = false
  /// Whether a stream is locked to its beats, and is or will be heard.
  public var isPlaying = false
  /// Current delay from a sample's beat to the speaker, in milliseconds.
  public var delay = 0.0
  /// Whether the chosen delay is longer than the longest possible one, which is played.
  public var isDelayShortened = false
  /// Audio that is ready to be played, in milliseconds.
  public var buffered = 0.0
  /// The last chunk's arrival minus its first beat, in milliseconds; negative if it came before.
  public var arrivalOffset = 0.0
  /// Change of this offset from chunk to chunk, smoothed (RFC 3550), in milliseconds.
  public var jitter = 0.0
  /// Speed of the sender's sound card against our clock, in parts per million.
  public var senderPPM = 0.0
  /// Peak level, falling by 20 dB a second; 1 is full scale.
  public var level: Float = 0
  /// The sender's nominal rate; 0 before the first stream.
  public var sampleRate: UInt32 = 0
  /// The sender's channels: 1 or 2.
  public var channels: UInt8 = 0

  /// Chunks accepted.
  public var received: UInt64 = 0
  /// Chunks that never came, by the gaps in the numbers.
  public var lost: UInt64 = 0
  /// Chunks that came after they were needed.
  public var late: UInt64 = 0
  /// Chunks received twice.
  public var duplicated: UInt64 = 0
  /// Chunks of another stream, session or time; dropped.
  public var refused: UInt64 = 0
  /// Gaps that were concealed.
  public var concealed: UInt64 = 0
  /// Gaps that were too long to conceal and ended in silence.
  public var dropouts: UInt64 = 0
  /// Jumps of the playhead to its place, with a crossfade.
  public var reseats: UInt64 = 0
  /// Streams that began.
  public var streams: UInt64 = 0

  @_noLocks @_noAllocation
  package init() {}
}
