// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession

@Suite struct StartStopTests {
  private func connected(follows: Bool = true) -> (Bench, Stranger) {
    var bench = Bench()
    if follows { bench.handle(.enableStartStopSync(true)) }
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    bench.wait(1_000_000)
    _ = bench.takeSent()
    _ = bench.takeEvents()
    return (bench, stranger)
  }

  private func start(_ stranger: inout Stranger, isPlaying: Bool = true, stamp: Int64, beat: Double = 8) {
    stranger.state.startStop = SessionStartStop(
      isPlaying: isPlaying, beats: Beats(beat), timestamp: Micros(stamp))
  }

  @Test func `a peer's start is followed and mapped to our time`() {
    var (bench, stranger) = connected()
    start(&stranger, stamp: 900_000)
    bench.meet(stranger)
    #expect(bench.takeEvents() == [.startStop(true)])
    let startStop = bench.snapshot.state.startStop
    #expect(startStop.time == Micros(50_000_000 + 4_000_000))
    #expect(startStop.timestamp == Micros(50_900_000))
  }

  @Test func `only a start or stop with a later time stamp is taken`() {
    for (stamp, isTaken) in [(Int64(500_001), true), (500_000, false), (499_999, false)] {
      var (bench, stranger) = connected()
      start(&stranger, stamp: 500_000)
      bench.meet(stranger)
      _ = bench.takeEvents()
      start(&stranger, isPlaying: false, stamp: stamp)
      bench.meet(stranger)
      #expect(bench.takeEvents() == (isTaken ? [.startStop(false)] : []))
    }
  }

  @Test func `without start/stop sync a start is passed on but not followed`() {
    var (bench, stranger) = connected(follows: false)
    start(&stranger, stamp: 900_000)
    bench.meet(stranger)
    bench.wait(50_000)
    #expect(bench.takeAlives().last?.startStop == stranger.state.startStop)
    #expect(bench.takeEvents().isEmpty)
    #expect(!bench.snapshot.state.isPlaying && bench.snapshot.sessionPlays)
    start(&stranger, isPlaying: false, stamp: 950_000)
    bench.meet(stranger)
    #expect(!bench.snapshot.sessionPlays)
  }

  @Test func `switching start/stop sync on sends nothing and starts nothing`() {
    var (bench, stranger) = connected(follows: false)
    start(&stranger, stamp: 900_000)
    bench.meet(stranger)
    bench.wait(100_000)
    _ = bench.takeSent()
    bench.handle(.enableStartStopSync(true))
    #expect(bench.takeSent().isEmpty)
    bench.meet(stranger)
    #expect(bench.takeEvents().isEmpty)
    #expect(!bench.snapshot.state.isPlaying)
    #expect(bench.snapshot.isStartStopSyncEnabled)
  }

  @Test func `our start is sent to the session only with start/stop sync`() {
    for follows in [true, false] {
      var (bench, _) = connected(follows: follows)
      bench.commitPlaying(true)
      #expect(bench.takeEvents() == [.startStop(true)])
      #expect(bench.snapshot.state.isPlaying)
      bench.wait(50_000)
      let told = bench.takeAlives()
      #expect(told.contains { $0.startStop.isPlaying } == follows)
      if follows {
        #expect(told.last?.startStop.timestamp == Micros(1_000_000))
        #expect(told.last?.startStop.beats == Beats(2))
      }
    }
  }

  @Test func `a start or stop that is not later than our last is ignored`() {
    var (bench, _) = connected()
    bench.commitPlaying(true)
    bench.commitPlaying(false)
    #expect(bench.snapshot.state.isPlaying)
    #expect(bench.takeEvents() == [.startStop(true)])
    bench.now = bench.now + Micros(1)
    bench.commitPlaying(false)
    #expect(bench.takeEvents() == [.startStop(false)])
  }

  @Test func `a stop of our own that is later than a peer's start replaces it`() {
    var (bench, stranger) = connected()
    start(&stranger, stamp: 1_200_000)
    bench.meet(stranger)
    // The client accepts a commit that is later than the client's last commit. The session accepts a commit
    // only if it is later than the session's last start or stop.
    bench.now = bench.now + Micros(300_000)
    bench.commitPlaying(false)
    #expect(!bench.machine.startStop.isPlaying)
    #expect(bench.machine.startStop.timestamp == Micros(1_300_000))
  }

  @Test func `joining a session that plays does not start our program`() {
    var bench = Bench()
    bench.handle(.enableStartStopSync(true))
    var stranger = Stranger(7)
    start(&stranger, stamp: 91_000_000)
    bench.meet(stranger)
    stranger.ghost = GhostMap(intercept: Micros(100_000_000) - bench.now)
    bench.answerPings(as: stranger)
    #expect(bench.snapshot.session == stranger.state.session)
    for _ in 0..<5 {
      bench.wait(250_000)
      bench.meet(stranger)
    }
    #expect(!bench.snapshot.state.isPlaying)
    #expect(bench.machine.startStop == .unset)
    start(&stranger, stamp: 100_500_000)
    bench.meet(stranger)
    #expect(bench.snapshot.state.isPlaying)
  }

  @Test func `joining a session keeps our own start`() {
    var bench = Bench()
    bench.handle(.enableStartStopSync(true))
    bench.now = bench.now + Micros(10)
    bench.commitPlaying(true)
    let stranger = Stranger(7)
    bench.meet(stranger)
    bench.answerPings(as: stranger)
    #expect(bench.snapshot.session == stranger.state.session)
    #expect(bench.snapshot.state.isPlaying)
    #expect(bench.machine.startStop == .unset)
  }

  @Test func `a tempo change keeps the beat of a start and moves its time`() {
    var (bench, stranger) = connected()
    start(&stranger, stamp: 900_000, beat: 8)
    bench.meet(stranger)
    bench.commitTempo(60)
    let state = bench.snapshot.state
    #expect(abs((state.timeline.beats(at: state.timeOfPlaying) - Beats(8)).millionths) <= 1)
  }

  @Test func `once start/stop sync is on, a tempo change applies an earlier start`() {
    var (bench, stranger) = connected(follows: false)
    start(&stranger, stamp: 900_000)
    bench.meet(stranger)
    bench.handle(.enableStartStopSync(true))
    #expect(!bench.snapshot.state.isPlaying)
    bench.commitTempo(60)
    #expect(bench.snapshot.state.isPlaying)
    #expect(bench.takeEvents() == [.tempo(60), .startStop(true)])
  }

  @Test func `a peer that sends no start/stop state stops no other peer`() {
    var (bench, stranger) = connected()
    bench.commitPlaying(true)
    stranger.state.startStop = .unset
    bench.meet(stranger)
    #expect(bench.snapshot.state.isPlaying)
  }

  @Test func `a start with a time stamp far in the future blocks no later start`() {
    for stamp in [Int64.max, 999_999_999_999_999, 6_100_000] {
      var (bench, stranger) = connected()
      start(&stranger, stamp: stamp)
      bench.meet(stranger)
      #expect(bench.takeEvents().isEmpty)
      #expect(bench.machine.counters.implausible == 1)
      bench.commitPlaying(true)
      #expect(bench.machine.startStop.isPlaying)
    }
  }

  /// The clocks of two peers may differ by seconds for a while, after a false time or on a poor network. The
  /// user's last action must win all the same.
  @Test func `a peer whose clock is ahead does not block our user's starts`() {
    for ahead in [Int64(2), 4_000_000] {
      var (bench, stranger) = connected()
      start(&stranger, stamp: 1_000_000 + ahead)
      bench.meet(stranger)
      #expect(bench.snapshot.state.isPlaying)
      bench.wait(1)
      bench.commitPlaying(false)
      #expect(!bench.snapshot.state.isPlaying)
      #expect(!bench.machine.startStop.isPlaying)
      #expect(bench.machine.startStop.timestamp == Micros(1_000_000 + ahead + 1))
      bench.wait(50_000)
      #expect(bench.takeAlives().last?.startStop.isPlaying == false, "and everybody hears of it")
    }
  }

  @Test func `a start stamped too far ahead is followed once our clock is near it`() {
    var (bench, stranger) = connected()
    start(&stranger, stamp: 9_000_000)
    bench.meet(stranger)
    #expect(!bench.snapshot.state.isPlaying)
    bench.wait(4_000_000)
    bench.meet(stranger)
    #expect(bench.snapshot.state.isPlaying)
  }
}
