// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusSync
import Testing

@Suite struct BBTTests {
  private func bbt(_ song: Double, meter: Int32 = 4, grace: Double = 0) -> BBT {
    BBT(
      song: Beats(song), meter: Meter(beatsPerBar: meter), beatsPerMinute: 120, grace: Beats(grace))
  }

  @Test func `the song starts at the first tick of JACK's first bar`() {
    let start = bbt(0)
    #expect(start.bar == 1 && start.beat == 1 && start.tick == 0 && start.barStartTick == 0)
  }

  @Test func `the song's beat is split into JACK's bar, beat and tick`() {
    let place = bbt(9.75, meter: 3)
    #expect(place.bar == 4 && place.beat == 1 && place.tick == 1440)
    #expect(place.barStartTick == 3 * 3 * 1920)
    #expect(place.beatsPerBar == 3 && place.ticksPerBeat == 1920 && place.beatsPerMinute == 120)
  }

  @Test func `JACK's ticks are rounded down and never reach the next beat`() {
    let last = BBT(song: Beats(millionths: 3_999_999), meter: Meter(), beatsPerMinute: 120)
    #expect(last.bar == 1 && last.beat == 4 && last.tick == 1919)
  }

  @Test func `a launch half a period early shows JACK the song's first tick`() {
    let early = bbt(-0.005, grace: 0.01)
    #expect(early.bar == 1 && early.beat == 1 && early.tick == 0)
  }

  @Test func `before the song starts, JACK's bar is 1, its beat the session's`() {
    for micros in stride(from: Int64(-20_000_000), to: 0, by: 50_000) {
      let place = BBT(song: Beats(millionths: micros), meter: Meter(), beatsPerMinute: 60)
      let phase = Beats(millionths: micros).phase(in: Beats(4)).value
      #expect(place.bar == 1)
      #expect(Int32(phase) + 1 == place.beat)
      #expect(place.tick == Int32((phase - phase.rounded(.down)) * 1920 + 1e-6))
    }
  }

  @Test func `absurd song positions give JACK bars, beats and ticks within bounds`() {
    for micros in [Int64.max, .min, .max - 1] {
      let place = BBT(song: Beats(millionths: micros), meter: Meter(beatsPerBar: 1), beatsPerMinute: 999)
      #expect(place.bar >= 1 && place.beat >= 1 && place.tick >= 0 && place.tick < 1920)
    }
  }

  @Test func `a bar and beat that we write is read back within half a tick`() throws {
    for micros in stride(from: Int64(0), to: 40_000_000, by: 12_345) {
      let song = Beats(millionths: micros)
      let read = try #require(BBT(song: song, meter: Meter(beatsPerBar: 7), beatsPerMinute: 97).beats)
      #expect(abs(read - song.value) <= 0.5 / 1920 + 1e-9)
    }
  }

  @Test func `a tick with its fraction is read back to the millionth of a beat`() throws {
    for micros in stride(from: Int64(0), to: 40_000_000, by: 12_345) {
      let song = Beats(millionths: micros)
      let shown = BBT(song: song, meter: Meter(beatsPerBar: 7), beatsPerMinute: 97, isFine: true)
      #expect(abs(try #require(shown.beats) - song.value) < 1e-9)
      #expect(shown.fineTick.map { Int32($0) } == shown.tick)
    }
    // A fine tick of another client is ignored if it differs from the tick by more than 1.
    var odd = BBT(song: Beats(9.75), meter: Meter(), beatsPerMinute: 97)
    let plain = odd.beats
    for fine in [Double.nan, -1, 1e300, 1920, 12] {
      odd.fineTick = fine
      #expect(odd.beats == plain)
    }
  }

  @Test func `senseless bars, beats or tempos of a client give no song position`() {
    let good = bbt(5.5)
    #expect(good.beats != nil)
    let spoilers: [(inout BBT) -> Void] = [
      { $0.bar = 0 }, { $0.bar = -3 }, { $0.beat = 0 }, { $0.beat = 5 }, { $0.tick = -1 }, { $0.tick = 1920 },
      { $0.ticksPerBeat = 0 }, { $0.ticksPerBeat = .nan }, { $0.ticksPerBeat = .infinity },
      { $0.beatsPerMinute = .nan }, { $0.beatsPerMinute = .leastNonzeroMagnitude }, { $0.beatsPerMinute = 0 },
      { $0.beatsPerMinute = .infinity }, { $0.beatsPerMinute = -120 }, { $0.beatsPerBar = 0 },
      { $0.beatsPerBar = .nan }, { $0.beatsPerBar = 1e30 },
    ]
    for spoil in spoilers {
      var bad = good
      spoil(&bad)
      #expect(bad.beats == nil, "\(bad)")
    }
    var extreme = good
    extreme.bar = .max
    #expect(extreme.beats != nil)
  }

  @Test(arguments: [1, 2, 4, 8, 16, 32] as [Int32])
  func `JACK's position counts the meter's notes, we read it back as beats`(
    unit: Int32
  ) throws {
    let meter = Meter(beatsPerBar: 7, beatType: unit)
    for micros in stride(from: 0 as Int64, to: 40_000_000, by: 12_345) {
      for isFine in [false, true] {
        let song = Beats(millionths: micros)
        let shown = BBT(song: song, meter: meter, beatsPerMinute: 97, isFine: isFine)
        #expect(shown.beatsPerBar == 7 && shown.beatType == Float(unit))
        #expect(shown.beatsPerMinute == 97 * Double(unit) / 4 && shown.tempo == 97)
        let read = try #require(shown.beats)
        let finest = isFine ? 1e-6 : 0.51 / 1920
        #expect(abs(read - song.value) * Double(unit) / 4 <= finest)
        let note = Int(micros) * Int(unit) / 4_000_000
        #expect(Int(shown.bar) == note / 7 + 1 && Int(shown.beat) == note % 7 + 1)
        #expect(shown.barStartTick == Double(note / 7 * 7 * 1920))
      }
    }
  }
}
