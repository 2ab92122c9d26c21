// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Long runs, in which counters wrap or have run for half a day.
struct OldCounterTests {
  /// JACK's frame counter and the transport's frame wrap after 24.9 hours at 48 kHz.
  @Test func `the song plays on when JACK's or the transport's frame counter wraps`() {
    for (counter, place) in [(20_000, 30_000), (300, 20_000), (30_000, 0), (0, 100)] as [(UInt32, UInt32)] {
      let studio = Studio(tempo: 120)
      studio.listensToPulse = true
      studio.isMaster = true
      studio.settings.click.isOn = true
      studio.settings.click.when = .rolling
      studio.play(seconds: 0.1)
      studio.clock.frame = 0 &- counter
      studio.play(seconds: 0.1)
      studio.transport = Transport(state: .rolling, frame: 0 &- place)
      studio.play(256)
      var last = studio.report.song.beat
      let (clicks, lag) = (studio.clicks.count, studio.report.song.hostLag)
      for _ in 0..<400 {
        studio.play(256)
        #expect(abs(studio.report.song.beat - last - 256.0 / 24_000) < 1e-4)
        #expect(abs(studio.report.song.hostLag - lag) < 10)
        last = studio.report.song.beat
      }
      #expect((4...5).contains(studio.clicks.count - clicks))
      #expect(studio.report.times.lostCycles == 0 && studio.runEdges.count == 1)
    }
  }

  /// 2^31 frames are 12.4 hours at 48 kHz and 3.1 hours at 192 kHz.
  @Test(arguments: [48_000, 192_000] as [UInt32], [0, .max - 100_000] as [UInt32])
  func `half a day of rolling adds no lag of a host`(rate: UInt32, frame: UInt32) {
    var lag = HostLag()
    lag.begin(frame: frame, beat: 0)
    let nominal = 1e6 / Double(rate)
    for second in 0...13 * 3600 {
      lag.follow(
        frame: frame &+ UInt32(truncatingIfNeeded: second * Int(rate)), beat: Double(second) * 2,
        beatMicros: 500_000, nominalPerFrame: nominal)
      guard abs(lag.micros) < 1 else {
        Issue.record("\(lag.micros) us after \(second) s")
        return
      }
    }
  }

  @Test func `another timebase master stays master even after many cycles`() {
    var watch = TimebaseWatch()
    let ours = BBT(song: .zero, meter: Meter(), beatsPerMinute: 120)
    watch.publish(ours, Bars())
    watch.read(ours)
    for cycle in 0..<100_000 {
      watch.read(BBT(song: .zero, meter: Meter(), beatsPerMinute: 93))
      // For three cycles after our own position, the shown position may still be an old one.
      guard watch.isForeign == (cycle >= 3) else {
        Issue.record("cycle \(cycle)")
        return
      }
    }
  }

  @Test func `a lag greater than any host can have is not corrected`() {
    func step(lag: Double, frame: UInt32) -> Bool {
      var plan = TransportPlan()
      plan.choices.correction = .locate
      var report = Report()
      report.song.isRolling = true
      report.master.timebase = .ours
      report.song.hostLag = lag
      report.moment.frames = 256
      report.moment.heard.frameMicros = 1e6 / 48_000
      for tenth in 0..<60 {
        let now = Double(tenth) * 100_000
        report.moment.frame = frame &+ UInt32(tenth * 4_800)
        report.moment.heard.start = now
        report.moment.due = now
        report.song.beat = now / 500_000
        for part in 0..<50 {
          if plan.step(report, at: Micros(Int64(now) + Int64(part) * 2_000)).relocates {
            return true
          }
        }
      }
      return false
    }
    #expect(step(lag: 20_000, frame: 480_000))
    #expect(!step(lag: 44_739e6, frame: 480_000))
    #expect(!step(lag: -44_739e6, frame: .max - 1_000_000))
    // The frame at which to correct would be greater than the largest frame number.
    #expect(!step(lag: 60_000_000, frame: .max - 1_000_000))
  }
}
