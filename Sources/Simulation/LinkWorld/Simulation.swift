// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession

/// Plays a scenario: the peers arrive, then come trouble and peace. Then checks what an audience would hear.
package struct Simulation {
  package struct Outcome: Sendable {
    package let scenario: Scenario
    package var violations: [Violation] = []
    /// The time from the end of all disturbances until all peers agree; nil: they never agree. If the
    /// scenario has several acts, this is measured in the last act.
    package var convergence: Micros?
    /// For every act, the time until all peers agreed, in seconds.
    package var convergences = Samples()
    /// The phase errors during peace, of each peer against the first.
    package var phaseErrors = Samples()
    /// The phase errors over time: seconds since the world began, and each peer's distance from the first.
    package var trace: [(second: Double, errors: [Double])] = []
    package var datagramsSent = 0
    package var datagramsDelivered = 0
    package var measurements = 0
    /// How many datagrams a peer sends per second during peace.
    package var calmRate = 0.0
    package var simulated = Micros.zero
    /// Each peer's view of the session at the end, a line for each peer.
    package var portrait: [String] = []

    package var isKept: Bool { violations.isEmpty }
  }

  /// How long peers may take to find one session again. A measurement over a network that loses 30 % takes
  /// seconds and may fail; two sessions that should have merged measure each other again after some seconds.
  package static let mergeTimeout = Micros(240_000_000)
  private static let step = Micros(50_000)
  /// How long a peer that is gone can still be counted: time to live, grace period and a margin.
  private static let expiry = Micros(6_500_000)
  private static let afterAttack = Micros(10_000_000)

  package let world: LinkWorld
  private var scenario: Scenario
  private let referee: Referee
  private var outcome: Outcome
  private var keepsTrace = false

  package init(_ scenario: Scenario) {
    self.scenario = scenario
    world = LinkWorld(seed: scenario.seed, conditions: scenario.conditions)
    referee = Referee(scenario)
    outcome = Outcome(scenario: scenario)
  }

  /// Plays the scenario, then the acts with the same peers. Each act has its own trouble and peace.
  ///
  /// `progress` is called now and then with the simulated time and the present stage.
  package mutating func run(
    acts: [Scenario] = [], keepsTrace: Bool = false, progress: (Micros, String) -> Void = { _, _ in }
  ) -> Outcome {
    self.keepsTrace = keepsTrace
    populate()
    play(progress)
    for act in acts {
      scenario = act
      referee.scenario = act
      world.conditions = act.conditions
      play(progress)
    }
    return concluded()
  }

  /// Plays one act: trouble, peace, and the checks.
  private mutating func play(_ progress: (Micros, String) -> Void) {
    var turmoil = Turmoil(scenario, from: world.now + scenario.arrival, referee: referee)
    if isTroubled { turmoil.plan(in: world) }
    let peace = world.now + scenario.arrival + (isTroubled ? scenario.turmoil : .zero)
    while world.now < peace {
      advance()
      progress(world.now, "trouble")
    }
    outcome.convergence = nil
    findTogether(since: peace, progress)
    guard let convergence = outcome.convergence else { return }
    outcome.convergences.add(Double(convergence.count) / 1e6)
    settle(progress)
    listen(progress)
    changeTempo()
    startPlaying()
  }

  private func concluded() -> Outcome {
    var outcome = outcome
    outcome.violations = referee.violations
    outcome.datagramsSent = world.datagramsSent
    outcome.datagramsDelivered = world.datagramsDelivered
    outcome.measurements = world.peers.reduce(0) { $0 + $1.machine.counters.measurementsDone }
    outcome.simulated = world.now
    outcome.portrait = world.portrait
    return outcome
  }

  private var isTroubled: Bool {
    scenario.edits > 0 || scenario.churn > 0 || scenario.partitions > 0 || scenario.clockSteps > 0
      || scenario.rooms != nil || scenario.hostility > 0 || scenario.crashes > 0 || scenario.driftChanges > 0
  }

  /// Adds the relays first, one for each room, then all other peers in random rooms.
  private func populate(_ rooms: Rooms) {
    var dice = Dice(seed: scenario.seed ^ 0x706f_7075_6c61_7465)
    referee.permit(tempo: 120)
    for peer in 0..<scenario.peers {
      world.addPeer(
        tempo: Double(Int.random(in: 40...240, using: &dice)),
        host: Micros(Int64.random(in: 1_000_000...1_000_000_000_000, using: &dice)),
        partsPerMillion: scenario.drift * (2 * dice.fraction() - 1), isRelay: peer < rooms.count)
      let room = peer < rooms.count ? peer : Int.random(in: 0..<rooms.count, using: &dice)
      world.plug(peer, intoSegment: 2 * room)
      if peer >= rooms.count && dice.chance(scenario.doubleHomed) {
        world.plug(peer, intoSegment: 2 * room + 1)
      }
      if dice.chance(0.5) { world.handle(.enableStartStopSync(true), by: peer) }
      world.plan(at: world.now + dice.duration(upTo: scenario.arrival)) { $0.setEnabled(true, peer: peer) }
    }
    for (wire, conditions) in rooms.wires.enumerated() {
      world.join(0, wire + 1, bySegment: scenario.segment(ofFarWire: wire), conditions)
    }
    for _ in 0..<scenario.references {
      let room = Int.random(in: 0..<rooms.count, using: &dice)
      ReferencePeer(seed: dice.next()).start(in: world, onWire: 2 * room, within: scenario.arrival)
    }
    referee.watch(world)
  }

  private func populate() {
    if let rooms = scenario.rooms { return populate(rooms) }
    var dice = Dice(seed: scenario.seed ^ 0x706f_7075_6c61_7465)
    for _ in 0..<scenario.peers {
      let tempo =
        Double(Int.random(in: 40...240, using: &dice)) + Double(Int.random(in: 0..<10, using: &dice)) / 10
      let peer = world.addPeer(
        tempo: tempo, host: Micros(Int64.random(in: 1_000_000...1_000_000_000_000, using: &dice)),
        partsPerMillion: scenario.drift * (2 * dice.fraction() - 1))
      // The first peers connect the networks into a chain.
      let isChained = peer < scenario.wires - 1
      let wire = isChained ? peer : scenario.wires == 1 ? 0 : Int.random(in: 0..<scenario.wires, using: &dice)
      world.plug(peer, intoSegment: wire)
      if isChained {
        world.plug(peer, intoSegment: wire + 1)
      } else if dice.chance(scenario.doubleHomed) {
        world.plug(peer, intoSegment: scenario.wires == 1 ? 1 : (wire + 1) % scenario.wires)
      }
      if dice.chance(0.5) { world.handle(.enableStartStopSync(true), by: peer) }
      world.plan(at: world.now + dice.duration(upTo: scenario.arrival)) { $0.setEnabled(true, peer: peer) }
    }
    for _ in 0..<scenario.references {
      let wire = Int.random(in: 0..<scenario.wires, using: &dice)
      ReferencePeer(seed: dice.next()).start(in: world, onWire: wire, within: scenario.arrival)
    }
    referee.watch(world)
  }

  private mutating func advance() {
    world.run(for: Simulation.step)
    referee.inspect(world)
    if keepsTrace {
      outcome.trace.append((Double(world.now.count) / 1e6, phaseErrors()))
    }
  }

  private mutating func findTogether(since peace: Micros, _ progress: (Micros, String) -> Void) {
    for peer in world.peers.indices where world.peers[peer].isRunning {
      world.setCable(true, of: peer)
      if !world.peers[peer].machine.isEnabled { world.setEnabled(true, peer: peer) }
    }
    for interface in world.interfaces.indices { world.place(interface, inPart: 0) }
    while let reason = disagreement() {
      if world.now - peace > Simulation.mergeTimeout {
        referee.blame(.allAgree, at: world.now, reason)
        return
      }
      advance()
      progress(world.now, reason)
    }
    let convergence = world.now - peace
    outcome.convergence = convergence
    guard scenario.isOnlyAttacked else { return }
    if convergence > Simulation.afterAttack {
      referee.blame(.attackIsOver, at: world.now, "it took \(convergence.seconds) s")
    }
    while world.now < peace + Simulation.afterAttack { advance() }
    changeTempo()
    startPlaying()
  }

  /// Why peers disagree; nil: they agree. Between rooms, Ableton's peers must agree with ours, too.
  private func disagreement() -> String? {
    world.disagreement() ?? (scenario.rooms == nil ? nil : world.disagreementOfReferences)
  }

  private func phaseErrors() -> [Double] {
    world.phaseErrors() + (scenario.rooms == nil ? [] : world.phaseErrorsOfReferences())
  }

  /// Waits until all peers have measured again: after a cut or a step, their clocks are right only then.
  private mutating func settle(_ progress: (Micros, String) -> Void) {
    let isLasting =
      scenario.partitions > 0 || scenario.clockSteps > 0 || scenario.driftChanges > 0
      || scenario.wires > 1 && scenario.churn > 0 || scenario.rooms != nil
    guard isLasting || scenario.crashes > 0 || scenario.hostility > 0 else { return }
    let end =
      world.now
      + Micros((scenario.hostility > 0 ? 85_000_000 : 70_000_000) + 50_000_000 * Int64(scenario.wires - 1))
      + Micros(scenario.rooms == nil ? 0 : 40_000_000)
    while world.now < end {
      advance()
      progress(world.now, "settling")
    }
  }

  private mutating func listen(_ progress: (Micros, String) -> Void) {
    let sent = world.datagramsSent
    let end = world.now + scenario.watch
    let allowance = referee.phaseAllowance
    var disagreeing: Micros?
    while world.now < end {
      advance()
      progress(world.now, "listening")
      noteDisagreement(since: &disagreeing)
      // Long after an attack, one of Ableton's peers may repeat the attacker's lie, and others believe it.
      if scenario.references > 0 && disagreeing != nil { continue }
      for error in phaseErrors() {
        outcome.phaseErrors.add(abs(error))
        if abs(error) > allowance {
          let text = error.rounded(toPlaces: 0)
          referee.blame(
            .phaseIsBounded, at: world.now, "\(text) µs apart, allowed \(allowance.rounded(toPlaces: 0))")
        }
      }
    }
    let seconds = Double(scenario.watch.count) / 1e6
    outcome.calmRate = Double(world.datagramsSent - sent) / seconds / Double(max(1, world.active.count))
  }

  /// Records a disagreement only if it lasts. A datagram that arrives after its sender's goodbye makes the
  /// sender count as present until its entry expires.
  private func noteDisagreement(since start: inout Micros?) {
    guard let reason = disagreement() else {
      start = nil
      return
    }
    let since = start ?? world.now
    start = since
    if world.now - since > Simulation.expiry { referee.blame(.allAgree, at: world.now, reason) }
  }

  /// Sets a tempo by one peer, or after an attack by each peer in turn. A peer of Ableton's library that an
  /// attack has misled may win once more, when its timeline becomes believable. So a peer whose tempo was
  /// overruled tries again.
  private mutating func changeTempo() {
    let invariant: Invariant = scenario.hostility > 0 ? .attackIsOver : .changeReachesAll
    for (turn, peer) in world.active.reversed().prefix(scenario.hostility > 0 ? 20 : 1).enumerated() {
      let tempo = 87.5 + Double(turn)
      referee.permit(tempo: tempo)
      let wanted = Tempo(tempo).microsPerBeat
      demand(invariant, "peer \(peer) sets \(tempo)") { world in
        world.edit(peer) { $0.setTempo(tempo, at: $1) }
      } until: { world in
        world.active.allSatisfy { world.peers[$0].snapshot.state.timeline.tempo.microsPerBeat == wanted }
      }
    }
  }

  private mutating func startPlaying() {
    let invariant: Invariant = scenario.hostility > 0 ? .attackIsOver : .startReachesAll
    for peer in world.active.reversed().prefix(scenario.hostility > 0 ? 20 : 1) {
      world.handle(.enableStartStopSync(true), by: peer)
      let isPlaying = !world.peers[peer].snapshot.state.isPlaying
      demand(invariant, "peer \(peer) starts or stops") { world in
        world.edit(peer) { $0.setPlaying(isPlaying, at: $1) }
      } until: { world in
        world.active.allSatisfy {
          let snapshot = world.peers[$0].snapshot
          return !snapshot.isStartStopSyncEnabled || snapshot.state.isPlaying == isPlaying
        }
      }
    }
  }

  private mutating func demand(
    _ invariant: Invariant, _ what: String, _ edit: (LinkWorld) -> Void, until isTrue: (LinkWorld) -> Bool
  ) {
    for _ in 0...scenario.references {
      edit(world)
      let end = world.now + Micros(5_000_000)
      while world.now < end {
        advance()
        if isTrue(world) { return }
      }
    }
    referee.blame(invariant, at: world.now, what)
  }
}
