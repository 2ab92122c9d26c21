// SPDX-License-Identifier: GPL-2.0-or-later

/// A line between two clocks of one machine that both count microseconds: JACK's and Link's.
///
/// With jack2 both are the same clock. PipeWire's clock is hundreds of milliseconds away from Link's, and
/// drifts (facts: jack 2). The line is anchored at a recent pair of readings, so that an error of its slope
/// has little effect.
package struct ClockMap: Hashable, Sendable, BitwiseCopyable {
  /// The time on JACK's clock at which both clocks were read.
  package var jackAnchor: Micros
  /// The time on Link's clock at the same moment as `jackAnchor`.
  package var linkAnchor: Micros
  /// Link microseconds per JACK microsecond, less one: 130e-6 means that Link's clock is 130 ppm faster.
  package var skew: Double

  /// Makes a map from readings of both clocks at one moment, and from `skew`.
  package init(jackAnchor: Micros, linkAnchor: Micros, skew: Double = 0) {
    self.jackAnchor = jackAnchor
    self.linkAnchor = linkAnchor
    self.skew = skew
  }

  /// The map of two equal clocks.
  package static var identity: ClockMap { ClockMap(jackAnchor: .zero, linkAnchor: .zero) }

  /// Link's time at a time of JACK's clock.
  package func link(fromJACK jack: Micros) -> Micros {
    let elapsed = jack - jackAnchor
    return linkAnchor + elapsed + Micros(rounding: Double(elapsed.count) * skew)
  }

  /// JACK's time at a time of Link's clock.
  package func jack(fromLink link: Micros) -> Micros {
    let elapsed = link - linkAnchor
    return jackAnchor + elapsed - Micros(rounding: Double(elapsed.count) * (skew / (1 + skew)))
  }
}

/// The map from this machine's host time to the session's ghost time and back, found by measuring a peer.
/// Both clocks run at the same rate.
public struct GhostMap: Hashable, Sendable, BitwiseCopyable {
  /// The microseconds that ghost time is ahead of host time.
  public var intercept: Micros

  /// Makes a map that adds `intercept` to host time.
  public init(intercept: Micros) {
    self.intercept = intercept
  }

  /// Makes the map of a session that is founded at `now`. Its ghost time is then zero.
  public init(startingAt now: Micros) {
    self.init(intercept: -now)
  }

  /// The ghost time at a host time.
  public func ghost(atHost host: Micros) -> Micros { host + intercept }

  /// The host time at a ghost time.
  public func host(atGhost ghost: Micros) -> Micros { ghost - intercept }
}
