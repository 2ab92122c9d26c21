// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusStudioDay
import Testing

@testable import TactusSync

struct CycleTimesTests {
  private final class Stalls { var seen = 0 }
  private let stalls = Stalls()

  /// Feeds one cycle's times, and returns the line's error at frame 0 in microseconds.
  private func error(
    _ times: inout CycleTimes, _ clock: inout Jack2Clock, frames: UInt32, lateness: Double, stall: Double = 0,
    signs: Jack2Clock.StallSigns = .all[0]
  ) -> Double {
    let raw = clock.cycle(frames: frames, lateness: lateness, stall: stall, signs: signs)
    let wasSound = times.isSound
    let line = times.line(of: Cycle(times: raw, frames: frames, sampleRate: UInt32(clock.sampleRate)))
    if wasSound, !times.isSound, times.passedFrames == times.previousFrames { stalls.seen += 1 }
    return line.start - clock.due
  }

  @Test func `without stalls of the driver the frame times are JACK's own`() {
    var dice = Dice(seed: 1)
    var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
    var times = CycleTimes()
    for _ in 0..<20_000 {
      let raw = clock.cycle(frames: 256, lateness: dice.lateness())
      let line = times.line(of: Cycle(times: raw, frames: 256, sampleRate: 48000))
      #expect(line.start == Double(raw.currentMicros))
    }
    #expect(times.bridgedCycles == 0)
  }

  @Test(arguments: [64, 256, 1024] as [UInt32])
  func `cycle times cut to whole microseconds do not change a frame's length`(frames: UInt32) {
    var times = CycleTimes()
    let (start, length) = (1e9, Double(frames) * 1e6 / 48000)
    for cycle in 0..<Int(60e6 / length) {
      let current = Int64(start + Double(cycle) * length)
      let raw = RawTimes(
        frame: UInt32(cycle) * frames, wakeMicros: UInt64(current), isPairValid: true,
        currentMicros: UInt64(current), nextMicros: UInt64(current + Int64(length)))
      _ = times.line(of: Cycle(times: raw, frames: frames, sampleRate: 48000))
    }
    #expect(abs(times.driftPPM(on: .identity)) < 1)
  }

  @Test(
    arguments: [
      (64, 60_000), (256, 60_000), (256, 137_000), (1024, 60_000), (1024, 300_000), (1024, 3_000_000),
    ] as [(UInt32, Double)])
  func `two cycles after a driver's stall the frame times are right again`(frames: UInt32, stall: Double) {
    for (index, signs) in Jack2Clock.StallSigns.all.enumerated() {
      var dice = Dice(seed: UInt64(index))
      var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
      clock.crystal = 80e-6
      var times = CycleTimes()
      stalls.seen = 0
      let perSecond = Int(48000 / frames)
      for _ in 0..<5 * perSecond {
        _ = error(&times, &clock, frames: frames, lateness: dice.lateness())
      }
      _ = error(&times, &clock, frames: frames, lateness: 30, stall: stall, signs: signs)
      _ = error(&times, &clock, frames: frames, lateness: dice.lateness())
      var worst = 0.0
      for _ in 0..<40 * perSecond {
        worst = max(worst, abs(error(&times, &clock, frames: frames, lateness: dice.lateness())))
      }
      #expect(worst < 500, "signs \(signs)")
      #expect(stalls.seen == 1)
      #expect(abs(times.filterError) < 150, "JACK's own has come back after 40 s")
      let bridged = times.bridgedCycles
      _ = error(&times, &clock, frames: frames, lateness: dice.lateness())
      #expect(times.bridgedCycles == bridged, "and is used again")
    }
  }

  /// JACK's loop begins with the time of the first wake-up, and then needs two seconds to find the right
  /// times.
  @Test(arguments: [64, 256] as [UInt32], [200.0, 350])
  func `after a late first wake-up our frame times are right before JACK's`(
    frames: UInt32, lateness: Double
  ) {
    for seed in 1...10 as ClosedRange<UInt64> {
      var dice = Dice(seed: seed)
      var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
      var times = CycleTimes()
      stalls.seen = 0
      let perSecond = Int(48000 / frames)
      _ = error(&times, &clock, frames: frames, lateness: lateness + 47)
      for _ in 0..<40 + perSecond / 4 {
        _ = error(&times, &clock, frames: frames, lateness: dice.lateness())
      }
      var worst = 0.0
      for _ in 0..<2 * perSecond {
        worst = max(worst, abs(error(&times, &clock, frames: frames, lateness: dice.lateness())))
      }
      #expect(worst < 150, "seed \(seed)")
    }
  }

  @Test func `five driver stalls a second apart all leave the frame times right`() {
    var dice = Dice(seed: 5)
    var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
    var times = CycleTimes()
    var jacksWorst = 0.0
    for _ in 0..<400 { _ = error(&times, &clock, frames: 256, lateness: dice.lateness()) }
    for _ in 0..<5 {
      _ = error(&times, &clock, frames: 256, lateness: 40, stall: 60_000)
      _ = error(&times, &clock, frames: 256, lateness: dice.lateness())
      for _ in 0..<186 {
        #expect(abs(error(&times, &clock, frames: 256, lateness: dice.lateness())) < 500)
        jacksWorst = max(jacksWorst, abs(times.filterError))
      }
    }
    #expect(stalls.seen == 5)
    #expect(jacksWorst > 25_000, "JACK's own line is that far off: the test is a test")
  }

  /// A jack2 driver that is late by at least a period restarts. Even so JACK's `next` need not lie before
  /// `current`.
  @Test func `a driver late by about a period moves the frame times at once`() {
    var dice = Dice(seed: 7)
    var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
    var times = CycleTimes()
    var worst = 0.0
    var sinceStall = 0
    for index in 0..<40_000 {
      let isLate = index % 300 == 299
      let stall = isLate ? Double.random(in: 4500...9000, using: &dice) : 0
      let off = error(&times, &clock, frames: 256, lateness: dice.lateness(), stall: stall)
      sinceStall = isLate ? 0 : sinceStall + 1
      if sinceStall >= 2 { worst = max(worst, abs(off)) }
    }
    #expect(worst < 500)
    #expect(stalls.seen > 100)
  }

  @Test func `cycles that only our client missed do not move the frame times`() {
    var dice = Dice(seed: 2)
    var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
    var times = CycleTimes()
    for _ in 0..<2000 { _ = error(&times, &clock, frames: 256, lateness: dice.lateness()) }
    for lost in [1, 3, 10, 56] {
      clock.lose(cycles: lost, frames: 256, dice: &dice)
      for _ in 0..<20 {
        #expect(abs(error(&times, &clock, frames: 256, lateness: dice.lateness())) < 150)
      }
    }
    #expect(times.lostCycles == 70 && times.bridgedCycles == 0)
  }

  @Test func `late wake-ups of our audio thread are not taken for a driver's stall`() {
    var dice = Dice(seed: 3)
    var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
    var times = CycleTimes()
    var errors: [Double] = []
    for _ in 0..<20_000 {
      // Every fourth wake-up is milliseconds late, as on two cores with three busy loops.
      let late = Double.random(in: 0..<1, using: &dice) < 0.25
      let lateness = late ? Double.random(in: 500...4000, using: &dice) : dice.lateness()
      errors.append(abs(error(&times, &clock, frames: 256, lateness: lateness)))
    }
    errors.sort()
    #expect(stalls.seen == 0)
    #expect(errors[errors.count / 2] < 800 && errors[errors.count - 1] < 1500)
  }

  @Test func `unusual buffer sizes and rates are not taken for driver stalls`() {
    for (frames, rate) in [(16, 96000), (100, 44100), (8192, 44100), (8192, 192_000)] as [(UInt32, Double)] {
      var dice = Dice(seed: 9)
      var clock = Jack2Clock(sampleRate: rate, start: 1e9)
      var times = CycleTimes()
      for _ in 0..<3000 {
        #expect(abs(error(&times, &clock, frames: frames, lateness: dice.lateness())) < 4000)
      }
      #expect(stalls.seen == 0)
    }
  }

  @Test func `after a new buffer size the frame times stay right`() {
    var dice = Dice(seed: 4)
    var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
    var times = CycleTimes()
    for frames in [256, 1024, 64, 256] as [UInt32] {
      for _ in 0..<500 {
        #expect(abs(error(&times, &clock, frames: frames, lateness: dice.lateness())) < 250)
      }
    }
    #expect(times.lostCycles == 0 && stalls.seen == 0)
  }

  @Test func `frame times go on when JACK's frame counter wraps`() {
    var dice = Dice(seed: 6)
    var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
    clock.frame = .max - 5000
    var times = CycleTimes()
    for _ in 0..<100 {
      #expect(abs(error(&times, &clock, frames: 256, lateness: dice.lateness())) < 250)
    }
    #expect(times.lostCycles == 0 && clock.frame < 30_000)
  }

  @Test func `a freewheel extends the frame times, which are right again after it`() {
    var dice = Dice(seed: 7)
    var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
    var times = CycleTimes()
    for _ in 0..<400 { _ = error(&times, &clock, frames: 256, lateness: dice.lateness()) }
    var cycle = Cycle(
      times: clock.cycle(frames: 256, lateness: 0), frames: 256, sampleRate: 48000)
    var start = times.line(of: cycle).start
    cycle.isFreewheeling = true
    for step in 0..<1000 {
      cycle.times.frame &+= 256
      cycle.times.currentMicros &+= UInt64(step * 7)
      let line = times.line(of: cycle)
      #expect(abs(line.start - start - 256e6 / 48000) < 0.001)
      start = line.start
    }
    for _ in 0..<100 {
      #expect(abs(error(&times, &clock, frames: 256, lateness: dice.lateness())) < 250)
    }
  }

  /// jack2's loop has counted the freewheel as real time, so its two times stay reversed (`next < current`)
  /// for many cycles. Such times are no stalls, and a late wake-up among them is only a late wake-up.
  @Test(arguments: [300.0, 900, 2500])
  func `after a freewheel a late wake-up does not move the frame times`(lateness: Double) {
    #expect(reversedPairs(afterAFreewheelOf: 500, lateness: lateness) > 20)
  }

  /// After a short freewheel the two times that JACK gives for a cycle look right, but are wrong by
  /// milliseconds.
  @Test func `after a short freewheel JACK's times are not trusted`() {
    for cycles in 1..<100 { _ = reversedPairs(afterAFreewheelOf: cycles, lateness: 900) }
  }

  private func reversedPairs(afterAFreewheelOf cycles: Int, lateness: Double) -> Int {
    var dice = Dice(seed: 11)
    var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
    var times = CycleTimes()
    for _ in 0..<400 { _ = error(&times, &clock, frames: 256, lateness: dice.lateness()) }
    for _ in 0..<cycles {
      var cycle = Cycle(
        times: clock.cycle(frames: 256, lateness: 20, speed: 20), frames: 256, sampleRate: 48000)
      cycle.isFreewheeling = true
      _ = times.line(of: cycle)
    }
    var reversed = 0
    for cycle in 0..<60 {
      let late = cycle > 4 && cycle % 5 == 0 ? lateness : 40
      let raw = clock.cycle(frames: 256, lateness: late)
      if raw.nextMicros < raw.currentMicros { reversed += 1 }
      let line = times.line(of: Cycle(times: raw, frames: 256, sampleRate: 48000))
      #expect(abs(line.start - clock.due) < 100, "cycle \(cycle) after \(cycles) of a freewheel")
    }
    return reversed
  }

  @Test func `JACK's cycle times are replaced if they are missing or absurd`() {
    var dice = Dice(seed: 8)
    var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
    var times = CycleTimes()
    for _ in 0..<400 { _ = error(&times, &clock, frames: 256, lateness: dice.lateness()) }
    let absurd: [(Bool, UInt64, UInt64)] = [
      (false, 0, 0), (true, 0, .max), (true, .max, 0), (true, 1_000_000_000, 1_000_000_000),
    ]
    for (isValid, current, next) in absurd {
      var raw = clock.cycle(frames: 256, lateness: 30)
      (raw.isPairValid, raw.currentMicros, raw.nextMicros) = (isValid, current, next)
      let line = times.line(of: Cycle(times: raw, frames: 256, sampleRate: 48000))
      #expect(abs(line.start - clock.due) < 250 && abs(line.frameMicros - 1e6 / 48000) < 0.1)
    }
    #expect(times.bridgedCycles == 4)
  }

  @Test func `frames get their times on Link's clock`() {
    var clock = Jack2Clock(sampleRate: 48000, start: 1e9)
    var times = CycleTimes()
    var cycle = Cycle(times: clock.cycle(frames: 256, lateness: 0), frames: 256, sampleRate: 48000)
    cycle.clock = ClockMap(jackAnchor: Micros(999_000_000), linkAnchor: Micros(5_000), skew: 130e-6)
    let line = times.line(of: cycle)
    #expect(abs(line.start - 1_005_130) < 0.001)
    #expect(abs(line.frameMicros - 1e6 / 48000 * 1.00013) < 0.002, "whole microseconds")
  }
}

extension CycleTimes {
  mutating func line(of cycle: Cycle) -> FrameLine {
    var cycle = cycle
    return line(of: &cycle)
  }
}

extension Cycle {
  init(times: RawTimes, frames: UInt32, sampleRate: UInt32, beatZero: Int64 = 0) {
    self.init(
      frames: frames, sampleRate: sampleRate, times: times, transport: Transport(state: .stopped, frame: 0),
      latencies: PerPort(repeating: 0), clock: .identity,
      session: SessionView(SessionState(beatZero: Double(beatZero)), startStopsTaken: 0),
      settings: Settings(), settingsNumber: 0, sounds: SoundBank())
  }
}
