// SPDX-License-Identifier: GPL-2.0-or-later

/// From this machine's host time to the session's common clock, and back. Measured against a peer; the slope
/// is 1 in practice, and the pair (0, 0) marks a failed measurement.
public struct GhostMap: Hashable, Sendable, BitwiseCopyable {
  public var slope: Double
  public var intercept: Micros

  @_noLocks @_noAllocation
  public init(slope: Double = 1, intercept: Micros) {
    self.slope = slope
    self.intercept = intercept
  }

  /// The map of a session founded at `now`: its clock starts at zero.
  @_noLocks @_noAllocation
  public init(startingAt now: Micros) {
    self.init(intercept: -now)
  }

  @_noLocks @_noAllocation
  public static func == (left: GhostMap, right: GhostMap) -> Bool {
    left.slope == right.slope && left.intercept == right.intercept
  }

  @_noLocks @_noAllocation
  public func ghost(atHost host: Micros) -> Micros {
    Micros(rounding: slope * Double(host.count)) + intercept
  }

  @_noLocks @_noAllocation
  public func host(atGhost ghost: Micros) -> Micros {
    Micros(rounding: Double((ghost - intercept).count) / slope)
  }
}
