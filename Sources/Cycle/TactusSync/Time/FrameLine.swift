// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The straight line that gives each frame of one cycle its time in microseconds.
public struct FrameLine: Sendable, BitwiseCopyable {
  /// The time of frame 0 in microseconds, with a fraction.
  public var start: Double
  public var frameMicros: Double

  public func time(atFrame frame: Double) -> Double { start + frame * frameMicros }

  public func frame(at time: Double) -> Double { (time - start) / frameMicros }

  /// Returns a line of the same frames on which all times are `micros` later, for instance the times as heard
  /// through a port.
  public func delayed(by micros: Double) -> FrameLine {
    FrameLine(start: start + micros, frameMicros: frameMicros)
  }

  /// Returns the line of the same frames with times on Link's clock. `ClockMap.link` would round the times;
  /// this function keeps their fractions.
  func onLinkClock(by map: ClockMap) -> FrameLine {
    let rate = 1 + map.skew
    return FrameLine(
      start: Double(map.linkAnchor.count) + (start - Double(map.jackAnchor.count)) * rate,
      frameMicros: frameMicros * rate)
  }
}
