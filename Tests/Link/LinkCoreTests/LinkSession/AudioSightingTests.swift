// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession

/// The announcement of Link Audio by Link's own discovery (facts: link-audio 1).
@Suite struct AudioSightingTests {
  let socket = Endpoint(.v4(0x0a00_0001), port: 60_000)

  private func peer(_ name: UInt64, in bench: Bench, port: UInt16? = 4_000) -> Stranger {
    var peer = Stranger(name, memberOf: bench)
    peer.state.audio = port.map { Endpoint(peer.source.address, port: $0) }
    return peer
  }

  @Test func `our audio socket is announced at once, and until it closes`() {
    var bench = Bench()
    bench.wait(100_000)
    #expect(bench.takeAlives().allSatisfy { $0.audio == nil })
    bench.handle(.audioSocket(socket, on: Bench.gateway.id))
    #expect(bench.takeAlives().map(\.audio) == [socket])
    bench.meet(Stranger(7, memberOf: bench))
    #expect(bench.takeSent().compactMap(\.response).map(\.audio) == [socket])
    bench.wait(1_000_000)
    #expect(bench.takeAlives().allSatisfy { $0.audio == socket })
    bench.handle(.audioSocket(nil, on: Bench.gateway.id))
    bench.wait(60_000)
    #expect(bench.takeAlives().last?.audio == nil)
    bench.handle(.audioSocket(socket, on: GatewayID(rawValue: 99)))
    #expect(bench.takeSent().isEmpty)
  }

  @Test func `when our audio socket opens, all peers are reported, then changes`() {
    var bench = Bench()
    var peer = peer(7, in: bench)
    bench.meet(peer)
    bench.meet(self.peer(8, in: bench, port: nil))
    #expect(bench.audioPeers.isEmpty, "nobody asked")
    bench.handle(.audioSocket(socket, on: Bench.gateway.id))
    #expect(bench.audioPeers.map(\.node) == [peer.state.node])
    #expect(
      bench.audioPeers[0].endpoint == peer.state.audio && bench.audioPeers[0].session == peer.state.session)
    bench.meet(peer)
    peer.state.timeline.beatOrigin = peer.state.timeline.beatOrigin + Beats(1)
    bench.meet(peer)
    #expect(bench.audioPeers.count == 1, "its tempo is not news")
    peer.state.audio?.port = 4_001
    bench.meet(peer)
    #expect(bench.audioPeers.last?.endpoint?.port == 4_001)
    peer.state.session = NodeID(rawValue: 5)
    bench.meet(peer)
    #expect(bench.audioPeers.last?.session == NodeID(rawValue: 5))
    peer.state.audio = nil
    bench.meet(peer)
    #expect(bench.audioPeers.count == 4 && bench.audioPeers.last?.endpoint == nil)
    bench.receive(peer.byeBye, from: peer.source)
    bench.wait(10_000_000)
    #expect(bench.audioPeers.count == 4)
  }

  @Test func `an audio peer that leaves or falls silent is reported as gone`() {
    for saysGoodbye in [true, false] {
      var bench = Bench()
      bench.handle(.audioSocket(socket, on: Bench.gateway.id))
      let peer = peer(7, in: bench)
      bench.meet(peer)
      if saysGoodbye { bench.receive(peer.byeBye, from: peer.source) }
      bench.wait(saysGoodbye ? 500_000 : 6_500_000)
      #expect(bench.audioPeers.map(\.endpoint) == [peer.state.audio, nil])
    }
  }

  /// A peer binds all its sockets to one address, so it cannot make us send to a third machine.
  @Test func `a peer's audio socket on another host is not believed`() {
    var bench = Bench()
    bench.handle(.audioSocket(socket, on: Bench.gateway.id))
    var peer = peer(7, in: bench)
    for endpoint in [
      Endpoint(.v4(0x0a00_0299), port: 4_000), Endpoint(peer.source.address, port: 0),
      Endpoint(.v6(high: 0xfe80 << 48, low: 1, scope: 0), port: 4_000),
      Endpoint(.v4(0xe04c_4e4b), port: 4_000),
    ] {
      peer.state.audio = endpoint
      bench.meet(peer)
      #expect(bench.audioPeers.isEmpty)
    }
  }

  @Test func `very many audio peers are each reported when they come and go`() {
    var bench = Bench()
    for round in 0..<5 {
      for number in 0..<2_000 {
        var peer = peer(UInt64(number) + 1_000, in: bench)
        peer.source = Endpoint(.v4(0x0b00_0000 | UInt32(number / 100)), port: 40_000)
        peer.state.audio = Endpoint(peer.source.address, port: 4_000)
        bench.meet(peer)
      }
      bench.sent = []
      if round == 2 { bench.handle(.audioSocket(socket, on: Bench.gateway.id)) }
      bench.wait(8_000_000)
    }
    // Every peer that was reported is also reported gone.
    var there = Set<NodeID>()
    for sighting in bench.audioPeers {
      if sighting.endpoint == nil { there.remove(sighting.node) } else { there.insert(sighting.node) }
    }
    #expect(there.isEmpty && bench.audioPeers.count >= 4_000 && bench.machine.peers.count == 0)
  }
}
