// SPDX-License-Identifier: GPL-2.0-or-later
import LinkCore
import Testing

@Suite struct TextTests {
  @Test func `simulated times and session states are printed as readable text`() {
    let world = LinkWorld(seed: 1)
    let peer = world.addPeer(tempo: 90, host: Micros(5), partsPerMillion: 0)
    #expect("\(world.host(of: peer))" == "5 µs")
    #expect("\(world.peers[peer].snapshot.state)" == "90.0 BPM, stopped, without peers")
  }
}
