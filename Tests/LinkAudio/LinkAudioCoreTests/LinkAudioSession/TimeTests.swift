// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkAudioSession

/// Host clocks that begin below zero, wrap, step, or stand still.
struct TimeTests {
  /// Simulates a minute in which every timer fires, and returns what happened in each quarter of a second.
  private func live(from start: Micros) -> [String] {
    var story: [String] = []
    var bench = Bench(at: start)
    let kick = bench.addSink("kick")
    var peer = Stranger(1)
    let channel = peer.add("a", id: 1)
    bench.meet(peer)
    let source = bench.subscribe(channel)
    bench.receive(.request(kick, from: peer.node), from: peer.endpoint)
    for tick in 0..<240 {
      bench.wait(250_000, with: [peer])
      if tick < 100 { bench.receive(peer.announcement(), from: peer.endpoint) }
      if tick < 60 { bench.receive(.request(kick, from: peer.node), from: peer.endpoint) }
      story.append(
        "\(bench.sent.count) \(bench.routes[kick]?.count ?? -1) \(bench.senders[source]?.count ?? -1) \(bench.channels.count)"
      )
      bench.sent = []
    }
    #expect(bench.machine.counters.clockSteps == 0)
    return story
  }

  @Test func `the outputs of a minute are the same for every start of the clock`() {
    let story = live(from: Micros(50_000_000))
    #expect(Set(story).count > 4)
    for start in [Micros(-30_000_000), .zero, Micros(.min), Micros(.max - 30_000_000), Micros(-1)] {
      #expect(live(from: start) == story, "from \(start.count)")
    }
  }

  @Test func `announcements go on after the host clock steps back`() {
    var bench = Bench()
    _ = bench.addSink("kick")
    let peer = Stranger(1)
    bench.meet(peer)
    bench.wait(1_000_000, with: [peer])
    bench.now = bench.now - Micros(3_600_000_000)
    bench.handle(.deadline)
    #expect(bench.machine.counters.clockSteps == 1)
    bench.sent = []
    bench.wait(2_000_000, with: [peer])
    #expect((7...9).contains(bench.sent.count))
    #expect(bench.machine.peers.count == 1)
  }

  @Test func `an hour of suspend loses no peer`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    var peer = Stranger(1)
    _ = peer.add("a", id: 1)
    bench.meet(peer)
    bench.receive(.request(kick, from: peer.node), from: peer.endpoint)
    bench.wait(100_000, with: [peer])
    bench.now = bench.now + Micros(3_600_000_000)
    bench.handle(.deadline)
    #expect(bench.machine.counters.clockSteps == 1)
    #expect(bench.routes[kick]?.count == 1 && bench.channels.count == 1)
  }

  @Test func `the same secret and inputs give the same outputs`() {
    func life(_ secret: UInt64) -> [[UInt8]] {
      var bench = Bench(secret: (secret, 1))
      for number in 0..<30 { _ = bench.addSink("\(number)") }
      let peers = (1...9 as ClosedRange<UInt64>).map { number in
        var peer = Stranger(number)
        _ = peer.add("a", id: number)
        _ = bench.subscribe(NodeID(rawValue: number))
        return peer
      }
      for peer in peers { bench.meet(peer) }
      bench.wait(3_000_000, with: peers)
      return bench.sent.map(\.packet.array)
    }
    #expect(life(1) == life(1) && life(1) != life(2))
  }

  @Test func `calls that come 0.9 s after their deadlines lose no subscription`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    let peer = Stranger(1)
    bench.meet(peer)
    bench.receive(.request(kick, from: peer.node, ttl: 255), from: peer.endpoint)
    for _ in 0..<20 {
      bench.now = bench.now + Micros(900_000)
      bench.handle(.deadline)
      bench.answerPings(as: peer)
    }
    #expect(bench.routes[kick]?.count == 1 && bench.machine.peers.count == 1)
  }
}
