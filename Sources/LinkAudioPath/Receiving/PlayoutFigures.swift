// SPDX-License-Identifier: GPL-2.0-or-later

/// What there is to tell about a channel that is received. Counters go on for as long as its `Playout` lives.
public struct PlayoutFigures: Sendable, BitwiseCopyable {
  /// Chunks came in within the last half second.
  public var isReceiving = false
  /// A stream is locked to its beats, and is or will be heard.
  public var isPlaying = false
  /// From a sample's beat to the speaker, in milliseconds, now.
  public var delay = 0.0
  /// What is there to be played, in milliseconds.
  public var buffered = 0.0
  /// Of the last chunk: its arrival less its first beat, in milliseconds; negative if it came before.
  public var arrivalOffset = 0.0
  /// How much that changes from chunk to chunk, smoothed (RFC 3550), in milliseconds.
  public var jitter = 0.0
  /// The sender's card against our clock, in parts per million.
  public var senderPPM = 0.0
  /// The highest peak, falling by 20 dB a second; 1 is full scale.
  public var level: Float = 0
  /// The sender's, nominal; 0 before the first stream.
  public var sampleRate: UInt32 = 0
  /// The sender's: 1 or 2.
  public var channels: UInt8 = 0

  /// Chunks that were taken.
  public var received: UInt64 = 0
  /// By the numbers, never came.
  public var lost: UInt64 = 0
  /// Came, and had been needed before.
  public var late: UInt64 = 0
  /// Came once more.
  public var duplicated: UInt64 = 0
  /// Not of this stream, session or time: left out.
  public var refused: UInt64 = 0
  /// Gaps that were filled in.
  public var concealed: UInt64 = 0
  /// Gaps that were too long for it: silence.
  public var dropouts: UInt64 = 0
  /// How often the stream went to its place in one step, crossfaded.
  public var reseats: UInt64 = 0
  /// How many streams were begun.
  public var streams: UInt64 = 0

  @_noLocks @_noAllocation
  package init() {}
}
