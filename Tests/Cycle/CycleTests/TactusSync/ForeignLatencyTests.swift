// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// Other programs may report any latency. We believe latencies up to 2 s, so no start, bar or output may move
/// by more than 2 s.
struct ForeignLatencyTests {
  private static let bound = 2e6
  private static let kinds: [OutputSettings] = [
    OutputSettings(.clock), OutputSettings(.click), OutputSettings(.pulse), OutputSettings(.reset),
  ]

  private func latency(_ dice: inout Dice) -> UInt32 {
    switch dice.next() % 4 {
    case 0: 0
    case 1: 96_000
    case 2: UInt32(dice.next() % 2_000)
    default: UInt32(dice.next() % 96_001)
    }
  }

  private func studio(_ dice: inout Dice) -> Studio {
    // A bar lasts 12 s, so that an event that is 2 s off still belongs to one bar.
    let studio = Studio(tempo: 20)
    studio.asksBeforeRolling = true
    studio.isMaster = true
    studio.settings.click.pattern = Pattern("X...".utf8)!
    for port in [Port.click1, .click2, .clock, .pulse, .run, .control, .jack] {
      studio.latencies[port] = latency(&dice)
    }
    studio.rack = Self.kinds.enumerated().map { number, settings in
      OutputSlot(number: UInt32(number + 1), settings: settings, latency: latency(&dice))
    }
    studio.plan.choices = studio.settings
    return studio
  }

  /// The microseconds from the nearest bar line of the session to this moment; negative before the bar line.
  private func distance(_ studio: Studio, _ moment: Double) -> Double {
    let bars = studio.beat(at: moment) / 4
    return (bars - bars.rounded()) * 12e6
  }

  @Test(arguments: campaign(1...16))
  func `no latency of other clients moves a start, bar or output by over 2 s`(seed: UInt64) throws {
    var dice = Dice(seed: seed)
    let studio = studio(&dice)
    let frames: UInt32 = [256, 1_024, 2_048][Int(seed % 3)]
    let period = Double(frames) * studio.microsPerFrame
    studio.play(seconds: 3 + Double(dice.next() % 12_000) / 1_000, frames: frames)
    let pressed = studio.due
    studio.pressPlay()
    var rolled: Double?
    while rolled == nil, studio.due - pressed < 40e6 {
      studio.play(frames)
      if studio.report.song.isRolling { rolled = studio.due }
    }
    let start = try #require(rolled, "held for 40 s")
    // The start may wait for a bar, for one more bar if the nearest one comes too soon for the latencies, and
    // for the time by which outputs are sent early.
    #expect(start - pressed <= 24e6 + Self.bound, "\(studio.latencies)")
    #expect((-Self.bound - 2 * period...2 * period).contains(distance(studio, start)))
    studio.play(seconds: 26, frames: frames)
    // The report's beat belongs to the frame that passes through JACK now and is heard up to 2 s later.
    let song = studio.report.sessionBeat - studio.report.song.beat
    #expect(abs(song / 4 - (song / 4).rounded()) < 1e-6)
    let ahead = (studio.report.sessionBeat - studio.beat(at: studio.due)) * 3e6
    #expect((-2 * period...Self.bound + 2 * period).contains(ahead))
    // The times at which the clicks are sent, not those at which they are heard.
    let sent = studio.clicks.map { $0.heard - Double(studio.latencies[.click1]) * studio.microsPerFrame }
    #expect(sent.count >= 3)
    for moment in sent { #expect((-Self.bound - period...period).contains(distance(studio, moment))) }
    for place in studio.rack.indices {
      let late = Double(studio.rack[place].latency) * studio.microsPerFrame
      for message in studio.rackMessages[place] where message.event.status == MIDI.start {
        #expect((-Self.bound - 0.2e6...period).contains(distance(studio, message.heard - late)))
      }
    }
    let starts = studio.rackMessages[0].filter { $0.event.status == MIDI.start }
    #expect(starts.count == 1, "\(studio.rack[0].latency)")
  }
}
