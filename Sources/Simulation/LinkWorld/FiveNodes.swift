// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession

/// The experiment of X. Riley's thesis ("Evaluating distributed time synchronization for musical applications
/// using Ableton Link", 2018). There are five peers, not all of which hear each other. The tempo changes now
/// and then, and everything that all peers but the first send is delayed: for half a minute on, for half a
/// minute off. The result is the fraction of the time in which all five peers have the beat at the same time.
///
/// Either all peers follow the rules of Ableton's library, on one network; or all are relays, with a
/// connection between any two peers that hear each other.
package struct FiveNodes: Sendable {
  package enum Topology: String, CaseIterable, Sendable {
    /// `connected`: all peers hear each other. `bridge`: two pairs hear the peer between them. `line`: the
    /// peers stand in a row, and each hears only its neighbours.
    case connected, bridge, line

    func reaches(_ first: Int, _ second: Int) -> Bool {
      switch self {
      case .connected: true
      case .bridge: first == 2 || second == 2 || (first < 2) == (second < 2)
      case .line: abs(first - second) == 1
      }
    }
  }

  package enum Law: String, CaseIterable, Sendable {
    case constant, normal
    case pareto = "Pareto"
  }

  package struct Shares: Sendable {
    /// The fractions of the time in which no two of the five peers were farther apart than 100 ms, and than 1
    /// ms.
    package var hundred = 0.0
    package var one = 0.0
  }

  package var topology: Topology
  package var delay: Micros
  package var law: Law

  package init(_ topology: Topology, _ delay: Micros, _ law: Law) {
    (self.topology, self.delay, self.law) = (topology, delay, law)
  }

  private static let settled = Micros(10_000_000)
  private static let length = Micros(180_000_000)
  private static let spell = Micros(30_000_000)
  private static let betweenTempos = Micros(10_000_000)
  private static let step = Micros(50_000)

  package func run(seed: UInt64, byReference isReference: Bool) -> Shares {
    let world = LinkWorld(seed: seed)
    let nodes = isReference ? references(in: world, seed) : relays(in: world, seed)
    slow(world, nodes)
    for node in nodes {
      node.begin()
      world.run(for: Micros(Self.settled.count / 5))
    }
    var (looks, hundred, one) = (0.0, 0.0, 0.0)
    var dice = Dice(seed: seed ^ 0x7465_6d70_6f73)
    var next = Self.betweenTempos
    let start = Self.settled
    while world.now - start < Self.length {
      if world.now - start >= next {
        next = next + Self.betweenTempos
        let node = Int.random(in: 0..<5, using: &dice)
        nodes[node].setTempo(Double(Int.random(in: 60...180, using: &dice)))
      }
      world.run(for: Self.step)
      let apart = spread(nodes.map { $0.phase() }, microsPerBeat: nodes[0].microsPerBeat())
      looks += 1
      hundred += apart <= 100_000 ? 1 : 0
      one += apart <= 1_000 ? 1 : 0
    }
    return Shares(hundred: hundred / looks, one: one / looks)
  }

  /// A peer that is either a relay or a peer of Ableton's library.
  private struct Node {
    let begin: () -> Void
    let phase: () -> Double
    let microsPerBeat: () -> Double
    let setTempo: (Double) -> Void
    let interfaces: [Int]
  }

  private func references(in world: LinkWorld, _ seed: UInt64) -> [Node] {
    (0..<5).map { number in
      let peer = ReferencePeer(seed: seed << 8 + UInt64(number), isPrompt: true)
      return Node(
        begin: { peer.start(in: world, onWire: 0, within: .zero) },
        phase: { peer.phase(at: world.now) },
        microsPerBeat: { Double(peer.timeline.tempo.microsPerBeat) },
        setTempo: { peer.set(tempo: $0, in: world) }, interfaces: [number])
    }
  }

  /// Relays, which run our rules. Their clocks run at different rates, unlike those of peers of Ableton's
  /// library.
  private func relays(in world: LinkWorld, _ seed: UInt64) -> [Node] {
    for number in 0..<5 {
      world.addPeer(
        host: Micros(Int64(1 + number) * 1_000_000_000), partsPerMillion: Double(10 * number - 20),
        isRelay: true)
    }
    var segment = 0
    for first in 0..<5 {
      for second in first + 1..<5 where topology.reaches(first, second) {
        world.join(first, second, bySegment: segment, FarConditions())
        segment += 1
      }
    }
    return (0..<5).map { peer in
      Node(
        begin: { world.setEnabled(true, peer: peer) },
        phase: { world.peers[peer].snapshot.state.phase(at: world.host(of: peer), quantum: 4) },
        microsPerBeat: { Double(world.peers[peer].snapshot.state.timeline.tempo.microsPerBeat) },
        setTempo: { tempo in world.edit(peer) { $0.setTempo(tempo, at: $1) } },
        interfaces: world.peers[peer].interfaces)
    }
  }

  /// Adds the delays. In the first half minute there are none.
  private func slow(_ world: LinkWorld, _ nodes: [Node]) {
    let ends = nodes.enumerated().flatMap { node, its in its.interfaces.map { ($0, node) } }
    let owners = Dictionary(uniqueKeysWithValues: ends)
    let start = Self.settled
    world.path = { [self, unowned world] sender, target, dice in
      guard let from = owners[sender], let to = owners[target], topology.reaches(from, to) else { return nil }
      let spell = (world.now - start).count / Self.spell.count
      let isSlow = world.now > start && spell % 2 == 1 && from != 0
      return Micros(200) + (isSlow ? drawn(&dice) : .zero)
    }
  }

  private func drawn(_ dice: inout Dice) -> Micros {
    let mean = Double(delay.count)
    switch law {
    case .constant: return delay
    // This is the sum of twelve uniform values, with a standard deviation of a fifth of the mean.
    case .normal:
      let sum = (0..<12).reduce(-6.0) { sum, _ in sum + dice.fraction() }
      return Micros(rounding: max(0, mean + mean / 5 * sum))
    case .pareto:
      return Micros(rounding: min(5e6, mean * (1 / (1 - dice.fraction()).squareRoot() - 1)))
    }
  }

  /// The greatest distance between two peers' phases, measured the short way round the bar.
  private func spread(_ phases: [Double], microsPerBeat: Double) -> Double {
    var farthest = 0.0
    for (place, phase) in phases.enumerated() {
      for other in phases[..<place] {
        let apart = abs(phase - other)
        farthest = max(farthest, min(apart, 4 - apart))
      }
    }
    return farthest * microsPerBeat
  }
}
