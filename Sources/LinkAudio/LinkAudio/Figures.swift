// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkAudioLanes
internal import LinkAudioPath
internal import LinkBeatMath

extension LinkAudio {
  /// Figures that show how a received channel is played.
  public struct Figures: Hashable, Sendable, CustomStringConvertible {
    /// Whether audio came within the last half second.
    public var isReceiving: Bool
    /// Whether a stream is locked to its beats, and is or will be heard.
    public var isPlaying: Bool
    /// The present delay from a sample's beat to the speaker.
    public var delay: Duration
    /// Whether ``delay`` is shorter than the chosen delay, because the lane has no room for it. If so, make a
    /// lane with a longer `longestDelay`. A delay in beats is shortened by whole beats. An adaptive delay has
    /// a limit of its own, 300 ms.
    public var isDelayShortened: Bool
    /// The length of the audio that is ready to be played.
    public var buffered: Duration
    /// The jitter of the network: how much the delay of arrival changes from datagram to datagram, smoothed
    /// (RFC 3550).
    public var jitter: Duration
    /// The speed of the sender's sound card compared with our clock, in parts per million; 100 means that the
    /// card runs 0.01 % fast.
    public var senderPPM: Double
    /// The peak level, where 1 is full scale. After a peak the value falls by 20 dB a second.
    public var level: Float
    /// The sender's nominal sample rate, in frames a second; 0 before the first stream.
    public var sampleRate: Int
    /// Whether the sender sends mono or stereo; nil before the first stream.
    public var layout: SendLane.Layout?
    /// The number of accepted datagrams of audio.
    public var received: Int
    /// The number of datagrams that never came. The gaps in the chunks' numbers show them.
    public var lost: Int
    /// The number of datagrams that came after their time to be played.
    public var late: Int
    /// The number of gaps that were concealed.
    public var concealed: Int
    /// The number of gaps that were too long to be concealed to their end, so that silence was heard.
    public var dropouts: Int

    init(_ figures: PlayoutFigures) {
      isReceiving = figures.isReceiving
      isPlaying = figures.isPlaying
      delay = Duration(milliseconds: figures.delay)
      isDelayShortened = figures.isDelayShortened
      buffered = Duration(milliseconds: figures.buffered)
      jitter = Duration(milliseconds: figures.jitter)
      senderPPM = figures.senderPPM
      level = figures.level
      sampleRate = Int(figures.sampleRate)
      layout = SendLane.Layout(rawValue: Int(figures.channels))
      received = Int(clamping: figures.received)
      lost = Int(clamping: figures.lost)
      late = Int(clamping: figures.late)
      concealed = Int(clamping: figures.concealed)
      dropouts = Int(clamping: figures.dropouts)
    }

    /// The main values as text, like "playing, delay 0.02 seconds; received 1200, lost 0, dropouts 0".
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public var description: String {
      "\(isPlaying ? "playing" : "silent"), delay \(delay); "
        + "received \(received), lost \(lost), dropouts \(dropouts)"
    }
  }
}
