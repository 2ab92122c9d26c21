// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusChoices

/// A cycle's time and beats for the audio channels: the same line and grid that the click uses.
public struct CycleTiming: BitwiseCopyable {
  public let frames: Int
  public let sampleRate: UInt32
  /// When frame 0 passes through JACK, in microseconds on Link's clock.
  public let start: Double
  /// Microseconds per frame over many cycles.
  public let frameMicros: Double
  /// The session that the beats belong to.
  public let session: UInt64
  /// The time of the session's beat 0.
  public let origin: Double
  public let beatMicros: Double
  public let isFreewheeling: Bool
  public let settings: AudioSettings
  /// Beats of the session in a bar; 3.5 in 7/8.
  public let beatsPerBar: Double
}
