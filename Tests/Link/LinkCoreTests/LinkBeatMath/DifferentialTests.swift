// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkOracle
import Testing

/// Ableton's library (Debian's 3.0.6) and our code must give the same bits, in a million random cases for
/// each function.
@Suite struct DifferentialTests {
  static let cases = 1_000_000

  /// Draws random cases until the results differ, and prints that case, so that it can become a test.
  func expectNoDifference(
    seed: UInt64, _ name: String, _ ours: (inout RandomInput) -> String?
  ) {
    var dice = RandomInput(seed: seed)
    for index in 0..<Self.cases {
      if let difference = ours(&dice) {
        Issue.record("\(name), seed \(seed), case \(index): \(difference)")
        return
      }
    }
  }

  @Test func `numbers are rounded as in Ableton's library`() {
    expectNoDifference(seed: 1, "beats from double") { dice in
      let value = (dice.unit() - 0.5) * (dice.bits() % 2 == 0 ? 10 : 1e6)
      let halves = Double(dice.integer(-1000...1000)) * 0.5e-6
      for number in [value, halves] where Beats(number).millionths != oracle_beats(number) {
        return "\(number)"
      }
      return nil
    }
  }

  @Test func `tempos are converted as in Ableton's library`() {
    expectNoDifference(seed: 2, "tempo") { dice in
      let bpm = dice.tempo(), time = dice.micros(), beats = dice.beats(), wire = dice.integer(1...10_000_000)
      let tempo = Tempo(bpm)
      let same =
        tempo.microsPerBeat == oracle_micros_per_beat(bpm)
        && Tempo(microsPerBeat: wire).beatsPerMinute == oracle_bpm_of_micros_per_beat(wire)
        && tempo.beats(in: Micros(time)).millionths == oracle_micros_to_beats(bpm, time)
        && tempo.micros(in: Beats(millionths: beats)).count == oracle_beats_to_micros(bpm, beats)
      return same ? nil : "bpm \(bpm) time \(time) beats \(beats) wire \(wire)"
    }
  }

  @Test func `timelines map times and beats as in Ableton's library`() {
    expectNoDifference(seed: 3, "timeline") { dice in
      let line = dice.timeline(), time = dice.micros(), beats = dice.beats()
      let same =
        line.beats(at: Micros(time)).millionths == oracle_to_beats(line.oracle, time)
        && line.time(at: Beats(millionths: beats)).count == oracle_from_beats(line.oracle, beats)
      return same ? nil : "\(line) time \(time) beats \(beats)"
    }
  }

  @Test func `phases of beats match those of Ableton's library`() {
    expectNoDifference(seed: 4, "phase") { dice in
      let beats = dice.beats(), target = dice.beats(), quantum = dice.quantum()
      let ours = Beats(millionths: beats), aim = Beats(millionths: target), grid = Beats(millionths: quantum)
      let same =
        ours.phase(in: grid).millionths == oracle_phase(beats, quantum)
        && ours.nextMatchingPhase(of: aim, quantum: grid).millionths
          == oracle_next_phase_match(beats, target, quantum)
        && ours.closestMatchingPhase(of: aim, quantum: grid).millionths
          == oracle_closest_phase_match(beats, target, quantum)
      return same ? nil : "beats \(beats) target \(target) quantum \(quantum)"
    }
  }

  @Test func `the beat with a wanted phase is that of Ableton's library`() {
    expectNoDifference(seed: 5, "phase encoding") { dice in
      let line = dice.timeline(), time = dice.micros(), beats = dice.beats(), quantum = dice.quantum()
      let grid = Beats(millionths: quantum)
      let same =
        line.phaseEncodedBeats(at: Micros(time), quantum: grid).millionths
        == oracle_to_phase_encoded(line.oracle, time, quantum)
        && line.time(atPhaseEncoded: Beats(millionths: beats), quantum: grid).count
          == oracle_from_phase_encoded(line.oracle, beats, quantum)
      return same ? nil : "\(line) time \(time) beats \(beats) quantum \(quantum)"
    }
  }

  @Test func `maps from host time to session time match Ableton's library`() {
    expectNoDifference(seed: 6, "ghost map") { dice in
      let map = GhostMap(intercept: Micros(dice.micros())), time = dice.micros()
      let same =
        map.ghost(atHost: Micros(time)).count == oracle_host_to_ghost(map.oracle, time)
        && map.host(atGhost: Micros(time)).count == oracle_ghost_to_host(map.oracle, time)
      return same ? nil : "\(map) time \(time)"
    }
  }

  @Test func `following a session's timeline matches Ableton's library`() {
    expectNoDifference(seed: 7, "client from session") { dice in
      let client = dice.timeline(), session = dice.timeline(), now = dice.micros(), map = dice.map()
      let ours = client.following(session: session, at: Micros(now), by: map)
      let theirs = oracle_client_from_session(client.oracle, session.oracle, now, map.oracle)
      return ours == Timeline(theirs) ? nil : "\(client) \(session) now \(now) \(map)"
    }
  }

  @Test func `committing a timeline to a session matches Ableton's library`() {
    expectNoDifference(seed: 8, "session from client") { dice in
      let session = dice.timeline(), now = dice.micros(), map = dice.map()
      // Half of the clients match the session, so that "nothing changed" occurs, too.
      let client =
        dice.bits() % 2 == 0
        ? dice.timeline() : dice.timeline().following(session: session, at: Micros(now), by: map)
      let ours = session.committing(client: client, at: Micros(now), by: map)
      let theirs = oracle_session_from_client(session.oracle, client.oracle, now, map.oracle)
      return ours == Timeline(theirs) ? nil : "\(session) \(client) now \(now) \(map)"
    }
  }

  @Test func `shifting a client's timeline matches Ableton's library`() {
    expectNoDifference(seed: 9, "shift") { dice in
      let client = dice.timeline(), amount = dice.beats()
      var ours = client
      ours.shift(by: Beats(millionths: amount))
      return ours == Timeline(oracle_shift_client(client.oracle, amount)) ? nil : "\(client) by \(amount)"
    }
  }
}

/// The functions on a captured session state, as applications call them.
@Suite struct StateDifferentialTests {
  let base = DifferentialTests()

  @Test func `queries of a session state match Ableton's library`() {
    base.expectNoDifference(seed: 10, "queries") { dice in
      let state = dice.state(), time = dice.micros()
      let quantum = Beats(millionths: dice.quantum()).value, beat = Beats(millionths: dice.beats()).value
      let same =
        state.tempo == oracle_tempo(state.oracle)
        && state.beat(at: Micros(time), quantum: quantum) == oracle_beat_at_time(state.oracle, time, quantum)
        && state.phase(at: Micros(time), quantum: quantum)
          == oracle_phase_at_time(state.oracle, time, quantum)
        && state.time(atBeat: beat, quantum: quantum).count
          == oracle_time_at_beat(state.oracle, beat, quantum)
      return same ? nil : "\(state) time \(time) quantum \(quantum) beat \(beat)"
    }
  }

  @Test func `setting a tempo matches Ableton's library`() {
    base.expectNoDifference(seed: 11, "set tempo") { dice in
      let before = dice.state(), tempo = dice.askedTempo(), time = dice.micros()
      var ours = before
      ours.setTempo(tempo, at: Micros(time))
      return ours.sameAs(oracle_set_tempo(before.oracle, tempo, time)) ? nil : "\(before) \(tempo) at \(time)"
    }
  }

  /// After Link 3.0.6 has forced a beat, the beat at that time may be a microbeat later. Link 3.1 then forces
  /// the beat once more, a microsecond later, and so do we.
  private func forced(_ state: OracleState, _ beat: Double, _ time: Int64, _ quantum: Double) -> OracleState {
    let once = oracle_force_beat(state, beat, time, quantum)
    return oracle_beat_at_time(once, time, quantum) > Beats(beat).value
      ? oracle_force_beat(once, beat, time + 1, quantum) : once
  }

  @Test func `forcing a beat matches Ableton's library since version 3.1`() {
    var corrected = 0
    base.expectNoDifference(seed: 12, "force beat") { dice in
      let before = dice.state(), time = dice.micros()
      let quantum = Beats(millionths: dice.quantum()).value, beat = Beats(millionths: dice.beats()).value
      var ours = before
      ours.forceBeat(beat, at: Micros(time), quantum: quantum)
      if !ours.sameAs(oracle_force_beat(before.oracle, beat, time, quantum)) { corrected += 1 }
      let same = ours.sameAs(forced(before.oracle, beat, time, quantum))
      return same ? nil : "\(before) beat \(beat) at \(time) quantum \(quantum)"
    }
    #expect(corrected > 0, "no case reached the difference between 3.0.6 and 3.1")
  }

  @Test func `requesting a beat matches Ableton's library since version 3.1`() {
    base.expectNoDifference(seed: 13, "request beat") { dice in
      let before = dice.state(), time = dice.micros()
      let quantum = Beats(millionths: dice.quantum()).value, beat = Beats(millionths: dice.beats()).value
      var ours = before
      ours.requestBeat(beat, at: Micros(time), quantum: quantum)
      // If our result differs from that of Link 3.0.6, the library has left the beat a microbeat late. Then
      // our result must be that of Link 3.1 (`forced`).
      let old = oracle_request_beat(before.oracle, beat, time, quantum)
      if ours.sameAs(old) { return nil }
      var when = time
      if before.isConnected {
        let current = oracle_beat_at_time(before.oracle, time, quantum)
        let next = oracle_next_phase_match(
          oracle_beats(current), oracle_beats(beat), oracle_beats(quantum))
        when = oracle_time_at_beat(before.oracle, Beats(millionths: next).value, quantum)
      }
      let same = ours.sameAs(forced(before.oracle, beat, when, quantum))
      return same ? nil : "\(before) beat \(beat) at \(time) quantum \(quantum)"
    }
  }

  @Test func `starting on a beat matches Ableton's library since version 3.1`() {
    base.expectNoDifference(seed: 14, "start on a beat") { dice in
      let before = dice.state(), time = dice.micros(), plays = dice.bits() % 2 == 0
      let quantum = Beats(millionths: dice.quantum()).value, beat = Beats(millionths: dice.beats()).value
      var ours = before
      ours.setPlaying(plays, at: Micros(time), requestingBeat: beat, quantum: quantum)
      let old = oracle_set_playing(before.oracle, plays, time, beat, quantum)
      guard ours.isPlaying == old.isPlaying, ours.timeOfPlaying.count == old.time else {
        return "\(before) \(plays) at \(time)"
      }
      if ours.sameAs(old) { return nil }
      var requested = before
      requested.setPlaying(plays, at: Micros(time))
      requested.requestBeat(beat, at: Micros(time), quantum: quantum)
      return ours == requested ? nil : "\(before) beat \(beat) at \(time) quantum \(quantum)"
    }
  }
}

extension Timeline {
  init(_ oracle: OracleTimeline) {
    self.init(
      tempo: Tempo(oracle.bpm), beatOrigin: Beats(millionths: oracle.beatOrigin),
      timeOrigin: Micros(oracle.timeOrigin))
  }

  var oracle: OracleTimeline {
    OracleTimeline(bpm: tempo.beatsPerMinute, beatOrigin: beatOrigin.millionths, timeOrigin: timeOrigin.count)
  }
}

extension GhostMap {
  var oracle: OracleGhostMap { OracleGhostMap(slope: 1, intercept: intercept.count) }
}

extension SessionState {
  var oracle: OracleState {
    OracleState(
      timeline: timeline.oracle, isPlaying: isPlaying, time: timeOfPlaying.count, isConnected: isConnected)
  }

  func sameAs(_ other: OracleState) -> Bool {
    timeline == Timeline(other.timeline) && isPlaying == other.isPlaying && timeOfPlaying.count == other.time
  }
}
