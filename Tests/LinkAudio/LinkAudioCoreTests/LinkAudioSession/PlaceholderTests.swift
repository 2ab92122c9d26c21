// SPDX-License-Identifier: GPL-2.0-or-later
import LinkWire
import TactusTestSupport
import Testing

@testable import LinkAudioSession

/// Peers with the code of the reference library's 4.0.0b1, which send audio only to peers that announce a
/// channel.
struct PlaceholderTests {
  @Test(arguments: campaign([0, 0.05]))
  func `tactus without channels hears a peer with the library's first beta`(loss: Double) {
    var waits: [Int64?] = []
    for seed in 1...40 as ClosedRange<UInt64> {
      var world = World([.oursListener, .firstBeta], over: .init(loss: loss), seed: seed)
      world.run(until: 8_000_000)
      waits += world.waits(of: .oursListener)
      let isHeard = (1...30).allSatisfy { second in
        world.run(until: 8_000_000 + Int64(second) * 1_000_000)
        return world.lastHeard[0][1] > 7_000_000 + Int64(second) * 1_000_000
      }
      #expect(isHeard && world.phantoms == [0, 1] && world.broken == 0)
    }
    let longest = waits.compactMap(\.self).max() ?? .max
    print("first sound of a first beta, loss \(loss): max \(longest / 1000) ms of \(waits.count)")
    #expect(waits.count == 40 && !waits.contains(nil) && longest < (loss == 0 ? 1_200_000 : 1_800_000))
  }

  @Test func `no placeholder channel is announced to peers of later versions`() {
    for seed in 1...40 as ClosedRange<UInt64> {
      var world = World(
        [.oursListener, .reference, .firstBeta, .reference], over: .init(loss: 0.05, delay: 300...30_000),
        seed: seed)
      world.run(until: 8_000_000)
      // The peer sends no audio for a while, but still announces its channel.
      world.mute(1, true)
      world.run(until: 20_000_000)
      #expect(world.phantoms == [0, 0, 1, 0])
      world.mute(1, false)
      world.run(until: 22_000_000)
      #expect(world.lastHeard[0][1] > 21_000_000 && world.lastHeard[0][2] > 21_000_000)
    }
  }

  @Test func `no placeholder channel is announced beside a channel of our own`() {
    var world = World([.ours, .firstBeta, .reference], over: .init(), seed: 1)
    world.run(until: 10_000_000)
    #expect(world.phantoms == [0, 0, 0] && world.waits(of: .ours, for: .firstBeta).allSatisfy { $0 != nil })
  }

  @Test func `the placeholder channel is withdrawn when the subscription ends`() {
    var world = World([.oursListener, .firstBeta], over: .init(), seed: 1)
    world.run(until: 8_000_000)
    #expect(world.isShownAChannel(1))
    world.release(0)
    world.run(until: 8_500_000)
    #expect(!world.isShownAChannel(1))
  }

  @Test func `after our only channel closed, a placeholder channel is announced`() {
    var bench = Bench()
    let sink = bench.addSink("kick")
    let (peer, channel, _) = bench.takeChannel()
    bench.receive(peer.audio(channel), from: peer.endpoint)
    bench.wait(300_000, with: [peer])
    bench.receive(peer.audio(channel), from: peer.endpoint)
    bench.machine.removeSink(sink, at: bench.now)
    bench.drain()
    // Audio that the peer sent because of the closed channel is still on its way.
    bench.wait(300_000, with: [peer])
    bench.receive(peer.audio(channel), from: peer.endpoint)
    bench.sent = []
    for _ in 0..<20 {
      bench.wait(100_000, with: [peer])
      bench.receive(peer.announcement(), from: peer.endpoint)
    }
    #expect(bench.sent.contains { $0.said == .announcement(["(listens)"], pings: true) })
  }

  @Test func `a request for the placeholder channel gets no audio and is no error`() {
    var bench = Bench()
    let (peer, _, _) = bench.takeChannel()
    for _ in 0..<20 {
      bench.wait(100_000, with: [peer])
      bench.receive(peer.announcement(), from: peer.endpoint)
    }
    guard let placeholder = bench.machine.placeholder?.id else {
      Issue.record("no placeholder")
      return
    }
    bench.receive(.request(placeholder, from: peer.node), from: peer.endpoint)
    #expect(bench.machine.counters.unknownSinks == 0 && bench.routeChanges == 0)
    #expect(bench.machine.load.sinks == 0 && bench.machine.load.subscribers == 0)
    // If a peer announces the placeholder's id as its own channel, our list does not show that channel.
    var copycat = peer
    copycat.channels = [(placeholder, "copy")]
    bench.receive(copycat.announcement(), from: peer.endpoint)
    bench.wait(100_000, with: [peer])
    #expect(!bench.channels.contains { $0.id == placeholder })
    bench.sent = []
    bench.handle(.enable(false))
    #expect(bench.sent.contains { $0.said == .byes([placeholder]) })
  }
}
