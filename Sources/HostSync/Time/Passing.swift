// SPDX-License-Identifier: GPL-2.0-or-later
public import Choices

/// One cycle's time and beats, for what else passes through JACK in it: the same line and the same grid by which the click sounds.
public struct Passing: BitwiseCopyable {
  public let frames: Int
  public let sampleRate: UInt32
  /// When frame 0 passes, in microseconds on Link's clock.
  public let start: Double
  /// Microseconds per frame over many cycles.
  public let frameMicros: Double
  /// The session whose beats these are.
  public let session: UInt64
  /// When the session's beat 0 is.
  public let origin: Double
  public let beatMicros: Double
  public let isFreewheeling: Bool
  public let settings: AudioSettings
  /// Of the session; of a bar of 7/8 there are 3.5.
  public let beatsPerBar: Double
}
