// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession

/// Ableton's library follows any beat that a peer announces. We must follow it, too, at the correct time.
@Suite struct FarBeatTests {
  static let origins: [Int64] = [1 << 50, 1 << 54, 1 << 60, 1 << 62, .max - 1 << 52, -1 << 62]

  /// The beat of a timeline at a time, in microbeats, computed without the code under test.
  private func beat(of line: Timeline, at time: Micros) -> Int64 {
    let elapsed = Int128(time.count) - Int128(line.timeOrigin.count)
    return Int64(Int128(line.beatOrigin.millionths) + elapsed * 1_000_000 / Int128(line.tempo.microsPerBeat))
  }

  private func expectHeard(_ line: Timeline, by bench: Bench, _ comment: Comment) {
    #expect(bench.machine.timeline == line, comment)
    for later in [0, 1_234_567, 60_000_000] as [Int64] {
      let host = bench.now + Micros(later)
      for quantum in [1, 3, 4, 16] as [Int64] {
        let exact = beat(of: line, at: bench.machine.ghost.ghost(atHost: host))
        let heard = Beats(bench.snapshot.state.phase(at: host, quantum: Double(quantum))).millionths
        var apart = (heard - exact % (quantum * 1_000_000)) % (quantum * 1_000_000)
        if apart < 0 { apart += quantum * 1_000_000 }
        #expect(apart <= 20 || apart >= quantum * 1_000_000 - 20, "\(comment): \(apart) of \(quantum)")
      }
    }
  }

  /// The timeline after a change of tempo, by the rule of Ableton's library (facts: link 7.7).
  private func change(of line: Timeline, toMicrosPerBeat tempo: Int64, at time: Micros) -> Timeline {
    let current = beat(of: line, at: time)
    let origin = max(current, line.beatOrigin.millionths + 1)
    let ahead = Int128(origin - current) * Int128(tempo) / 1_000_000
    return Timeline(
      tempo: Tempo(microsPerBeat: tempo), beatOrigin: Beats(millionths: origin),
      timeOrigin: time + Micros(Int64(ahead)))
  }

  private func meeting(_ line: Timeline) -> (Bench, Stranger) {
    var bench = Bench(tempo: 130)
    bench.handle(.enableStartStopSync(true))
    bench.wait(3_000_000)
    var stranger = Stranger(7, memberOf: bench)
    // A lower beat origin never wins within one session. So for this case the stranger has an older session
    // that we join.
    if line.beatOrigin < .zero {
      stranger.state.session = NodeID(rawValue: 7)
      stranger.ghost.intercept = stranger.ghost.intercept + Micros(1_000_000_000)
    }
    stranger.state.timeline = line
    bench.meet(stranger)
    bench.answerPings(as: stranger)
    return (bench, stranger)
  }

  private func expectToFollowAndLead(_ line: Timeline, _ comment: Comment) {
    var (bench, stranger) = meeting(line)
    expectHeard(line, by: bench, comment)
    for tempo in [3_000_000, 60_061, 500_000] as [Int64] {
      bench.wait(250_000, answering: stranger)
      stranger.state.timeline = change(
        of: bench.machine.timeline, toMicrosPerBeat: tempo, at: bench.machine.ghost.ghost(atHost: bench.now))
      bench.meet(stranger)
      expectHeard(stranger.state.timeline, by: bench, "\(comment), theirs of \(tempo)")
      bench.wait(250_000, answering: stranger)
      let before = bench.machine.timeline
      let time = bench.machine.ghost.ghost(atHost: bench.now)
      _ = bench.takeSent()
      bench.commitTempo(97)
      bench.wait(100_000, answering: stranger)
      guard let said = bench.takeAlives().last?.timeline else {
        Issue.record("\(comment): nothing said")
        return
      }
      #expect(said.tempo.microsPerBeat == 618_557, comment)
      #expect(said.beatOrigin > before.beatOrigin, comment)
      #expect(abs(beat(of: said, at: time) - beat(of: before, at: time)) <= 20, comment)
      expectHeard(bench.machine.timeline, by: bench, "\(comment), ours")
      stranger.state.timeline = said
      bench.meet(stranger)
    }
  }

  @Test(arguments: origins)
  func `a beat is at the right time, however far from zero it is`(origin: Int64) {
    for tempo in [60_061, 500_000, 3_000_000] as [Int64] {
      let line = Timeline(
        tempo: Tempo(microsPerBeat: tempo), beatOrigin: Beats(millionths: origin),
        timeOrigin: Micros(2_000_000))
      expectToFollowAndLead(line, "from \(origin) at \(tempo)")
    }
  }

  /// The timeline begins far ahead of the current beat.
  @Test(arguments: [1 << 40, 1 << 50, 1 << 58, 1 << 61] as [Int64])
  func `a timeline that begins far in the future is followed exactly`(lead: Int64) {
    let line = Timeline(
      tempo: Tempo(microsPerBeat: 500_000), beatOrigin: Beats(millionths: lead),
      timeOrigin: Micros(1_000_000 + lead / 2))
    expectToFollowAndLead(line, "\(lead) ahead")
  }

  @Test(arguments: origins.filter { $0 > 0 })
  func `a start at a beat far from zero happens at its time`(origin: Int64) {
    let line = Timeline(
      tempo: Tempo(microsPerBeat: 500_000), beatOrigin: Beats(millionths: origin),
      timeOrigin: Micros(2_000_000))
    var (bench, stranger) = meeting(line)
    let time = bench.machine.ghost.ghost(atHost: bench.now)
    stranger.state.startStop = SessionStartStop(
      isPlaying: true, beats: Beats(millionths: beat(of: line, at: time) + 8_000_000), timestamp: time)
    bench.meet(stranger)
    #expect(bench.snapshot.state.isPlaying)
    #expect(bench.snapshot.state.timeOfPlaying == bench.now + Micros(4_000_000))
    bench.wait(250_000)
    _ = bench.takeSent()
    bench.commitPlaying(false)
    let now = beat(of: line, at: bench.machine.ghost.ghost(atHost: bench.now))
    bench.wait(100_000)
    #expect(bench.takeAlives().last.map { abs($0.startStop.beats.millionths - now) <= 2 } == true)
  }
}
