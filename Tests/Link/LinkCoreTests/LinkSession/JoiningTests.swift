// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import LinkWorld
import Testing

@Test func `the newcomer takes the tempo and beat of the older session`() {
  let world = LinkWorld(seed: 1)
  let old = world.addPeer(tempo: 120, host: Micros(600_000_000))
  let new = world.addPeer(tempo: 100, host: Micros(77_000_000))
  for peer in [old, new] { world.plug(peer) }
  world.setEnabled(true, peer: old)
  world.run(for: Micros(2_000_000))
  let session = world.peers[old].snapshot.session
  world.setEnabled(true, peer: new)
  world.run(for: Micros(2_000_000))
  for peer in [old, new] {
    #expect(world.peers[peer].snapshot.session == session)
    #expect(world.peers[peer].snapshot.state.tempo == 120)
    #expect(world.peers[peer].snapshot.peerCount == 1)
  }
  let phases = [old, new].map { world.peers[$0].snapshot.state.phase(at: world.host(of: $0), quantum: 4) }
  #expect(abs(phases[0] - phases[1]) < 0.000_010)
}
