// SPDX-License-Identifier: GPL-2.0-or-later
internal import AudioLanes
internal import BeatMath
internal import LinkAudioPath

extension LinkAudio {
  /// How a received channel is played.
  public struct Figures: Hashable, Sendable {
    /// Whether audio came within the last half second.
    public var isReceiving: Bool
    /// Whether a stream is locked to its beats, and is or will be heard.
    public var isPlaying: Bool
    /// The present delay from a sample's beat to the speaker.
    public var delay: Duration
    /// Whether ``delay`` is shorter than the chosen one, because the lane has no room for it. Beats are left
    /// out whole. Then make a lane with a longer `longestDelay`. An adaptive delay has its own limit, 300 ms.
    public var isDelayShortened: Bool
    /// Audio that is ready to be played.
    public var buffered: Duration
    /// The change of the audio's arrival from datagram to datagram, smoothed (RFC 3550).
    public var jitter: Duration
    /// Speed of the sender's sound card against our clock, in millionths.
    public var senderPPM: Double
    /// The peak level, falling by 20 dB a second; 1 is full scale.
    public var level: Float
    /// The sender's nominal frames a second; 0 before the first stream.
    public var sampleRate: Int
    /// The sender's channels of audio; nil before the first stream.
    public var layout: SendLane.Layout?
    /// Datagrams of audio accepted.
    public var received: Int
    /// Datagrams that never came, by the gaps in the numbers.
    public var lost: Int
    /// Datagrams that came after they were needed.
    public var late: Int
    /// Gaps that were concealed.
    public var concealed: Int
    /// Gaps that were too long to conceal and ended in silence.
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
  }
}
