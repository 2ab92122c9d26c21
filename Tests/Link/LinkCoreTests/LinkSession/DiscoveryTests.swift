// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession

@Suite struct DiscoveryTests {
  @Test func `a gateway announces itself as soon as it opens`() throws {
    var bench = Bench(tempo: 123.45)
    let sent = bench.takeSent()
    try #require(sent.count == 1)
    let state = try #require(sent[0].alive)
    #expect(sent[0].destination == .group)
    #expect(state.node == bench.snapshot.node)
    #expect(state.session == bench.snapshot.node)
    #expect(state.timeline.tempo.microsPerBeat == 486_027)
    #expect(state.measurement == Bench.gateway.measurement)
  }

  @Test func `only members of our session are listed with their addresses`() {
    var bench = Bench()
    for name: UInt64 in [9, 7] { bench.meet(Stranger(name, memberOf: bench)) }
    var neighbour = Stranger(11, memberOf: bench)
    neighbour.source = Endpoint(Stranger(7).source.address, port: 40_001)
    bench.meet(neighbour)
    bench.meet(Stranger(8))
    let here = { (name: UInt64) in Stranger(name).source.address }
    let places = bench.machine.peerPlaces(atMost: 8)
    #expect(places.map(\.address) == [here(7), here(9)] && places.map(\.count) == [2, 1])
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `the lowest addresses of peers are listed with the number of peers`(seed: UInt64) {
    var dice = Dice(seed: seed), bench = Bench()
    var counts: [Address: Int] = [:]
    for name in 1...UInt64.random(in: 1...300, using: &dice) {
      var peer = Stranger(1000 + name, memberOf: bench)
      let address = Address.v4(0x0a00_0000 | UInt32.random(in: 2...40 + UInt32(seed) * 10, using: &dice))
      peer.source = Endpoint(address, port: 40_001)
      bench.meet(peer)
      counts[address, default: 0] += 1
    }
    let most = Int.random(in: 1...64, using: &dice)
    let places = bench.machine.peerPlaces(atMost: most)
    let wanted = counts.sorted { $0.key < $1.key }.prefix(most)
    #expect(places.map(\.address) == wanted.map(\.key) && places.map(\.count) == wanted.map(\.value))
  }

  @Test func `when nothing changes, an Alive is sent every 250 milliseconds`() {
    var bench = Bench()
    let start = bench.now
    bench.wait(2_000_000)
    let times = bench.takeSent().map { ($0.at - start).count }
    #expect(times == (0...8).map { Int64($0) * 250_000 })
  }

  @Test func `a disabled machine sends nothing and has no deadline`() {
    var bench = Bench(isEnabled: false)
    bench.handle(.gatewayOpened(Bench.gateway))
    bench.wait(10_000_000)
    bench.meet(Stranger(7))
    #expect(bench.sent.isEmpty)
    #expect(bench.deadline == nil)
  }

  @Test func `a change is sent at once and the next change 50 milliseconds later`() {
    var bench = Bench()
    bench.wait(100_000)
    _ = bench.takeSent()
    for tempo in [121.0, 122, 123] { bench.commitTempo(tempo) }
    #expect(bench.takeAlives().map { $0.timeline.tempo.microsPerBeat } == [495_868])
    bench.wait(49_999)
    #expect(bench.takeAlives().isEmpty)
    bench.wait(1)
    #expect(bench.takeAlives().map { $0.timeline.tempo.microsPerBeat } == [487_805])
    bench.wait(249_999)
    #expect(bench.takeAlives().isEmpty)
    bench.wait(1)
    #expect(bench.takeAlives().count == 1)
  }

  @Test func `the least time between two states is counted in whole milliseconds`() {
    var bench = Bench()
    bench.wait(49_999)
    _ = bench.takeSent()
    bench.commitTempo(121)
    #expect(bench.takeAlives().isEmpty)
    bench.wait(999)
    #expect(bench.takeAlives().isEmpty)
    bench.wait(1)
    #expect(bench.takeAlives().count == 1)
  }

  @Test func `every Alive is answered at once, to its sender`() {
    var bench = Bench()
    _ = bench.takeSent()
    let strangers = [Stranger(7), Stranger(8)]
    for stranger in strangers { bench.meet(stranger) }
    let responses = bench.takeSent().filter { $0.response != nil }
    #expect(responses.map(\.destination) == strangers.map { .endpoint($0.source) })
    #expect(responses.allSatisfy { $0.channel == .discovery && $0.response?.node == bench.snapshot.node })
  }

  @Test func `a Response is not answered`() {
    var bench = Bench()
    _ = bench.takeSent()
    let stranger = Stranger(7)
    bench.receive(stranger.response, from: stranger.source)
    #expect(bench.takeSent().allSatisfy { $0.response == nil })
  }

  @Test func `an Alive with a broken payload is answered and otherwise ignored`() {
    var bench = Bench()
    _ = bench.takeSent()
    let stranger = Stranger(7)
    let bytes = stranger.alive.withUnsafeBytes { Array($0.dropLast()) }
    bench.receive(bytes: bytes, from: stranger.source)
    let sent = bench.takeSent()
    #expect(sent.count == 1)
    #expect(sent.first?.response != nil)
    #expect(bench.machine.peers.count == 0)
    #expect(bench.machine.counters.malformed == 1)
  }

  @Test func `after a Response the next Alive waits for 50 milliseconds`() {
    var bench = Bench()
    let start = bench.now
    bench.wait(240_000)
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    _ = bench.takeSent()
    bench.wait(49_000)
    #expect(bench.takeAlives().isEmpty)
    bench.wait(1_000)
    #expect(bench.sent.filter { $0.alive != nil }.map { ($0.at - start).count } == [290_000])
  }

  @Test func `a crowd of peers delays our Alive by at most a second`() {
    var bench = Bench()
    let stranger = Stranger(7, memberOf: bench)
    let start = bench.now
    for _ in 0..<300 {
      bench.meet(stranger)
      bench.wait(10_000)
    }
    let times = bench.sent.filter { $0.alive != nil }.map { ($0.at - start).count }
    let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
    #expect(times.count >= 3)
    #expect(gaps.allSatisfy { $0 <= 1_050_000 })
  }

  @Test func `our own datagrams are ignored, even those with a former id`() throws {
    var bench = Bench()
    let first = try #require(bench.takeSent().first?.packet)
    bench.receive(first, from: Bench.gateway.measurement)
    bench.handle(.enable(false))
    bench.handle(.enable(true))
    bench.handle(.gatewayOpened(Bench.gateway))
    _ = bench.takeSent()
    #expect(bench.snapshot.node != first.withUnsafeBytes { try? decodeDiscoveryHeader($0).node })
    bench.receive(first, from: Bench.gateway.measurement)
    #expect(bench.sent.isEmpty)
    #expect(bench.machine.peers.count == 0)
    #expect(bench.machine.counters.own == 2)
  }

  @Test func `disabling Link says goodbye on every gateway`() {
    var bench = Bench()
    bench.handle(.gatewayOpened(Bench.secondGateway))
    _ = bench.takeSent()
    let node = bench.snapshot.node
    bench.handle(.enable(false))
    let sent = bench.takeSent()
    #expect(sent.map(\.farewell) == [node, node])
    #expect(sent.map(\.gateway) == [Bench.gateway.id, Bench.secondGateway.id])
    #expect(sent.allSatisfy { $0.destination == .group && $0.channel == .discovery })
    #expect(bench.deadline == nil)
  }

  @Test func `a closed gateway says goodbye and the other gateways go on`() {
    var bench = Bench()
    bench.handle(.gatewayOpened(Bench.secondGateway))
    _ = bench.takeSent()
    bench.handle(.gatewayClosed(Bench.gateway.id))
    #expect(bench.takeSent().filter { $0.farewell != nil }.map(\.gateway) == [Bench.gateway.id])
    bench.wait(1_000_000)
    #expect(bench.takeSent().map(\.gateway) == Array(repeating: Bench.secondGateway.id, count: 4))
  }

  @Test func `a peer is removed shortly after its goodbye`() {
    var bench = Bench()
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    #expect(bench.snapshot.peerCount == 1)
    bench.receive(stranger.byeBye, from: stranger.source)
    bench.wait(Limits.farewellGrace.count - 1)
    #expect(bench.snapshot.peerCount == 1)
    bench.wait(1)
    #expect(bench.snapshot.peerCount == 0)
    #expect(bench.events == [.peers(1), .peers(0)])
  }

  /// Responses come to another socket, which may be read after the socket of the goodbye.
  @Test(arguments: [
    (answerWaited: 900, peers: 0), (answerWaited: 800, peers: 1), (answerWaited: 0, peers: 1),
  ])
  func `a Response from before the goodbye does not bring the peer back`(
    answerWaited: Int64, peers: Int
  ) {
    var bench = Bench()
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    bench.receive(stranger.byeBye, from: stranger.source, waited: Micros(800))
    bench.receive(stranger.response, from: stranger.source, waited: Micros(answerWaited))
    bench.wait(Limits.farewellGrace.count)
    #expect(bench.snapshot.peerCount == peers)
  }

  /// Link 3.0.6 on our host, with other peers on its network. In a capture, the time between the goodbye and
  /// the next Alive is 0.1 ms.
  @Test func `a peer that says goodbye four times a second and stays is not lost`() {
    var bench = Bench()
    var neighbour = Stranger(7, memberOf: bench)
    bench.meet(neighbour)
    let before = bench.snapshot
    _ = bench.takeEvents()
    for turn in 0..<40 {
      bench.receive(neighbour.byeBye, from: neighbour.source)
      neighbour.source.port += 1
      neighbour.state.measurement!.port += 1
      // Now and then the reopened gateway's first Alive is late.
      bench.wait(turn % 5 == 0 ? 250_000 : 100)
      bench.meet(neighbour)
      bench.wait(250_000)
    }
    #expect(bench.takeEvents().isEmpty)
    #expect(bench.snapshot.session == before.session)
    #expect(bench.snapshot.node == before.node)
    #expect(bench.snapshot.ghost == before.ghost)
    bench.wait(6_000_000)
    #expect(bench.takeEvents() == [.peers(0)])
  }

  @Test func `a goodbye from another host is ignored as forged`() {
    var bench = Bench()
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    bench.receive(stranger.byeBye, from: Stranger(8).source)
    #expect(bench.snapshot.peerCount == 1)
    #expect(bench.machine.counters.forged == 1)
  }

  @Test func `a silent peer is removed one second after its time to live`() {
    for (ttl, seconds) in [(UInt8(5), Int64(6)), (4, 5), (0, 1)] {
      var bench = Bench()
      let stranger = Stranger(7, memberOf: bench)
      bench.receive(encodeAlive(stranger.state, ttl: ttl), from: stranger.source)
      bench.wait(seconds * 1_000_000 - 1)
      #expect(bench.snapshot.peerCount == 1)
      bench.wait(60_000)
      #expect(bench.snapshot.peerCount == 0)
    }
  }

  @Test func `every packet from a peer extends the life of that peer`() {
    var bench = Bench()
    let stranger = Stranger(7, memberOf: bench)
    for _ in 0..<10 {
      bench.receive(stranger.response, from: stranger.source)
      bench.wait(5_900_000)
      #expect(bench.snapshot.peerCount == 1)
    }
  }

  @Test func `a peer seen through two gateways counts once until both are silent`() {
    var bench = Bench()
    bench.handle(.gatewayOpened(Bench.secondGateway))
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    bench.wait(3_000_000)
    bench.meet(stranger, on: Bench.secondGateway)
    #expect(bench.snapshot.peerCount == 1)
    bench.wait(3_500_000)
    #expect(bench.snapshot.peerCount == 1)
    #expect(bench.machine.peers.count == 1)
    bench.wait(3_000_000)
    #expect(bench.snapshot.peerCount == 0)
    #expect(bench.events == [.peers(1), .peers(0)])
  }

  @Test func `closing a gateway removes its peers`() {
    var bench = Bench()
    bench.handle(.gatewayOpened(Bench.secondGateway))
    bench.meet(Stranger(7, memberOf: bench))
    bench.meet(Stranger(8, memberOf: bench), on: Bench.secondGateway)
    #expect(bench.snapshot.peerCount == 2)
    bench.handle(.gatewayClosed(Bench.gateway.id))
    #expect(bench.snapshot.peerCount == 1)
  }

  /// If a member reappeared for a moment, a peer of Ableton's library that has just lost its last other
  /// member would count it for ever.
  @Test func `a peer that leaves right after joining is not announced as member`() {
    var bench = Bench()
    bench.wait(1_000_000)
    let stranger = Stranger(7)
    bench.meet(stranger)
    bench.answerPings(as: stranger)
    #expect(bench.snapshot.session == stranger.state.session)
    let before = bench.takeSent().compactMap(\.alive)
    #expect(before.allSatisfy { $0.session != stranger.state.session }, "the spacing holds the news back")
    bench.commitTempo(150)
    bench.handle(.enable(false))
    let sent = bench.takeSent()
    #expect(sent.compactMap(\.alive).isEmpty && sent.compactMap(\.farewell).count == 1)
  }

  @Test func `a change that waits for the 50 ms spacing is sent before the goodbye`() {
    var bench = Bench()
    bench.meet(Stranger(7, memberOf: bench))
    bench.wait(1_000_000)
    bench.commitTempo(140)
    bench.commitTempo(150)
    _ = bench.takeSent()
    bench.handle(.enable(false))
    let sent = bench.takeSent()
    #expect(sent.compactMap(\.alive).last?.timeline.tempo.microsPerBeat == 400_000)
    #expect(sent.last?.farewell != nil)
  }

  @Test func `peers of other sessions are not counted`() {
    var bench = Bench()
    bench.meet(Stranger(7))
    #expect(bench.snapshot.peerCount == 0)
    #expect(!bench.snapshot.state.isConnected)
  }
}

extension Bench {
  mutating func commitTempo(_ tempo: Double) {
    var state = snapshot.state
    state.setTempo(tempo, at: now)
    handle(
      .commit(
        SessionChange(timeline: state.timeline, startStop: nil, at: now, session: snapshot.session.rawValue)))
  }

  mutating func commitPlaying(_ isPlaying: Bool, at time: Micros? = nil) {
    let startStop = ClientStartStop(isPlaying: isPlaying, time: time ?? now, timestamp: now)
    handle(
      .commit(SessionChange(timeline: nil, startStop: startStop, at: now, session: snapshot.session.rawValue))
    )
  }
}
