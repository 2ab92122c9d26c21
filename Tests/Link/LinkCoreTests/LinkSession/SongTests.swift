// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession

@Suite("Song sync in one machine") struct SongTests {
  private func line(at beat: Double, song: Double, meter: UInt8 = 4, type: UInt8 = 4) -> SongLine {
    SongLine(sessionBeat: Beats(beat), songBeat: Beats(song), beatsPerBar: meter, beatType: type)
  }

  private func song(_ stamp: Int64, at beat: Double = 8, song: Double = 64) -> SessionSong {
    SessionSong(line: line(at: beat, song: song), timestamp: Micros(stamp))
  }

  /// A machine with song sync, a second after it met a peer of its own session.
  private func connected(isOn: Bool = true) -> (Bench, Stranger) {
    var bench = Bench()
    if isOn { bench.handle(.enableSongSync(true)) }
    let stranger = Stranger(7, memberOf: bench)
    bench.meet(stranger)
    bench.wait(1_000_000)
    _ = bench.takeSent()
    return (bench, stranger)
  }

  private func tell(_ song: SessionSong?, _ bench: inout Bench, _ stranger: inout Stranger) {
    stranger.state.song = song
    bench.meet(stranger)
  }

  /// The present beat of the client.
  private func beat(_ bench: Bench) -> Double { bench.snapshot.state.timeline.beats(at: bench.now).value }

  @discardableResult
  private func decide(_ line: SongLine, _ bench: inout Bench) -> SessionChange? {
    var state = bench.snapshot.state
    state.setSongLine(line)
    let change = state.change(at: bench.now)
    if let change { bench.handle(.commit(change)) }
    return change
  }

  @Test func `a peer's song line is obeyed and passed on`() {
    var (bench, stranger) = connected()
    tell(song(900_000), &bench, &stranger)
    #expect(bench.snapshot.state.songLine == line(at: 8, song: 64))
    #expect(bench.snapshot.state.songDecision == 1)
    bench.wait(50_000)
    #expect(bench.takeAlives().last?.song == song(900_000))
    tell(song(900_000), &bench, &stranger)
    #expect(bench.snapshot.state.songDecision == 1)
  }

  @Test func `a peer's song line is taken only if it was decided later than ours`() {
    for (stamp, isTaken) in [(Int64(500_001), true), (499_999, false), (-9, false)] {
      var (bench, stranger) = connected()
      tell(song(500_000), &bench, &stranger)
      tell(song(stamp, song: 2), &bench, &stranger)
      #expect(bench.snapshot.state.songLine?.songBeat == Beats(isTaken ? 2 : 64))
      #expect(bench.snapshot.state.songDecision == (isTaken ? 2 : 1))
    }
  }

  @Test func `of two song lines of one microsecond all machines take the same`() {
    let two = [song(500_000, song: 2), song(500_000, song: 3)]
    for order in [two, two.reversed()] {
      var (bench, stranger) = connected()
      for song in order { tell(song, &bench, &stranger) }
      #expect(bench.snapshot.state.songLine?.songBeat == Beats(3))
    }
  }

  @Test func `a peer that sends no song line does not remove the session's`() {
    var (bench, stranger) = connected()
    tell(song(500_000), &bench, &stranger)
    tell(nil, &bench, &stranger)
    #expect(bench.snapshot.state.songLine != nil)
  }

  @Test func `a song line under a known id from another host is obeyed`() {
    var (bench, stranger) = connected()
    var state = stranger.state
    state.song = song(900_000)
    bench.receive(encodeAlive(state), from: Stranger(8).source)
    #expect(bench.snapshot.state.songLine != nil)
    stranger.state.song = nil
  }

  @Test func `an impossible song line is ignored, but not the rest of its message`() {
    let far = Limits.farthestSong.millionths
    let lines = [
      line(at: 8, song: -1), line(at: 8, song: 0, meter: 0), line(at: 8, song: 0, meter: 65),
      line(at: 8, song: 0, type: 0), line(at: 8, song: 0, type: 3), line(at: 8, song: 0, type: 64),
      line(at: 8, song: 0, type: 255), line(at: 5.1e9, song: 0), line(at: -5.1e9, song: 0),
      line(at: 8, song: 5.1e9),
    ]
    let extremes = [Int64.min, .min + 1, -far - 3_000_000, far + 3_000_000, .max - 1, .max].map {
      SongLine(sessionBeat: Beats(millionths: $0), songBeat: .zero, beatsPerBar: 4, beatType: 4)
    }
    var hostile = (lines + extremes).map { SessionSong(line: $0, timestamp: Micros(900_000)) }
    hostile += [Int64.min, -100_000_000_000_001, 6_100_000, .max].map { song($0) }
    for wrong in hostile {
      var (bench, stranger) = connected()
      stranger.state.startStop = SessionStartStop(
        isPlaying: true, beats: .zero, timestamp: Micros(900_000))
      tell(wrong, &bench, &stranger)
      #expect(bench.snapshot.state.songLine == nil, "\(wrong)")
      #expect(bench.machine.counters.implausible == 1 && bench.snapshot.sessionPlays, "\(wrong)")
    }
  }

  @Test func `every possible song line is obeyed`() {
    for beatType in [1, 2, 4, 8, 16, 32] as [UInt8] {
      for meter in [1, 64] as [UInt8] {
        var (bench, stranger) = connected()
        let told = line(at: -4.9e9, song: 4.9e9, meter: meter, type: beatType)
        tell(SessionSong(line: told, timestamp: Micros(5_900_000)), &bench, &stranger)
        #expect(bench.snapshot.state.songLine == told)
      }
    }
  }

  @Test func `a song line stamped too far ahead is obeyed when our clock is near it`() {
    var (bench, stranger) = connected()
    tell(song(9_000_000), &bench, &stranger)
    #expect(bench.snapshot.state.songLine == nil)
    bench.wait(4_000_000)
    bench.meet(stranger)
    #expect(bench.snapshot.state.songLine != nil)
  }

  @Test func `without song sync no song line is obeyed, sent or decided`() {
    var (bench, stranger) = connected(isOn: false)
    tell(song(900_000), &bench, &stranger)
    decide(line(at: 1, song: 1), &bench)
    #expect(bench.snapshot.state.songLine == nil && bench.snapshot.state.songDecision == 0)
    bench.wait(1_000_000)
    #expect(bench.takeAlives().allSatisfy { $0.song == nil })
  }

  @Test func `switching song sync on obeys the session's song line at once`() {
    var (bench, stranger) = connected(isOn: false)
    tell(song(900_000), &bench, &stranger)
    bench.handle(.enableSongSync(true))
    #expect(bench.snapshot.state.songLine == line(at: 8, song: 64))
    bench.handle(.enableSongSync(false))
    #expect(bench.snapshot.state.songLine == nil)
    _ = bench.takeSent()
    bench.wait(1_000_000)
    #expect(bench.takeAlives().allSatisfy { $0.song == nil })
  }

  @Test func `our own song line is sent at once in the session's beats`() throws {
    var (bench, _) = connected()
    // Our client counts other beats than the session.
    var state = bench.snapshot.state
    state.timeline.beatOrigin = Beats(1_000)
    bench.handle(.commit(try #require(state.change(at: bench.now))))
    decide(line(at: 1_016, song: 32), &bench)
    #expect(bench.snapshot.state.songLine == line(at: 1_016, song: 32))
    #expect(bench.snapshot.state.songDecision == 1)
    bench.wait(50_000)
    let told = SessionSong(line: line(at: 16, song: 32), timestamp: Micros(1_000_000))
    #expect(bench.takeAlives().last?.song == told)
  }

  @Test func `setting the same song line again is a new decision`() {
    var (bench, _) = connected()
    for count in 1...3 {
      decide(line(at: 4, song: 4), &bench)
      #expect(bench.snapshot.state.songDecision == UInt64(count))
    }
    #expect(bench.machine.song?.timestamp == Micros(1_000_002))
  }

  @Test func `a peer whose clock is ahead does not block our song lines`() {
    for ahead in [Int64(2), 4_999_999, 5_000_000] {
      var (bench, stranger) = connected()
      tell(song(1_000_000 + ahead), &bench, &stranger)
      decide(line(at: 1, song: 1), &bench)
      #expect(bench.machine.song?.timestamp == Micros(1_000_001 + ahead))
      #expect(bench.snapshot.state.songLine == line(at: 1, song: 1))
    }
  }

  @Test func `an absurd song line from our user changes nothing`() {
    for wrong in [line(at: 1e10, song: 1), line(at: 1, song: 1e10), line(at: 1, song: 1, meter: 0)] {
      var (bench, _) = connected()
      decide(wrong, &bench)
      #expect(bench.snapshot.state.songLine == nil && bench.machine.counters.staleCommits == 1)
    }
  }

  @Test func `a tempo change moves no beat of the song`() throws {
    var (bench, stranger) = connected()
    tell(song(900_000), &bench, &stranger)
    var state = bench.snapshot.state
    state.setTempo(60, at: bench.now)
    bench.handle(.commit(try #require(state.change(at: bench.now))))
    #expect(bench.snapshot.state.songLine == line(at: 8, song: 64))
    #expect(bench.snapshot.state.songDecision == 1)
  }

  /// Joins the session of a stranger that announces this song line.
  private func joined(_ told: SessionSong?, after own: SongLine? = nil) -> (Bench, Stranger) {
    var bench = Bench()
    bench.handle(.enableSongSync(true))
    if let own { decide(own, &bench) }
    var stranger = Stranger(7)
    stranger.state.song = told
    bench.meet(stranger)
    bench.answerPings(as: stranger)
    return (bench, stranger)
  }

  @Test func `joining takes the session's song line without another message`() throws {
    let (bench, stranger) = joined(song(60_000_000, at: 100))
    #expect(bench.snapshot.session == stranger.state.session)
    let told = try #require(bench.snapshot.state.songLine)
    // In the client's own beats, the song line is as far from the present beat as in the session's beats.
    let present = stranger.state.timeline.beats(at: stranger.ghost.ghost(atHost: bench.now)).value
    #expect(abs((told.sessionBeat.value - beat(bench)) - (100 - present)) < 0.000_01)
    #expect(told.songBeat == Beats(64))
  }

  @Test func `joining a session drops our own song line`() {
    let own = line(at: 0, song: 16)
    #expect(joined(nil, after: own).0.snapshot.state.songLine == nil)
    #expect(joined(song(-4, at: 100), after: own).0.snapshot.state.songLine?.songBeat == Beats(64))
  }

  @Test func `a song line decided for a session that we have left is dropped`() throws {
    var bench = Bench()
    bench.handle(.enableSongSync(true))
    var state = bench.snapshot.state
    state.setSongLine(line(at: 1, song: 1))
    let late = try #require(state.change(at: bench.now))
    let stranger = Stranger(7)
    bench.meet(stranger)
    bench.answerPings(as: stranger)
    #expect(bench.snapshot.session == stranger.state.session)
    bench.handle(.commit(late))
    #expect(bench.snapshot.state.songLine == nil && bench.machine.counters.staleCommits == 1)
  }

  @Test func `a machine that is left alone keeps its song line for a returning peer`() {
    var (bench, stranger) = connected()
    tell(song(900_000), &bench, &stranger)
    let before = bench.snapshot
    bench.receive(stranger.byeBye, from: stranger.source)
    bench.wait(8_000_000)
    #expect(bench.snapshot.session != before.session)
    #expect(bench.snapshot.state.songLine == before.state.songLine)
    #expect(bench.snapshot.state.songDecision == 1)
    #expect(bench.machine.song?.timestamp.count ?? 0 < 0)
    bench.wait(250_000)
    #expect(bench.takeAlives().last?.song == bench.machine.song)
  }

  @Test func `at beats far from zero the client's song line has small numbers`() throws {
    var (bench, stranger) = connected()
    let far = Beats(millionths: 720_720_000_000 * 5_000_000)
    stranger.state.timeline = Timeline(
      tempo: Tempo(120), beatOrigin: far, timeOrigin: bench.machine.ghost.ghost(atHost: bench.now))
    let there = SongLine(sessionBeat: far + Beats(4), songBeat: Beats(9), beatsPerBar: 4, beatType: 4)
    tell(SessionSong(line: there, timestamp: Micros(900_000)), &bench, &stranger)
    bench.meet(stranger)
    let told = try #require(bench.snapshot.state.songLine)
    #expect(abs(told.sessionBeat.value - beat(bench) - 4) < 0.000_01)
    decide(told, &bench)
    #expect(bench.machine.song?.line.sessionBeat == far + Beats(4))
  }

  /// The session is 18.2 beats further than we thought: the song line is moved by whole bars.
  @Test(arguments: [(4, 4, 20), (7, 8, 17.5)] as [(UInt8, UInt8, Double)])
  func `a song line set after a sleep waits for the clock, then moves by bars`(
    meter: UInt8, type: UInt8, moved: Double
  ) {
    var (bench, stranger) = connected()
    stranger.ghost.intercept = stranger.ghost.intercept + Micros(9_100_000)
    bench.handle(.clockDisturbed)
    decide(line(at: 4, song: 16, meter: meter, type: type), &bench)
    #expect(bench.snapshot.state.songLine == nil)
    bench.wait(1, answering: stranger)
    #expect(bench.machine.song?.line == line(at: 4 + moved, song: 16, meter: meter, type: type))
  }

  @Test func `the audio thread sees its song line at once, and that of a peer`() throws {
    var (bench, stranger) = connected()
    var audio = AudioSession(bench.snapshot.state)
    var state = audio.capture(bench.snapshot.state, workedIn: 0, at: bench.now)
    state.setSongLine(line(at: 4, song: 1))
    let committed = audio.commit(state, at: bench.now, isEnabled: true)
    let change = try #require(committed)
    let pending = audio.capture(bench.snapshot.state, workedIn: 0, at: bench.now)
    #expect(pending.songLine == line(at: 4, song: 1) && pending.songDecision == 0)
    bench.handle(.commit(change))
    tell(song(1_000_100), &bench, &stranger)
    let seen = audio.capture(bench.snapshot.state, workedIn: 1, at: bench.now)
    #expect(seen.songLine == line(at: 8, song: 64) && seen.songDecision == 2)
  }

  @Test func `session states differ by the decision on a song line and by its edits`() {
    var (bench, stranger) = connected()
    let first = bench.snapshot.state
    tell(song(900_000), &bench, &stranger)
    let second = bench.snapshot.state
    var edited = second
    edited.setSongLine(line(at: 8, song: 64))
    #expect(first != second && second != edited && edited == edited)
    var other = second
    other.setSongLine(line(at: 8, song: 65))
    #expect(edited != other)
  }
}
