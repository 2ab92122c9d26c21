// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// A change of meter while the song plays.
struct MeterTests {
  private static func roll(_ studio: Studio, frames: UInt32 = 256) {
    studio.isMaster = true
    studio.transport.state = .starting
    studio.play(frames)
    studio.transport.state = .rolling
  }

  private static func play(_ studio: Studio, toBeat beat: Double, frames: UInt32 = 256) {
    while studio.report.song.beat < beat { studio.play(frames) }
  }

  /// A song whose click port has more latency than the other ports.
  private static func late(_ frames: UInt32) -> Studio {
    let studio = Studio()
    studio.settings.click.when = .rolling
    studio.latencies[.click1] = 2400
    roll(studio, frames: frames)
    return studio
  }

  /// A studio in which a song's meter changes at each of these beats, played up to the beat `end`.
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

  /// The song's beats at which accents were heard.
  private static func accents(_ studio: Studio) -> [Double] {
    beats(studio.clicks.filter { $0.value == 1 }, studio)
  }

  /// The song's beats at which these onsets are heard, rounded to a thousandth of a beat.
  private static func beats(_ onsets: [Studio.Onset], _ studio: Studio) -> [Double] {
    onsets.map { (1000 * (studio.beat(at: $0.heard) - origin(studio))).rounded() / 1000 }
  }

  private static func origin(_ studio: Studio) -> Double {
    (8 * (studio.report.sessionBeat - studio.report.song.beat)).rounded() / 8
  }

  private static let seven = Meter(beatsPerBar: 7, beatType: 8)

  @Test(arguments: [64 as UInt32, 256, 1024])
  func `a new meter begins at the next bar line and keeps earlier bar numbers`(frames: UInt32) {
    let studio = Self.late(frames)
    Self.play(studio, toBeat: 9.3, frames: frames)
    studio.settings.meter = Meter(beatsPerBar: 7)
    Self.play(studio, toBeat: 11.5, frames: frames)
    let before = studio.sync.bbt(nextFrame: studio.transport.frame)
    #expect(before?.bar == 3 && before?.beat == 4 && before?.beatsPerBar == 4)
    Self.play(studio, toBeat: 20.5, frames: frames)
    // Three bars of four beats have passed, and one bar of seven beats.
    let after = studio.sync.bbt(nextFrame: studio.transport.frame)
    #expect(after?.bar == 5 && after?.beat == 2 && after?.beatsPerBar == 7)
    #expect(after?.barStartTick == 19.0 * 1920)
    studio.settings.meter = Meter(beatsPerBar: 3)
    Self.play(studio, toBeat: 33, frames: frames)
    #expect(Self.accents(studio) == [4, 8, 12, 19, 26, 29, 32])
  }

  @Test
  func `a meter change shortly after a bar line counts from that bar line`() {
    let studio = Self.song([(0.2, Meter(beatsPerBar: 3)), (9.01, Meter(beatsPerBar: 5))], to: 20)
    #expect(Self.accents(studio) == [3, 6, 9, 14, 19])
  }

  @Test
  func `a revoked meter change has no effect, and a start resets the bars`() {
    let studio = Self.song([(5.5, Meter(beatsPerBar: 7)), (6.5, Meter())], to: 13)
    #expect(Self.accents(studio) == [4, 8, 12])
    #expect(studio.report.bars.place(at: 12).bar == 3 && studio.report.bars.place(at: 12).note == 0)
    studio.settings.meter = Meter(beatsPerBar: 3)
    studio.play(256)
    studio.transport.state = .stopped
    studio.play(256)
    #expect(studio.report.bars == Bars(Meter(beatsPerBar: 3)))
  }

  @Test
  func `pulses and a MIDI machine that may play again follow a new meter`() {
    let studio = Studio()
    var bar = OutputSettings(.pulse)
    bar.gate?.rate = Rate(isInBars: true)
    var two = OutputSettings(.reset)
    two.gate?.rate = Rate(1, in: 2, isInBars: true)
    var drums = OutputSettings(.clock)
    drums.clock?.plays = false
    studio.rack = [bar, two, drums].enumerated().map { OutputSlot(number: UInt32($0 + 1), settings: $1) }
    Self.roll(studio)
    Self.play(studio, toBeat: 6)
    studio.settings.meter = Meter(beatsPerBar: 3)
    Self.play(studio, toBeat: 12)
    drums.clock?.plays = true
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

  @Test(arguments: [64 as UInt32, 256, 1024])
  func `a bar of seven eighths has three and a half beats and seven clicks`(
    frames: UInt32
  ) {
    let studio = Self.late(frames)
    Self.play(studio, toBeat: 5, frames: frames)
    studio.settings.meter = Self.seven
    Self.play(studio, toBeat: 9.2, frames: frames)
    let rolling = studio.sync.bbt(nextFrame: studio.transport.frame)
    // Two bars of four quarters have passed, and slightly more than 1.2 beats of the third bar. This is in
    // its third eighth.
    #expect(rolling?.bar == 3 && rolling?.beat == 3 && rolling?.beatsPerBar == 7 && rolling?.beatType == 8)
    // In a meter of eighths, `barStartTick` counts the earlier bars as if their beats were eighths, too:
    // JACK's clients assume that all bars have the present meter.
    #expect(rolling?.barStartTick == 16.0 * 1920 && rolling?.beatsPerMinute == 240)
    Self.play(studio, toBeat: 12, frames: frames)
    studio.settings.meter = Meter()
    Self.play(studio, toBeat: 23.5, frames: frames)
    let sevens = stride(from: 8, to: 15, by: 0.5)
    #expect(
      Self.beats(studio.clicks, studio) == [1, 2, 3, 4, 5, 6, 7] + sevens
        + stride(from: 15, through: 23, by: 1))
    #expect(Self.accents(studio) == [4, 8, 11.5, 15, 19, 23])
    #expect(studio.report.bars.place(at: 23.2).bar == 6)
  }

  @Test
  func `a bar line between two beats is accented like any other`() {
    let studio = Self.song([(0.1, Self.seven), (1.5, Meter()), (9, Self.seven)], to: 16)
    #expect(Self.accents(studio) == [3.5, 7.5, 11.5, 15])
    #expect(
      Self.beats(studio.clicks, studio).filter { $0 < 12.2 }
        == [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12])
  }

  @Test(arguments: campaign([1, 2, 4, 8, 16, 32] as [Int32]))
  func `in any meter a bar has its clicks and subdivisions, evenly spaced`(
    unit: Int32
  ) {
    for count in [1, 3, 5, 7, 12] as [Int32] {
      for each in [1, 2, 3] as [Int32] {
        let studio = Studio(tempo: 60)
        studio.settings.click.when = .rolling
        studio.settings.click.subdivision = each
        studio.settings.meter = Meter(beatsPerBar: count, beatType: unit)
        let bar = 4 * Double(count) / Double(unit)
        #expect(studio.settings.quantum == bar)
        Self.roll(studio, frames: 64)
        Self.play(studio, toBeat: 2 * bar + 0.01, frames: 64)
        let heard = studio.clicks.filter { studio.beat(at: $0.heard) - Self.origin(studio) > -0.01 }
        let places = Int(count * each)
        let spacing = bar / Double(places)
        // The song's first click may be in the cycle that started the song.
        let offset = 2 * places + 1 - heard.count
        #expect(offset == 0 || offset == 1, "\(count)/\(unit) by \(each): \(heard.count)")
        for (index, click) in heard.enumerated() {
          let place = (index + offset) % places
          #expect(click.value == (place == 0 ? 1 : place % Int(each) == 0 ? 0.5 : 0.25))
          let beat = studio.beat(at: click.heard) - Self.origin(studio)
          #expect(abs(beat - Double(index + offset) * spacing) < 0.0001)
        }
      }
    }
  }

  @Test
  func `all outputs follow a start on a bar of three and a half beats`()
    throws
  {
    let studio = Studio()
    studio.asksBeforeRolling = true
    studio.isMaster = true
    studio.settings.meter = Self.seven
    studio.settings.click.when = .rolling
    studio.settings.launch.countIn = 1
    var bar = OutputSettings(.pulse)
    bar.gate?.rate = Rate(isInBars: true)
    var threes = OutputSettings(.pulse)
    threes.gate?.rate = Rate(3, in: 2, isInBars: true)
    threes.gate?.when = .rolling
    studio.rack = [bar, threes].enumerated().map { OutputSlot(number: UInt32($0 + 1), settings: $1) }
    studio.play(seconds: 3.2)
    studio.transport.state = .starting
    Self.play(studio, toBeat: 14.2)
    // Play was pressed on beat 6.4. The count-in takes one more bar.
    #expect(Self.origin(studio) == 10.5)
    let counted = Self.beats(studio.clicks, studio).filter { $0 < 0 }
    #expect(counted == Array(stride(from: -3.5, to: 0, by: 0.5)))
    #expect(Self.accents(studio) == [-3.5, 0, 3.5, 7, 10.5, 14])
    let clocks = studio.messages.filter { $0.event.status == MIDI.clock }
    let start = try #require(studio.messages.first { $0.event.status == MIDI.start })
    #expect(start.heard < clocks[0].heard)
    for (number, clock) in clocks.enumerated() {
      #expect(abs(studio.beat(at: clock.heard) - 10.5 - Double(number) / 24) < 0.0001)
    }
    // A bar has 84 clock messages.
    #expect(clocks.count { studio.beat(at: $0.heard) < 10.5 + 7 - 0.01 } == 168)
    func pulses(_ place: Int) -> [Double] {
      Self.beats(studio.rackEdges[place].filter { $0.value > 0 }, studio).filter { $0 > -0.01 }
    }
    #expect(pulses(0) == [0, 3.5, 7, 10.5, 14])
    #expect(pulses(1) == [0, 2.333, 4.667, 7, 9.333, 11.667, 14])
    let shown = studio.sync.bbt(nextFrame: studio.transport.frame)
    #expect(shown?.bar == 5 && shown?.beat == 1 && shown?.beatsPerMinute == 240 && shown?.tempo == 120)
  }

  @Test
  func `a host's loop of one 7/8 bar keeps the bars, on or between beats`() {
    for beat in [7.0, 10.5] {
      let studio = Studio()
      studio.isMaster = true
      studio.settings.meter = Self.seven
      studio.settings.click.when = .rolling
      studio.play(seconds: beat / 2 - Double(studio.frame) / 48_000)
      let from = studio.report.sessionBeat
      studio.transport.state = .rolling
      for _ in 0..<4 {
        studio.transport.frame = 0
        while studio.transport.frame < 84_000 { studio.play(240) }
      }
      // The song began at once, at the host's place. Every 84,000 frames the host's loop locates back to
      // frame 0.
      #expect(abs(from - beat) < 0.02)
      let accents = studio.clicks.filter { $0.value == 1 }.map {
        (2 * studio.beat(at: $0.heard)).rounded() / 2
      }
      #expect(accents.allSatisfy { ($0 / 3.5).rounded() * 3.5 == $0 } && accents.count >= 3, "\(accents)")
    }
  }

  @Test
  func `in 7/8 a MIDI machine that may play again starts on a bar line`() throws {
    let studio = Studio()
    var drums = OutputSettings(.clock)
    drums.clock?.plays = false
    studio.rack = [OutputSlot(number: 1, settings: drums)]
    studio.settings.meter = Self.seven
    Self.roll(studio)
    Self.play(studio, toBeat: 9)
    drums.clock?.plays = true
    studio.rack[0] = OutputSlot(number: 1, settings: drums)
    Self.play(studio, toBeat: 12)
    let first = try #require(studio.rackMessages[0].first { $0.event.status == MIDI.clock })
    #expect(studio.rackMessages[0].contains { $0.event.status == MIDI.start })
    #expect(abs(studio.beat(at: first.heard) - Self.origin(studio) - 10.5) < 0.001)
  }
}
