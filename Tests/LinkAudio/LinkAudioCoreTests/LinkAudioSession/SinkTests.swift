// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkAudioSession

/// Tests of the sending side (facts: link-audio 3.6).
struct SinkTests {
  @Test func `a subscriber gets audio from its request to its stop`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    let first = Stranger(1)
    let second = Stranger(2)
    bench.meet(first)
    bench.meet(second)
    bench.receive(.request(kick, from: first.node), from: first.endpoint)
    #expect(bench.routes[kick] == [AudioRoute(Bench.gateway, first.endpoint)])
    bench.receive(.request(kick, from: second.node), from: second.endpoint)
    #expect(bench.routes[kick]?.count == 2)
    bench.receive(.stop(kick, from: first.node), from: first.endpoint)
    #expect(bench.routes[kick] == [AudioRoute(Bench.gateway, second.endpoint)])
    bench.receive(.stop(kick, from: second.node), from: second.endpoint)
    #expect(bench.routes[kick] == [])
  }

  @Test func `a subscription survives two lost requests and ends after a third`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    let peer = Stranger(1)
    bench.meet(peer)
    bench.receive(.request(kick, from: peer.node), from: peer.endpoint)
    bench.wait(15_500_000, with: [peer])
    #expect(bench.routes[kick]?.count == 1 && bench.routeChanges == 1)
    bench.wait(600_000, with: [peer])
    #expect(bench.routes[kick] == [])
  }

  @Test func `a request's time to live counts only up to the longest subscription`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    let peer = Stranger(1)
    bench.meet(peer)
    bench.receive(.request(kick, from: peer.node, ttl: 0), from: peer.endpoint)
    #expect(bench.routes[kick] == nil, "it asks for no time at all")
    bench.receive(.request(kick, from: peer.node, ttl: 255), from: peer.endpoint)
    bench.wait(30_900_000, with: [peer])
    #expect(bench.routes[kick]?.count == 1)
    bench.wait(200_000, with: [peer])
    #expect(bench.routes[kick] == [])
    bench.receive(.request(kick, from: peer.node, ttl: 255), from: peer.endpoint)
    bench.receive(.request(kick, from: peer.node, ttl: 0), from: peer.endpoint)
    #expect(bench.routes[kick] == [])
  }

  @Test func `a subscriber that does not answer loses audio after five seconds`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    let peer = Stranger(1)
    bench.meet(peer)
    bench.receive(.request(kick, from: peer.node, ttl: 255), from: peer.endpoint)
    bench.wait(1_000_000, with: [peer])
    bench.wait(4_600_000)
    #expect(bench.routes[kick]?.count == 1)
    bench.wait(500_000)
    #expect(bench.routes[kick] == [])
    bench.wait(1_000_000, with: [peer])
    #expect(bench.routes[kick]?.count == 1, "it is back, and had not stopped")
  }

  @Test func `when a channel of ours is removed, its bye is sent at once`() {
    var bench = Bench()
    let ids = ["a", "b", "c"].map { bench.addSink($0) }
    let peer = Stranger(1)
    bench.meet(peer)
    bench.receive(.request(ids[1], from: peer.node), from: peer.endpoint)
    bench.sent = []
    bench.machine.removeSink(ids[1], at: bench.now)
    bench.drain()
    #expect(bench.sent.map(\.said) == [.byes([ids[1]])])
    #expect(bench.routes[ids[1]] == [])
    bench.wait(300_000, with: [peer])
    #expect(bench.sent.contains { $0.said == .announcement(["a", "c"], pings: true) })
    bench.receive(.request(ids[1], from: peer.node), from: peer.endpoint)
    #expect(bench.machine.counters.unknownSinks == 1)
  }

  @Test func `when a gateway closes, byes for all channels are sent on it alone`() {
    var bench = Bench()
    bench.handle(.gatewayOpened(Bench.secondGateway, .v4(0x0a01_0001)))
    let ids = (0..<100).map { bench.addSink("channel \($0)") }
    let here = Stranger(1)
    var there = Stranger(2)
    there.endpoint = Endpoint(.v4(0x0a01_0101), port: 4_000)
    bench.meet(here)
    bench.meet(there, on: Bench.secondGateway)
    bench.sent = []
    bench.handle(.gatewayClosed(Bench.gateway))
    #expect(bench.takeSent().map(\.said) == [.byes(ids)])
    bench.handle(.enable(false))
    #expect(bench.takeSent().map(\.endpoint) == [there.endpoint])
    bench.wait(10_000_000)
    #expect(bench.sent.isEmpty && bench.deadline == nil)
  }

  @Test func `byes go only to peers to which the channel was announced`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    let peer = Stranger(1)
    bench.see(peer)
    bench.sent = []
    bench.machine.removeSink(kick, at: bench.now)
    bench.drain()
    #expect(bench.sent.isEmpty)
  }

  @Test func `audio uses the faster of two routes until the other is clearly better`() {
    var bench = Bench()
    bench.handle(.gatewayOpened(Bench.secondGateway, .v4(0x0a01_0001)))
    let kick = bench.addSink("kick")
    let slow = Stranger(1)
    var fast = slow
    fast.endpoint = Endpoint(.v4(0x0a01_0101), port: 4_000)
    bench.see(slow)
    bench.see(fast, on: Bench.secondGateway)
    /// Runs for three seconds. On the two routes, pings come back after these delays in microseconds.
    func live(slow slowTime: Int64, fast fastTime: Int64) {
      for _ in 0..<3_000 {
        bench.wait(1_000)
        bench.answerPings(as: slow, sentBefore: bench.now - Micros(slowTime))
        bench.answerPings(as: fast, sentBefore: bench.now - Micros(fastTime))
      }
    }
    live(slow: 20_000, fast: 1_000)
    bench.receive(.request(kick, from: slow.node), from: slow.endpoint)
    #expect(bench.routes[kick] == [AudioRoute(Bench.secondGateway, fast.endpoint)], "one, and the better")
    let before = bench.routeChanges
    live(slow: 20_000, fast: 20_000)
    #expect(bench.routeChanges == before, "equally good is no reason")
    live(slow: 1_000, fast: 20_000)
    #expect(bench.routes[kick] == [AudioRoute(Bench.gateway, slow.endpoint)])
    bench.handle(.gatewayClosed(Bench.gateway))
    #expect(bench.routes[kick] == [AudioRoute(Bench.secondGateway, fast.endpoint)])
  }

  @Test func `a subscription survives when both peers move to another session`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    var peer = Stranger(1)
    bench.meet(peer)
    bench.receive(.request(kick, from: peer.node), from: peer.endpoint)
    peer.session = NodeID(rawValue: 9)
    bench.handle(.identity(node: Bench.node, session: peer.session))
    #expect(bench.routes[kick] == [], "they are not where we are")
    bench.wait(100_000)
    bench.see(peer)
    #expect(bench.routes[kick]?.count == 1, "without waiting five seconds for the next request")
  }

  @Test func `a channel of ours survives while Link Audio is off`() {
    var bench = Bench(isEnabled: false)
    let kick = bench.addSink("kick")
    let peer = Stranger(1)
    bench.handle(.gatewayOpened(Bench.gateway, .v4(0x0a00_0001)))
    bench.see(peer)
    #expect(bench.sent.isEmpty)
    bench.handle(.enable(true))
    bench.handle(.gatewayOpened(Bench.gateway, .v4(0x0a00_0001)))
    bench.meet(peer)
    bench.receive(.request(kick, from: peer.node), from: peer.endpoint)
    #expect(bench.routes[kick]?.count == 1)
    bench.handle(.enable(false))
    #expect(bench.routes[kick] == [])
    #expect(bench.machine.load.sinks == 1)
  }

  @Test func `channel ids come from the secret, and long names are cut`() {
    var bench = Bench()
    var again = Bench()
    var other = Bench(secret: (1, 3))
    let ids = (0..<20).map { bench.addSink("\($0)") }
    #expect(ids == (0..<20).map { again.addSink("\($0)") })
    #expect(Set(ids).count == 20 && ids[0] != other.addSink("0"))
    #expect(
      ids.allSatisfy { id in
        (0..<8).allSatisfy { (33...126).contains(id.rawValue >> (8 * UInt64($0)) & 0xff) }
      })
    let peer = Stranger(1)
    bench = Bench()
    bench.handle(.name(String(repeating: "é", count: 200)))
    _ = bench.addSink("x" + String(repeating: "é", count: 200))
    bench.meet(peer)
    let lengths = bench.sent.last!.packet.read { datagram -> [Int] in
      guard case .announcement(let announcement)? = datagram?.body else { return [] }
      return [announcement.peerName.count] + announcement.channels.map(\.name.count)
    }
    #expect(lengths == [256, 255])
  }
}
