// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC
import Testing

@testable import TactusSurface

@Suite("The tempo before and after a bend")
struct BentTempoTests {
  /// The last tempo bend that was commanded: the tempo during the bend, and the tempo below it, which returns
  /// after the bend.
  private func lastBend(_ desk: Desk) -> (during: Double, below: Double)? {
    desk.program.commands.reversed().lazy.compactMap {
      if case .bentTempo(let tempo, let below) = $0 {
        (tempo.beatsPerMinute, below.beatsPerMinute)
      } else {
        nil
      }
    }.first
  }

  /// Follows a drummer from 120 BPM to 104 and later to 112; from tap 8 on, a bend of `percent` is held.
  private func drum(_ desk: inout Desk, bend percent: Float) {
    desk.send("/tactus/tempo/follow", .int32(1))
    var time = 2_137_000.0
    for tap in 0..<40 {
      desk.wait(max(0, (time - Double(desk.now.count)) / 1e6))
      desk.send("/tactus/tempo/tap")
      if tap == 8 { desk.send("/tactus/bend", .float32(percent)) }
      time += 60e6 / (tap < 8 ? 104 : 112)
    }
  }

  @Test(arguments: [5, -3] as [Float])
  func `during a tempo bend, a drummer's tap changes the tempo to return to`(percent: Float)
    throws
  {
    var desk = Desk()
    drum(&desk, bend: percent)
    let bend = try #require(lastBend(desk))
    #expect(abs(bend.below - 112) < 0.5, "\(bend)")
    #expect(abs(bend.during / bend.below - 1 - Double(percent) / 100) < 1e-6, "\(bend)")
    #expect(abs(desk.program.state.tempo.beatsPerMinute - bend.during) < 1e-3)
    #expect(desk.machine.reading.own.bent == Bent(below: bend.below, during: bend.during))
    desk.send("/tactus/tempo/nudge", .float32(1))
    desk.wait(1)
    #expect(abs(desk.program.state.tempo.beatsPerMinute - bend.below - 1) < 1e-3)
  }

  @Test func `after a tempo bend, the session has the drummer's tempo`() throws {
    var desk = Desk()
    drum(&desk, bend: 5)
    let below = try #require(lastBend(desk)).below
    desk.send("/tactus/bend", .float32(0))
    desk.wait(1)
    #expect(abs(desk.program.state.tempo.beatsPerMinute - below) < 1e-3)
    #expect(desk.machine.reading.own.bent == nil)
  }

  @Test func `a tempo bend may end before the session shows its last tempo`() {
    var desk = Desk()
    desk.send("/tactus/bend", .float32(5))
    let stale = desk.program.state
    desk.send("/tactus/bend", .float32(4))
    desk.send("/tactus/bend", .float32(1))
    desk.machine.update(stale, clocks: desk.clocks)
    desk.send("/tactus/bend", .float32(0))
    #expect(desk.program.state.tempo == Tempo(120))
  }
}
