// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import LinkWorld
import Testing

@testable import LinkSession

@Suite struct HostileSessionTests {
  private func endpoint(_ number: UInt32) -> Endpoint {
    Endpoint(.v4(0x0b00_0000 | number & 0xff_ffff), port: 40_000)
  }

  @Test func `a flood of invented peers fills no memory and displaces no peer`() {
    var bench = Bench()
    let friends = (1...20).map { Stranger(UInt64($0), memberOf: bench) }
    for friend in friends { bench.meet(friend) }
    for number in 0..<UInt32(30_000) {
      var fake = Stranger(UInt64(number) + 1_000_000)
      fake.source = endpoint(number / 100)
      fake.state.measurement = Endpoint(fake.source.address, port: 50_000)
      if number % 3 == 0 { fake.state.session = bench.snapshot.session }
      bench.meet(fake)
      if number % 100 == 0 {
        bench.wait(2_000)
        for friend in friends { bench.receive(friend.response, from: friend.source) }
        bench.sent = []
      }
    }
    #expect(bench.machine.peers.count <= Limits.sightings)
    #expect(bench.machine.load.sessions <= Limits.sessions)
    #expect(bench.machine.measurements.count <= Limits.measurements)
    #expect(bench.machine.counters.crowdedOut > 0)
    for friend in friends {
      #expect(bench.machine.peers.nodes[friend.state.node]?.first?.state.session == bench.snapshot.session)
    }
    // A peer that comes later finds room, because peers that sent only once are removed for it.
    for _ in 0..<8 {
      bench.wait(250_000)
      for friend in friends { bench.receive(friend.response, from: friend.source) }
    }
    let late = Stranger(77, memberOf: bench)
    bench.meet(late)
    for friend in friends + [late] { #expect(bench.machine.peers.nodes[friend.state.node] != nil) }
  }

  @Test func `one host can add only a limited number of peers`() {
    var bench = Bench()
    for number in 0..<1_000 {
      var fake = Stranger(UInt64(number) + 1_000, memberOf: bench)
      fake.source = endpoint(1)
      bench.meet(fake)
    }
    #expect(bench.snapshot.peerCount == Limits.sightingsPerAddress)
    bench.meet(Stranger(7, memberOf: bench))
    #expect(bench.snapshot.peerCount == Limits.sightingsPerAddress + 1)
  }

  @Test func `sessions that come and go without a measurement use no memory`() {
    var bench = Bench()
    for number in 0..<40_000 {
      let fake = Stranger(UInt64(number % 150) + 1_000, session: UInt64(number) + 1_000_000)
      bench.meet(fake)
      bench.receive(fake.byeBye, from: fake.source)
      if number % 1_000 == 0 { bench.sent = [] }
    }
    #expect(bench.machine.peers.count == 0)
    #expect(bench.machine.load.sessions == 0)
  }

  @Test func `a flood of Alives and pings is answered at a bounded rate`() {
    var bench = Bench()
    let stranger = Stranger(7, memberOf: bench)
    let ping: [UInt8] = Array("_link_v".utf8) + [1, 1]
    for number in 0..<20_000 {
      var fake = stranger
      fake.source = endpoint(UInt32(number) % 1_000)
      bench.meet(fake)
    }
    for _ in 0..<100_000 { bench.receive(bytes: ping, from: stranger.source, via: .measurement) }
    let sent = bench.takeSent()
    #expect(sent.filter { $0.response != nil }.count == Limits.responsesPerSecond)
    #expect(sent.filter { $0.channel == .measurement }.count == Limits.pongsPerSecond)
    bench.wait(1_000_000)
    _ = bench.takeSent()
    bench.meet(stranger)
    #expect(bench.takeSent().contains { $0.response != nil }, "a second later all is well")
  }

  @Test func `one host gets few Responses, whatever ports and ids it uses`() {
    var bench = Bench()
    let victim = Endpoint(.v4(0x0a00_0042), port: 53)
    var short: [UInt8] = Array("_asdp_v".utf8) + [1, 1, 5, 0, 0] + Array("12345678".utf8)
    var asked = 0
    for number in 0..<20_000 {
      short[12] = UInt8(number % 256)
      bench.receive(bytes: short, from: Endpoint(victim.address, port: UInt16(1 + number % 60_000)))
      asked += short.count
      bench.wait(100)
    }
    let answers = bench.takeSent().filter { $0.response != nil }
    #expect(answers.count <= 3 * Limits.responsesPerHost, "in two seconds")
    #expect(answers.reduce(0) { $0 + $1.packet.withUnsafeBytes(\.count) } < asked / 20)
    // Another host is answered at once, and the flooding host again after a second.
    bench.receive(bytes: short, from: Stranger(7).source)
    #expect(bench.takeSent().contains { $0.response != nil })
    bench.wait(1_000_000)
    _ = bench.takeSent()
    bench.receive(bytes: short, from: victim)
    #expect(bench.takeSent().contains { $0.response != nil })
  }

  @Test func `a flood of new timelines is passed on at most every 50 milliseconds`() {
    var bench = Bench()
    var stranger = Stranger(7, memberOf: bench)
    let start = bench.now
    for _ in 0..<1_000 {
      stranger.state.timeline.beatOrigin = stranger.state.timeline.beatOrigin + Beats(millionths: 100)
      bench.receive(stranger.response, from: stranger.source)
      bench.wait(1_000)
    }
    let alives = bench.sent.filter { $0.alive != nil }
    #expect(alives.count <= 1 + Int((bench.now - start).count / 50_000))
  }

  @Test func `impossible timelines are refused`() {
    let now = Micros(50_000_000)
    let absurd: [Timeline] = [
      Timeline(tempo: Tempo(120), beatOrigin: Beats(millionths: .max), timeOrigin: .zero),
      Timeline(tempo: Tempo(120), beatOrigin: Beats(millionths: .min), timeOrigin: .zero),
      Timeline(tempo: Tempo(120), beatOrigin: Beats(1), timeOrigin: Micros(.max)),
      Timeline(tempo: Tempo(120), beatOrigin: Beats(1), timeOrigin: Micros(.min)),
      // From this beat on, the rest of the 64-bit range would not last for three years.
      Timeline(tempo: Tempo(120), beatOrigin: Beats(millionths: .max - 1 << 50), timeOrigin: .zero),
      Timeline(tempo: Tempo(20), beatOrigin: Beats(1), timeOrigin: Micros(.max / 4 * 3 + 1 << 60)),
    ]
    for timeline in absurd {
      var bench = Bench(at: now)
      var stranger = Stranger(7, memberOf: bench)
      stranger.state.timeline = timeline
      let before = bench.machine.timeline
      bench.meet(stranger)
      #expect(bench.machine.timeline == before)
      #expect(bench.machine.counters.implausible == 1)
    }
    var bench = Bench(at: now)
    let stranger = Stranger(7, memberOf: bench)
    var bytes = stranger.alive.withUnsafeBytes(Array.init)
    for wrong in [[UInt8](repeating: 0, count: 8), [UInt8](repeating: 0xff, count: 8)] {
      bytes.replaceSubrange(28..<36, with: wrong)
      bench.receive(bytes: bytes, from: stranger.source)
      #expect(bench.machine.peers.count == 0)
    }
    #expect(bench.machine.counters.malformed == 2)
    // This packet has no timeline entry.
    bytes.removeSubrange(20..<52)
    bench.receive(bytes: bytes, from: stranger.source)
    #expect(bench.machine.peers.count == 0)
    #expect(bench.machine.counters.implausible == 1)
  }

  @Test func `replayed packets change neither tempo nor beat`() {
    var bench = Bench()
    var stranger = Stranger(7, memberOf: bench)
    var recorded: [Packet] = []
    for step in 1...20 {
      bench.wait(100_000)
      stranger.state.timeline = Timeline(
        tempo: Tempo(microsPerBeat: 400_000 + Int64(step) * 1_000),
        beatOrigin: Beats(Double(step) / 5), timeOrigin: Micros(Int64(step) * 100_000))
      recorded.append(stranger.alive)
      bench.meet(stranger)
    }
    let before = bench.snapshot
    #expect(before.sessionTimeline == stranger.state.timeline)
    for packet in recorded + recorded.reversed() { bench.receive(packet, from: Stranger(8).source) }
    #expect(bench.snapshot == before)
  }

  @Test(arguments: 0..<8 as Range<UInt64>)
  func `random and damaged packets never break the beat`(seed: UInt64) {
    var dice = Dice(seed: seed)
    var bench = Bench(seed: seed)
    bench.handle(.enableStartStopSync(true))
    var pool: [[UInt8]] = []
    for name in 1...6 {
      var stranger = name % 2 == 0 ? Stranger(UInt64(name), memberOf: bench) : Stranger(UInt64(name))
      stranger.state.startStop = SessionStartStop(
        isPlaying: true, beats: Beats(4), timestamp: Micros(Int64(name)))
      pool.append(stranger.alive.withUnsafeBytes(Array.init))
      pool.append(stranger.byeBye.withUnsafeBytes(Array.init))
      pool.append(
        makePong(
          session: stranger.state.session, ghost: Micros(99), host: bench.now, previousGhost: Micros(98)))
    }
    for _ in 0..<4_000 {
      var bytes = pool.randomElement(using: &dice)!
      for _ in 0..<Int.random(in: 0...3, using: &dice) {
        bytes[Int.random(in: 8..<bytes.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
      }
      if dice.chance(0.05) { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &dice)) }
      let before = bench.snapshot.state.timeline.beats(at: bench.now)
      let source = Stranger(UInt64.random(in: 1...6, using: &dice))
      let isPong = bytes.count > 1 && bytes[1] == 0x6c
      bench.receive(
        bytes: bytes, from: isPong ? source.state.measurement! : source.source,
        via: isPong ? .measurement : .discovery)
      let state = bench.snapshot.state
      #expect(abs((state.timeline.beats(at: bench.now) - before).millionths) <= 2)
      #expect(state.tempo >= 20 && state.tempo <= 999)
      if dice.chance(0.3) { bench.wait(Int64.random(in: 1...40_000, using: &dice)) }
      if bench.sent.count > 5_000 { bench.sent = [] }
    }
  }

  @Test func `a peer that answers without a time is not asked for ever`() {
    var bench = Bench()
    let stranger = Stranger(7, intercept: -bench.now.count)
    bench.meet(stranger)
    bench.answerPings(as: stranger, atMost: 10_000)
    #expect(bench.machine.measurements.isEmpty)
    #expect(bench.machine.counters.measurementsFailed == 1)
  }

  @Test func `absurd commits are refused`() {
    var bench = Bench()
    let before = bench.machine.timeline
    for beat in [1e300, -1e300, .infinity, .nan, 9e12] {
      var state = bench.snapshot.state
      state.forceBeat(beat, at: bench.now, quantum: 4)
      state.timeline.timeOrigin = Micros(Int64.max / 2)
      bench.handle(.commit(SessionChange(timeline: state.timeline, startStop: nil, at: bench.now)))
    }
    #expect(bench.machine.timeline == before)
    #expect(bench.machine.counters.staleCommits == 5)
  }
}

@Suite struct ClockStepTests {
  @Test func `after a backward step of the host clock we go on sending`() {
    var bench = Bench()
    bench.wait(30_000_000)
    bench.meet(Stranger(7, memberOf: bench))
    bench.wait(1_000_000)
    _ = bench.takeSent()
    bench.now = bench.now - Micros(20_000_000)
    bench.handle(.deadline)
    bench.wait(1_000_000)
    #expect(bench.takeAlives().count >= 4)
    #expect(bench.snapshot.peerCount == 1)
    #expect(bench.machine.counters.clockSteps == 1)
  }

  @Test func `no peer is forgotten while our machine is stopped`() {
    var bench = Bench()
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    bench.wait(1_000_000)
    bench.now = bench.now + Micros(3_600_000_000)
    bench.handle(.deadline)
    #expect(bench.snapshot.peerCount == 1)
    bench.wait(6_000_000)
    #expect(bench.snapshot.peerCount == 0)
  }

  @Test func `after a step of the host clock the session is measured at once`() {
    var bench = Bench()
    let stranger = Stranger(7)
    bench.meet(stranger)
    bench.answerPings(as: stranger)
    _ = bench.takeSent()
    bench.now = bench.now + Micros(60_000_000)
    bench.meet(stranger)
    bench.wait(1)
    #expect(bench.takeSent().contains { $0.ping != nil })
  }
}
