// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// We estimate how much time other slow clients need. These tests show how the estimate is learned and how it
/// shrinks.
struct OthersTakeTests {
  @Test func `our own and the driver's stalls do not count as a slow client`() {
    for stalls in [false, true] {
      for press in 0..<40 {
        let jack = LaunchBench()
        jack.run(seconds: 0.2 + Double(press) * 0.03)
        jack.pressPlay()
        var released = 0
        while jack.state != .rolling, released < 3 {
          if case .released = jack.launch.stage { released += 1 }
          if stalls {
            jack.stall = { [at = jack.sincePlay] in $0 == at && released == 1 ? 60_000 : 0 }
          } else {
            jack.loses = { [at = jack.sincePlay] in released == 1 && ($0 == at + 1 || $0 == at + 2) }
          }
          jack.cycle()
        }
        jack.run(seconds: 5)
        #expect(jack.studio.rolling != nil)
        #expect(jack.launch.others.micros == 0, "press \(press), stalls: \(stalls)")
      }
    }
  }

  @Test func `a driver's stall during a locate does not count as a slow client`() {
    let jack = LaunchBench()
    jack.settings.moment = .now
    jack.run(seconds: 0.1)
    jack.pressPlay()
    jack.run(seconds: 0.1)
    jack.otherHolds = 20_000
    jack.pressPlay()
    jack.cycle()
    jack.stall = { $0 == 2 ? 500_000 : 0 }
    jack.run(seconds: 1)
    #expect(jack.state == .rolling && jack.launch.others.micros == 0)
  }

  /// The client is asked only shortly before the beat, so it is late each time. We see only that it was late,
  /// and not how much time it needs.
  @Test func `starts that are requested late soon leave a slow client enough time`() {
    for needed in stride(from: 30_000.0, to: 1_900_000, by: 10_000) {
      var others = ReadinessEstimate()
      var late: [Int] = []
      for start in 0..<60 {
        let given = 24_000 + others.tightMicros
        if given < needed {
          late.append(start)
          others.needMore(than: given, cycle: 5_000, isGuess: true)
        }
        // The start meets the beat to which it was moved.
        others.wereInTime(isTight: true, cycle: 5_000)
      }
      #expect(late.count <= 8 && late.filter { $0 >= 8 }.count <= 2, "\(needed): \(late)")
    }
  }

  @Test func `a slow client that has gone is forgotten`() {
    let jack = LaunchBench()
    jack.settings.alignment = .nearest
    jack.run(seconds: 0.3)
    jack.otherHolds = 1_900_000
    jack.pressPlay()
    jack.run(seconds: 12)
    #expect(jack.launch.others.micros > 1_000_000)
    jack.otherHolds = 0
    for _ in 0..<12 {
      jack.pressStop()
      jack.run(seconds: 0.3)
      jack.pressPlay()
      jack.run(seconds: 4.5)
    }
    #expect(jack.launch.others.micros < 100_000)
    // The estimate shrinks faster if clients are ready at once.
    var others = ReadinessEstimate()
    others.needMore(than: 1_900_000, cycle: 5_000)
    for _ in 0..<5 { others.took(0, cycle: 5_000) }
    #expect(others.micros < 100_000)
  }

  @Test(arguments: [1.0, 4.0], [120.0, 40])
  func `joining a session while a start waits puts the start on its next bar`(
    quantum: Double, bpm: Double
  ) throws {
    for (before, after) in [(-3600e6, -1.3e6), (-1.3e6, -3600e6), (-3600e6, 3600e6), (0, 7e6)] {
      let jack = LaunchBench()
      jack.bpm = bpm
      jack.quantum = Beats(quantum)
      jack.origin = before
      jack.run(seconds: 0.2)
      jack.pressPlay()
      jack.run(seconds: 0.1)
      jack.origin = after
      let joined = jack.time
      jack.run(seconds: 1 + 2 * quantum * 60 / bpm)
      let rolled = try #require(jack.studio.rolling).heard
      #expect(rolled - joined <= (quantum + 0.1) * 60e6 / bpm + jack.latency + 4 * jack.period)
      #expect(abs(try #require(jack.launchError)) <= jack.period / 2 + 1)
      #expect(try #require(jack.songOrigin).phase(in: jack.quantum) == .zero)
    }
  }

  @Test func `a planned locate that is requested early is held until it is due`() {
    for take in [0, 400_000, 1_000_000, ReadinessEstimate.longest] {
      for frames in [16, 256, 8192] as [UInt32] {
        let cycle = Double(frames) / 48_000 * 1e6
        var now = Report()
        now.launch.othersTake = take
        now.moment = CycleStamp(
          frame: 480_000, frames: frames, heard: FrameLine(start: 1e9, frameMicros: 1e6 / 48_000),
          due: 1e9, beatMicros: 500_000, sampleRate: 48_000)
        let plan = Relocation.meeting(1e9 + 4e6, SongPlace(frame: 96_000, beat: 4), from: now)
        let asked = CycleContext(
          SessionState(), heard: plan.askAt + cycle,
          transport: Transport(state: .starting, frame: plan.place.frame), frames: frames)
        // JACK's first question comes in the second cycle.
        #expect(plan.hold(asked) == .untilItsCycle, "\(take) \(frames)")
        #expect(plan.place(at: plan.askAt) != nil)
      }
    }
  }

  @Test func `a start shown before JACK asks us does not make a client look slow`() {
    let studio = Studio(tempo: 120)
    studio.asksBeforeRolling = true
    studio.play(seconds: 0.3)
    studio.unaskedCycles = 1
    studio.pressPlay()
    studio.play(seconds: 4)
    #expect(
      studio.report.song.isRolling && studio.report.launch.othersTake == 0,
      "\(studio.report.launch.othersTake) us")
  }
}
