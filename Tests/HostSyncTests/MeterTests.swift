// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices
import Testing

@testable import HostSync

/// A change of meter while the song plays.
struct MeterTests {
  private static func roll(_ studio: Studio, frames: UInt32 = 256) {
    studio.isMaster = true
    studio.transport.state = .starting
    studio.play(frames)
    studio.transport.state = .rolling
  }

  private static func play(_ studio: Studio, toBeat beat: Double, frames: UInt32 = 256) {
    while studio.report.songBeat < beat { studio.play(frames) }
  }

  /// A song whose meter is another from each of these beats on, heard to its end.
  private static func song(_ changes: [(beat: Double, meter: Meter)], to end: Double) -> Studio {
    let studio = Studio()
    studio.settings.click.when = .rolling
    roll(studio)
    for (beat, meter) in changes {
      play(studio, toBeat: beat)
      studio.settings.meter = meter
    }
    play(studio, toBeat: end)
    return studio
  }

  /// The song's beats at which an accent was heard.
  private static func accents(_ studio: Studio) -> [Int] {
    studio.clicks.filter { $0.value == 1 }.map { Int((studio.beat(at: $0.heard) - origin(studio)).rounded()) }
  }

  private static func origin(_ studio: Studio) -> Double {
    (studio.report.sessionBeat - studio.report.songBeat).rounded()
  }

  @Test(
    "It comes with the next bar line, and the bars before keep their numbers",
    arguments: [64 as UInt32, 256, 1024])
  func nextLine(frames: UInt32) {
    let studio = Studio()
    studio.settings.click.when = .rolling
    // Heard later through this port than through the others.
    studio.latencies[.click1] = 2400
    Self.roll(studio, frames: frames)
    Self.play(studio, toBeat: 9.3, frames: frames)
    studio.settings.meter = Meter(beatsPerBar: 7, beatType: 8)
    Self.play(studio, toBeat: 11.5, frames: frames)
    let before = studio.sync.bbt(nextFrame: studio.transport.frame)
    #expect(before?.bar == 3 && before?.beat == 4 && before?.beatsPerBar == 4)
    Self.play(studio, toBeat: 20.5, frames: frames)
    // Three bars of four, then one of seven.
    let after = studio.sync.bbt(nextFrame: studio.transport.frame)
    #expect(after?.bar == 5 && after?.beat == 2 && after?.beatsPerBar == 7 && after?.beatType == 8)
    #expect(after?.barStartTick == 19.0 * 1920)
    studio.settings.meter = Meter(beatsPerBar: 3)
    Self.play(studio, toBeat: 33, frames: frames)
    #expect(Self.accents(studio) == [4, 8, 12, 19, 26, 29, 32])
  }

  @Test(
    "Asked for on a line, as a set list does, it holds from that line on; before the first it is the song's")
  func onTheLine() {
    let studio = Self.song([(0.2, Meter(beatsPerBar: 3)), (9.01, Meter(beatsPerBar: 5))], to: 20)
    #expect(Self.accents(studio) == [3, 6, 9, 14, 19])
  }

  @Test(
    "A change that is taken back before its line has never been, and a new start counts in the new meter from its beginning"
  )
  func takenBack() {
    let studio = Self.song([(5.5, Meter(beatsPerBar: 7)), (6.5, Meter())], to: 13)
    #expect(Self.accents(studio) == [4, 8, 12])
    #expect(studio.report.bars.place(of: 12).bar == 3 && studio.report.bars.place(of: 12).beat == 0)
    studio.settings.meter = Meter(beatsPerBar: 3)
    studio.play(256)
    studio.transport.state = .stopped
    studio.play(256)
    #expect(studio.report.bars == Bars(Meter(beatsPerBar: 3)))
  }

  @Test("Pulses of bars go on with the bars, and a machine that is let play again begins on one")
  func outputs() {
    let studio = Studio()
    var bar = OutputSettings(.pulse)
    bar.gate.rate = Rate(isInBars: true)
    var two = OutputSettings(.reset)
    two.gate.rate = Rate(1, in: 2, isInBars: true)
    var drums = OutputSettings(.clock)
    drums.clock.plays = false
    studio.rack = [bar, two, drums].enumerated().map { OutputSlot(number: UInt32($0 + 1), settings: $1) }
    Self.roll(studio)
    Self.play(studio, toBeat: 6)
    studio.settings.meter = Meter(beatsPerBar: 3)
    Self.play(studio, toBeat: 12)
    drums.clock.plays = true
    studio.rack[2] = OutputSlot(number: 3, settings: drums)
    Self.play(studio, toBeat: 24)
    let origin = Self.origin(studio)
    func beats(_ place: Int) -> [Int] {
      studio.rackEdges[place].filter { $0.value > 0 }.map {
        Int((studio.beat(at: $0.heard) - origin).rounded())
      }
      .filter { $0 >= 0 }
    }
    #expect(beats(0) == [0, 4, 8, 11, 14, 17, 20, 23])
    #expect(beats(1) == [0, 8, 14, 20])
    let start = studio.rackMessages[2].first { $0.event.status == MIDI.start }
    let first = studio.rackMessages[2].first { $0.event.status == MIDI.clock }
    #expect(start != nil && abs(studio.beat(at: first?.heard ?? 0) - origin - 14) < 0.001)
  }
}
