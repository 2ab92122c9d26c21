// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkSession
import LinkWire

/// What goes on in a world while it is not left in peace, drawn from the scenario's seed and planned beforehand.
struct Turmoil {
  private var dice: WorldDice
  private let scenario: Scenario
  private let start: Micros
  private let referee: Referee

  init(_ scenario: Scenario, from start: Micros, referee: Referee) {
    dice = WorldDice(seed: scenario.seed ^ 0x7072_6d6f_696c)
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
    if scenario.hostility > 0 {
      let attacker = Attacker(seed: dice.next())
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
        if peer < placement.count { world.place(interface, inPart: placement[peer]) }
      }
    }
    world.plan(at: healed) { world in
      for interface in world.interfaces.indices { world.place(interface, inPart: 0) }
    }
  }

  private mutating func planStep(in world: LinkWorld) {
    let peer = Int.random(in: 0..<scenario.peers, using: &dice)
    let amount = Micros(Int64.random(in: -3_000_000...3_000_000, using: &dice))
    world.plan(at: moment()) { $0.stepClock(of: peer, by: amount) }
  }
}

/// Somebody on the wire who means no good: floods, forges, replays, wounds.
final class Attacker {
  private var dice: WorldDice
  private var heard: [(bytes: [UInt8], source: Int, channel: Channel)] = []

  private static let memory = 200

  init(seed: UInt64) {
    dice = WorldDice(seed: seed)
  }

  func listen(to world: LinkWorld) {
    let before = world.onSend
    world.onSend = { [self] packet, sender, destination, channel in
      before?(packet, sender, destination, channel)
      let place = Int(truncatingIfNeeded: dice.next() % UInt64(Attacker.memory))
      let entry = (packet.withUnsafeBytes(Array.init), sender, channel)
      if heard.count < Attacker.memory { heard.append(entry) } else { heard[place] = entry }
    }
  }

  func strike(_ world: LinkWorld) {
    guard !heard.isEmpty, !world.interfaces.isEmpty else { return }
    let victim = Int.random(in: 0..<world.interfaces.count, using: &dice)
    switch Int.random(in: 0..<5, using: &dice) {
    case 0: flood(victim, in: world)
    case 1: replay(victim, in: world)
    case 2: wound(victim, in: world)
    case 3: forge(victim, in: world)
    default: sayGoodbyeForOthers(victim, in: world)
    }
  }

  private func stranger() -> Endpoint {
    let address = Address.v4(0x0b00_0000 | UInt32.random(in: 1...0xffff, using: &dice))
    return Endpoint(address: address, port: 40_000)
  }

  private func flood(_ victim: Int, in world: LinkWorld) {
    let session = world.peers[world.interfaces[victim].peer].snapshot.session
    for _ in 0..<100 {
      let source = stranger()
      let node = NodeID(using: &dice)
      let state = PeerState(
        node: node, session: dice.chance(0.5) ? session : node,
        timeline: Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: .zero), startStop: .unset,
        measurement: Endpoint(address: source.address, port: 50_000))
      inject(encodeAlive(state), from: source, into: victim, world)
    }
  }

  private func replay(_ victim: Int, in world: LinkWorld) {
    for packet in heard.prefix(50) {
      let interface = world.interfaces[packet.source]
      let source = packet.channel == .discovery ? interface.discovery : interface.measurement
      world.inject(
        packet.bytes, from: dice.chance(0.5) ? source : stranger(), into: victim, via: packet.channel)
    }
  }

  private func wound(_ victim: Int, in world: LinkWorld) {
    for packet in heard.shuffled(using: &dice).prefix(20) {
      var bytes = packet.bytes
      for _ in 0..<Int.random(in: 1...4, using: &dice) {
        bytes[Int.random(in: 0..<bytes.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
      }
      // Not a time to live of minutes: the world is to be at peace again soon.
      if bytes.count > 9 { bytes[9] = min(bytes[9], 5) }
      let source = world.interfaces[packet.source]
      world.inject(
        bytes, from: packet.channel == .discovery ? source.discovery : source.measurement, into: victim,
        via: packet.channel)
    }
  }

  private func forge(_ victim: Int, in world: LinkWorld) {
    let snapshot = world.peers[world.interfaces[victim].peer].snapshot
    let extremes: [Int64] = [.min, .max, -1, 0, 1, 1 << 40, 1 << 50, 1 << 60]
    let node = NodeID(using: &dice)
    let source = stranger()
    let state = PeerState(
      node: node, session: snapshot.session,
      timeline: Timeline(
        tempo: Tempo(microsPerBeat: Int64.random(in: 1...Int64.max, using: &dice) >> Int64(dice.next() % 62)),
        beatOrigin: snapshot.sessionTimeline.beatOrigin
          + Beats(micros: extremes.randomElement(using: &dice)!),
        timeOrigin: Micros(extremes.randomElement(using: &dice)!)),
      startStop: SessionStartStop(
        isPlaying: true, beats: Beats(micros: extremes.randomElement(using: &dice)!),
        timestamp: Micros(extremes.randomElement(using: &dice)!)),
      measurement: Endpoint(address: source.address, port: 50_000))
    inject(encodeAlive(state), from: source, into: victim, world)
  }

  private func sayGoodbyeForOthers(_ victim: Int, in world: LinkWorld) {
    for peer in world.peers {
      inject(encodeByeBye(peer.snapshot.node), from: stranger(), into: victim, world)
    }
  }

  private func inject(_ packet: Packet, from source: Endpoint, into victim: Int, _ world: LinkWorld) {
    world.inject(packet.withUnsafeBytes(Array.init), from: source, into: victim, via: .discovery)
  }
}
