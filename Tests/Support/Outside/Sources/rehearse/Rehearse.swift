// SPDX-License-Identifier: GPL-2.0-or-later
// begin import
import LinkCore
// end import

// begin protocol
protocol Grid {
  associatedtype Time
  func beat(at time: Time, quantum: Double) -> Double
}
extension SessionState: Grid {}
// end protocol

/// The beats since the bar line, for any clock.
func place<State: Grid>(_ state: State, at time: State.Time) -> Double {
  let beat = state.beat(at: time, quantum: 4)
  return beat - 4 * (beat / 4).rounded(.down)
}

/// Simulates two machines with unrelated clocks on a network that loses a tenth of all datagrams, and prints
/// the tempos of both. The article `SimulatedSession` of Link's documentation, word for word between the
/// marks.
@main
enum Rehearse {
  static func main() {
    // begin world
    let world = LinkWorld(seed: 1)
    world.conditions.loss = 0.1
    for tempo in [90.0, 120] {
      let peer = world.addPeer(
        tempo: tempo, host: Micros(Int64(tempo) * 1_000_000), partsPerMillion: tempo - 100)
      world.plug(peer)
      world.setEnabled(true, peer: peer)
      world.run(for: Micros(2_000_000))
    }
    // end world
    // begin ask
    world.run(for: Micros(20_000_000))
    let tempos = world.peers.map { "\($0.snapshot.state.tempo.rounded())" }
    print("\(tempos.joined(separator: " and ")) BPM, \(world.peers[0].snapshot.peerCount) other")
    // end ask
    let places = world.peers.map { place($0.snapshot.state, at: $0.clock.host(at: world.now)) }
    let distance = (places[0] - places[1]).remainder(dividingBy: 4)
    if abs(distance) > 0.01 { print("the peers are at the places \(places)") }
  }
}
