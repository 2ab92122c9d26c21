// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Whole bars of clicks come before the song, whenever Play is pressed.
struct CountInTests {
  private func studio(
    bars: Int32, tempo: Double = 120, meter: Int32 = 4, quantum: Double? = nil, latency: UInt32 = 512
  ) -> Studio {
    let studio = Studio(tempo: tempo)
    studio.asksBeforeRolling = true
    studio.settings.meter.beatsPerBar = meter
    if let quantum { studio.settings.quantum = quantum }
    studio.settings.click.when = .rolling
    studio.settings.launch.countIn = bars
    studio.latencies = [.click1: latency, .clock: 300, .pulse: 512, .run: 512, .jack: 512]
    return studio
  }

  private func press(_ studio: Studio) { studio.transport = Transport(state: .starting, frame: 0) }

  private func beats(_ studio: Studio) -> [Int] {
    studio.clicks.map { Int(studio.beat(at: $0.heard).rounded()) }
  }

  @Test(arguments: [1, 2, 4] as [Int32], [(4, nil), (7, nil), (3, 8), (7, 4)] as [(Int32, Double?)])
  func `all bars of the count-in are heard`(bars: Int32, bar: (meter: Int32, quantum: Double?)) throws {
    var dice = Dice(seed: UInt64(bars) * 100 + UInt64(bar.meter))
    // If a click port has more latency than the position that JACK shows, its clicks are sent earlier. The
    // start must leave enough time for the count-in's first click.
    for latency in [100, 512, 9_000] as [UInt32] {
      let studio = studio(
        bars: bars, tempo: 200, meter: bar.meter, quantum: bar.quantum, latency: latency)
      studio.play(seconds: Double.random(in: 0.1...3, using: &dice))
      press(studio)
      let pressedAt = studio.beat(at: studio.due)
      while !studio.report.song.isRolling, studio.due < 1e9 + 60e6 { studio.play(256) }
      studio.play(seconds: 1)
      let first = try #require(beats(studio).first)
      let counted = Int(bars * bar.meter)
      let start = first + counted
      #expect(abs(studio.report.song.beat - (studio.report.sessionBeat - Double(start))) < 1e-6)
      #expect(start % Int(studio.settings.quantum) == 0)
      #expect(Double(first) >= pressedAt && Double(first) < pressedAt + studio.settings.quantum + 1)
      #expect(beats(studio).prefix(counted + 3) == Array(first..<(start + 3))[...])
      for (beat, click) in zip(beats(studio), studio.clicks) {
        #expect(click.value == ((beat - first) % Int(bar.meter) == 0 ? 1 : 0.5), "\(beat)")
      }
    }
  }

  @Test func `a count-in sounds even if the click is off, and ends with the start`() {
    let studio = studio(bars: 1)
    studio.settings.click.isOn = false
    studio.play(seconds: 2.1)
    press(studio)
    studio.play(seconds: 6)
    #expect(beats(studio) == [8, 9, 10, 11] && studio.report.song.isRolling)
  }

  @Test func `without a count-in a start waits in silence`() {
    let studio = studio(bars: 0)
    studio.play(seconds: 2.1)
    press(studio)
    studio.play(seconds: 3)
    #expect(beats(studio) == [8, 9, 10])
  }

  @Test func `a start that waits for no beat or bar has no count-in`() {
    let studio = studio(bars: 2)
    studio.settings.launch.moment = .now
    studio.play(seconds: 2.1)
    press(studio)
    studio.play(seconds: 0.1)
    #expect(studio.report.song.isRolling)
  }

  @Test func `before a peer's start only the fitting part of the count-in sounds`() {
    let studio = studio(bars: 2)
    studio.settings.syncsStartStop = true
    studio.play(seconds: 2.1)
    studio.isPlaying = true
    studio.play(256)
    #expect(studio.report.startStop.starts)
    press(studio)
    studio.play(seconds: 3)
    #expect(beats(studio) == [5, 6, 7, 8, 9, 10])
    // A user stops and starts here while the session goes on playing, so no peer has fixed the time of this
    // start.
    studio.transport.state = .stopped
    studio.play(seconds: 0.2)
    let before = studio.clicks.count
    press(studio)
    studio.play(seconds: 7)
    #expect(beats(studio).dropFirst(before).first == 12)
    #expect(abs(studio.report.song.beat - (studio.report.sessionBeat - 20)) < 1e-6)
  }

  @Test(arguments: [(120, 60), (60, 140), (97, 187.3)] as [(Double, Double)])
  func `a tempo change moves the clicks of a count-in with the bars`(from: Double, to: Double) {
    let studio = studio(bars: 2, tempo: from)
    studio.play(seconds: 4.4 * 60 / from)
    press(studio)
    studio.play(seconds: 5.3 * 60 / from)
    let before = beats(studio)
    studio.setTempo(to)
    studio.play(seconds: 8 * 60 / to)
    let all = before + beats(studio).dropFirst(before.count)
    #expect(all.prefix(10) == [8, 9, 10, 11, 12, 13, 14, 15, 16, 17])
    #expect(abs(studio.report.song.beat - (studio.report.sessionBeat - 16)) < 1e-6)
  }

  @Test func `count-in bars that last longer than JACK's timeout are left out`() throws {
    for bars in [1, 4] as [Int32] {
      for press in 0..<20 {
        let jack = LaunchBench()
        jack.frames = 4096
        jack.bpm = 20
        jack.settings.countIn = bars
        jack.run(seconds: 0.2 + Double(press) * 0.61)
        let asked = jack.time
        jack.pressPlay()
        jack.run(seconds: 62)
        let waited = try #require(jack.studio.rolling).heard - asked
        #expect(waited > 12e6 && waited < 60.2e6)
        #expect(abs(try #require(jack.launchError)) <= jack.period / 2 + 1)
        #expect(try #require(jack.songOrigin).phase(in: Beats(4)) == .zero)
      }
    }
  }
}
