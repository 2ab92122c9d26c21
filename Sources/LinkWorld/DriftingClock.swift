// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// A machine's host clock as real ones are: it starts anywhere, runs a little fast or slow, and may step.
public struct DriftingClock: Sendable {
  private var anchor: (world: Micros, host: Micros)
  public private(set) var partsPerMillion: Double

  public init(host: Micros, at world: Micros, partsPerMillion: Double = 0) {
    anchor = (world, host)
    self.partsPerMillion = partsPerMillion
  }

  private var rate: Double { 1 + partsPerMillion * 1e-6 }

  /// Truncated, as clocks are.
  public func host(at world: Micros) -> Micros {
    anchor.host + Micros(Int64(flooring: Double((world - anchor.world).count) * rate))
  }

  /// The first world time at which the clock shows `host` or more.
  public func world(at host: Micros) -> Micros {
    let elapsed = Double((host - anchor.host).count) / rate
    var world = anchor.world + Micros(Int64(flooring: elapsed))
    while self.host(at: world) < host { world = world + Micros(1) }
    return world
  }

  public mutating func step(by amount: Micros, at world: Micros) {
    anchor = (world, host(at: world) + amount)
  }

  public mutating func run(atPartsPerMillion partsPerMillion: Double, from world: Micros) {
    anchor = (world, host(at: world))
    self.partsPerMillion = partsPerMillion
  }
}
