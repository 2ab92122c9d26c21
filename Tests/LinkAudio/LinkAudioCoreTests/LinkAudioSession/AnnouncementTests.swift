// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkAudioSession

/// Announcements and pings to each peer (facts: link-audio 3.1 to 3.4).
struct AnnouncementTests {
  @Test func `a session without peers sends nothing`() {
    var bench = Bench()
    _ = bench.addSink("kick")
    bench.wait(10_000_000)
    #expect(bench.sent.isEmpty && bench.deadline == nil)
  }

  @Test func `a peer gets our list of channels as soon as it answers a ping`() {
    var bench = Bench()
    _ = bench.addSink("kick")
    _ = bench.addSink("snare")
    let peer = Stranger(1)
    bench.see(peer)
    #expect(bench.takeSent().map(\.said) == [.announcement([], pings: true)])
    bench.wait(3_000)
    bench.see(peer)
    #expect(bench.sent.isEmpty, "it is known")
    bench.wait(97_000)
    #expect(bench.sent.map(\.said) == [.announcement([], pings: true)])
    bench.answerPings(as: peer)
    #expect(bench.sent.map(\.said).last == .announcement(["kick", "snare"], pings: true))
    #expect(bench.sent.count == 2)
  }

  @Test func `we announce ourselves even without channels of our own`() {
    var bench = Bench()
    let peer = Stranger(1)
    bench.meet(peer)
    bench.sent = []
    bench.wait(5_000_000, with: [peer])
    #expect(bench.machine.counters.unproven == 0)
    #expect(bench.machine.peers.map(\.id) == [peer.node])
  }

  @Test func `we announce our channels to a peer every 250 milliseconds`() {
    var bench = Bench()
    _ = bench.addSink("kick")
    let peer = Stranger(1)
    bench.meet(peer)
    bench.wait(1_000_000, with: [peer])
    var times: [Micros] = []
    for _ in 0..<40 {
      let before = bench.sent.count
      bench.wait(50_000)
      if bench.sent.count > before { times.append(bench.sent[before].at) }
      bench.answerPings(as: peer)
    }
    for (first, second) in zip(times, times.dropFirst()) { #expect((second - first).count == 250_000) }
    #expect(times.count == 8)
  }

  /// We announce a change at once, while the reference waits for its next regular announcement.
  @Test func `a change of our channels or name is announced within 50 milliseconds`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    let peer = Stranger(1)
    bench.meet(peer)
    bench.wait(1_000_000, with: [peer])
    func change(_ change: (inout Bench) -> Void) -> [Said] {
      bench.wait(60_000, with: [peer])
      bench.sent = []
      change(&bench)
      bench.wait(50_000)
      defer { bench.answerPings(as: peer) }
      return bench.sent.map(\.said)
    }
    #expect(change { _ = $0.addSink("snare") } == [.announcement(["kick", "snare"], pings: true)])
    #expect(
      change {
        $0.machine.renameSink(kick, to: "Kick", at: $0.now)
        $0.drain()
      } == [.announcement(["Kick", "snare"], pings: true)])
    #expect(change { $0.handle(.name("elsewhere")) } == [.announcement(["Kick", "snare"], pings: true)])
    #expect(
      change { $0.handle(.identity(node: NodeID(rawValue: 5), session: Bench.session)) }
        == [.announcement(["Kick", "snare"], pings: true)])
    // A hundred changes in 100 ms need no more announcements than the spacing allows.
    bench.sent = []
    let before = bench.now
    for index in 0..<100 {
      bench.machine.renameSink(kick, to: "\(index)", at: bench.now)
      bench.drain()
      bench.wait(1_000)
    }
    #expect(bench.sent.count <= 1 + Int((bench.now - before).count / 50_000))
  }

  @Test func `sixty channels fill two announcements, of which the first has a ping`() {
    var bench = Bench()
    let peer = Stranger(1)
    for number in 0..<60 { _ = bench.addSink("many \(number)") }
    bench.see(peer)
    bench.answerPings(as: peer)
    let said = bench.takeSent().dropFirst()
    #expect(said.count == 2 && said.allSatisfy { $0.packet.count <= 1196 })
    var names: [String] = []
    for (index, part) in said.enumerated() {
      guard case .announcement(let channels, let pings) = part.said else {
        Issue.record("not an announcement")
        return
      }
      names += channels
      #expect(pings == (index == 0))
    }
    #expect(names == (0..<60).map { "many \($0)" })
  }

  @Test func `every ping gets a pong at the endpoint from which it came`() {
    var bench = Bench()
    let stranger = Stranger(9)
    bench.receive(stranger.announcement(ping: AudioEcho(rawValue: 123_456)), from: stranger.endpoint)
    #expect(bench.takeSent(to: stranger.endpoint).map(\.said) == [.pong(123_456)])
    bench.receive(stranger.announcement(), from: stranger.endpoint)
    #expect(bench.sent.isEmpty)
    let peer = Stranger(1)
    bench.meet(peer)
    bench.sent = []
    bench.receive(peer.announcement(ping: AudioEcho(rawValue: 7)), from: peer.endpoint)
    #expect(bench.takeSent().map(\.said) == [.pong(7)])
  }

  @Test func `a pong sets the round trip and the jitter of a route`() {
    var bench = Bench()
    let peer = Stranger(1)
    bench.see(peer)
    #expect(bench.machine.peers.isEmpty)
    bench.wait(2_000)
    bench.answerPings(as: peer)
    #expect(bench.machine.peers.map(\.metrics.roundTrip) == [2_000])
    #expect(bench.machine.peers[0].metrics.jitter == 9_000)
    #expect(bench.machine.peers[0].metrics.quality == 500.0 / 9_001)
    bench.wait(5_000_000, with: [peer])
    #expect(bench.machine.peers[0].metrics.jitter == 0, "ten equal ones")
  }

  @Test func `the quality of a route follows the reference library's formula`() {
    var trips = RoundTrips()
    #expect(trips.metrics == AudioMetrics(roundTrip: 0, jitter: 0) && trips.metrics.quality == 0)
    for time in [100, 300] as [Int64] { trips.add(Micros(time)) }
    #expect(trips.metrics.roundTrip == 200 && trips.metrics.jitter == 100 + 8_000)
    #expect(trips.metrics.quality == 5_000.0 / 8_101)
    for time in 1...10 as ClosedRange<Int64> { trips.add(Micros(time)) }
    #expect(trips.metrics.roundTrip == 5.5 && trips.metrics.jitter == 8.25.squareRoot())
    for _ in 0..<10 { trips.add(.zero) }
    #expect(trips.metrics.quality == 1_000_000, "no clock is faster than a microsecond")
  }

  @Test func `a peer that has left or lacks Link Audio gets no announcements`() {
    for leaves in 0..<3 {
      var bench = Bench()
      _ = bench.addSink("kick")
      let peer = Stranger(1)
      bench.meet(peer)
      bench.wait(1_000_000, with: [peer])
      switch leaves {
      case 0: bench.handle(.peerSeen(peer.node, session: peer.session, audio: nil, on: Bench.gateway))
      case 1: bench.handle(.peerGone(peer.node, on: Bench.gateway))
      default:
        let other = NodeID(rawValue: 77)
        bench.handle(.peerSeen(peer.node, session: other, audio: peer.endpoint, on: Bench.gateway))
      }
      bench.sent = []
      bench.wait(3_000_000)
      #expect(bench.sent.isEmpty)
      #expect(bench.machine.peers.isEmpty)
    }
  }

  @Test func `we announce at once when a peer joins our session or we join another`() {
    var bench = Bench()
    _ = bench.addSink("kick")
    var peer = Stranger(1)
    let theirs = NodeID(rawValue: 99)
    peer.session = theirs
    bench.see(peer)
    #expect(bench.sent.isEmpty)
    peer.session = Bench.session
    bench.see(peer)
    #expect(bench.sent.count == 1)
    var second = Stranger(2)
    second.session = theirs
    bench.see(second)
    bench.sent = []
    bench.handle(.identity(node: Bench.node, session: theirs))
    #expect(bench.sent.map(\.endpoint) == [second.endpoint])
  }

  @Test func `audio follows a peer that has moved to another endpoint`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    let peer = Stranger(1)
    var moved = peer
    moved.endpoint.port = 4_001
    bench.meet(peer)
    bench.receive(.request(kick, from: peer.node), from: peer.endpoint)
    #expect(bench.routes[kick] == [AudioRoute(Bench.gateway, peer.endpoint)])
    bench.see(moved)
    bench.wait(800_000, with: [moved])
    #expect(
      bench.routes[kick] == [AudioRoute(Bench.gateway, peer.endpoint)], "it answered a moment ago")
    bench.wait(700_000, with: [moved])
    #expect(bench.routes[kick] == [AudioRoute(Bench.gateway, moved.endpoint)])
    bench.sent = []
    bench.wait(1_000_000, with: [moved])
    #expect(bench.takeSent(to: peer.endpoint).isEmpty)
  }

  @Test func `a false claim that a peer has moved does not cut us off from it`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    let peer = Stranger(1)
    var forged = peer
    forged.endpoint = Endpoint(.v4(0x0a00_0166), port: 6_666)
    bench.meet(peer)
    bench.receive(.request(kick, from: peer.node), from: peer.endpoint)
    for _ in 0..<100 {
      bench.see(forged)
      bench.wait(125_000, with: [peer])
      bench.see(peer)
      bench.wait(125_000, with: [peer])
      bench.receive(.request(kick, from: peer.node), from: peer.endpoint)
    }
    #expect(bench.routes[kick] == [AudioRoute(Bench.gateway, peer.endpoint)] && bench.routeChanges == 1)
  }
}
