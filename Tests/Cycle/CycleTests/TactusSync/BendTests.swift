// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Our outputs are pushed, pulled and turned by hand while the session goes on unchanged.
struct BendTests {
  private static func studio(tempo: Double = 120) -> Studio {
    let studio = Studio(tempo: tempo)
    var clock = OutputSettings(.clock)
    clock.clock?.when = .always
    studio.rack = [OutputSlot(number: 1, settings: clock)]
    studio.play(seconds: 2)
    return studio
  }

  /// The milliseconds by which each clock message is heard before its beat in the session. The first message
  /// belongs to beat 0.
  private static func ahead(_ studio: Studio) -> [Double] {
    let clocks = studio.rackMessages[0].filter { $0.event.status == MIDI.clock }
    return clocks.enumerated().map { number, clock in
      (Double(number) / 24 - studio.beat(at: clock.heard)) * Grid(studio.timeline).beatMicros / 1000
    }
  }

  @Test(arguments: [64 as UInt32, 256, 1024, 8192], [3.0, -3, 10, -10])
  func `a bend by hand moves outputs evenly, stays, and loses no click`(
    frames: UInt32, percent: Double
  ) {
    let studio = Self.studio()
    studio.settings.bend.percent = percent
    studio.play(seconds: 4, frames: frames)
    studio.settings.bend.percent = 0
    let heldFor = studio.report.ahead / percent * 100 / 1e6
    #expect(abs(heldFor - 4) < 0.5)
    let before = studio.clicks.count
    studio.play(seconds: 4, frames: frames)
    let ahead = Self.ahead(studio)
    let end = studio.report.ahead / 1000
    #expect(abs(end - percent * heldFor * 10) < 0.01)
    for clock in ahead.suffix(150) { #expect(abs(clock - end) < 0.0105, "\(clock) of \(end)") }
    // The outputs moved evenly: between two clock messages they move by at most the bend's share of that
    // time, and a frame.
    let most = 2.5 + Double(frames) / 480
    for (one, next) in zip(ahead, ahead.dropFirst()) {
      #expect(abs(next - one) < most)
    }
    let clicks = studio.clicks.dropFirst(before)
    for (one, next) in zip(clicks, clicks.dropFirst()) { #expect(abs(next.frame - one.frame - 24_000) <= 1) }
    // In ten seconds each beat of the session has a click, and so has each beat that the bend has gained.
    #expect(abs(Double(studio.clicks.count) - (20 + end / 500)) <= 1.5)
  }

  @Test
  func `a 30 ms turn of the bend knob takes 300 ms, a turn back undoes it`() {
    let studio = Self.studio()
    studio.settings.bend.turned = Micros(30_000)
    studio.play(seconds: 0.15)
    #expect(studio.report.ahead > 10_000 && studio.report.ahead < 20_000)
    studio.play(seconds: 0.2)
    #expect(abs(studio.report.ahead - 30_000) < 1e-6)
    studio.settings.bend.turned = Micros(-10_000)
    studio.play(seconds: 1)
    #expect(abs(studio.report.ahead + 10_000) < 1e-6)
    #expect(Self.ahead(studio).suffix(20).allSatisfy { abs($0 + 10) < 0.0105 })
    studio.settings.bend.returns += 1
    studio.play(seconds: 1)
    #expect(abs(studio.report.ahead) < 1e-6)
    #expect(Self.ahead(studio).suffix(20).allSatisfy { abs($0) < 0.0105 })
  }

  @Test
  func `a bend returns to the session's beat when its count of returns wraps`() {
    let studio = Studio(tempo: 120)
    studio.settings.bend.returns = .max
    studio.play(seconds: 2)
    studio.settings.bend.turned = Micros(20_000)
    studio.play(seconds: 1)
    #expect(abs(studio.report.ahead - 20_000) < 1e-6)
    studio.settings.bend.returns &+= 1
    studio.play(seconds: 1)
    #expect(abs(studio.report.ahead) < 1e-6)
  }

  @Test
  func `however long a bend is held, outputs stay within 2 s of the session`() {
    let studio = Self.studio()
    studio.settings.bend.percent = 10
    studio.play(seconds: 30, frames: 1024)
    #expect(studio.report.ahead == 2e6)
    studio.settings.bend.percent = 0
    studio.settings.bend.turned = Micros(5_000_000)
    studio.play(seconds: 30, frames: 1024)
    #expect(studio.report.ahead == 2e6)
  }
}
