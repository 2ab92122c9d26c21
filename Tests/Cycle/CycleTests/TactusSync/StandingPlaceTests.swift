// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

@Suite("Where a stop leaves the transport")
struct StandingPlaceTests {
  /// A transport that stands, at 120 BPM and 48 kHz: a beat has 24,000 frames.
  private func report(at beat: Double, _ meter: Meter = Meter()) -> Report {
    var report = Report()
    (report.song.beat, report.tempo, report.master.timebase, report.bars) = (beat, 120, .ours, Bars(meter))
    (report.moment.frame, report.moment.frames) = (UInt32((beat * 24_000).rounded()), 256)
    report.moment.heard = FrameLine(start: 0, frameMicros: 1e6 / 48_000)
    return report
  }

  @Test
  func `in any meter a stop goes back to the start of the bar in which it came`() {
    let seven = Meter(beatsPerBar: 7, beatType: 8)
    #expect(report(at: 13.37).frame(of: .bar) == 288_000)
    #expect(report(at: 13.37, seven).frame(of: .bar) == 252_000)
    #expect(report(at: 2).frame(of: .bar) == 0)
    #expect(report(at: 13.37).frame(of: .start) == 0 && report(at: 13.37).frame(of: .here) == nil)
    // No locate is needed if the transport stands at that place already.
    #expect(report(at: 12).frame(of: .bar) == nil && report(at: 0).frame(of: .start) == nil)
  }

  /// A stop on a bar line comes in the cycle nearest to that line, so it may come before the line. A
  /// transport that waits for an exact start stands up to a cycle before its bar line.
  @Test
  func `a stop just before a bar line goes to that line`() {
    let cycle = 256.0 / 24_000
    #expect(report(at: 12 - cycle).frame(of: .bar) == 288_000)
    #expect(report(at: 12 - 2 * cycle).frame(of: .bar) == 192_000)
  }

  @Test
  func `a transport that still rolls, or shows no bars, is not sent to a bar`() {
    var rolling = report(at: 13.37)
    rolling.song.isRolling = true
    #expect(rolling.frame(of: .bar) == nil && rolling.frame(of: .start) == nil)
    var foreign = report(at: 13.37)
    foreign.master.timebase = .foreign
    #expect(foreign.frame(of: .bar) == nil && foreign.frame(of: .start) == 0)
    // Another master shows the middle of the third beat of a bar, at 60 BPM.
    foreign.master.shown = BBT(
      bar: 9, beat: 3, tick: 480, barStartTick: 0, beatsPerBar: 4, beatType: 4, ticksPerBeat: 960,
      beatsPerMinute: 60)
    foreign.master.foreignTempo = 60
    #expect(foreign.frame(of: .bar) == 200_880)
    foreign.master.shown?.beat = 1_000_000
    #expect(foreign.frame(of: .bar) == 0)
    foreign.master.shown?.ticksPerBeat = 0
    #expect(foreign.frame(of: .bar) == nil)
  }
}
