// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

/// The worked examples of the protocol's fact sheet, with one test for each rule.
private func line(_ bpm: Double, _ beat: Double, _ time: Int64) -> Timeline {
  Timeline(tempo: Tempo(bpm), beatOrigin: Beats(beat), timeOrigin: Micros(time))
}

private func state(_ timeline: Timeline, connected: Bool = false) -> SessionState {
  SessionState(
    timeline: timeline, startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero),
    isConnected: connected)
}

@Suite struct NumberExamples {
  @Test func `half a microbeat rounds away from zero`() {
    #expect(Beats(0.5e-6).millionths == 1)
    #expect(Beats(-0.5e-6).millionths == -1)
    #expect(Beats(0.5).millionths == 500_000)
  }

  @Test func `numbers out of range never trap`() {
    #expect(Int64(rounding: .nan) == 0)
    #expect(Int64(rounding: .infinity) == .max)
    #expect(Int64(rounding: -.infinity) == .min)
    #expect(Int64(flooring: -0.5) == -1)
    #expect(Int64(flooring: -1e300) == .min)
    #expect((Beats(millionths: .max) + Beats(millionths: 1)).millionths == .min)
    #expect(Beats(millionths: .min).phase(in: Beats(4)) >= .zero)
    let absurd = Timeline(tempo: Tempo(0), beatOrigin: Beats(millionths: .min), timeOrigin: Micros(.max))
    _ = absurd.beats(at: Micros(.min))
    _ = absurd.time(atPhaseEncoded: Beats(millionths: .max), quantum: Beats(millionths: .max))
    _ = absurd.following(session: absurd, at: Micros(.max), by: GhostMap(intercept: Micros(.min)))
    _ = absurd.committing(client: absurd, at: Micros(.max), by: GhostMap(intercept: Micros(.max)))
  }

  @Test(
    arguments: [
      (20.0, 3_000_000, 20.0), (90, 666_667, 89.9999550000225), (119.999, 500_004, 119.99904000767994),
      (120, 500_000, 120), (120.5, 497_925, 120.50007531254707), (121, 495_868, 120.99994353335968),
      (130, 461_538, 130.00013000013), (174, 344_828, 173.99979120025057), (999, 60_060, 999.000999000999),
    ] as [(Double, Int64, Double)])
  func `tempos are whole microseconds per beat on the wire`(set: Double, wire: Int64, received: Double) {
    #expect(Tempo(set).microsPerBeat == wire)
    #expect(abs(Tempo(microsPerBeat: wire).beatsPerMinute - received) < 1e-11)
  }

  @Test func `tempo stays within the range of Link`() {
    #expect(Tempo(1).clamped == Tempo(20))
    #expect(Tempo(100_000).clamped == Tempo(999))
    #expect(Tempo(.nan).clamped == Tempo(20))
    #expect(Tempo(.infinity).clamped == Tempo(999))
    #expect(Tempo(120.25).clamped == Tempo(120.25))
  }
}

@Suite struct PhaseExamples {
  @Test func `negative beats have a phase between 0 and the quantum`() {
    for (beat, quantum, phase) in [(-1.0, 1.0, 0.0), (-0.1, 1, 0.9), (-2.3, 1, 0.7), (-9.5, 2.3, 2.0)] {
      #expect(Beats(beat).phase(in: Beats(quantum)) == Beats(phase))
    }
  }

  @Test func `a quantum of zero means no grid`() {
    for beat in [0, 0.1, 1, -1] { #expect(Beats(beat).phase(in: .zero) == .zero) }
    for (beat, target) in [(0.1, 1.0), (2.3, 9.5), (-0.1, -2.3)] {
      #expect(Beats(beat).nextMatchingPhase(of: Beats(target), quantum: .zero) == Beats(beat))
    }
    #expect(line(60, -9.5, 2_000_000).phaseEncodedBeats(at: .zero, quantum: .zero) == Beats(-11.5))
  }

  @Test func `the next beat with a wanted phase is never before the present beat`() {
    let rows: [(Double, Double, Double, Double)] = [
      (0, 0.1, 1, 0.1), (0.1, 1, 2, 1), (1, 2, 2.3, 2), (2, 2.3, 3, 2.3), (1, 2.3, 2, 2.3),
      (2.3, -0.1, 2, 3.9), (-9.5, 0.1, 2, -7.9), (-2.3, 0.1, 9.5, 0.1),
    ]
    for (beat, target, quantum, match) in rows {
      #expect(Beats(beat).nextMatchingPhase(of: Beats(target), quantum: Beats(quantum)) == Beats(match))
    }
  }

  @Test func `of two equally near beats with the wanted phase the earlier is taken`() {
    #expect(line(120, 1, 0).phaseEncodedBeats(at: Micros(1_000_000), quantum: Beats(2)) == Beats(2))
  }

  @Test func `a client's beat moves to the nearest beat with the session's phase`() {
    let first = line(120, 1, 0), second = line(60, -9.5, 2_000_000)
    let rows: [(Timeline, Int64, Double, Double)] = [
      (first, 1_000_000, 2.2, 2), (first, 1_000_000, 1.8, 3.8), (first, -2_000_000, 4, -4),
      (first, -3_000_000, 4, -6), (first, 3_200_000, 3, 6.4), (second, 0, 3, -11),
      (second, 1_500_000, 2.4, -10.1),
    ]
    for (timeline, time, quantum, beat) in rows {
      #expect(timeline.phaseEncodedBeats(at: Micros(time), quantum: Beats(quantum)) == Beats(beat))
    }
  }

  @Test func `moving a client's beat to the session's phase has an exact inverse`() {
    for timeline in [line(120, 1, 0), line(60, -9.5, 2_000_000)] {
      for quantum in [0.0, 1, 2, 3] {
        for time in [0, 2_000_000, -3_200_000, 87_654_321] as [Int64] {
          let beats = timeline.phaseEncodedBeats(at: Micros(time), quantum: Beats(quantum))
          #expect(timeline.time(atPhaseEncoded: beats, quantum: Beats(quantum)) == Micros(time))
        }
      }
    }
  }
}

@Suite struct ClientAndSessionExamples {
  let client = line(100, 0, 50_000_000), session = line(126, 64, 90_000_000)
  let map = GhostMap(intercept: Micros(12_345_678)), now = Micros(80_000_000)

  @Test func `joining keeps the client's beat and takes the session's grid`() {
    let joined = client.following(session: session, at: now, by: map)
    #expect(joined == line(126, -18.925929, 47_178_162))
    #expect(joined.beats(at: now) == Beats(50))
    for (quantum, beat) in [(1.0, 49.925929), (4, 48.925929), (3, 50.925929), (0, 50)] {
      #expect(joined.phaseEncodedBeats(at: now, quantum: Beats(quantum)) == Beats(beat))
    }
    #expect(joined.following(session: session, at: now + Micros(6_849_353), by: map) == joined)
  }

  @Test func `a tempo set after joining wins over that of the session`() {
    var joined = state(client.following(session: session, at: now, by: map), connected: true)
    joined.setTempo(140, at: now + Micros(20_000))
    #expect(joined.timeline == line(140, -18.925929, 50_462_346))
    #expect(
      session.committing(client: joined.timeline, at: now, by: map) == line(140, 68.925929, 92_347_678))
  }

  @Test func `committing an unchanged timeline keeps its origin`() {
    let joined = client.following(session: session, at: now, by: map)
    #expect(session.committing(client: joined, at: now + Micros(42_905_944), by: map) == session)
  }

  @Test func `a beat requested after joining waits for its phase`() {
    let joined = state(client.following(session: session, at: now, by: map), connected: true)
    let rows: [(Double, Double, Double, Int64)] = [
      (0, 4, -70.925929, 81_463_842), (0, 1, -68.925929, 80_035_272), (3.5, 4, -66.925929, 81_225_747),
    ]
    for (beat, quantum, origin, time) in rows {
      var asked = joined
      asked.requestBeat(beat, at: now, quantum: quantum)
      #expect(asked.timeline == line(126, origin, 47_178_162))
      #expect(asked.time(atBeat: beat, quantum: quantum) == Micros(time))
    }
  }

  @Test func `a forced beat moves the session`() {
    var forced = state(client.following(session: session, at: now, by: map), connected: true)
    forced.forceBeat(0, at: now, quantum: 4)
    #expect(forced.timeline == line(126, -66.925929, 47_619_080))
    #expect(
      session.committing(client: forced.timeline, at: now, by: map) == line(126, 68.925929, 92_786_596))
  }

  @Test func `shifting a timeline by beats moves the beat at every time`() {
    for amount in [1.1, -1.1] {
      var shifted = line(60, -1, -1)
      let before = shifted.beats(at: Micros(-1))
      shifted.shift(by: Beats(amount))
      #expect(shifted.beats(at: Micros(-1)) == before + Beats(amount))
    }
  }

  @Test func `start and stop keep their beat when the tempo changes`() {
    let stop = SessionStartStop(isPlaying: true, beats: Beats(66), timestamp: Micros(91_000_000))
    let before = stop.client(on: session, by: map)
    #expect(before.session(on: session, by: map) == stop)
    let faster = line(252, 64, 90_000_000)
    #expect(stop.client(on: faster, by: map).time < before.time)
    #expect(stop.client(on: faster, by: map).session(on: faster, by: map).beats == Beats(66))
  }
}

@Suite struct StateExamples {
  @Test(
    arguments: [
      (60.0, 10_000_000, 60.0, -10_000_000), (5, 1_000_000, 20, -5_000_000), (5000, 1_000_000, 999, 879_880),
    ] as [(Double, Int64, Double, Int64)])
  func `a tempo change keeps the beat at the time of the change`(
    asked: Double, time: Int64, tempo: Double, origin: Int64
  ) {
    var changed = state(line(120, 0, 0))
    changed.setTempo(asked, at: Micros(time))
    #expect(changed.timeline == line(tempo, 0, origin))
  }

  @Test func `a tempo change moves no beat`() {
    var changed = state(line(120, 5.5, 12_558_940))
    changed.setTempo(90, at: Micros(20_000_000))
    #expect(changed.timeline == line(90, 5.5, 10_078_582))
    #expect(changed.beat(at: Micros(20_000_000), quantum: 0) == 20.38212)
  }

  @Test func `without peers the requested beat comes at once`() {
    var alone = state(line(120, 0, 0))
    alone.requestBeat(0, at: Micros(5_300_000), quantum: 4)
    #expect(alone.timeline == line(120, -12, -700_000))
    #expect(alone.beat(at: Micros(5_300_000), quantum: 4) == 0)
  }

  @Test func `with peers the requested beat comes at its phase of the quantum`() {
    var connected = state(line(120, 0, 0), connected: true)
    connected.requestBeat(0, at: Micros(5_300_000), quantum: 4)
    #expect(connected.timeline == line(120, -12, 0))
    #expect(connected.beat(at: Micros(5_300_000), quantum: 4) == -1.4)
    #expect(connected.time(atBeat: 0, quantum: 4) == Micros(6_000_000))

    var later = state(line(120, 1, 1_000_000), connected: true)
    #expect(later.beat(at: Micros(5_300_000), quantum: 4) == 8.6)
    later.requestBeat(8, at: Micros(5_300_000), quantum: 4)
    #expect(later.timeline == line(120, -3, 1_000_000))
    #expect(later.time(atBeat: 8, quantum: 4) == Micros(7_000_000))
    #expect(later.beat(at: Micros(5_300_000), quantum: 4) == 4.6)
  }

  @Test func `a forced beat is not late at the requested time`() {
    var known = state(line(30.4, 12_345_678, 1_234_567))
    known.forceBeat(0, at: Micros(23_456_789), quantum: 4)
    #expect(known.timeline == line(30.4, -10, -227_418))
    for step in 0..<1224 {
      var forced = state(line(20 + 0.8 * Double(step), 12_345_678, 1_234_567))
      forced.forceBeat(0, at: Micros(23_456_789), quantum: 4)
      #expect(forced.beat(at: Micros(23_456_789), quantum: 4) <= 0)
    }
  }

  @Test func `a start requests a beat and a stop does not`() {
    var starts = state(line(120, 0, 0), connected: true)
    starts.setPlaying(true, at: Micros(5_300_000), requestingBeat: 0, quantum: 4)
    #expect(starts.isPlaying)
    #expect(starts.timeOfPlaying == Micros(5_300_000))
    #expect(starts.time(atBeat: 0, quantum: 4) == Micros(6_000_000))
    let grid = starts.timeline
    starts.setPlaying(false, at: Micros(9_000_000), requestingBeat: 0, quantum: 4)
    #expect(!starts.isPlaying)
    #expect(starts.timeline == grid)
  }
}

@Suite struct ClockMapExamples {
  @Test func `a map between two clocks and its inverse agree within 1 µs`() {
    let map = ClockMap(jackAnchor: Micros(1_000_000), linkAnchor: Micros(752_000), skew: 130e-6)
    for time in stride(from: Int64(0), through: 10_000_000_000, by: 99_999_999) {
      let there = map.link(fromJACK: Micros(time))
      #expect(abs((map.jack(fromLink: there) - Micros(time)).count) <= 1)
    }
    #expect(map.link(fromJACK: Micros(11_000_000)) == Micros(10_753_300))
    #expect(ClockMap.identity.link(fromJACK: Micros(123_456_789_012)) == Micros(123_456_789_012))
  }
}
