// SPDX-License-Identifier: GPL-2.0-or-later

/// The state and the counters of a received channel. The counters are not reset as long as the channel's
/// `Playout` exists.
public struct PlayoutFigures: Sendable, BitwiseCopyable {
  /// Whether chunks came within the last half second.
  public var isReceiving = false
  /// Whether a stream is locked to its beats, and is or will be heard.
  public var isPlaying = false
  /// The present delay from a sample's beat to the speaker, in milliseconds.
  public var delay = 0.0
  /// Whether the chosen delay is longer than the longest possible delay. If so, the longest possible delay is
  /// used.
  public var isDelayShortened = false
  /// The length of the audio that is ready to be played, in milliseconds.
  public var buffered = 0.0
  /// The arrival of the last chunk minus the time of its first beat, in milliseconds; negative if the chunk
  /// came before that beat.
  public var arrivalOffset = 0.0
  /// The jitter: how much `arrivalOffset` changes from chunk to chunk, smoothed (RFC 3550), in milliseconds.
  public var jitter = 0.0
  /// The speed of the sender's sound card compared with our clock, in parts per million; 100 means that the
  /// card runs 0.01 % fast.
  public var senderPPM = 0.0
  /// The peak level, where 1 is full scale. After a peak the value falls by 20 dB a second.
  public var level: Float = 0
  /// The sender's nominal sample rate; 0 before the first stream.
  public var sampleRate: UInt32 = 0
  /// The number of audio channels that the sender sends, 1 or 2; 0 before the first stream.
  public var channels: UInt8 = 0

  /// The number of accepted chunks.
  public var received: UInt64 = 0
  /// The number of chunks that never came. The gaps in the chunks' numbers show them.
  public var lost: UInt64 = 0
  /// The number of chunks that came after their time to be played.
  public var late: UInt64 = 0
  /// The number of chunks that were received a second time.
  public var duplicated: UInt64 = 0
  /// The number of chunks that were dropped, because they belong to another stream, session or time.
  public var refused: UInt64 = 0
  /// The number of gaps that were concealed.
  public var concealed: UInt64 = 0
  /// The number of gaps that were too long to be concealed to their end, so that silence was heard.
  public var dropouts: UInt64 = 0
  /// The number of times that the playhead jumped to its place with a crossfade.
  public var reseats: UInt64 = 0
  /// The number of streams that began.
  public var streams: UInt64 = 0

  @_noLocks @_noAllocation
  package init() {}
}
