// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession

@Suite struct SessionTests {
  /// A stranger whose session is `lead` microseconds older than the bench's.
  private func stranger(_ name: UInt64, olderBy lead: Int64, than bench: Bench) -> Stranger {
    Stranger(name, ghostOrigin: 0, intercept: bench.machine.ghost.intercept.count + lead)
  }

  @Test func `the older session wins; within half a second, the smaller id wins`() {
    let smaller = UInt64.min + 1
    let greater = UInt64.max
    let cases: [(lead: Int64, id: UInt64, joins: Bool)] = [
      (500_001, greater, true), (500_001, smaller, true), (500_000, smaller, false),
      (500_000, greater, false),
      (499_999, smaller, true), (499_999, greater, false), (0, smaller, true), (0, greater, false),
      (-499_999, smaller, true), (-500_000, smaller, false), (-500_001, smaller, false),
    ]
    for (lead, id, joins) in cases {
      var bench = Bench()
      bench.wait(1_000_000)
      let stranger = stranger(id, olderBy: lead, than: bench)
      bench.meet(stranger)
      bench.answerPings(as: stranger)
      #expect(bench.machine.counters.measurementsDone == 1)
      #expect((bench.snapshot.session == stranger.state.session) == joins, "\(lead) \(id)")
      #expect(bench.snapshot.peerCount == (joins ? 1 : 0))
    }
  }

  @Test func `joining keeps the client's beat and takes tempo and grid`() {
    // These are the values of the worked example (facts: link 7.5, 7.7).
    var bench = Bench(tempo: 100, at: Micros(50_000_000), isEnabled: false)
    bench.now = Micros(80_000_000)
    bench.handle(.enable(true))
    bench.handle(.gatewayOpened(Bench.gateway))
    #expect(bench.snapshot.state.timeline.beats(at: bench.now) == Beats(50))
    let stranger = Stranger(7)
    bench.meet(stranger)
    bench.answerPings(as: stranger)
    let joined = bench.snapshot.state
    #expect(joined.timeline.tempo.microsPerBeat == 476_190)
    #expect(joined.timeline.beatOrigin == Beats(millionths: -18_925_929))
    #expect(joined.timeline.timeOrigin == Micros(47_178_162))
    #expect(joined.beats(at: bench.now, quantum: .zero) == Beats(50))
    #expect(joined.beats(at: bench.now, quantum: Beats(4)) == Beats(millionths: 48_925_929))
    #expect(bench.takeEvents() == [.peers(1), .tempo(joined.tempo)])

    _ = bench.takeSent()
    var edited = joined
    edited.setTempo(140, at: bench.now + Micros(20_000))
    bench.wait(60_000)
    bench.now = Micros(80_000_000)
    bench.handle(.commit(SessionChange(timeline: edited.timeline, startStop: nil, at: bench.now)))
    #expect(bench.machine.timeline.beatOrigin == Beats(millionths: 68_925_929))
    #expect(bench.machine.timeline.timeOrigin == Micros(92_347_678))
    #expect(bench.snapshot.state.timeline.beatOrigin == Beats(millionths: -18_925_929))
    #expect(bench.snapshot.state.timeline.timeOrigin == Micros(50_462_346))
    #expect(bench.takeEvents() == [.tempo(140)])
  }

  @Test func `a new timeline of our session is taken only if it begins later`() {
    for (offset, isTaken) in [(Int64(1), true), (-1, false)] {
      var bench = Bench(tempo: 121)
      bench.commitTempo(122)
      let own = bench.machine.timeline
      var stranger = Stranger(7, memberOf: bench)
      stranger.state.timeline = Timeline(
        tempo: Tempo(microsPerBeat: 400_000), beatOrigin: own.beatOrigin + Beats(millionths: offset),
        timeOrigin: own.timeOrigin)
      bench.wait(100_000)
      _ = bench.takeSent()
      bench.meet(stranger)
      #expect((bench.machine.timeline == stranger.state.timeline) == isTaken)
      #expect(bench.snapshot.state.tempo == (isTaken ? 150 : 122))
      bench.wait(50_000)
      let told = bench.takeAlives()
      #expect(told.count == 1, "told again, taken or not: that repairs a peer that missed a change")
      #expect(told.first?.timeline.tempo.microsPerBeat == (isTaken ? 400_000 : 491_803))
    }
  }

  @Test func `two changes in the same microbeat do not split the session`() {
    let first = Timeline(
      tempo: Tempo(microsPerBeat: 400_000), beatOrigin: Beats(8), timeOrigin: Micros(1_000))
    let second = Timeline(tempo: Tempo(microsPerBeat: 600_000), beatOrigin: Beats(8), timeOrigin: Micros(500))
    let third = Timeline(tempo: Tempo(microsPerBeat: 600_000), beatOrigin: Beats(8), timeOrigin: Micros(501))
    for order in [[first, second, third], [third, second, first], [second, third, first]] {
      var bench = Bench()
      bench.wait(4_000_000)
      for (name, timeline) in order.enumerated() {
        var stranger = Stranger(UInt64(name) + 1, memberOf: bench)
        stranger.state.timeline = timeline
        bench.meet(stranger)
      }
      #expect(bench.machine.timeline == third)
    }
  }

  @Test func `a peer's state that is already known makes us send nothing`() {
    var bench = Bench()
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    bench.wait(360_000)
    _ = bench.takeSent()
    bench.receive(stranger.response, from: stranger.source)
    bench.wait(60_000)
    #expect(bench.takeAlives().isEmpty)
  }

  @Test func `our own tempo is not replaced by a peer's rounded copy of it`() {
    var bench = Bench(tempo: 90)
    bench.commitTempo(121)
    var stranger = Stranger(7, memberOf: bench)
    stranger.state.timeline.tempo = Tempo(microsPerBeat: 495_868)
    bench.meet(stranger)
    #expect(bench.snapshot.state.tempo == 121)
    #expect(bench.takeEvents() == [.tempo(121), .peers(1)])
  }

  @Test func `a peer that missed a change gets the change again at once`() {
    var bench = Bench()
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    bench.wait(100_000)
    bench.commitTempo(140)
    bench.wait(100_000)
    _ = bench.takeSent()
    bench.receive(stranger.response, from: stranger.source)
    bench.wait(50_000)
    #expect(bench.takeAlives().map { $0.timeline.tempo.microsPerBeat } == [428_571])
    #expect(bench.snapshot.state.tempo == 140)
  }

  @Test func `two changes in one microsecond are applied in order`() {
    var bench = Bench()
    bench.commitTempo(130)
    let first = bench.machine.timeline.beatOrigin
    bench.commitTempo(131)
    #expect(bench.machine.timeline.beatOrigin == first + Beats(millionths: 1))
  }

  @Test func `an unchanged timeline keeps its origin but is sent again`() {
    var bench = Bench()
    let before = bench.machine.timeline
    bench.wait(100_000)
    _ = bench.takeSent()
    var state = bench.snapshot.state
    state.timeline.beatOrigin = state.timeline.beatOrigin + Beats(5)
    bench.handle(.commit(SessionChange(timeline: state.timeline, startStop: nil, at: bench.now)))
    #expect(bench.machine.timeline == before)
    #expect(bench.snapshot.state.timeline == state.timeline)
    #expect(bench.takeAlives().count == 1)
  }

  @Test func `a session founded when the last peer leaves continues the beat`() {
    var bench = Bench(tempo: 100)
    let stranger = Stranger(7)
    bench.meet(stranger)
    bench.answerPings(as: stranger)
    bench.wait(1_000_000)
    let before = bench.snapshot
    _ = bench.takeEvents()
    _ = bench.takeSent()
    bench.receive(stranger.byeBye, from: stranger.source)
    bench.wait(Limits.farewellGrace.count)
    let after = bench.snapshot
    #expect(bench.takeEvents() == [.peers(0)])
    #expect(after.node != before.node)
    #expect(after.session == after.node)
    #expect(after.state.tempo == before.state.tempo)
    #expect(after.ghost == GhostMap(startingAt: bench.now))
    #expect(after.sessionTimeline.timeOrigin == .zero)
    for later in [Int64(0), 1_000_000, 60_000_000] {
      let time = bench.now + Micros(later)
      let moved = after.state.timeline.beats(at: time) - before.state.timeline.beats(at: time)
      #expect(abs(moved.millionths) <= 1)
      let phases = [before, after].map { $0.state.phase(at: time, quantum: 4) }
      #expect(abs(phases[0] - phases[1]) < 0.000_003)
    }
    #expect(bench.takeSent().allSatisfy { $0.farewell == nil }, "a reset says no goodbye")
  }

  @Test func `enabling and disabling Link without peers is inaudible`() {
    var bench = Bench(tempo: 123.45, isEnabled: false)
    let before = bench.snapshot
    for isOn in [true, false, true, false] {
      bench.now = bench.now + Micros(777_777)
      bench.handle(.enable(isOn))
      #expect(bench.snapshot.state.tempo == 123.45)
      let beats = bench.snapshot.state.timeline.beats(at: bench.now)
      #expect(abs((beats - before.state.timeline.beats(at: bench.now)).millionths) <= 2)
    }
    #expect(bench.takeEvents().isEmpty)
  }

  @Test func `enabling Link draws a new node id each time`() {
    var bench = Bench(isEnabled: false)
    var names: Set<UInt64> = [bench.snapshot.node.rawValue]
    for _ in 0..<20 {
      bench.handle(.enable(true))
      #expect(names.insert(bench.snapshot.node.rawValue).inserted)
      #expect(bench.snapshot.session == bench.snapshot.node)
      bench.handle(.enable(false))
    }
  }

  @Test func `disabling Link beside peers founds a new session, too`() {
    var bench = Bench()
    bench.meet(Stranger(7, memberOf: bench))
    let before = bench.snapshot
    _ = bench.takeEvents()
    bench.handle(.enable(false))
    #expect(bench.takeEvents() == [.peers(0)])
    #expect(bench.snapshot.session != before.session)
    #expect(!bench.snapshot.state.isConnected)
  }

  @Test func `a session that we did not join is measured again after 3 s`() {
    var bench = Bench()
    var stranger = stranger(UInt64.max, olderBy: -10_000_000, than: bench)
    bench.meet(stranger)
    bench.answerPings(as: stranger)
    _ = bench.takeSent()
    for _ in 0..<29 {
      bench.wait(100_000)
      stranger.state.timeline.beatOrigin = stranger.state.timeline.beatOrigin + Beats(1)
      bench.meet(stranger)
    }
    #expect(bench.takeSent().allSatisfy { $0.ping == nil })
    #expect(bench.snapshot.session == bench.snapshot.node)
    for _ in 0..<60 {
      bench.wait(100_000)
      bench.meet(stranger)
    }
    #expect(
      bench.takeSent().contains { $0.ping != nil }, "should have yielded by now, so it is measured again")
  }

  @Test func `a session is joined with its latest known timeline`() {
    var bench = Bench()
    var stranger = Stranger(7)
    bench.meet(stranger)
    stranger.state.timeline = Timeline(
      tempo: Tempo(microsPerBeat: 400_000), beatOrigin: stranger.state.timeline.beatOrigin + Beats(1),
      timeOrigin: Micros(61_000_000))
    bench.meet(stranger)
    bench.answerPings(as: stranger)
    #expect(bench.snapshot.sessionTimeline == stranger.state.timeline)
  }

  @Test func `a session whose peers all left while it was measured is not joined`() {
    var bench = Bench()
    let stranger = Stranger(7)
    bench.meet(stranger)
    bench.answerPings(as: stranger, atMost: 10)
    bench.receive(stranger.byeBye, from: stranger.source)
    bench.answerPings(as: stranger)
    #expect(bench.snapshot.session == bench.snapshot.node)
    #expect(bench.machine.measurements.isEmpty)
    #expect(bench.machine.load.sessions == 0)
  }

  @Test func `peers are counted by their announced session`() {
    var bench = Bench()
    for name in 1...5 { bench.meet(Stranger(UInt64(name), memberOf: bench)) }
    #expect(bench.snapshot.peerCount == 5)
    var mover = Stranger(3, memberOf: bench)
    mover.state.session = NodeID(rawValue: 99)
    bench.meet(mover)
    #expect(bench.snapshot.peerCount == 4)
    mover.state.session = bench.snapshot.session
    bench.meet(mover)
    #expect(bench.snapshot.peerCount == 5)
    #expect(bench.events == [1, 2, 3, 4, 5, 4, 5].map { .peers($0) })
  }

  @Test func `a tempo outside of the range of Link is clamped`() {
    for (microsPerBeat, tempo) in [(Int64(1), 999.0), (1_000_000_000, 20), (60_060, 999)] {
      var bench = Bench()
      var stranger = Stranger(7, memberOf: bench)
      stranger.state.timeline.tempo = Tempo(microsPerBeat: microsPerBeat)
      stranger.state.timeline.beatOrigin = Beats(1)
      bench.meet(stranger)
      #expect(bench.snapshot.state.tempo == tempo)
      bench.commitTempo(tempo == 20 ? 5 : 5000)
      #expect(bench.snapshot.state.tempo == tempo)
    }
    #expect(Bench(tempo: 1, isEnabled: false).snapshot.state.tempo == 20)
    #expect(Bench(tempo: 100_000, isEnabled: false).snapshot.state.tempo == 999)
    #expect(Bench(tempo: .nan, isEnabled: false).snapshot.state.tempo == 20)
  }

  @Test func `a change made for a session that we left is dropped`() {
    var bench = Bench(tempo: 100)
    let captured = bench.snapshot
    let stranger = Stranger(7)
    bench.meet(stranger)
    bench.answerPings(as: stranger)
    var edited = captured.state
    edited.setTempo(150, at: bench.now)
    bench.handle(
      .commit(
        SessionChange(
          timeline: edited.timeline, startStop: nil, at: bench.now, session: captured.session.rawValue)))
    #expect(bench.snapshot.sessionTimeline == stranger.state.timeline)
    #expect(bench.machine.counters.staleCommits == 1)
  }

  @Test func `a change made for a session that ours continues is kept`() {
    var bench = Bench()
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    let captured = bench.snapshot
    bench.receive(stranger.byeBye, from: stranger.source)
    bench.wait(Limits.farewellGrace.count)
    #expect(bench.snapshot.session != captured.session)
    var edited = captured.state
    edited.setTempo(150, at: bench.now)
    bench.handle(
      .commit(
        SessionChange(
          timeline: edited.timeline, startStop: nil, at: bench.now, session: captured.session.rawValue)))
    #expect(bench.snapshot.state.tempo == 150)
  }

  @Test func `when an event is delivered, the published state has its change`() {
    var bench = Bench()
    let stranger = Stranger(7)
    bench.published = []
    bench.receive(stranger.alive, from: stranger.source)
    bench.answerPings(as: stranger)
    #expect(bench.published.last == bench.snapshot)
    #expect(bench.published.last?.peerCount == 1)
    #expect(bench.published.last?.state.isConnected == true)
  }
}
