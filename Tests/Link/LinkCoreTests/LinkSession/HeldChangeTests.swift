// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession

/// A user's changes between the end of a laptop's sleep and the new measurement of the session's clock. The
/// host time of a suspended machine stands still: the peer's clock is 9.1 s ahead of the old measurement.
@Suite("Changes while the clock is in doubt")
struct HeldChangeTests {
  private var bench = Bench()
  private var peer: Stranger

  init() {
    peer = Stranger(7, memberOf: bench)
    bench.meet(peer)
    bench.handle(.enableStartStopSync(true))
    bench.wait(1_000_000)
    _ = bench.takeSent()
    peer.ghost.intercept = peer.ghost.intercept + Micros(9_100_000)
    bench.handle(.clockDisturbed)
  }

  private mutating func commit(tempo: Double) {
    var state = bench.snapshot.state
    state.setTempo(tempo, at: bench.now)
    bench.handle(.commit(SessionChange(timeline: state.timeline, startStop: nil, at: bench.now)))
  }

  private var alives: [PeerState] { bench.sent.compactMap(\.alive) }

  /// The peer's current beat by a session timeline.
  private func beat(by timeline: Timeline) -> Beats {
    timeline.exactBeats(at: peer.ghost.ghost(atHost: bench.now))
  }

  @Test mutating func `a tempo set after a sleep moves no peer's beat`() throws {
    commit(tempo: 150)
    #expect(alives.allSatisfy { $0.timeline == peer.state.timeline })
    bench.wait(1, answering: peer)
    let told = try #require(alives.last).timeline
    #expect(abs(told.tempo.beatsPerMinute - 150) < 0.001)
    #expect(abs((beat(by: told) - beat(by: peer.state.timeline)).millionths) <= 2)
    #expect(abs(bench.snapshot.state.tempo - 150) < 0.001)
  }

  @Test mutating func `if several tempos are set after a sleep, only the last is sent`() throws {
    commit(tempo: 150)
    commit(tempo: 90)
    bench.wait(1, answering: peer)
    let told = try #require(alives.last).timeline
    #expect(abs(told.tempo.beatsPerMinute - 90) < 0.001)
    #expect(abs((beat(by: told) - beat(by: peer.state.timeline)).millionths) <= 2)
  }

  @Test mutating func `moving the beat after a sleep moves the peers' beat equally far`() throws {
    var state = bench.snapshot.state
    state.timeline.shift(by: Beats(millionths: 250_000))
    bench.handle(.commit(SessionChange(timeline: state.timeline, startStop: nil, at: bench.now)))
    bench.wait(1, answering: peer)
    let told = try #require(alives.last).timeline
    #expect(abs((beat(by: told) - beat(by: peer.state.timeline)).millionths - 250_000) <= 2)
  }

  @Test mutating func `a start after a sleep is at the peer's beat at that time`() throws {
    commit(tempo: 150)
    let start = ClientStartStop(isPlaying: true, time: bench.now, timestamp: bench.now)
    bench.handle(.commit(SessionChange(timeline: nil, startStop: start, at: bench.now)))
    #expect(alives.allSatisfy { !$0.startStop.isPlaying })
    bench.wait(1, answering: peer)
    let told = try #require(alives.last)
    #expect(told.startStop.isPlaying && abs(told.timeline.tempo.beatsPerMinute - 150) < 0.001)
    #expect(abs((told.startStop.beats - beat(by: told.timeline)).millionths) <= 10)
  }

  @Test mutating func `a change after a sleep is sent after 1 s if no peer gives the time`() throws {
    commit(tempo: 150)
    for _ in 0..<8 {
      bench.wait(250_000)
      bench.meet(peer)
    }
    #expect(abs(try #require(alives.last).timeline.tempo.beatsPerMinute - 150) < 0.001)
  }

  @Test mutating func `a tempo set after a sleep stays when Link is switched off`() {
    commit(tempo: 150)
    bench.handle(.enable(false))
    #expect(abs(bench.snapshot.state.tempo - 150) < 0.001)
  }
}
