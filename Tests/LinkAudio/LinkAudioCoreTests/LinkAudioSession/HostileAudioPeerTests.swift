// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import TactusTestSupport
import Testing

@testable import LinkAudioSession

/// Attackers that know `AudioLimits`.
struct HostileAudioPeerTests {
  private func stranger(_ number: Int, host: Int? = nil) -> Stranger {
    var stranger = Stranger(UInt64(number) + 100_000)
    stranger.endpoint = Endpoint(
      .v4(0x0b00_0000 | UInt32(host ?? number)), port: UInt16(1_024 + number % 60_000))
    return stranger
  }

  // MARK: Destinations of audio

  @Test func `an endpoint gets audio only after it returned the echo sent to it`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    // The attacker forges the victim's discovery and requests audio with the victim's id and address.
    let victim = Stranger(1)
    let attacker = Stranger(2)
    bench.meet(attacker)
    bench.see(victim)
    var dice = SecretDice((7, 7))
    for round in 0..<5_000 {
      bench.receive(.request(kick, from: victim.node), from: victim.endpoint)
      bench.receive(
        .pong(AudioEcho(rawValue: 1 << 50 | dice.next() >> 14), from: victim.node), from: victim.endpoint)
      // The attacker may return its own echoes under any id and address.
      for said in bench.sent where said.endpoint == attacker.endpoint {
        guard let ping = said.packet.ping else { continue }
        bench.receive(.pong(ping, from: victim.node), from: victim.endpoint)
        bench.receive(.pong(ping, from: attacker.node), from: victim.endpoint)
        bench.receive(.pong(ping, from: victim.node), from: attacker.endpoint)
      }
      bench.sent = []
      if round % 20 == 0 { bench.wait(10_000, with: [attacker]) }
    }
    #expect(bench.routes[kick] == nil)
    #expect(!bench.machine.peers.contains { $0.id == victim.node })
    #expect(bench.machine.counters.strayPongs > 0)
  }

  @Test func `a forged endpoint gets nothing while the peer's real endpoint answers`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    let (peer, channel, source) = bench.takeChannel()
    bench.receive(.request(kick, from: peer.node), from: peer.endpoint)
    var thief = peer
    thief.endpoint = Endpoint(.v4(0x0a00_0166), port: 6_666)
    for round in 0..<300 {
      bench.see(thief)
      bench.wait(50_000, with: [peer, thief])
      bench.receive(thief.announcement(), from: thief.endpoint)
      bench.receive(.request(kick, from: peer.node), from: thief.endpoint)
      #expect(bench.receive(thief.audio(channel), from: thief.endpoint) == nil)
      [channel].withUnsafeBufferPointer {
        _ = bench.receive(.byes($0, from: thief.node), from: thief.endpoint)
      }
      #expect(bench.receive(peer.audio(channel), from: peer.endpoint) == source)
      if round % 5 == 0 {
        // All discovery messages in this test are forged: those of the real peer never get through.
        bench.receive(peer.announcement(), from: peer.endpoint)
        bench.receive(.request(kick, from: peer.node), from: peer.endpoint)
      }
    }
    #expect(bench.routes[kick] == [AudioRoute(Bench.gateway, peer.endpoint)] && bench.routeChanges == 1)
    #expect(bench.senders[source]?.map(\.endpoint) == [peer.endpoint])
    #expect(bench.machine.load.receivers == 2 && bench.machine.counters.unproven > 100)
  }

  @Test func `a pong counts only once, and only for a limited time`() {
    var bench = Bench()
    let peer = Stranger(1)
    bench.see(peer)
    let ping = bench.sent[0].packet.ping!
    bench.receive(.pong(ping, from: peer.node), from: peer.endpoint, on: GatewayID(rawValue: 9))
    bench.handle(.gatewayOpened(Bench.secondGateway, .v4(0x0a01_0001)))
    bench.receive(.pong(ping, from: peer.node), from: peer.endpoint, on: Bench.secondGateway)
    #expect(bench.machine.peers.isEmpty, "not through another door")
    bench.receive(.pong(ping, from: peer.node), from: peer.endpoint)
    #expect(bench.machine.peers.count == 1)
    bench.receive(.pong(ping, from: peer.node), from: peer.endpoint)
    #expect(bench.machine.counters.strayPongs == 1)
    bench.wait(20_000_000)
    #expect(bench.machine.peers.isEmpty)
    for said in bench.sent.dropLast(AudioLimits.outstandingPings) {
      guard let ping = said.packet.ping else { continue }
      bench.receive(.pong(ping, from: peer.node), from: peer.endpoint)
    }
    #expect(bench.machine.peers.isEmpty, "pongs of long ago")
  }

  /// Each echo has 50 unpredictable bits, which differ for each secret.
  @Test func `the echoes in pings look random and differ for each secret`() {
    var seen = Set<AudioEcho>()
    for secret in 0..<50 as Range<UInt64> {
      var bench = Bench(secret: (secret, 0))
      let peer = Stranger(1)
      bench.meet(peer)
      bench.wait(5_000_000, with: [peer])
      for said in bench.sent { if let ping = said.packet.ping { seen.insert(ping) } }
    }
    #expect(seen.count > 1_000)
    #expect(seen.allSatisfy { $0.rawValue >> 50 == 1 }, "a time that a wall clock could show")
    for bit in 0..<50 as Range<UInt64> {
      let ones = seen.count { $0.rawValue >> bit & 1 == 1 }
      #expect(ones > seen.count * 2 / 5 && ones < seen.count * 3 / 5, "bit \(bit)")
    }
  }

  @Test func `invented peers cost us fewer bytes than they cost the attacker`() {
    var bench = Bench()
    for number in 0..<60 { _ = bench.addSink("a channel with a long name, number \(number)") }
    var spent = 0
    for number in 0..<5_000 {
      bench.see(stranger(number))
      spent += 121  // an Alive with an audio endpoint
      bench.wait(1_000)
    }
    bench.wait(1_000_000)
    let bytes = bench.sent.reduce(0) { $0 + $1.packet.count }
    #expect(bench.sent.allSatisfy { $0.packet.count < 100 })
    #expect(bytes < spent, "\(bytes) for \(spent)")
    #expect(bench.machine.load.receivers <= AudioLimits.receivers)
    #expect(bench.machine.counters.unanswered > 0 && bench.machine.counters.crowdedOut > 0)
  }

  @Test func `we send a bounded number of packets to a host that is attacked`() {
    var bench = Bench()
    for _ in 0..<100 { _ = bench.addSink("channel") }
    for number in 0..<1_000 { bench.see(stranger(number, host: 1)) }
    bench.wait(60_000_000)
    #expect(bench.machine.load.receivers == AudioLimits.receiversPerAddress)
    let bytes = bench.sent.reduce(0) { $0 + $1.packet.count }
    #expect(bytes < 64 * 80 * 100, "\(bytes)")
    // In the end, a silent endpoint gets one ping a second.
    bench.sent = []
    bench.wait(10_000_000)
    #expect(bench.sent.count <= 64 * 11)
  }

  @Test func `strangers that flood us get few pongs, and peers get every pong`() {
    var bench = Bench()
    let peer = Stranger(1)
    bench.meet(peer)
    bench.sent = []
    for number in 0..<10_000 {
      let flooder = stranger(number)
      bench.receive(flooder.announcement(ping: AudioEcho(rawValue: 1)), from: flooder.endpoint)
    }
    bench.receive(peer.announcement(ping: AudioEcho(rawValue: 2)), from: peer.endpoint)
    #expect(bench.sent.count == AudioLimits.pongsToStrangersPerSecond + 1)
    #expect(bench.sent.last?.said == .pong(2))
    #expect(bench.machine.counters.unanswered == 10_000 - UInt64(AudioLimits.pongsToStrangersPerSecond))
  }

  @Test func `at most a thousand messages a second of one peer are handled`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    let peer = Stranger(1)
    bench.meet(peer)
    bench.sent = []
    bench.routeChanges = 0
    for index in 0..<20_000 {
      if index % 2 == 0 {
        bench.receive(.request(kick, from: peer.node), from: peer.endpoint)
      } else {
        bench.receive(.stop(kick, from: peer.node), from: peer.endpoint)
      }
    }
    #expect(bench.routeChanges <= AudioLimits.messagesPerSecond)
    #expect(bench.machine.counters.flooded >= 19_000)
  }

  /// Sixty-four sockets of one host answer pings and send floods. We handle a bounded part of their messages,
  /// and the channel of an honest peer stays.
  @Test func `64 flooding peers cannot make us drop an honest peer's channel`() {
    var bench = Bench()
    var friend = Stranger(1)
    _ = friend.add("mine", id: 1 << 40)
    bench.meet(friend)
    var crowd = (0..<AudioLimits.receiversPerAddress).map { stranger($0, host: 1) }
    for index in crowd.indices {
      for number in 0..<60 {
        _ = crowd[index].add("\(index) \(number)", id: UInt64(index * 100 + number) + 1)
      }
      bench.meet(crowd[index])
    }
    let packets = crowd.map { $0.announcement().array }
    let before = bench.machine.counters
    for round in 0..<300 {
      bench.wait(10_000, with: [friend])
      if round % 25 == 0 { bench.receive(friend.announcement(), from: friend.endpoint) }
      bench.sent = []
      for index in crowd.indices {
        for _ in 0..<5 { bench.receive(packets[index], from: crowd[index].endpoint) }
      }
    }
    let after = bench.machine.counters
    let read =
      after.received - before.received - (after.flooded - before.flooded) - (after.unproven - before.unproven)
    #expect(read <= 4 * UInt64(AudioLimits.allAnnouncementsPerSecond), "in three seconds, and one in store")
    #expect(bench.channels.contains { $0.name == "mine" })
  }

  // MARK: Limits of tables

  @Test func `invented peers displace no peer, and a new peer finds room`() {
    var bench = Bench()
    let friends = (1...20).map { Stranger($0) }
    for friend in friends { bench.meet(friend) }
    for number in 0..<3_000 {
      var fake = stranger(number)
      if number % 2 == 0 { fake.session = NodeID(rawValue: 3) }
      bench.see(fake)
      if number % 10 == 0 {
        bench.wait(5_000, with: friends)
        bench.sent = []
      }
    }
    #expect(bench.machine.load.receivers == AudioLimits.receivers)
    for friend in friends { #expect(bench.machine.peers.contains { $0.id == friend.node }) }
    bench.wait(1_100_000, with: friends)
    let late = Stranger(77)
    bench.see(late)
    bench.wait(1_000_000, with: friends + [late])
    #expect(bench.machine.peers.contains { $0.id == late.node })
  }

  @Test func `one peer cannot announce ten thousand channels`() {
    var bench = Bench()
    let friend = Stranger(1)
    var loud = Stranger(2)
    bench.meet(friend)
    bench.meet(loud)
    for part in 0..<200 {
      loud.channels = (0..<50).map { (NodeID(rawValue: UInt64(part * 50 + $0) + 1), "c\(part * 50 + $0)") }
      bench.receive(loud.announcement(), from: loud.endpoint)
      bench.wait(6_000, with: [friend, loud])
    }
    bench.wait(60_000, with: [friend, loud])
    #expect(bench.channels.count == AudioLimits.channelsPerPeer)
    #expect(bench.machine.load.channels == AudioLimits.channelsPerPeer)
    #expect(bench.machine.counters.crowdedOut >= 10_000 - UInt64(AudioLimits.channelsPerPeer))
    var other = friend
    _ = other.add("mine", id: 1 << 40)
    bench.receive(other.announcement(), from: other.endpoint)
    bench.wait(60_000, with: [friend, loud])
    #expect(bench.channels.contains { $0.name == "mine" })
    // Expired channels make room for others.
    bench.wait(6_000_000, with: [friend, loud])
    #expect(bench.machine.load.channels == 0)
    bench.receive(loud.announcement(), from: loud.endpoint)
    #expect(bench.machine.load.channels == 50)
  }

  @Test func `the tables of peers, channels, subscribers and gateways have limits`() {
    var bench = Bench()
    let many = (0..<600).map { stranger($0) }
    for (index, peer) in many.enumerated() {
      bench.meet(peer)
      if index % 50 == 0 { bench.wait(300_000, with: Array(many[..<index])) }
      bench.sent = []
    }
    #expect(bench.machine.load.receivers == AudioLimits.receivers)
    var sinks: [ChannelID] = []
    for number in 0..<200 {
      if let sink = bench.machine.addSink(named: "\(number)", at: bench.now) { sinks.append(sink) }
      _ = bench.machine.subscribe(to: NodeID(rawValue: UInt64(number) + 1), at: bench.now)
      bench.drain()
    }
    #expect(sinks.count == AudioLimits.sinks && bench.machine.load.sources == AudioLimits.sources)
    for sink in sinks.prefix(20) {
      for peer in many.prefix(100) { bench.receive(.request(sink, from: peer.node), from: peer.endpoint) }
    }
    #expect(bench.machine.load.subscribers == AudioLimits.subscribers)
    #expect(bench.routes.values.allSatisfy { $0.count <= AudioLimits.subscribersPerSink })
    for number in 0..<100 {
      bench.handle(.gatewayOpened(GatewayID(rawValue: UInt32(number) + 50), .v4(UInt32(number))))
    }
    #expect(bench.machine.gateways.count == AudioLimits.gateways)
    for number in 0..<100 {
      var moving = many[0]
      moving.endpoint.port = UInt16(number) + 2_000
      bench.see(moving)
    }
    #expect(bench.machine.receivers.count { $0.node == many[0].node } <= AudioLimits.waysPerPeer)
  }

  @Test func `impossible endpoints are not pinged`() {
    var bench = Bench()
    let node = NodeID(rawValue: 5)
    for endpoint in [
      Endpoint(.v4(0x0a00_0105), port: 0), Endpoint(.v6(high: 0xfe80 << 48, low: 1, scope: 0), port: 4_000),
    ] {
      bench.handle(.peerSeen(node, session: Bench.session, audio: endpoint, on: Bench.gateway))
    }
    bench.handle(
      .peerSeen(Bench.node, session: Bench.session, audio: Stranger(1).endpoint, on: Bench.gateway))
    bench.handle(
      .peerSeen(node, session: Bench.session, audio: Stranger(1).endpoint, on: Bench.secondGateway))
    bench.wait(1_000_000)
    #expect(bench.sent.isEmpty && bench.machine.load.receivers == 0)
  }

  @Test func `a link-local IPv6 peer is reached through its gateway's interface`() {
    var bench = Bench()
    let kick = bench.addSink("kick")
    bench.handle(.gatewayOpened(Bench.secondGateway, .v6(high: 0xfe80 << 48, low: 1, scope: 3)))
    var peer = Stranger(1)
    peer.endpoint = Endpoint(.v6(high: 0xfe80 << 48, low: 2, scope: 0), port: 4_000)
    bench.see(peer, on: Bench.secondGateway)
    peer.endpoint.address = peer.endpoint.address.scoped(3)
    #expect(bench.sent.map(\.endpoint) == [peer.endpoint])
    bench.answerPings(as: peer)
    bench.receive(.request(kick, from: peer.node), from: peer.endpoint, on: Bench.secondGateway)
    #expect(bench.routes[kick] == [AudioRoute(Bench.secondGateway, peer.endpoint)])
  }

  // MARK: Random input

  @Test(arguments: campaign(1...6 as ClosedRange<UInt64>))
  func `random bytes and damaged messages do not stop audio or channels`(seed: UInt64) {
    var dice = SecretDice((seed, seed))
    var bench = Bench()
    let kick = bench.addSink("kick")
    var peers = (1...5 as ClosedRange<UInt64>).map { Stranger($0) }
    for index in peers.indices {
      _ = peers[index].add("channel", id: UInt64(index) + 1)
      bench.meet(peers[index])
      _ = bench.subscribe(NodeID(rawValue: UInt64(index) + 1))
    }
    for _ in 0..<20_000 {
      let peer = peers.randomElement(using: &dice)!
      var packet: [UInt8]
      switch Int.random(in: 0..<7, using: &dice) {
      case 0: packet = peer.announcement(ping: AudioEcho(rawValue: dice.next())).array
      case 1: packet = AudioPacket.request(kick, from: peer.node).array
      case 2: packet = AudioPacket.stop(kick, from: peer.node).array
      case 3: packet = AudioPacket.pong(AudioEcho(rawValue: dice.next()), from: peer.node).array
      case 4:
        packet = [NodeID(rawValue: 1)].withUnsafeBufferPointer { AudioPacket.byes($0, from: peer.node).array }
      case 5: packet = peer.audio(peer.channels[0].id)
      default:
        packet = (0..<Int.random(in: 0..<200, using: &dice)).map { _ in
          UInt8.random(in: 0...255, using: &dice)
        }
      }
      for _ in 0..<Int.random(in: 0...2, using: &dice) where !packet.isEmpty {
        packet[Int.random(in: 0..<packet.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
      }
      bench.receive(packet, from: peer.endpoint)
      bench.wait(Int64.random(in: 0..<2_000, using: &dice), with: peers)
      if bench.sent.count > 200 { bench.sent = [] }
    }
    bench.wait(6_000_000, with: peers)
    #expect(bench.machine.counters.malformed > 1_000 && bench.machine.counters.audio > 100)
    for peer in peers { bench.receive(peer.announcement(), from: peer.endpoint) }
    bench.wait(100_000, with: peers)
    #expect(bench.channels.count == 5)
    for peer in peers { #expect(bench.receive(peer.audio(peer.channels[0].id), from: peer.endpoint) != nil) }
  }
}
