// SPDX-License-Identifier: GPL-2.0-or-later

/// From this machine's host time to the session's common clock, and back. Measured against a peer; both count the same
/// microseconds.
public struct GhostMap: Hashable, Sendable, BitwiseCopyable {
  public var intercept: Micros

  public init(intercept: Micros) {
    self.intercept = intercept
  }

  /// The map of a session founded at `now`: its clock starts at zero.
  public init(startingAt now: Micros) {
    self.init(intercept: -now)
  }

  public func ghost(atHost host: Micros) -> Micros { host + intercept }

  public func host(atGhost ghost: Micros) -> Micros { ghost - intercept }
}
