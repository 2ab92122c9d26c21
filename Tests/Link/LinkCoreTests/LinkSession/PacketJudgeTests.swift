// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession

/// After any statement that we believe, an honest change is still possible.
@Suite struct BeliefTests {
  /// Expects that each peer can set any tempo, and that the tempo stays.
  private func expectFreedom(_ bench: inout Bench, _ comment: Comment) {
    for tempo in [20.0, 999, 87.5, 130] {
      bench.wait(1_000)
      bench.commitTempo(tempo)
      #expect(bench.snapshot.state.tempo == tempo, comment)
    }
  }

  @Test func `a timeline at the largest beat number leaves room for honest changes`() {
    for beat in [.max, .max - 1 << 51, .max - 1 << 51 + 1, 1 << 62, 1 << 54] as [Int64] {
      for tempo in [20.0, 120, 999] {
        var bench = Bench(tempo: 130)
        bench.wait(1_000_000)
        var stranger = Stranger(7, memberOf: bench)
        stranger.state.timeline = Timeline(
          tempo: Tempo(microsPerBeat: Tempo(tempo).microsPerBeat), beatOrigin: Beats(millionths: beat),
          timeOrigin: .zero)
        bench.meet(stranger)
        expectFreedom(&bench, "from beat \(beat) at \(tempo)")
        bench.handle(.enable(false))
        bench.handle(.enable(true))
        expectFreedom(&bench, "from beat \(beat) at \(tempo), and off and on again")
      }
    }
  }

  /// The border is found by trial, as an attacker would find it, not from the code's limits.
  @Test func `the farthest believed timeline leaves room for honest changes`() {
    func isTaken(_ timeline: Timeline, after age: Int64) -> Bench? {
      var bench = Bench(tempo: 130)
      bench.now = bench.now + Micros(age)
      var stranger = Stranger(7, memberOf: bench)
      stranger.state.timeline = timeline
      bench.meet(stranger)
      return bench.machine.timeline.beatOrigin == timeline.beatOrigin ? bench : nil
    }
    for tempo in [20.0, 120, 999] {
      for age in [1_000, 3_600_000_000] as [Int64] {
        for origin in [-1 << 61, -119_000_000, 0, age, age + 100_000_000, 1 << 58, 1 << 62] {
          func timeline(_ beat: Int64) -> Timeline {
            Timeline(
              tempo: Tempo(microsPerBeat: Tempo(tempo).microsPerBeat), beatOrigin: Beats(millionths: beat),
              timeOrigin: Micros(origin))
          }
          var (low, high) = (Int64(1_000_000_000), Int64.max)
          while high - low > 1 {
            let middle = low + (high - low) / 2
            if isTaken(timeline(middle), after: age) != nil { low = middle } else { high = middle }
          }
          guard var bench = isTaken(timeline(low), after: age) else { continue }
          expectFreedom(&bench, "at \(tempo) from beat \(low) at \(origin)")
        }
      }
    }
  }

  @Test func `a session that is too old is left, and tempos can still be set`() {
    for below in [1, 1_000_000, 3_000_000] as [Int64] {
      var bench = Bench(tempo: 130)
      var rogue = Stranger(7)
      rogue.ghost = GhostMap(intercept: Micros(100_000_000_000_000 - below) - bench.now)
      rogue.state.timeline.timeOrigin = Micros(100_000_000_000_000 - below)
      bench.meet(rogue)
      bench.answerPings(as: rogue)
      for _ in 0..<40 {
        bench.wait(250_000, answering: rogue)
        bench.meet(rogue)
      }
      expectFreedom(&bench, "\(below)")
      #expect(bench.snapshot.session != rogue.state.session)
    }
  }

  @Test func `a time to live of minutes is not believed`() {
    var bench = Bench()
    bench.receive(encodeAlive(Stranger(7, memberOf: bench).state, ttl: 255), from: Stranger(7).source)
    bench.wait(6_100_000)
    #expect(bench.snapshot.peerCount == 0)
  }

  @Test func `another host does not move a peer to another session`() {
    var bench = Bench()
    let friend = Stranger(7, memberOf: bench)
    bench.meet(friend)
    var forged = friend
    forged.source = Stranger(8).source
    forged.state.session = NodeID(rawValue: 99)
    forged.state.measurement = Stranger(8).state.measurement
    bench.meet(forged)
    #expect(bench.snapshot.peerCount == 1)
    // Nor can the other host take the peer's place in our session before it moves the peer.
    forged.state.session = friend.state.session
    bench.meet(forged)
    forged.state.session = NodeID(rawValue: 99)
    bench.meet(forged)
    #expect(bench.snapshot.peerCount == 1)
    #expect(bench.machine.counters.forged == 3)
    // Once the known address has been silent for long enough, the peer may have another address.
    bench.wait(5_000_000)
    bench.meet(forged)
    #expect(bench.snapshot.peerCount == 0)
  }

  @Test func `a peer with a new address can set the tempo and start at once`() {
    var bench = Bench(tempo: 120)
    bench.handle(.enableStartStopSync(true))
    let friend = Stranger(7, memberOf: bench)
    bench.meet(friend)
    var moved = friend
    moved.source = Stranger(8).source
    moved.state.measurement = Stranger(8).state.measurement
    bench.wait(200_000)
    let before = bench.machine.timeline
    moved.state.timeline = Timeline(
      tempo: Tempo(100), beatOrigin: before.beatOrigin + Beats(1), timeOrigin: Micros(1_000_000))
    moved.state.startStop = SessionStartStop(
      isPlaying: true, beats: .zero, timestamp: bench.machine.ghost.ghost(atHost: bench.now))
    bench.meet(moved)
    #expect(bench.machine.timeline == moved.state.timeline && bench.snapshot.state.isPlaying)
    #expect(bench.snapshot.peerCount == 1)
    // From here on the peer sends from the new address only. We pass the change on once.
    _ = bench.takeAlives()
    for _ in 0..<17 {
      bench.wait(250_000)
      bench.meet(moved)
    }
    #expect(bench.takeAlives().count <= 18, "no more Alives than without it")
    #expect(bench.snapshot.peerCount == 1)
    // The peer's old address expires, but the peer counts as present all the time.
    for _ in 0..<20 {
      bench.wait(250_000)
      bench.meet(moved)
      #expect(bench.snapshot.peerCount == 1)
    }
    #expect(bench.machine.peers.nodes[friend.state.node]?.map(\.source) == [moved.source.address])
  }

  @Test func `with a stolen id a host can set a tempo but move no peer or clock`() {
    var bench = Bench(tempo: 120)
    var friend = Stranger(7, memberOf: bench)
    bench.meet(friend)
    var thief = friend
    thief.source = Stranger(8).source
    thief.state.measurement = Stranger(8).state.measurement
    // The friend stalls for almost as long as its id is kept, and the thief sends all the time.
    for round in 0..<19 {
      bench.wait(250_000)
      thief.state.timeline.beatOrigin = thief.state.timeline.beatOrigin + Beats(millionths: Int64(round + 1))
      bench.meet(thief)
      bench.receive(thief.byeBye, from: thief.source)
    }
    let known = bench.machine.peers.nodes[friend.state.node]
    #expect(known?.map(\.source) == [friend.source.address])
    #expect(known?.first?.endpoint == friend.state.measurement, "its clock is asked for where it was")
    #expect(bench.machine.counters.forged == 38 && bench.snapshot.peerCount == 1)
    // The true owner of the id is back, with the same rights as before.
    friend.state.timeline = Timeline(
      tempo: Tempo(90), beatOrigin: bench.machine.timeline.beatOrigin + Beats(1), timeOrigin: .zero)
    bench.meet(friend)
    #expect(abs(bench.machine.timeline.tempo.beatsPerMinute - 90) < 0.001)
    bench.wait(5_900_000)
    #expect(bench.snapshot.peerCount == 1, "its own word counts for its whole time to live")
  }

  @Test func `a measurement endpoint on a third machine is not pinged`() {
    var bench = Bench()
    var stranger = Stranger(7)
    stranger.state.measurement = Endpoint(.v4(0x0808_0808), port: 53)
    bench.meet(stranger)
    bench.wait(1_000_000)
    #expect(bench.sent.allSatisfy { $0.ping == nil })
  }

  @Test func `a doubted clock is not given to other peers`() {
    var bench = Bench()
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    let ping: [UInt8] = Array("_link_v".utf8) + [1, 1]
    bench.handle(.clockDisturbed)
    bench.wait(1)
    _ = bench.takeSent()
    bench.receive(bytes: ping, from: Stranger(8).source, via: .measurement)
    #expect(!bench.takeSent().contains { $0.destination == .endpoint(Stranger(8).source) })
    // No peer answers. So our clock is the session's clock, and we must not doubt it for ever.
    for _ in 0..<48 {
      bench.wait(250_000)
      bench.meet(stranger)
    }
    _ = bench.takeSent()
    bench.receive(bytes: ping, from: Stranger(8).source, via: .measurement)
    #expect(bench.takeSent().contains { $0.destination == .endpoint(Stranger(8).source) })
  }

  @Test func `a lonely peer does not doubt its clock`() {
    var bench = Bench()
    bench.handle(.clockDisturbed)
    bench.wait(20_000_000)
    #expect(bench.machine.counters.measurementsFailed == 0)
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    _ = bench.takeSent()
    for _ in 0..<30 {
      bench.wait(250_000)
      bench.meet(stranger)
    }
    #expect(bench.takeSent().allSatisfy { $0.ping == nil }, "it is our session and our clock")
  }

  @Test func `each of several silent peers is asked once for the time`() {
    var bench = Bench()
    let founder = Stranger(7)
    bench.meet(founder)
    bench.answerPings(as: founder)
    let members = [founder] + (8...10).map { Stranger($0, session: 7) }
    var asked: [LinkSession.Destination] = []
    for _ in 0..<190 {
      bench.wait(250_000)
      for member in members { bench.meet(member) }
      for ping in bench.takeSent() where ping.ping != nil && asked.last != ping.destination {
        asked.append(ping.destination)
      }
    }
    #expect(Array(asked.prefix(4)) == members.map { .endpoint($0.state.measurement!) })
  }

  /// One member gives this clock: either that member lies, or only our own machine is wrong.
  @Test func `a clock by which our timeline starts in the future is refused`() {
    var bench = Bench()
    let founder = Stranger(7)
    let honest = Stranger(9, session: 7)
    bench.meet(founder)
    bench.answerPings(as: founder)
    var liar = founder
    liar.ghost.intercept = founder.ghost.intercept - Micros(3_600_000_000)
    var changed = honest
    changed.state.timeline.beatOrigin = bench.machine.timeline.beats(
      at: bench.machine.ghost.ghost(atHost: bench.now))
    changed.state.timeline.timeOrigin = bench.machine.ghost.ghost(atHost: bench.now)
    for _ in 0..<200 {
      bench.wait(250_000, answering: liar)
      bench.answerPings(as: changed)
      bench.meet(liar)
      bench.meet(changed)
      bench.answerPings(as: liar)
    }
    #expect(bench.snapshot.session == founder.state.session)
    #expect(bench.machine.ghost == honest.ghost)
    expectFreedom(&bench, "")
  }

  /// Peers of Ableton's library that an attack has misled stay in a session and repeat an implausible
  /// timeline.
  @Test func `a clock is refused if not even its peer's own timeline fits it`() {
    var bench = Bench()
    let founder = Stranger(7)
    bench.meet(founder)
    bench.answerPings(as: founder)
    var lost = Stranger(3, session: 7)
    lost.ghost.intercept = founder.ghost.intercept + Micros(1_000_000)
    lost.state.timeline.beatOrigin = Beats(millionths: .max - 1 << 50)
    for _ in 0..<20 {
      bench.meet(founder)
      bench.meet(lost)
      bench.answerPings(as: lost)
      #expect(bench.machine.ghost == founder.ghost)
      bench.wait(250_000)
    }
    #expect(bench.machine.counters.measurementsDone == 1, "nor to ask for it")
  }

  /// A member's timeline starts too far ahead when we join, and is plausible a second later.
  @Test func `a timeline too far ahead when we join is accepted a second later`() {
    var bench = Bench()
    let founder = Stranger(7)
    var ahead = Stranger(8, session: 7)
    let beat = founder.state.timeline.beats(at: founder.ghost.ghost(atHost: bench.now))
    ahead.state.timeline.beatOrigin = beat + Beats(millionths: 1 << 61) + Beats(millionths: 1_000_000)
    ahead.state.timeline.timeOrigin = founder.state.timeline.exactTime(at: ahead.state.timeline.beatOrigin)
    bench.meet(founder)
    bench.meet(ahead)
    bench.answerPings(as: founder)
    #expect(bench.machine.timeline.beatOrigin == founder.state.timeline.beatOrigin)
    bench.wait(1_000_000)
    bench.meet(ahead)
    #expect(bench.machine.timeline.beatOrigin == ahead.state.timeline.beatOrigin)
  }

  /// The newly asked peer may be a better source, because the peer that was asked before may have been a
  /// liar.
  @Test func `if the measured peer leaves, another peer is measured soon`() {
    var bench = Bench()
    let founder = Stranger(7)
    let member = Stranger(9, session: 7)
    bench.meet(founder)
    bench.answerPings(as: founder)
    bench.meet(member)
    _ = bench.takeSent()
    bench.receive(founder.byeBye, from: founder.source)
    for _ in 0..<24 {
      bench.wait(250_000)
      bench.meet(member)
    }
    #expect(
      bench.takeSent().contains { $0.ping != nil && $0.destination == .endpoint(member.state.measurement!) })
  }

  @Test func `a peer whose clock jumped is measured again soon`() {
    var bench = Bench()
    let founder = Stranger(7)
    bench.meet(founder)
    bench.answerPings(as: founder)
    var liar = founder
    liar.ghost.intercept = founder.ghost.intercept + Micros(3_600_000_000)
    var turns = 0
    while bench.machine.ghost != liar.ghost && turns < 130 {
      bench.wait(250_000, answering: liar)
      bench.meet(founder)
      bench.answerPings(as: liar)
      turns += 1
    }
    #expect(bench.machine.ghost == liar.ghost)
    for _ in 0..<24 {
      bench.wait(250_000, answering: founder)
      bench.meet(founder)
      bench.answerPings(as: founder)
    }
    #expect(bench.machine.ghost == founder.ghost)
  }

  /// A peer of Ableton's library measures once and decides. Our peers come to almost the same decision at
  /// each measurement.
  @Test func `beside peers of Ableton's library the age margin hardly changes`() {
    let (low, high) = (NodeID(rawValue: 1), NodeID(rawValue: 2))
    for looks in [0, 1, 5, 1_000] {
      for lead in [-480_000, -499_000, 0, 480_000] as [Int64] {
        #expect(PacketJudge.isBetter(low, olderBy: Micros(lead), than: high, looks: looks, isMixed: true))
        #expect(!PacketJudge.isBetter(high, olderBy: Micros(lead), than: low, looks: looks, isMixed: true))
      }
      #expect(PacketJudge.isBetter(high, olderBy: Micros(511_000), than: low, looks: looks, isMixed: true))
      #expect(!PacketJudge.isBetter(low, olderBy: Micros(-511_000), than: high, looks: looks, isMixed: true))
    }
    #expect(PacketJudge.isBetter(high, olderBy: Micros(480_000), than: low, looks: 1))
    // Exactly one of the two sessions is better: otherwise we would change between them for ever.
    for looks in 0...7 {
      for lead in stride(from: Int64(-520_000), through: 520_000, by: 333) {
        let there = PacketJudge.isBetter(high, olderBy: Micros(lead), than: low, looks: looks, isMixed: true)
        let back = PacketJudge.isBetter(low, olderBy: Micros(-lead), than: high, looks: looks, isMixed: true)
        #expect(there != back, "\(lead) after \(looks) looks")
      }
    }
  }
}
