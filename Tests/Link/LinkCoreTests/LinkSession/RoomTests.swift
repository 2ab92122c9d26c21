// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import LinkWire
import TactusTestSupport
import Testing

@testable import LinkWorld

/// Distant rooms, each with a relay, our peers and peers of Ableton's library.
@Suite struct RoomTests {
  private func wire(_ there: Int64, _ back: Int64, jitter: Int64 = 0, loss: Double = 0) -> FarConditions {
    var wire = FarConditions()
    (wire.there, wire.back) = (Micros(there), Micros(back))
    (wire.jitter, wire.loss) = (Micros(jitter), loss)
    return wire
  }

  private func outcome(
    _ wires: [FarConditions], seed: UInt64 = 1, peers: Int = 10, references: Int = 4, cuts: Int = 0
  ) -> (Simulation.Outcome, Simulation) {
    var scenario = Scenario(seed: seed)
    var rooms = Rooms()
    rooms.wires = wires
    rooms.cuts = cuts
    (scenario.rooms, scenario.peers, scenario.references) = (rooms, peers, references)
    scenario.drift = 10
    scenario.turmoil = Micros(30_000_000)
    var simulation = Simulation(scenario)
    return (simulation.run(), simulation)
  }

  @Test func `two rooms that are 60 ms apart have one beat`() {
    let (outcome, _) = outcome([wire(60_000, 60_000, jitter: 20_000, loss: 0.02)])
    #expect(outcome.violations.isEmpty)
  }

  @Test func `rooms with a delay of a quarter of a second each way have one beat`() {
    let (outcome, _) = outcome([wire(250_000, 250_000, loss: 0.1)])
    #expect(outcome.violations.isEmpty)
  }

  @Test func `rooms differ by half of the difference of the delays there and back`() throws {
    let (outcome, _) = outcome([wire(60_000, 20_000)])
    #expect(outcome.violations.isEmpty)
    let worst = try #require(outcome.phaseErrors.maximum)
    #expect(worst > 19_000 && worst < 22_000)
  }

  @Test func `three rooms in a chain have one beat`() {
    let (outcome, _) = outcome(
      [wire(20_000, 20_000, jitter: 5_000), wire(90_000, 90_000)], peers: 12, references: 6)
    #expect(outcome.violations.isEmpty)
  }

  @Test func `after a cut between rooms the beat does not jump`() {
    let (outcome, simulation) = outcome([wire(40_000, 40_000, jitter: 4_000)], cuts: 2)
    #expect(outcome.violations.isEmpty)
    #expect(simulation.world.peers.allSatisfy { $0.machine.counters.outputsDropped == 0 })
  }

  @Test(arguments: campaign(1...6 as ClosedRange<UInt64>))
  func `simulated rooms with random troubles keep every invariant`(seed: UInt64) {
    var simulation = Simulation(Scenario.rooms(from: seed, upTo: Scenario.Severity()))
    let outcome = simulation.run()
    #expect(outcome.violations.isEmpty, "\(outcome.scenario)")
  }

  /// Seeds, out of ten thousand, with which peers of Ableton's library stayed in a session that all our peers
  /// had left. With seed 2402, peers of Ableton's library were on both sides of the border between "older"
  /// and "equally old", and our peers changed between the sessions again and again.
  @Test(arguments: campaign([1052, 2103, 2402, 3330, 9655, 9870] as [UInt64]))
  func `no peer of Ableton's library is left alone in a session`(seed: UInt64) {
    var simulation = Simulation(Scenario.rooms(from: seed, upTo: Scenario.Severity()))
    #expect(simulation.run().violations.isEmpty)
  }

  /// Checks everything that a relay sends, within rooms and between them.
  @Test func `no endpoint of one room is announced in the other`() {
    let world = LinkWorld(seed: 3)
    for room in 0...1 {
      let relay = world.addPeer(isRelay: true)
      world.plug(relay, intoSegment: 2 * room)
    }
    for room in 0...1 { world.plug(world.addPeer(), intoSegment: 2 * room) }
    world.join(0, 1, bySegment: 8, wire(30_000, 30_000))
    var (said, far) = (0, 0)
    world.onSend = { packet, sender, _, channel in
      guard channel == .discovery, let message = packet.withUnsafeBytes({ try? decodeDiscovery($0) }) else {
        return
      }
      switch message {
      case .alive(let state, _), .response(let state, _):
        let isFar = world.interfaces[sender].farEnd != nil
        #expect(state.measurement == (isFar ? nil : world.interfaces[sender].measurement))
        (said, far) = (said + 1, far + (isFar ? 1 : 0))
      case .byeBye: return
      }
    }
    for peer in 0...3 { world.setEnabled(true, peer: peer) }
    world.run(for: Micros(20_000_000))
    #expect(said > 400 && far > 100)
    #expect(world.disagreement() == nil)
  }

  /// In the middle room, peers of Ableton's library ask the relay with the lower id, even if the other relay
  /// is nearer to the founder.
  @Test(arguments: campaign(1...6 as ClosedRange<UInt64>))
  func `a room with two relays passes on the founder's clock`(seed: UInt64) {
    let world = LinkWorld(seed: seed)
    for room in [0, 1, 1, 2] {
      world.plug(world.addPeer(partsPerMillion: Double(room) * 10, isRelay: true), intoSegment: room)
    }
    world.join(0, 1, bySegment: 8, wire(30_000, 30_000, jitter: 10_000))
    world.join(2, 3, bySegment: 9, wire(80_000, 80_000, jitter: 10_000, loss: 0.05))
    for room in 0...2 { world.plug(world.addPeer(), intoSegment: room) }
    for room in 0...2 {
      ReferencePeer(seed: seed << 8 + UInt64(room)).start(in: world, onWire: room, within: Micros(20_000_000))
    }
    for peer in world.peers.indices { world.setEnabled(true, peer: peer) }
    world.run(for: Micros(180_000_000))
    #expect(world.disagreement() == nil && world.disagreementOfReferences == nil)
    let errors = world.phaseErrors() + world.phaseErrorsOfReferences()
    // The limit allows for the errors of two connections, and for a drift of 20 ppm between measurements.
    #expect(errors.allSatisfy { abs($0) < 3_500 }, "\(errors)")
  }

  @Test func `a peer that is not a relay opens no far gateway`() {
    let world = LinkWorld(seed: 4)
    world.addPeer()
    world.addPeer(isRelay: true)
    world.join(0, 1, bySegment: 0, wire(1_000, 1_000))
    for peer in 0...1 { world.setEnabled(true, peer: peer) }
    world.run(for: Micros(5_000_000))
    #expect(world.peers[0].machine.load.gateways == 0)
    #expect(world.peers[1].machine.load.gateways == 1)
  }

  @Test func `a known difference of the delays can be corrected in either room`() {
    for side in 0...1 {
      let world = LinkWorld(seed: 5)
      for room in 0...1 { world.plug(world.addPeer(isRelay: true), intoSegment: 2 * room) }
      world.join(0, 1, bySegment: 8, wire(50_000, 10_000))
      // Datagrams take 40 ms longer from the first room to the other than back.
      let end = world.peers[side].interfaces[1]
      world.interfaces[end].correction = Micros(side == 0 ? 20_000 : -20_000)
      for peer in 0...1 { world.setEnabled(true, peer: peer) }
      world.run(for: Micros(60_000_000))
      #expect(world.disagreement() == nil)
      #expect(world.phaseErrors().allSatisfy { abs($0) < 500 }, "\(world.phaseErrors())")
    }
  }

  /// The session's beat at the present time, at each peer.
  private func beats(_ world: LinkWorld) -> [Double] {
    world.peers.indices.map {
      let snapshot = world.peers[$0].snapshot
      return snapshot.sessionTimeline.beats(at: snapshot.ghost.ghost(atHost: world.host(of: $0))).value
    }
  }

  /// Room 1 is later than room 0 by this number of beats, which is set at either relay.
  @Test(arguments: [(0, 4), (1, -4), (0, 3)])
  func `a beat distance between rooms survives tempo changes, starts and cuts`(side: Int, distance: Int)
    throws
  {
    let world = LinkWorld(seed: 6)
    for room in 0...1 {
      world.plug(world.addPeer(partsPerMillion: Double(room) * 20, isRelay: true), intoSegment: 2 * room)
    }
    for room in 0...1 { world.plug(world.addPeer(), intoSegment: 2 * room) }
    world.join(0, 1, bySegment: 8, wire(60_000, 60_000, jitter: 10_000, loss: 0.02))
    world.interfaces[world.peers[side].interfaces[1]].distance = Beats(Double(distance))
    for peer in 0...3 {
      world.handle(.enableStartStopSync(true), by: peer)
      world.setEnabled(true, peer: peer)
    }
    let later = Double(abs(distance))
    func check(_ what: Comment) {
      let heard = beats(world)
      for room in [(0, 2), (1, 3)] { #expect(abs(heard[room.0] - heard[room.1]) < 0.004, what) }
      #expect(abs(heard[0] - heard[1] - later) < 0.004, what)
    }
    world.run(for: Micros(60_000_000))
    check("after joining")
    for (turn, peer) in [2, 3, 2].enumerated() {
      let tempo = 90.0 + Double(turn) * 20
      world.edit(peer) { $0.setTempo(tempo, at: $1) }
      world.run(for: Micros(3_000_000))
      #expect(world.peers.allSatisfy { abs($0.snapshot.state.tempo - tempo) < 0.001 })
      check("at \(tempo)")
    }
    // A start has a beat, and happens in each room at that beat of the room's own count.
    world.edit(2) { $0.setPlaying(true, at: $1) }
    world.run(for: Micros(2_000_000))
    #expect(world.peers.allSatisfy { $0.snapshot.state.isPlaying })
    world.setWhole(false, segment: 8)
    world.run(for: Micros(10_000_000))
    world.edit(3) { $0.setTempo(111, at: $1) }
    world.run(for: Micros(5_000_000))
    world.setWhole(true, segment: 8)
    world.run(for: Micros(30_000_000))
    #expect(world.peers.allSatisfy { abs($0.snapshot.state.tempo - 111) < 0.001 })
    check("after a cut")
    #expect(Set(world.peers.map(\.snapshot.session)).count == 1)
  }
}
