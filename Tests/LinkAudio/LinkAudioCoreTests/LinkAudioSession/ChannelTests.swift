// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkAudioSession

/// Channels of peers (facts: link-audio 3.5 and 4).
struct ChannelTests {
  @Test func `channels of peers are sorted by the names of peer and channel`() {
    var bench = Bench()
    var zoe = Stranger(1, named: "Zoe")
    var ada = Stranger(2, named: "Ada")
    _ = zoe.add("bass", id: 1)
    _ = ada.add("vox", id: 2)
    _ = ada.add("keys", id: 3)
    bench.meet(zoe)
    bench.meet(ada)
    bench.wait(100_000)
    #expect(bench.channels.map(\.name) == ["keys", "vox", "bass"])
    #expect(bench.channels.map(\.peerName) == ["Ada", "Ada", "Zoe"])
    #expect(bench.channels.map(\.peer) == [ada.node, ada.node, zoe.node])
  }

  @Test func `a peer's announcements with different channels form one list`() {
    var bench = Bench()
    var peer = Stranger(1)
    _ = peer.add("a", id: 1)
    bench.meet(peer)
    peer.channels = []
    _ = peer.add("b", id: 2)
    bench.receive(peer.announcement(), from: peer.endpoint)
    bench.wait(100_000)
    #expect(bench.channels.map(\.name) == ["a", "b"])
  }

  @Test func `a channel ends at its bye, or five seconds after its announcement`() {
    var bench = Bench()
    var peer = Stranger(1)
    let a = peer.add("a", id: 1)
    _ = peer.add("b", id: 2)
    bench.meet(peer)
    bench.wait(4_900_000, with: [peer])
    #expect(bench.channels.count == 2)
    [a].withUnsafeBufferPointer { _ = bench.receive(.byes($0, from: peer.node), from: peer.endpoint) }
    #expect(bench.channels.map(\.name) == ["b"])
    bench.wait(100_000, with: [peer])
    #expect(bench.channels.isEmpty)
  }

  @Test func `a peer's channel can change its name, peer name and session`() {
    var bench = Bench()
    var peer = Stranger(1)
    let channel = peer.add("a", id: 1)
    bench.meet(peer)
    bench.wait(60_000)
    peer.channels[0].name = "b"
    bench.receive(peer.announcement(), from: peer.endpoint)
    #expect(bench.channels == [AudioChannel(id: channel, name: "b", peer: peer.node, peerName: "there")])
    bench.wait(60_000)
    peer.name = "yonder"
    bench.receive(peer.announcement(), from: peer.endpoint)
    #expect(bench.channels[0].peerName == "yonder")
    bench.wait(60_000)
    peer.session = NodeID(rawValue: 4)
    bench.receive(peer.announcement(), from: peer.endpoint)
    #expect(bench.channels.isEmpty, "no beats of ours")
    bench.wait(60_000)
    bench.handle(.identity(node: Bench.node, session: peer.session))
    #expect(bench.channels.count == 1)
  }

  @Test func `when a peer leaves, its channels are removed`() {
    for leaves in 0..<4 {
      var bench = Bench()
      var peer = Stranger(1)
      let channel = peer.add("a", id: 1)
      bench.meet(peer)
      let source = bench.subscribe(channel)
      #expect(bench.senders[source]?.count == 1)
      bench.wait(60_000, with: [peer])
      switch leaves {
      case 0: bench.handle(.peerGone(peer.node, on: Bench.gateway))
      case 1: bench.handle(.gatewayClosed(Bench.gateway))
      case 2: bench.handle(.enable(false))
      default:
        peer.session = NodeID(rawValue: 4)
        bench.see(peer)
      }
      bench.wait(60_000)
      #expect(bench.channels.isEmpty && bench.senders[source] == [])
      #expect(bench.receive(peer.audio(channel), from: peer.endpoint) == nil)
    }
  }

  @Test func `a channel on two gateways counts once and survives losing a gateway`() {
    var bench = Bench()
    bench.handle(.gatewayOpened(Bench.secondGateway, .v4(0x0a01_0001)))
    var peer = Stranger(1)
    let channel = peer.add("a", id: 1)
    var other = peer
    other.endpoint = Endpoint(.v4(0x0a01_0101), port: 4_000)
    bench.meet(peer)
    bench.meet(other, on: Bench.secondGateway)
    let source = bench.subscribe(channel)
    bench.wait(60_000)
    #expect(bench.channels.count == 1)
    #expect(bench.senders[source]?.map(\.endpoint) == [peer.endpoint, other.endpoint])
    #expect(bench.receive(peer.audio(channel), from: other.endpoint, on: Bench.secondGateway) == source)
    #expect(bench.receive(peer.audio(channel), from: other.endpoint) == nil, "through the wrong door")
    bench.handle(.gatewayClosed(Bench.gateway))
    bench.wait(60_000)
    #expect(bench.channels.count == 1)
    #expect(bench.senders[source]?.map(\.endpoint) == [other.endpoint])
  }

  @Test func `channels are ignored from an endpoint that has not answered a ping`() {
    var bench = Bench()
    var stranger = Stranger(9)
    let channel = stranger.add("a", id: 1)
    bench.receive(stranger.announcement(), from: stranger.endpoint)
    #expect(bench.machine.counters.unknownSender == 1)
    // The peer is known but has not answered: its address may be forged.
    bench.see(stranger)
    bench.receive(stranger.announcement(), from: stranger.endpoint)
    #expect(bench.machine.counters.unproven == 1)
    // An announcement is ignored if its endpoint belongs to another id, or its id to another endpoint.
    let peer = Stranger(1)
    bench.meet(peer)
    bench.receive(stranger.announcement(), from: peer.endpoint)
    var liar = peer
    _ = liar.add("b", id: 2)
    bench.receive(liar.announcement(), from: stranger.endpoint)
    #expect(bench.machine.counters.unknownSender == 3)
    let source = bench.subscribe(channel)
    bench.wait(100_000)
    #expect(bench.channels.isEmpty && bench.senders[source] == nil && bench.machine.load.channels == 0)
  }

  @Test func `a peer that announces another peer's channel id is ignored`() {
    var bench = Bench()
    var peer = Stranger(1, named: "Ada")
    let channel = peer.add("vox", id: 1)
    bench.meet(peer)
    let source = bench.subscribe(channel)
    var thief = Stranger(2, named: "Eve")
    _ = thief.add("evil", id: 1)
    bench.meet(thief)
    bench.wait(100_000, with: [peer, thief])
    #expect(bench.machine.counters.copiedChannels > 0)
    #expect(bench.channels.map(\.name) == ["vox"])
    #expect(bench.senders[source]?.map(\.endpoint) == [peer.endpoint])
    #expect(bench.receive(thief.audio(channel), from: thief.endpoint) == nil)
    #expect(bench.machine.counters.forgedAudio == 1)
    let copied = bench.machine.counters.copiedChannels
    [channel].withUnsafeBufferPointer { _ = bench.receive(.byes($0, from: thief.node), from: thief.endpoint) }
    #expect(bench.channels.map(\.name) == ["vox"] && bench.machine.counters.copiedChannels == copied + 1)
    #expect(bench.receive(peer.audio(channel), from: peer.endpoint) == source)
    // A peer that announces the id of one of our own channels is ignored, too.
    let ours = bench.addSink("mine")
    thief.channels[0].id = ours
    bench.receive(thief.announcement(), from: thief.endpoint)
    bench.wait(100_000, with: [peer, thief])
    #expect(!bench.channels.contains { $0.id == ours })
  }

  @Test func `lists of channels are at least 50 milliseconds apart`() {
    var bench = Bench()
    var peer = Stranger(1)
    _ = peer.add("a", id: 1)
    bench.meet(peer)
    let before = bench.listChanges
    for index in 0..<200 {
      peer.channels[0].name = "\(index)"
      bench.receive(peer.announcement(), from: peer.endpoint)
      bench.wait(5_000, with: [peer])
    }
    #expect(bench.listChanges - before <= 21)
    bench.wait(60_000, with: [peer])
    #expect(bench.channels[0].name == "199")
  }
}
