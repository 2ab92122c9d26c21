// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkAudioSession

/// Tests of the receiving side (facts: link-audio 3.6 and 7.1).
struct RequestTests {
  func requests(_ sent: [Bench.Sent]) -> [Bench.Sent] {
    sent.filter { if case .request = $0.said { true } else { false } }
  }

  @Test func `a subscribed channel is requested as soon as it is announced`() {
    var bench = Bench()
    var peer = Stranger(1)
    let channel = peer.add("a", id: 1)
    let source = bench.subscribe(channel)
    bench.wait(1_000_000)
    #expect(bench.sent.isEmpty)
    bench.meet(peer)
    #expect(bench.sent.last?.said == .request(channel, ttl: 5))
    #expect(bench.sent.last?.endpoint == peer.endpoint)
    #expect(bench.senders[source] == [AudioRoute(Bench.gateway, peer.endpoint)])
  }

  @Test func `our announcement precedes our first request`() {
    var bench = Bench()
    _ = bench.addSink("ours")
    let (_, channel, _) = bench.takeChannel()
    let said = bench.sent.map(\.said)
    let request = said.firstIndex(of: .request(channel, ttl: 5))
    let announcement = said.firstIndex(of: .announcement(["ours"], pings: true))
    #expect(announcement != nil && request != nil && announcement! < request!)
  }

  @Test func `a channel is requested often until its audio arrives, then rarely`() {
    var bench = Bench()
    let (peer, channel, source) = bench.takeChannel()
    bench.sent = []
    bench.wait(600_000, with: [peer])
    let asked: [Int64] = [50_150_000, 50_300_000, 50_450_000, 50_600_000]
    #expect(requests(bench.takeSent()).map(\.at.count) == asked)
    // While audio arrives every 5 ms, we send three or four requests in the five seconds for which a
    // publisher remembers a request.
    for _ in 0..<2_000 {
      #expect(bench.receive(peer.audio(channel), from: peer.endpoint) == source)
      bench.wait(5_000, with: [peer])
      if bench.now.count % 250_000 == 0 { bench.receive(peer.announcement(), from: peer.endpoint) }
    }
    let steady = requests(bench.takeSent())
    #expect((7...9).contains(steady.count))
    for (first, second) in zip(steady, steady.dropFirst()) {
      #expect((second.at - first.at).count < 1_700_000)
    }
    // When the audio stops, we request it again soon, and then at long intervals for ever.
    let stop = bench.now
    for _ in 0..<60 {
      bench.wait(250_000, with: [peer])
      bench.receive(peer.announcement(), from: peer.endpoint)
    }
    let after = requests(bench.takeSent()).map { ($0.at - stop).count }
    #expect(after.contains { $0 >= 400_000 && $0 <= 850_000 })
    #expect(after.count < 50 && after.count > 20)
    #expect(after.last! > 13_000_000)
  }

  @Test func `releasing a source stops its channel and drops the channel's audio`() {
    var bench = Bench()
    let (peer, channel, source) = bench.takeChannel()
    #expect(bench.receive(peer.audio(channel), from: peer.endpoint) == source)
    bench.sent = []
    bench.release(source)
    #expect(bench.sent.map(\.said) == [.stop(channel)])
    #expect(bench.receive(peer.audio(channel), from: peer.endpoint) == nil)
    #expect(bench.machine.counters.unwantedAudio == 1)
    bench.release(source)
    bench.release(SourceID(rawValue: -1))
    bench.release(SourceID(rawValue: 1 << 40))
    #expect(bench.sent.count == 1)
    bench.wait(3_000_000)
    #expect(requests(bench.sent).isEmpty)
    #expect(bench.machine.load.sources == 0)
  }

  @Test func `a channel has one source, and numbers of released sources are reused`() {
    var bench = Bench()
    let a = bench.subscribe(NodeID(rawValue: 1))
    let b = bench.subscribe(NodeID(rawValue: 2))
    #expect(bench.subscribe(NodeID(rawValue: 1)) == a && a != b)
    bench.release(a)
    #expect(bench.machine.channel(of: a) == nil)
    #expect(bench.subscribe(NodeID(rawValue: 3)) == a)
    #expect(bench.machine.channel(of: a) == NodeID(rawValue: 3))
  }

  @Test func `audio of another session is not played`() {
    var bench = Bench()
    let (peer, channel, source) = bench.takeChannel()
    #expect(bench.receive(peer.audio(channel, session: NodeID(rawValue: 8)), from: peer.endpoint) == nil)
    #expect(bench.machine.counters.foreignAudio == 1)
    #expect(bench.receive(peer.audio(channel), from: peer.endpoint) == source)
    bench.handle(.identity(node: Bench.node, session: NodeID(rawValue: 8)))
    #expect(bench.receive(peer.audio(channel), from: peer.endpoint) == nil)
  }

  @Test func `received audio causes no output of the protocol's state machine`() {
    var bench = Bench()
    let (peer, channel, source) = bench.takeChannel()
    let frames = peer.audio(channel).withUnsafeBytes { bytes -> Int? in
      let taken = bench.machine.receive(bytes, from: peer.endpoint, on: Bench.gateway, at: bench.now)
      return taken?.source == source ? taken?.buffer.frameCount : nil
    }
    #expect(frames == 4)
    guard case .sleep = bench.machine.nextOutput() else {
      Issue.record("audio had an output")
      return
    }
  }

  @Test func `a subscription under an old id is stopped when our id changes`() {
    var bench = Bench()
    let (_, channel, _) = bench.takeChannel()
    bench.sent = []
    let reborn = NodeID(rawValue: 0x6e65_77)
    bench.handle(.identity(node: reborn, session: Bench.session))
    let said = bench.sent.filter { $0.said == .stop(channel) || $0.said == .request(channel, ttl: 5) }
    #expect(said.map { $0.packet.read { $0?.node } } == [Bench.node, reborn])
  }

  @Test func `when a gateway closes, channels are requested through another`() {
    var bench = Bench()
    bench.handle(.gatewayOpened(Bench.secondGateway, .v4(0x0a01_0001)))
    var peer = Stranger(1)
    let channel = peer.add("a", id: 1)
    var other = peer
    other.endpoint = Endpoint(.v4(0x0a01_0101), port: 4_000)
    _ = bench.subscribe(channel)
    bench.meet(peer)
    bench.meet(other, on: Bench.secondGateway)
    bench.sent = []
    bench.handle(.gatewayClosed(Bench.gateway))
    #expect(bench.sent.map(\.said) == [.stop(channel), .request(channel, ttl: 5)])
    #expect(bench.sent.map(\.endpoint) == [peer.endpoint, other.endpoint])
    #expect(bench.sent.map(\.gateway) == [Bench.gateway, Bench.secondGateway])
  }

  @Test func `a closed gateway leaves no peers, channels or subscribers behind`() {
    var bench = Bench()
    var peer = Stranger(1)
    let channel = peer.add("a", id: 1)
    let source = bench.subscribe(channel)
    let kick = bench.addSink("kick")
    for number in 2..<200 as Range<UInt32> {
      let gateway = GatewayID(rawValue: number)
      bench.handle(.gatewayOpened(gateway, .v4(0x0a00_0001)))
      bench.meet(peer, on: gateway)
      bench.receive(.request(kick, from: peer.node), from: peer.endpoint, on: gateway)
      bench.wait(20_000, with: [peer])
      #expect(bench.receive(peer.audio(channel), from: peer.endpoint, on: gateway) == source)
      #expect(bench.routes[kick]?.map(\.gateway) == [gateway])
      bench.handle(.gatewayClosed(gateway))
      #expect(bench.routes[kick] == [] && bench.senders[source] == [])
    }
    bench.wait(60_000)
    #expect(bench.machine.load == AudioLoad(receivers: 0, channels: 0, sinks: 1, sources: 1, subscribers: 1))
    bench.wait(20_000_000)
    #expect(bench.machine.load.subscribers == 0 && bench.deadline == nil)
  }

  @Test func `a subscribed channel that comes back is requested again`() {
    var bench = Bench()
    let (peer, channel, source) = bench.takeChannel()
    [channel].withUnsafeBufferPointer { _ = bench.receive(.byes($0, from: peer.node), from: peer.endpoint) }
    #expect(bench.senders[source] == [])
    bench.sent = []
    bench.wait(2_000_000, with: [peer])
    #expect(requests(bench.takeSent()).isEmpty)
    bench.receive(peer.announcement(), from: peer.endpoint)
    #expect(requests(bench.takeSent()).count == 1)
    #expect(bench.senders[source]?.count == 1)
  }
}
