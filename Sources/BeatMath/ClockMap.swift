// SPDX-License-Identifier: GPL-2.0-or-later

/// A line between two clocks of one machine that both count microseconds: JACK's and Link's.
///
/// On jack2 they are the same clock; PipeWire's runs hundreds of milliseconds apart and drifts (facts: jack
/// 2). Anchored at a recent pair of readings, so that the slope's error stays small.
public struct ClockMap: Hashable, Sendable, BitwiseCopyable {
  /// A moment on JACK's clock, and
  public var jackAnchor: Micros
  /// the same moment on Link's.
  public var linkAnchor: Micros
  /// Link microseconds per JACK microsecond, less one: 130e-6 is 130 ppm fast.
  public var skew: Double

  /// Of one moment on both clocks, and how much faster Link's runs.
  public init(jackAnchor: Micros, linkAnchor: Micros, skew: Double = 0) {
    self.jackAnchor = jackAnchor
    self.linkAnchor = linkAnchor
    self.skew = skew
  }

  /// Both clocks are one.
  public static var identity: ClockMap { ClockMap(jackAnchor: .zero, linkAnchor: .zero) }

  /// What Link's clock shows at a moment of JACK's.
  public func link(fromJACK jack: Micros) -> Micros {
    let elapsed = jack - jackAnchor
    return linkAnchor + elapsed + Micros(rounding: Double(elapsed.count) * skew)
  }

  /// What JACK's clock shows at a moment of Link's.
  public func jack(fromLink link: Micros) -> Micros {
    let elapsed = link - linkAnchor
    return jackAnchor + elapsed - Micros(rounding: Double(elapsed.count) * (skew / (1 + skew)))
  }
}

/// From this machine's host time to the session's common clock, and back. Measured against a peer; both count the same
/// microseconds.
public struct GhostMap: Hashable, Sendable, BitwiseCopyable {
  /// What is added to host time.
  public var intercept: Micros

  /// Ghost time is host time and this.
  public init(intercept: Micros) {
    self.intercept = intercept
  }

  /// The map of a session founded at `now`: its clock starts at zero.
  public init(startingAt now: Micros) {
    self.init(intercept: -now)
  }

  /// The session's clock at a moment of this machine's.
  public func ghost(atHost host: Micros) -> Micros { host + intercept }

  /// This machine's clock at a moment of the session's.
  public func host(atGhost ghost: Micros) -> Micros { ghost - intercept }
}
