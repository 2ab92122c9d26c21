// SPDX-License-Identifier: GPL-2.0-or-later

/// The state of a MIDI clock output, and the accuracy of its clock messages.
public struct ClockFigures: Sendable, BitwiseCopyable {
  public enum State: UInt8, Sendable, BitwiseCopyable {
    case rests
    /// The receiver waits for the beat on which it starts.
    case waits
    case plays
  }

  public internal(set) var state = State.rests
  public private(set) var sent: UInt64 = 0
  /// The number of clock messages sent more than a frame from their exact time, after lost cycles or moves of
  /// the session.
  public private(set) var madeUp: UInt64 = 0
  var recent = Jitter()

  public init() {}

  /// The largest distance of a clock message from its exact time in the last ten to twenty seconds, in
  /// microseconds.
  public var jitter: Float { recent.micros }

  mutating func count(framesOff: Double, _ window: Window) {
    sent &+= 1
    if framesOff > 1 { madeUp &+= 1 }
    recent.count(framesOff: framesOff, window)
  }
}
