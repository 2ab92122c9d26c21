// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusChoices

/// A cycle's time and beats for the channels of Link Audio. They come from the frame line and grid that the
/// click uses, too.
public struct CycleTiming: BitwiseCopyable {
  public let frames: Int
  public let sampleRate: UInt32
  /// The time at which frame 0 passes through JACK, in microseconds on Link's clock.
  public let start: Double
  /// The mean microseconds per frame over many cycles.
  public let frameMicros: Double
  /// The id of the session to which the beats belong.
  public let session: UInt64
  /// The time of the session's beat 0.
  public let origin: Double
  public let beatMicros: Double
  public let isFreewheeling: Bool
  public let settings: AudioSettings
  /// The number of the session's beats in a bar; 3.5 in 7/8.
  public let beatsPerBar: Double
}
