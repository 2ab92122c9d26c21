// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

struct SongTests {
  /// A cycle of a rolling transport, in a session with 120 BPM whose beat 0 is at `beatZero`.
  private func cycle(_ heard: Double, frame: UInt32, _ quantum: Double, beatZero: Double = 0) -> CycleContext
  {
    let times = RawTimes(frame: 0, wakeMicros: 0, isPairValid: false, currentMicros: 0, nextMicros: 0)
    var cycle = Cycle(times: times, frames: 256, sampleRate: 48_000, beatZero: Int64(beatZero))
    cycle.transport = Transport(state: .rolling, frame: frame)
    cycle.settings.quantum = quantum
    var freeze = FreewheelSession()
    return CycleContext(&cycle, &freeze, line: FrameLine(start: heard, frameMicros: 20), frameMicros: 20)
  }

  /// Follows one cycle by the steps of `HostSync.run`.
  private func play(_ now: CycleContext, _ song: inout Song, _ watch: inout GridWatch, passed: Int64) {
    watch.update(now.grid, heard: now.heard, passed: passed)
    if watch.isJump { song.rebase(by: watch.movedBeats, now) }
    song.follow(now, at: 0, lostFrames: 0)
  }

  /// A song that began on session beat 8 and rolls at session beat 11.25.
  private func rolling(quantum: Double) -> (song: Song, watch: GridWatch) {
    var watch = GridWatch()
    var song = Song()
    play(cycle(8 * 500_000, frame: 0, quantum), &song, &watch, passed: 0)
    play(cycle(11.25 * 500_000, frame: 256, quantum), &song, &watch, passed: Int64(3.25 * 500_000 / 20))
    return (song, watch)
  }

  @Test func `after a change of session the song stays in phase and near its place`() {
    for quantum in 1...16 {
      for eighth in -200...200 {
        let jump = Double(eighth) / 8
        var (song, watch) = rolling(quantum: Double(quantum))
        let before = song.songBeat(of: 11.25)
        #expect(abs(before - 3.25) < 1e-6)
        let now = cycle(11.25 * 500_000, frame: 512, Double(quantum), beatZero: -jump * 500_000)
        play(now, &song, &watch, passed: 0)
        let after = song.songBeat(of: 11.25 + jump)
        // The session is at beat 11.25 + jump. The song's first beat was in phase with the session's beat 8.
        let inPhase = (11.25 + jump - 8 - after) / Double(quantum)
        #expect(abs(inPhase - inPhase.rounded()) < 1e-6)
        #expect(abs(after - before) <= Double(quantum) / 2 + 1e-6)
        #expect(song.contains(beat: 11.25 + jump, time: now.heard.start))
        #expect(watch.isJump == (jump != 0))
      }
    }
  }

  /// By its frame and the present tempo alone, each of these cycles would seem to be at another place of the
  /// song.
  @Test func `a cycle whose time was read late is not taken for a locate`() {
    func run(_ cycles: [(frame: UInt32, lost: Int64)]) -> Bool {
      var (song, _) = rolling(quantum: 4)
      let before = song.run
      for (frame, lost) in cycles {
        song.follow(cycle(12 * 500_000, frame: frame, 4), at: 7.3, lostFrames: lost)
      }
      return song.run == before
    }
    #expect(run([(512, 0), (768, 256), (1_280, 0), (1_536, 0)]))
    #expect(run([(512, 0), (768, 256), (1_024, 0), (1_280, 0)]))
    #expect(!run([(512, 0), (768, 256), (1_281, 0)]))
    #expect(!run([(512, 0), (768, 256), (1_024, 0), (1_536, 0)]))
    #expect(!run([(512, 0), (768, 0), (1_280, 0)]))
  }

  @Test func `a time just before or after a beat's part gets that part's number`() {
    for perBeat in [1, 2, 3, 4, 8, 24, 48] as [Int64] {
      for number in -100...100 as ClosedRange<Int64> {
        let beat = Double(number) / Double(perBeat)
        #expect(Ticker.number(atOrAfter: beat - 1e-9, perBeat: perBeat) == number)
        #expect(Ticker.number(atOrAfter: beat + 1e-9, perBeat: perBeat) == number + 1)
        let bar = Ticker.floorDivide(number, 4)
        #expect(bar * 4 + Ticker.floorRemainder(number, 4) == number)
        #expect((0..<4).contains(Ticker.floorRemainder(number, 4)))
      }
    }
  }

  @Test func `absurd tempos, meters and offsets cause no crash and no endless loop`() {
    let studio = Studio(sampleRate: 8000, tempo: 120)
    studio.listensToPulse = true
    studio.settings.pulse.rate = .fortyEight
    studio.settings.clock.when = .always
    for origin in [Int64.min, .max, 0, -1 << 60, 1 << 60] {
      for tempo in [0, -1, .nan, .infinity, 1e-300, 20, 999] as [Double] {
        studio.timeline = .init(
          tempo: .init(tempo), beatOrigin: .init(millionths: .max), timeOrigin: .init(origin))
        studio.settings.quantum = tempo
        studio.settings.meter = Meter(beatsPerBar: tempo > 0 ? .max : .min)
        studio.settings.offsets[.clock] = Micros(origin)
        for state in [.stopped, .starting, .rolling] as [Transport.State] {
          studio.transport = Transport(state: state, frame: .max)
          studio.play(256)
        }
      }
    }
    studio.settings = Settings()
    studio.settings.click.isOn = true
    studio.transport = Transport(state: .stopped, frame: 0)
    studio.timeline = .init(tempo: .init(120), beatOrigin: .zero, timeOrigin: .init(1_000_000_000))
    studio.play(seconds: 0.1)
    let before = studio.clicks.count
    studio.play(seconds: 2)
    #expect((4...5).contains(studio.clicks.count - before), "and it finds back")
  }
}
