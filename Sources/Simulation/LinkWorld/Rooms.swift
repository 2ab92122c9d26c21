// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import LinkWire

/// The conditions of a connection between two rooms.
package struct FarConditions: Sendable {
  /// The least delay from the first room to the other, and back.
  package var there = Micros(30_000)
  package var back = Micros(30_000)
  /// An additional random delay of each datagram. It is either uniform up to this value, or
  /// Pareto-distributed with this value as its mean, and then it is sometimes very much longer.
  package var jitter = Micros.zero
  package var isPareto = false
  package var loss = 0.0

  package init() {}

  /// The difference between the delay there and the delay back. No protocol can measure this difference, so
  /// half of it is an error that two rooms cannot avoid.
  package var asymmetry: Micros { Micros(abs((there - back).count)) }

  func delay(isThere: Bool, _ dice: inout Dice) -> Micros {
    let least = isThere ? there : back
    guard jitter > .zero else { return least }
    guard isPareto else { return least + dice.duration(upTo: jitter) }
    // A Pareto distribution with exponent 2: its mean is the scale, its variance infinite.
    let more = 1 / (1 - dice.fraction()).squareRoot() - 1
    return least + Micros(rounding: min(more * Double(jitter.count), 5e6))
  }
}

/// Rooms far apart, each with its own network and peers. The first room's relay has a connection (a far wire)
/// to each other relay.
package struct Rooms: Sendable {
  /// The connections between relays, one for each room but the first.
  package var wires: [FarConditions] = []
  /// How often a connection between relays is cut, and how often a relay moves to another address, which is
  /// unreachable for a moment.
  package var cuts = 0
  package var moves = 0

  package init() {}

  package var count: Int { wires.count + 1 }

  /// Draws connections between relays that are as bad as the Internet can be.
  static func drawn(using dice: inout Dice) -> Rooms {
    var rooms = Rooms()
    for _ in 0..<(dice.chance(0.4) ? 2 : 1) {
      var wire = FarConditions()
      wire.there = Micros(Int64.random(in: 1_000...250_000, using: &dice))
      wire.back = wire.there
      if dice.chance(0.3) { wire.back = Micros(Int64.random(in: 1_000...250_000, using: &dice)) }
      if dice.chance(0.7) { wire.jitter = dice.duration(upTo: Micros(40_000)) }
      wire.isPareto = dice.chance(0.4)
      if dice.chance(0.7) { wire.loss = 0.1 * dice.fraction() }
      rooms.wires.append(wire)
    }
    if dice.chance(0.5) { rooms.cuts = Int.random(in: 1...3, using: &dice) }
    if dice.chance(0.3) { rooms.moves = Int.random(in: 1...3, using: &dice) }
    return rooms
  }
}

extension Scenario {
  /// Draws a scenario with rooms far apart, within limits. The network within each room is good.
  package static func rooms(from seed: UInt64, upTo worst: Severity) -> Scenario {
    var dice = Dice(seed: seed ^ 0xfa12)
    var scenario = Scenario(seed: seed)
    let rooms = Rooms.drawn(using: &dice)
    scenario.rooms = rooms
    scenario.peers = rooms.count + Int.random(in: 0...4 * rooms.count, using: &dice)
    scenario.conditions.delay = Micros(Int64.random(in: 50...1_000, using: &dice))
    if dice.chance(0.5) { scenario.conditions.jitter = dice.duration(upTo: Micros(300)) }
    if dice.chance(0.3) { scenario.conditions.loss = 0.02 * dice.fraction() }
    if dice.chance(0.8) { scenario.drift = min(worst.drift, 20) * dice.fraction() }
    if dice.chance(0.6) { scenario.references = Int.random(in: 1...2 * rooms.count, using: &dice) }
    if dice.chance(0.5) { scenario.edits = dice.fraction() }
    if dice.chance(0.3) { scenario.churn = 0.3 * dice.fraction() }
    if dice.chance(0.2) { scenario.doubleHomed = 0.3 * dice.fraction() }
    scenario.arrival = dice.duration(upTo: Micros(5_000_000))
    return scenario
  }

  /// The segment that stands for the connection between two relays. Each room has two segments, the second of
  /// which is for peers with two addresses. The segments of the connections come after the segments of all
  /// rooms.
  func segment(ofFarWire wire: Int) -> Int { 2 * (rooms?.count ?? 0) + wire }
}

extension LinkWorld {
  /// Connects two relays of different rooms.
  func join(_ first: Int, _ second: Int, bySegment segment: Int, _ conditions: FarConditions) {
    farConditions[segment] = conditions
    let ends = [first, second].map { plug($0, intoSegment: segment) }
    interfaces[ends[0]].farEnd = ends[1]
    interfaces[ends[1]].farEnd = ends[0]
  }

  /// The other end of a connection between relays, as the machine of this interface's relay knows it. Returns
  /// nil if the interface has no such connection.
  func farWire(of interface: Int) -> FarWire? {
    interfaces[interface].farEnd.map {
      FarWire(
        relay: interfaces[$0].measurement, correction: interfaces[interface].correction,
        distance: interfaces[interface].distance)
    }
  }

  /// Cuts a connection between two relays, or restores it.
  func setWhole(_ isWhole: Bool, segment: Int) {
    let ends = interfaces.indices.filter { interfaces[$0].segment == segment && interfaces[$0].farEnd != nil }
    for (place, end) in ends.enumerated() { self.place(end, inPart: isWhole ? 0 : place + 1) }
  }
}

extension Rooms: CustomStringConvertible {
  package var description: String {
    let wires = wires.map { wire in
      "\(wire.there.millis)/\(wire.back.millis) ms"
        + (wire.jitter > .zero ? " + \(wire.jitter.millis) ms\(wire.isPareto ? " Pareto" : "")" : "")
        + (wire.loss > 0 ? ", loss \(wire.loss.percent) %" : "")
    }
    return "\(count) rooms: " + wires.joined(separator: "; ") + ", \(cuts) cuts, \(moves) moves"
  }
}
