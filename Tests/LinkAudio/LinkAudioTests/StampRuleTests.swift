// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudio
import LinkAudioLanes
import LinkAudioPath
import LinkBeatMath
import LinkOracle
import TactusTestSupport
import Testing

/// Compares our stamps with the reference's rule (facts: link-audio 6): a stamp is the captured state's beat
/// at the buffer's first frame, less the state's offset. The reference library computes timelines, beats and
/// offsets here.
struct StampRuleTests {
  enum Author: CaseIterable {
    case ourselves
    case peer
  }

  /// The tempos go up and down four times, which makes 28 changes.
  private static let tempos = Array(repeating: [130, 90, 150, 128.5, 60, 200, 120.0], count: 4).joined()
  private static let map = OracleGhostMap(slope: 1, intercept: -3_456_789)
  private static let quantum: Int64 = 4_000_000

  private var session = OracleTimeline(bpm: 120, beatOrigin: 1_234_567, timeOrigin: 5_000_123)
  private var client = OracleTimeline(bpm: 100, beatOrigin: 765_432, timeOrigin: 1_000_000)

  /// The state that the audio thread captures.
  private var state: SessionState {
    SessionState(
      timeline: Timeline(
        tempo: Tempo(client.bpm), beatOrigin: Beats(millionths: client.beatOrigin),
        timeOrigin: Micros(client.timeOrigin)),
      startStop: ClientStartStop(isPlaying: false, time: Micros(0), timestamp: Micros(0)),
      isConnected: true, session: 7)
  }

  private mutating func follow(_ tempo: Double, of author: Author, at now: Int64) {
    switch author {
    case .ourselves:
      var turned = state
      turned.setTempo(tempo, at: Micros(now))
      let edited = OracleTimeline(
        bpm: turned.timeline.tempo.beatsPerMinute, beatOrigin: turned.timeline.beatOrigin.millionths,
        timeOrigin: turned.timeline.timeOrigin.count)
      session = oracle_session_from_client(session, edited, now, Self.map)
    case .peer:
      // The peer chose the time of the change 40 ms ago, because the change takes so long to arrive.
      let ghost = oracle_host_to_ghost(Self.map, now - 40_000)
      session = OracleTimeline(
        bpm: tempo, beatOrigin: oracle_to_beats(session, ghost), timeOrigin: ghost)
    }
    client = oracle_client_from_session(client, session, now, Self.map)
  }

  /// The reference's stamp at a time, and its tempo.
  private func rule(at time: Int64) -> (begin: Int64, microsPerBeat: Int64) {
    let offset = oracle_to_phase_encoded(client, client.timeOrigin, Self.quantum)
    return (
      oracle_to_phase_encoded(client, time, Self.quantum) - offset,
      oracle_micros_per_beat(client.bpm)
    )
  }

  /// The chunks of one period.
  private func chunks(
    _ lane: LinkAudioLanes.SendLane, _ chunker: inout Chunker, frames: Int, start: Double, frameMicros: Double
  ) -> [AudioDatagram.Chunk] {
    let silence = [Float](repeating: 0, count: frames)
    let recording = Recording(
      frames: frames, sampleRate: 48_000, start: start, frameMicros: frameMicros, captureFrames: 0, offset: 0,
      grid: SessionGrid(state))
    silence.withUnsafeBufferPointer { lane.audio.send(recording, left: $0.baseAddress!, right: nil) }
    var found: [AudioDatagram.Chunk] = []
    func note(_ datagram: borrowing AudioDatagram) {
      for index in 0..<datagram.chunkCount { found.append(datagram.chunks[index]) }
    }
    lane.drain { chunker.add($0, samples: $1, send: note) }
    chunker.flush(send: note)
    return found
  }

  @Test(arguments: Author.allCases, [16, 256, 1024])
  mutating func `our stamps follow the reference's rule in 28 changes of tempo`(author: Author, frames: Int) {
    let frameMicros = 1e6 / 48_000 / (1 + 30e-6)
    let lane = LinkAudioLanes.SendLane(channels: 1)
    lane.isWanted = true
    var chunker = Chunker(seed: 1)
    var frame = 0
    var worst = 0.0
    var worstAtChange = 0.0
    client = oracle_client_from_session(client, session, 1_000_000_000, Self.map)
    for tempo in Self.tempos {
      let began = frame
      follow(tempo, of: author, at: Int64(1e9 + Double(frame) * frameMicros))
      while frame < began + 24_000 {
        let start = 1e9 + Double(frame) * frameMicros
        var place = 0
        for chunk in chunks(lane, &chunker, frames: frames, start: start, frameMicros: frameMicros) {
          let wanted = rule(at: Int64((start + Double(place) * frameMicros).rounded()))
          #expect(chunk.microsPerBeat == wanted.microsPerBeat)
          let off =
            abs(Double(chunk.begin - wanted.begin)) * Double(wanted.microsPerBeat) * 1e-6 / frameMicros
          worst = max(worst, off)
          if frame == began { worstAtChange = max(worstAtChange, off) }
          place += Int(chunk.frames)
        }
        #expect(place == frames)
        frame += frames
      }
    }
    print(
      "stamps, tempo set by \(author), periods of \(frames): at most", Float(worst), "frames off the rule,",
      Float(worstAtChange), "in the first period of a tempo")
    // The rule uses times in whole microseconds, which are 0.048 frames. Both stamps are rounded to a
    // microbeat, which is 0.048 frames at 60 BPM.
    #expect(worst <= 0.1)
  }
}
