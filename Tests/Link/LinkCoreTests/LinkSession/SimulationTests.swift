// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import func TactusTestSupport.campaign
import Testing

@testable import LinkWorld

/// Simulated networks that follow from seeds: a few ordinary seeds, and the seeds that once failed.
@Suite struct SimulationTests {
  private func world(
    _ seed: UInt64, isHostile: Bool = false, stepsClocks: Bool = false, wires: Int = 1,
    turmoil: Int64 = 8_000_000
  ) -> Scenario {
    var worst = Scenario.Severity()
    worst.isHostile = isHostile
    worst.stepsClocks = stepsClocks
    worst.wires = wires
    var scenario = Scenario.drawn(from: seed, upTo: worst)
    scenario.turmoil = Micros(turmoil)
    scenario.watch = Micros(2_000_000)
    return scenario
  }

  private func outcome(_ scenario: Scenario) -> Simulation.Outcome {
    var simulation = Simulation(scenario)
    return simulation.run()
  }

  @Test func `a simulated world replaces NaN by a usual number`() {
    let world = LinkWorld(seed: 1)
    let peer = world.addPeer(tempo: .nan)
    #expect(world.peers[peer].snapshot.state.tempo == 120)
    for (given, kept) in [(Double.nan, 0), (-1, 0), (0.5, 0.5), (7, 1)] {
      world.conditions.loss = given
      world.conditions.reordering = given
      world.conditions.duplication = given
      #expect(world.conditions.loss == kept && world.conditions.reordering == kept)
      #expect(world.conditions.duplication == kept)
    }
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `a simulated network with many faults keeps every invariant`(seed: UInt64) {
    let outcome = outcome(world(seed))
    #expect(outcome.violations.isEmpty, "\(outcome.scenario)")
    #expect(outcome.convergence != nil)
  }

  @Test(arguments: campaign(1...3 as ClosedRange<UInt64>))
  func `the peers of a simulated network agree after an attack`(seed: UInt64) {
    let outcome = outcome(world(seed, isHostile: true))
    #expect(outcome.violations.isEmpty, "\(outcome.scenario)")
  }

  /// Between two visits the attacker is silent long enough for the peers to agree. By its next visit, its old
  /// ids are unused or expired.
  @Test(arguments: campaign([3, 4, 8] as [UInt64]))
  func `the peers agree after each of three visits of an attacker`(seed: UInt64) {
    let first = world(seed, isHostile: true, wires: 3, turmoil: 4_000_000)
    let acts = (1...3 as ClosedRange<UInt64>).map { visit in
      var act = first
      act.seed = seed | visit << 32
      return act
    }
    var simulation = Simulation(first)
    let outcome = simulation.run(acts: acts)
    #expect(outcome.violations.isEmpty, "\(outcome.scenario)")
    #expect(outcome.convergences.count == 4)
  }

  /// Liars gave each half of a session another time, an hour apart, on three networks.
  @Test(arguments: [529] as [UInt64])
  func `a session whose peers have two different times becomes one again`(seed: UInt64) {
    let outcome = outcome(world(seed, isHostile: true, stepsClocks: true, wires: 3, turmoil: 10_000_000))
    #expect(outcome.violations.isEmpty, "\(outcome.scenario)")
  }

  @Test func `a session is measured though the measured peer has left it`() {
    #expect(outcome(world(3019, isHostile: true, stepsClocks: true)).violations.isEmpty)
  }

  @Test func `a timeline that only some peers heard does not split a session`() {
    #expect(outcome(world(7240, isHostile: true, stepsClocks: true)).violations.isEmpty)
  }

  @Test func `without their founder peers do not swap clocks for ever`() {
    #expect(outcome(world(3057, stepsClocks: true)).violations.isEmpty)
  }

  @Test func `a datagram overtaken by a goodbye only delays the count of peers`() {
    #expect(outcome(world(968, turmoil: 20_000_000)).violations.isEmpty)
  }

  @Test func `a simulated network behaves in the same way for the same seed`() {
    let scenario = world(5)
    let (first, second) = (outcome(scenario), outcome(scenario))
    #expect(first.datagramsSent == second.datagramsSent)
    #expect(first.datagramsDelivered == second.datagramsDelivered)
    #expect(first.convergence == second.convergence)
    #expect(first.portrait == second.portrait)
  }

  @Test func `two halves of a session that was cut agree after the cut`() {
    let world = LinkWorld(seed: 9)
    for _ in 0..<4 {
      let peer = world.addPeer(tempo: 120)
      world.plug(peer)
      world.setEnabled(true, peer: peer)
    }
    world.run(for: Micros(5_000_000))
    #expect(world.disagreement() == nil)
    for interface in 0..<4 { world.place(interface, inPart: interface / 2) }
    world.run(for: Micros(10_000_000))
    world.edit(0) { $0.setTempo(100, at: $1) }
    world.run(for: Micros(1_000_000))
    world.edit(3) { $0.setTempo(140, at: $1) }
    world.run(for: Micros(10_000_000))
    #expect(world.peers.map(\.snapshot.peerCount) == [1, 1, 1, 1])
    for interface in 0..<4 { world.place(interface, inPart: 0) }
    world.run(for: Micros(1_000_000))
    #expect(world.disagreement() == nil)
    #expect(world.peers.allSatisfy { $0.snapshot.state.timeline.tempo.microsPerBeat == 428_571 })
  }
}

@Suite struct WorldTests {
  @Test func `a simulated drifting clock and its inverse agree`() {
    for partsPerMillion in [-200.0, -0.5, 0, 37, 200] {
      let clock = DriftingClock(host: Micros(123), at: Micros(77), partsPerMillion: partsPerMillion)
      for host in stride(from: Int64(123), to: 100_000_000, by: 9_999_991) {
        let world = clock.world(at: Micros(host))
        #expect(clock.host(at: world) >= Micros(host))
        #expect(clock.host(at: world - Micros(1)) < Micros(host))
      }
    }
  }

  @Test func `a simulated clock that steps goes on from its new time`() {
    var clock = DriftingClock(host: .zero, at: .zero, partsPerMillion: 100)
    clock.step(by: Micros(-5_000), at: Micros(1_000_000))
    #expect(clock.host(at: Micros(2_000_000)) == Micros(1_995_200))
  }

  @Test func `simulated events of equal times come in the order of insertion`() {
    var queue = EventQueue<Int>()
    var dice = Dice(seed: 3)
    let times = (0..<500).map { _ in Int64.random(in: 0...40, using: &dice) }
    for (event, time) in times.enumerated() { queue.put(event, at: Micros(time)) }
    let expected = times.enumerated().sorted { ($0.element, $0.offset) < ($1.element, $1.offset) }
    var taken: [Int] = []
    while let event = queue.removeFirst() { taken.append(event) }
    #expect(taken == expected.map(\.offset))
  }

  @Test func `quantiles are taken from the sorted samples`() {
    var samples = Samples()
    for value in [5.0, 1, 4, 2, 3] { samples.add(value) }
    #expect(samples.median == 3)
    #expect(samples.quantile(0.99) == 5)
    #expect(samples.quantile(0) == 1)
    #expect(Samples().median == nil)
  }

  @Test func `numbers are printed with a decimal point`() {
    #expect(1.25.rounded(toPlaces: 1) == "1.3")
    #expect((-0.04).rounded(toPlaces: 2) == "-0.04")
    #expect(12.0.rounded(toPlaces: 0) == "12")
    #expect(Micros(1_500).millis == "1.50")
  }
}
