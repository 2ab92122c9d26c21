// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession

@Suite struct MeasurementTests {
  private let session = NodeID(rawValue: 0x4b37_7d71_2178_5232)

  private func measurement(at host: Micros = Micros(1_234_567_890)) -> Measurement {
    var measurement = Measurement(
      of: session, from: Source(Stranger(session.rawValue)), gateway: GatewayID(rawValue: 1),
      endpoint: Endpoint(.v4(0x0a00_0002), port: 50_000), uptime: .zero)
    _ = measurement.open(at: host)
    return measurement
  }

  private func pong(ghost: Int64, host: Int64, previousGhost: Int64 = 0) -> Pong {
    Pong(session: session, ghost: Micros(ghost), host: Micros(host), previousGhost: Micros(previousGhost))
  }

  @Test func `the first pong gives one measured point and each later pong two`() {
    var running = measurement()
    _ = running.receive(pong(ghost: 987_654, host: 1_234_567_890), at: Micros(1_234_568_890), uptime: .zero)
    #expect(running.points == [-1_233_580_736])
    _ = running.receive(
      pong(ghost: 988_754, host: 1_234_568_890, previousGhost: 987_654), at: Micros(1_234_569_890),
      uptime: .zero)
    let all: [Double] = [-1_233_580_736, 988_754 - 1_234_569_390, 988_204 - 1_234_568_890]
    #expect(running.points == all)
  }

  @Test func `the median is the middle value or the mean of the two middle values`() {
    #expect([5.0, 0, 6].median == 5)
    #expect([0.0, 2, 1, 3, 2].median == 2)
    #expect([0.0, 1, 3, 2].median == 1.5)
    #expect((1...9999).map { Double($0) * -0.2 - 357.53456 }.median == 5000 * -0.2 - 357.53456)
  }

  @Test func `an undisturbed measurement takes 51 pongs and 52 pings`() {
    var bench = Bench()
    let stranger = Stranger(7, intercept: 12_345_678)
    bench.meet(stranger)
    var pings = 0
    for pong in 1...51 {
      let new = bench.takeSent().filter { $0.ping != nil }
      pings += new.count
      #expect(new.count == 1)
      #expect((new[0].ping!.previousGhost == .zero) == (pong == 1))
      #expect(bench.machine.counters.measurementsDone == 0)
      bench.pong(new[0].ping!, from: stranger)
    }
    pings += bench.takeSent().filter { $0.ping != nil }.count
    #expect(pings == 52)
    #expect(bench.machine.counters.measurementsDone == 1)
    #expect(bench.machine.ghost == stranger.ghost)
  }

  @Test(arguments: [0, 3_000, 40_000] as [Int64])
  func `a machine that reads datagrams late measures clocks just as well`(
    _ mostMicros: Int64
  ) {
    var bench = Bench()
    let stranger = Stranger(7, intercept: 12_345_678)
    bench.meet(stranger)
    var dice = Dice(seed: UInt64(mostMicros) + 1)
    while bench.machine.counters.measurementsDone == 0,
      let sent = bench.takeSent().last(where: { $0.ping != nil })
    {
      bench.now = bench.now + Micros(100)
      let pong = makePong(
        session: stranger.state.session, ghost: stranger.ghost.ghost(atHost: bench.now),
        host: sent.ping!.host,
        previousGhost: sent.ping!.previousGhost)
      let waited = Micros(Int64(dice.next() % UInt64(mostMicros + 1)))
      bench.now = bench.now + Micros(100) + waited
      bench.receive(bytes: pong, from: stranger.state.measurement!, via: .measurement, waited: waited)
    }
    #expect(bench.machine.counters.measurementsDone == 1)
    #expect(abs((bench.machine.ghost.ghost(atHost: .zero) - stranger.ghost.ghost(atHost: .zero)).count) <= 1)
  }

  @Test func `the answer to a ping that was read late has the time of half the wait`() throws {
    var bench = Bench()
    let asker = Stranger(7, memberOf: bench)
    bench.meet(asker)
    _ = bench.takeSent()
    let ping = encodePing(host: Micros(1), previousGhost: nil)
    let bytes = ping.withUnsafeBytes { Array($0) }
    bench.receive(bytes: bytes, from: asker.state.measurement!, via: .measurement, waited: Micros(9_000))
    let pong = try #require(bench.takeSent().compactMap(\.pong).first)
    #expect(pong.ghost == bench.machine.ghost.ghost(atHost: bench.now - Micros(4_500)))
  }

  @Test func `an unreachable peer gets only six pings until its next Alive`() {
    var bench = Bench()
    let start = bench.now
    let stranger = Stranger(7)
    for _ in 0..<2 {
      bench.meet(stranger)
      bench.wait(299_999)
      #expect(bench.machine.counters.measurementsFailed == 0 || bench.now > start + Micros(300_000))
      bench.wait(1)
      let pings = bench.takeSent().filter { $0.ping != nil }
      #expect(pings.count == 6)
      #expect(pings.allSatisfy { $0.ping?.previousGhost == .zero })
      let first = pings[0].at
      #expect(pings.map { ($0.at - first).count } == (0...5).map { $0 * 50_000 })
    }
    #expect(bench.machine.counters.measurementsFailed == 2)
    #expect(bench.machine.peers.count == 0)
    #expect(bench.snapshot.session == bench.snapshot.node)
  }

  @Test func `a pong of another session ends the measurement at once`() {
    var bench = Bench()
    let stranger = Stranger(7)
    bench.meet(stranger)
    var moved = stranger
    moved.state.session = NodeID(rawValue: 8)
    bench.answerPings(as: moved, atMost: 1)
    #expect(bench.machine.counters.measurementsFailed == 1)
    #expect(bench.machine.measurements.isEmpty)
  }

  @Test func `malformed pongs are ignored`() throws {
    var bench = Bench()
    let stranger = Stranger(7)
    bench.meet(stranger)
    let ping = try #require(bench.takeSent().compactMap(\.ping).first)
    let good = makePong(
      session: stranger.state.session, ghost: Micros(90_000_000), host: ping.host, previousGhost: .zero)
    for length in 0..<good.count {
      bench.receive(bytes: Array(good.prefix(length)), from: stranger.state.measurement!, via: .measurement)
    }
    #expect(bench.machine.measurements.first?.points.isEmpty == true)
    bench.receive(bytes: good, from: stranger.state.measurement!, via: .measurement)
    #expect(bench.machine.measurements.first?.points.count == 1)
  }

  @Test func `a pong from another endpoint or a repeated pong changes nothing`() throws {
    var bench = Bench()
    let stranger = Stranger(7)
    bench.meet(stranger)
    let ping = try #require(bench.takeSent().compactMap(\.ping).first)
    let good = makePong(
      session: stranger.state.session, ghost: Micros(90_000_000), host: ping.host, previousGhost: .zero)
    bench.receive(bytes: good, from: Stranger(8).state.measurement!, via: .measurement)
    #expect(bench.sent.isEmpty)
    for _ in 0..<5 { bench.receive(bytes: good, from: stranger.state.measurement!, via: .measurement) }
    #expect(bench.takeSent().count == 1)
    #expect(bench.machine.measurements.first?.points.count == 1)
    #expect(bench.machine.counters.strayPongs == 5)
  }

  @Test func `a measurement survives five lost pings in a row, again and again`() {
    var bench = Bench()
    let stranger = Stranger(7)
    bench.meet(stranger)
    // Every sixth ping gets through.
    for _ in 0..<15 {
      bench.wait(250_000)
      let last = bench.takeSent().compactMap(\.ping).last!
      bench.pong(last, from: stranger)
    }
    #expect(bench.machine.counters.measurementsFailed == 0)
    #expect(bench.machine.measurements.first?.points.count ?? 0 >= 15)
  }

  @Test func `a measurement that ends early uses the points that it has`() {
    var bench = Bench()
    let stranger = Stranger(7)
    bench.meet(stranger)
    bench.answerPings(as: stranger, atMost: 11)
    #expect(bench.machine.measurements.first?.points.count == 21)
    bench.wait(300_000)
    #expect(bench.machine.counters.measurementsDone == 1)
    #expect(bench.snapshot.session == stranger.state.session)
  }

  @Test func `a ping is echoed byte for byte`() {
    var bench = Bench()
    let asker = Stranger(7)
    for length in [0, 1, 16, 31, 32] {
      _ = bench.takeSent()
      let payload = (0..<length).map { UInt8($0 + 1) }
      bench.receive(
        bytes: Array("_link_v".utf8) + [1, 1] + payload, from: asker.source, via: .measurement)
      let sent = bench.takeSent()
      #expect(sent.count == 1)
      #expect(sent[0].destination == .endpoint(asker.source))
      #expect(sent[0].channel == .measurement)
      let bytes = sent[0].packet.withUnsafeBytes(Array.init)
      let expected = makePong(
        session: bench.snapshot.session, ghost: bench.machine.ghost.ghost(atHost: bench.now), host: .zero,
        previousGhost: .zero)
      #expect(bytes == expected.prefix(41) + payload)
    }
  }

  @Test func `a ping with more than 32 bytes is not answered`() {
    var bench = Bench()
    _ = bench.takeSent()
    for length in [33, 48, 400] {
      bench.receive(
        bytes: Array("_link_v".utf8) + [1, 1] + Array(repeating: 0, count: length), from: Stranger(7).source,
        via: .measurement)
    }
    #expect(bench.takeSent().isEmpty)
  }

  @Test func `the founder is measured, or the peer with the lowest id`() {
    for (names, asked) in [([9, 5, 7], UInt64(7)), ([9, 5], 5), ([9], 9)] as [([UInt64], UInt64)] {
      var bench = Bench()
      // The queue is full of unanswered measurements, so that all three peers are known before their turn.
      for blocker in 0..<UInt64(Limits.measurements) { bench.meet(Stranger(1000 + blocker)) }
      for name in names { bench.meet(Stranger(name, session: 7)) }
      bench.wait(299_999)
      _ = bench.takeSent()
      bench.wait(1)
      let target = bench.takeSent().filter { $0.ping != nil }.map(\.destination)
      #expect(target == [.endpoint(Stranger(asked).state.measurement!)])
    }
  }

  @Test func `at most sixteen sessions are measured at once`() {
    var bench = Bench()
    for name in 0..<UInt64(40) { bench.meet(Stranger(100 + name)) }
    #expect(bench.machine.measurements.count == 16)
    bench.wait(300_000)
    #expect(bench.machine.measurements.count == 16)
    bench.wait(300_000)
    #expect(bench.machine.measurements.count == 8)
    bench.wait(300_000)
    #expect(bench.machine.counters.measurementsFailed == 40)
  }

  @Test func `a closed gateway ends its measurements`() {
    var bench = Bench()
    bench.handle(.gatewayOpened(Bench.secondGateway))
    bench.meet(Stranger(7))
    bench.handle(.gatewayClosed(Bench.gateway.id))
    #expect(bench.machine.measurements.isEmpty)
    #expect(bench.machine.load.sessions == 0)
  }

  @Test func `impossible endpoints are not pinged`() {
    let absurd: [Endpoint?] = [
      nil, Endpoint(.v4(0), port: 5), Endpoint(.v4(0x0a00_0002), port: 0),
      .discoveryGroupV4, Endpoint(.v4(0xffff_ffff), port: 5), Bench.gateway.measurement,
      Endpoint(.v6(high: 0xfe80 << 48, low: 1, scope: 0), port: 5),
    ]
    for endpoint in absurd {
      var bench = Bench()
      var stranger = Stranger(7)
      stranger.state.measurement = endpoint
      _ = bench.takeSent()
      bench.meet(stranger)
      bench.wait(1_000_000)
      #expect(bench.takeSent().allSatisfy { $0.ping == nil })
      #expect(bench.machine.peers.count == 0)
    }
  }

  @Test func `the joined session is measured again after 25 to 30 seconds`() {
    var bench = Bench()
    var stranger = Stranger(7)
    bench.meet(stranger)
    bench.answerPings(as: stranger)
    var launches = [bench.now]
    var done = bench.machine.counters.measurementsDone
    for step in 0..<2_000 {
      if step % 300 == 0 { stranger.ghost.intercept = stranger.ghost.intercept + Micros(3_000) }
      let expected = bench.snapshot.state.timeline.beats(at: bench.now + Micros(100_000))
      bench.wait(100_000, answering: stranger)
      bench.meet(stranger)
      _ = bench.takeSent()
      #expect(abs((bench.snapshot.state.timeline.beats(at: bench.now) - expected).millionths) <= 1)
      guard bench.machine.counters.measurementsDone > done else { continue }
      done = bench.machine.counters.measurementsDone
      #expect(bench.machine.ghost == stranger.ghost)
      launches.append(bench.now)
    }
    let gaps = zip(launches.dropFirst(), launches).map { ($0 - $1).count }
    #expect(gaps.count >= 6)
    #expect(gaps.allSatisfy { $0 >= 24_900_000 && $0 <= 30_100_000 })
    #expect(Set(gaps).count > 1)
  }

  @Test func `5 s after two failed measurements another member is measured`() {
    var bench = Bench()
    let founder = Stranger(7)
    let other = Stranger(9, session: 7)
    bench.meet(founder)
    bench.answerPings(as: founder)
    var asked: [LinkSession.Destination] = []
    for _ in 1...170 {
      bench.wait(250_000)
      bench.meet(founder)
      bench.meet(other)
      for ping in bench.takeSent() where ping.ping != nil && asked.last != ping.destination {
        asked.append(ping.destination)
      }
    }
    #expect(Array(asked.prefix(2)) == [founder, other].map { .endpoint($0.state.measurement!) })
    #expect(bench.snapshot.session == founder.state.session)
    #expect(bench.snapshot.peerCount == 2)
  }

  @Test func `without the founder the peer with the lowest id measures no peer`() {
    let ping: [UInt8] = Array("_link_v".utf8) + [1, 1]
    for (name, isReference) in [(UInt64.max, true), (8, false)] {
      var bench = Bench()
      let founder = Stranger(7)
      let other = Stranger(name, session: 7)
      bench.meet(founder)
      bench.answerPings(as: founder)
      bench.meet(other)
      bench.receive(founder.byeBye, from: founder.source)
      _ = bench.takeSent()
      for _ in 1...39 {
        bench.wait(1_000_000)
        bench.meet(other)
        bench.receive(bytes: ping, from: other.state.measurement!, via: .measurement)
      }
      #expect(bench.takeSent().contains { $0.ping != nil } != isReference)
    }
  }

  /// Three peers on two networks, F - X - P: the founder F, a bridge X, and ourselves, P. Since X never asks
  /// us for the time, it must have the founder to ask.
  @Test func `the peer with the lowest id measures a peer that does not measure it`() {
    var bench = Bench()
    let bridge = Stranger(.max, session: 7)
    bench.meet(bridge)
    bench.answerPings(as: bridge)
    _ = bench.takeSent()
    for _ in 1...101 {
      bench.wait(1_000_000)
      bench.meet(bridge)
    }
    #expect(bench.takeSent().contains { $0.ping != nil })
  }

  /// Another host had used the bridge's id first, and that host asks us for the time.
  @Test func `a peer that measures us is known by its latest address`() {
    var bench = Bench()
    let ping: [UInt8] = Array("_link_v".utf8) + [1, 1]
    let bridge = Stranger(.max, session: 7)
    let follower = Stranger(.max - 1, session: 7)
    bench.receive(bridge.alive, from: follower.source)
    bench.wait(2_000_000)
    bench.meet(bridge)
    bench.answerPings(as: bridge)
    let done = bench.machine.counters.measurementsDone
    for second in 1...101 {
      bench.wait(1_000_000, answering: bridge)
      bench.meet(bridge)
      bench.meet(follower)
      if second % 20 == 0 {
        bench.receive(bytes: ping, from: follower.state.measurement!, via: .measurement)
      }
    }
    #expect(bench.machine.counters.measurementsDone > done)
    #expect(bench.machine.counters.measurementsFailed == 0)
  }

  /// Four peers on three networks, F - X - P - Q: the founder F, the peer X through which we joined,
  /// ourselves, P, and Q, which has the lowest id and asks us.
  @Test func `a peer on two networks measures the peer through which it joined`() {
    var bench = Bench()
    bench.handle(.gatewayOpened(Bench.secondGateway))
    let bridge = Stranger(.max, session: 7)
    let follower = Stranger(1, session: 7)
    bench.meet(bridge)
    bench.answerPings(as: bridge)
    _ = bench.takeSent()
    var asked: Set<LinkSession.Destination> = []
    for _ in 1...31 where asked.isEmpty {
      bench.wait(1_000_000)
      bench.meet(bridge)
      bench.meet(follower, on: Bench.secondGateway)
      asked = Set(bench.takeSent().filter { $0.ping != nil }.map(\.destination))
    }
    #expect(asked == [.endpoint(bridge.state.measurement!)])
  }

  @Test func `a peer that changes its session does not block the old session`() {
    var bench = Bench()
    let left = Stranger(9, session: 5)
    var mover = Stranger(7, session: 5)
    bench.meet(mover)
    bench.meet(left)
    mover.state.session = NodeID(rawValue: 7)
    bench.meet(mover)
    #expect(bench.machine.measurements.count == 2)
    // The peer no longer answers pings for the old session or the new session.
    bench.wait(400_000)
    bench.meet(left)
    bench.answerPings(as: left)
    #expect(bench.snapshot.session == left.state.session)
  }

  @Test func `a founder does not measure its own session`() {
    var bench = Bench()
    let stranger = Stranger(7, memberOf: bench)
    for _ in 0..<70 {
      bench.meet(stranger)
      bench.wait(1_000_000)
    }
    #expect(bench.takeSent().allSatisfy { $0.ping == nil })
  }

  @Test func `after a sleep even the founder measures the session's clock at once`() {
    var bench = Bench()
    let session = bench.snapshot.session
    var stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    stranger.ghost.intercept = stranger.ghost.intercept + Micros(9_000_000)
    bench.handle(.clockDisturbed)
    bench.wait(1, answering: stranger)
    #expect(bench.snapshot.session == session)
    #expect(bench.machine.ghost == stranger.ghost)
  }

  @Test func `an absurd ghost time is refused`() {
    for ghost in [Int64.max, .min, 2_000_000_000_000_000, -2_000_000_000_000_000] {
      var bench = Bench()
      var stranger = Stranger(7)
      stranger.ghost = GhostMap(intercept: Micros(ghost) - bench.now)
      bench.meet(stranger)
      bench.answerPings(as: stranger)
      #expect(bench.snapshot.session == bench.snapshot.node)
      #expect(bench.machine.counters.implausible == 1)
    }
  }
}
