// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import LinkWire

/// The troubles of a world, drawn from the scenario's seed and planned beforehand.
struct Turmoil {
  private var dice: Dice
  private let scenario: Scenario
  private let start: Micros
  private let referee: Referee

  init(_ scenario: Scenario, from start: Micros, referee: Referee) {
    dice = Dice(seed: scenario.seed ^ 0x7072_6d6f_696c)
    self.scenario = scenario
    self.start = start
    self.referee = referee
  }

  private mutating func moment() -> Micros { start + dice.duration(upTo: scenario.turmoil) }

  private func count(perSecond rate: Double) -> Int {
    Int(rate * Double(scenario.turmoil.count) / 1e6)
  }

  mutating func plan(in world: LinkWorld) {
    for _ in 0..<count(perSecond: scenario.edits) { planEdit(in: world) }
    for _ in 0..<count(perSecond: scenario.churn) { planChurn(in: world) }
    for _ in 0..<count(perSecond: scenario.crashes) { planCrash(in: world) }
    for _ in 0..<count(perSecond: scenario.driftChanges) { planDrift(in: world) }
    for _ in 0..<scenario.partitions { planPartition(in: world) }
    for _ in 0..<scenario.clockSteps { planStep(in: world) }
    if let rooms = scenario.rooms {
      for _ in 0..<rooms.cuts { planCut(of: rooms, for: Micros(30_000_000), in: world) }
      for _ in 0..<rooms.moves { planCut(of: rooms, for: Micros(2_000_000), in: world) }
    }
    if scenario.hostility > 0 {
      let attacker = Attacker(seed: dice.next(), until: start + scenario.turmoil)
      attacker.listen(to: world)
      for _ in 0..<count(perSecond: scenario.hostility) {
        world.plan(at: moment()) { attacker.strike($0) }
      }
    }
  }

  private mutating func planEdit(in world: LinkWorld) {
    let peer = Int.random(in: 0..<scenario.peers, using: &dice)
    let kind = Int.random(in: 0..<10, using: &dice)
    let tempo = Double(Int.random(in: 10...1100, using: &dice))
    let referee = referee
    world.plan(at: moment()) { world in
      switch kind {
      case 0: world.handle(.enableStartStopSync(true), by: peer)
      case 1, 2: world.edit(peer) { $0.setPlaying(!$0.isPlaying, at: $1) }
      default:
        referee.permit(tempo: tempo)
        world.edit(peer) { $0.setTempo(tempo, at: $1) }
      }
    }
  }

  private mutating func planChurn(in world: LinkWorld) {
    let peer = Int.random(in: 0..<scenario.peers, using: &dice)
    let byCable = dice.chance(0.4)
    let back = dice.duration(upTo: Micros(10_000_000))
    let leave = moment()
    world.plan(at: leave) { world in
      if byCable { world.setCable(false, of: peer) } else { world.setEnabled(false, peer: peer) }
    }
    world.plan(at: min(leave + back, start + scenario.turmoil)) { world in
      if byCable { world.setCable(true, of: peer) } else { world.setEnabled(true, peer: peer) }
    }
  }

  private mutating func planCrash(in world: LinkWorld) {
    guard scenario.peers > 1 else { return }
    let peer = Int.random(in: 1..<scenario.peers, using: &dice)
    let tempo = Double(Int.random(in: 40...240, using: &dice))
    let crash = moment()
    let back = min(crash + dice.duration(upTo: Micros(20_000_000)), start + scenario.turmoil)
    let referee = referee
    world.plan(at: crash) { $0.kill(peer) }
    world.plan(at: back) { world in
      referee.permit(tempo: tempo)
      world.reboot(peer, tempo: tempo)
    }
  }

  private mutating func planDrift(in world: LinkWorld) {
    let peer = Int.random(in: 0..<scenario.peers, using: &dice)
    let partsPerMillion = scenario.drift * (2 * dice.fraction() - 1)
    world.plan(at: moment()) { $0.setDrift(of: peer, partsPerMillion: partsPerMillion) }
  }

  private mutating func planPartition(in world: LinkWorld) {
    let parts = Int.random(in: 2...3, using: &dice)
    let placement = (0..<scenario.peers).map { _ in Int.random(in: 0..<parts, using: &dice) }
    let cut = moment()
    let healed = min(cut + dice.duration(upTo: Micros(15_000_000)), start + scenario.turmoil)
    world.plan(at: cut) { world in
      for interface in world.interfaces.indices {
        let peer = world.interfaces[interface].peer
        if peer >= 0 && peer < placement.count { world.place(interface, inPart: placement[peer]) }
      }
    }
    world.plan(at: healed) { world in
      for interface in world.interfaces.indices { world.place(interface, inPart: 0) }
    }
  }

  /// Plans a cut of a connection between relays, or a move of a relay. The machine does not notice a move,
  /// because the carrier of its datagrams finds the other relay again.
  private mutating func planCut(of rooms: Rooms, for longest: Micros, in world: LinkWorld) {
    let segment = scenario.segment(ofFarWire: Int.random(in: 0..<rooms.wires.count, using: &dice))
    let cut = moment()
    let healed = min(cut + dice.duration(upTo: longest), start + scenario.turmoil)
    world.plan(at: cut) { $0.setWhole(false, segment: segment) }
    world.plan(at: healed) { $0.setWhole(true, segment: segment) }
  }

  private mutating func planStep(in world: LinkWorld) {
    let peer = Int.random(in: 0..<scenario.peers, using: &dice)
    let amount = Micros(Int64.random(in: -3_000_000...3_000_000, using: &dice))
    world.plan(at: moment()) { $0.stepClock(of: peer, by: amount) }
  }
}
