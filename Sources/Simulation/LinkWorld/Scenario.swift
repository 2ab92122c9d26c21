// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession

/// Sets what happens in a world. Everything that is not set here follows from the seed.
package struct Scenario: Sendable {
  package var seed: UInt64
  package var peers = 4
  package var conditions = NetworkConditions()
  /// The most that a clock runs fast or slow, in parts per million.
  package var drift = 0.0
  /// The time within which the peers are enabled, one after another.
  package var arrival = Micros(5_000_000)
  /// The time for which the troubles below last: peers change the tempo, start, stop, and so on.
  package var turmoil = Micros(20_000_000)
  /// The time for which the world is watched in peace, after the troubles.
  package var watch = Micros(10_000_000)
  /// How many changes of tempo and of start or stop all peers together make per second.
  package var edits = 0.0
  /// How many peers per second leave, with or without a goodbye, or return.
  package var churn = 0.0
  /// How many peers per second lose power and get it back. The first peer never does, because the simulation
  /// listens to it.
  package var crashes = 0.0
  /// How many clocks per second change their rate.
  package var driftChanges = 0.0
  /// How often during the turmoil the network is cut into two or three parts, and restored.
  package var partitions = 0
  /// How often a clock steps, forwards or backwards, by up to three seconds.
  package var clockSteps = 0
  /// How many attacks there are per second: floods, forgeries, replays, corrupted packets.
  package var hostility = 0.0
  /// The fraction of the peers that are on two networks.
  package var doubleHomed = 0.0
  /// The number of networks in a chain. Each network is connected with the next by a peer that is on both
  /// networks.
  package var wires = 1
  /// Additional peers that follow the rules of Ableton's library, and believe whatever it believes.
  package var references = 0
  /// Rooms far apart. If this is set, `wires` is not used, and the first peers are the relays.
  package var rooms: Rooms?

  package init(seed: UInt64) {
    self.seed = seed
  }

  /// The upper limits for a drawn scenario.
  package struct Severity: Sendable {
    package var peers = 2...16
    package var loss = 0.3
    package var jitter = Micros(20_000)
    package var drift = 100.0
    package var isHostile = false
    package var wires = 1
    package var stepsClocks = false

    package init() {}
  }

  /// Draws a scenario within limits. Some scenarios lack a trouble, so that one trouble cannot hide the
  /// effect of another.
  package static func drawn(from seed: UInt64, upTo worst: Severity) -> Scenario {
    var dice = Dice(seed: seed ^ 0x5eed)
    var scenario = Scenario(seed: seed)
    scenario.peers = Int.random(in: worst.peers, using: &dice)
    scenario.conditions.delay = Micros(Int64.random(in: 50...10_000, using: &dice))
    if dice.chance(0.7) { scenario.conditions.loss = worst.loss * dice.fraction() }
    if dice.chance(0.7) { scenario.conditions.jitter = dice.duration(upTo: worst.jitter) }
    if dice.chance(0.3) { scenario.conditions.reordering = 0.2 * dice.fraction() }
    if dice.chance(0.3) { scenario.conditions.duplication = 0.2 * dice.fraction() }
    if dice.chance(0.8) { scenario.drift = worst.drift * dice.fraction() }
    if dice.chance(0.5) { scenario.edits = 3 * dice.fraction() }
    if dice.chance(0.5) { scenario.churn = dice.fraction() }
    if dice.chance(0.3) { scenario.partitions = Int.random(in: 1...3, using: &dice) }
    if dice.chance(0.2) { scenario.doubleHomed = dice.fraction() }
    if worst.stepsClocks { scenario.clockSteps = Int.random(in: 0...5, using: &dice) }
    if worst.isHostile { scenario.hostility = 10 * dice.fraction() }
    scenario.arrival = dice.duration(upTo: Micros(5_000_000))
    // New draws come last, so that older seeds still give the same worlds.
    if worst.wires > 1 && dice.chance(0.5) { scenario.wires = Int.random(in: 2...worst.wires, using: &dice) }
    if worst.isHostile && dice.chance(0.5) { scenario.references = Int.random(in: 1...3, using: &dice) }
    if worst.isHostile && dice.chance(0.3) { scenario.leaveAllButTheAttack() }
    return scenario
  }

  /// Removes all troubles but the attack, so that only the attack can cause what follows.
  private mutating func leaveAllButTheAttack() {
    let delay = conditions.delay
    conditions = NetworkConditions()
    conditions.delay = delay
    (edits, churn, crashes, partitions, clockSteps) = (0, 0, 0, 0, 0)
  }

  var isOnlyAttacked: Bool {
    hostility > 0 && conditions.loss == 0 && conditions.asymmetry == .zero && churn + crashes == 0
      && partitions + clockSteps == 0
  }
}

extension Scenario: CustomStringConvertible {
  package var description: String {
    var parts = ["\(peers) peers", "delay \(conditions.delay.millis) ms"]
    if conditions.loss > 0 { parts.append("loss \(conditions.loss.percent) %") }
    if conditions.jitter > .zero { parts.append("jitter \(conditions.jitter.millis) ms") }
    if conditions.reordering > 0 { parts.append("reordering \(conditions.reordering.percent) %") }
    if conditions.duplication > 0 { parts.append("duplication \(conditions.duplication.percent) %") }
    if drift > 0 { parts.append("drift ±\(drift.rounded(toPlaces: 0)) ppm") }
    if edits > 0 { parts.append("\(edits.rounded(toPlaces: 1)) edits/s") }
    if churn > 0 { parts.append("churn \(churn.rounded(toPlaces: 1))/s") }
    if crashes > 0 { parts.append("\(crashes.rounded(toPlaces: 3)) crashes/s") }
    if driftChanges > 0 { parts.append("\(driftChanges.rounded(toPlaces: 3)) changes of drift/s") }
    if partitions > 0 { parts.append("\(partitions) partitions") }
    if clockSteps > 0 { parts.append("\(clockSteps) clock steps") }
    if hostility > 0 { parts.append("\(hostility.rounded(toPlaces: 1)) attacks/s") }
    if wires > 1 { parts.append("\(wires) wires") }
    if references > 0 { parts.append("\(references) reference peers") }
    if let rooms { parts.append(rooms.description) }
    if doubleHomed > 0 { parts.append("\(doubleHomed.percent) % on two wires") }
    return parts.joined(separator: ", ")
  }
}

extension Micros {
  package var millis: String { (Double(count) / 1000).rounded(toPlaces: 2) }
  package var seconds: String { (Double(count) / 1e6).rounded(toPlaces: 2) }
}

extension Double {
  var percent: String { (self * 100).rounded(toPlaces: 0) }

  /// This number in decimal notation with a point, whatever the locale is.
  package func rounded(toPlaces places: Int) -> String {
    var scale: Int64 = 1
    for _ in 0..<places { scale *= 10 }
    let scaled = Int64(rounding: self * Double(scale))
    let digits = String(abs(scaled))
    let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
    let sign = scaled < 0 ? "-" : ""
    guard places > 0 else { return sign + padded }
    return sign + padded.dropLast(places) + "." + padded.suffix(places)
  }
}
