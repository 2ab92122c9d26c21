// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// The transport was located to a beat while it stood, and starts from that beat, which must be the first one
/// heard.
struct LocatedStartTests {
  private func studio(tempo: Double) -> Studio {
    let studio = Studio(tempo: tempo)
    studio.asksBeforeRolling = true
    studio.settings.click.isOn = true
    studio.settings.click.when = .rolling
    studio.latencies = [.click1: 512, .clock: 300, .jack: 512]
    studio.play(seconds: 0.3)
    return studio
  }

  /// Starts from the present place, and expects that the first sound is `beat` of the song, at the right
  /// place in the bar.
  private func expectStart(_ studio: Studio, on beat: Int, _ comment: Comment) throws {
    let (clicks, messages) = (studio.clicks.count, studio.messages.count)
    studio.transport.state = .starting
    let grid = Grid(studio.timeline)
    studio.play(seconds: 5.5 * grid.beatMicros / 1e6)
    let first = try #require(studio.clicks.dropFirst(clicks).first, comment)
    let heard = grid.beat(at: first.heard)
    #expect(abs(heard - heard.rounded()) * grid.beatMicros <= 12, comment)
    #expect((Int(heard.rounded()) - beat) % 4 == 0, comment)
    #expect(first.value == (beat % 4 == 0 ? 1 : 0.5), comment)
    let receiver = MIDIClockTests.Receiver(Array(studio.messages.dropFirst(messages)))
    #expect(receiver.starts == (beat == 0 ? 1 : 0) && receiver.continues == (beat == 0 ? 0 : 1), comment)
    let counted = try #require(receiver.counted.first, comment)
    // At the song's beginning the receiver counts at once. At other places the receiver may need time to find
    // the place.
    #expect(abs(counted.heard - first.heard) <= (beat == 0 ? 60 : 150_000), comment)
    let rest = grid.beat(at: counted.heard) - heard - Double(counted.place) / 24 + Double(beat)
    #expect(abs(rest) < 1e-3, comment)
  }

  private func shown(_ beat: Double, tempo: Double) -> BBT {
    BBT(song: Beats(beat), meter: Meter(), beatsPerMinute: tempo)
  }

  @Test(arguments: [60, 97, 117, 120, 187.3])
  func `a song that is stopped and rewound starts with its first beat`(tempo: Double) throws {
    for wait in 0..<6 {
      let studio = studio(tempo: tempo)
      studio.isMaster = true
      studio.transport.state = .starting
      studio.play(seconds: 7.3 * 60 / tempo + Double(wait) * 0.171)
      studio.transport.state = .stopped
      studio.play(seconds: 0.4)
      studio.locate = 0
      studio.locateShows = shown(0, tempo: tempo)
      studio.play(seconds: 0.5)
      try expectStart(studio, on: 0, "stopped after \(wait)")
    }
  }

  /// JACK may let the transport roll before it handles a locate that was requested in time.
  @Test(arguments: [0, 1, 30])
  func `a locate just after a start waits for a bar, a later locate does not`(cycles: Int) {
    for alignment in [Alignment.nearest, .exact] {
      let studio = studio(tempo: 120)
      studio.settings.launch.alignment = alignment
      studio.transport.state = .starting
      while !studio.report.song.isRolling { studio.play(256) }
      for _ in 0..<cycles { studio.play(256) }
      studio.locate = 960_000
      let asked = studio.report.sessionBeat
      studio.play(256)
      while studio.transport.state != .rolling { studio.play(256) }
      studio.play(256)
      let waited = studio.report.sessionBeat - asked
      if cycles > 3 {
        #expect(waited < 0.1)
        continue
      }
      #expect(waited > 3 && waited < 8.1)
      #expect(abs(studio.report.song.hostLag) <= (alignment == .exact ? 25 : 2_700))
      // A later locate must not be held.
      studio.locate = 0
      for _ in 0..<4 { studio.play(256) }
      #expect(studio.report.song.isRolling)
    }
  }

  @Test(arguments: [97, 117, 120, 187.3])
  func `a locate to a beat starts with that beat despite rounded frames`(tempo: Double) throws {
    let period = Double(Tempo(tempo).microsPerBeat)
    for isMaster in [true, false] {
      let studio = studio(tempo: tempo)
      studio.isMaster = isMaster
      for beat in [8, 13, 22, 31, 47] {
        let place = Double(beat) * period / 1e6 * 48_000
        studio.locate = UInt32(place.rounded())
        // JACK shows the beat of the rounded frame, which may be a tick too early.
        studio.locateShows = shown(Double(place.rounded()) / 48_000 * 1e6 / period, tempo: tempo)
        studio.play(seconds: 0.2)
        try expectStart(studio, on: beat, "beat \(beat), master: \(isMaster)")
        studio.transport.state = .stopped
        studio.play(seconds: 0.3)
      }
    }
  }

  @Test(arguments: [960.0, 1920, 24, 1])
  func `a start at a beat that another timebase master shows plays that beat`(ticksPerBeat: Double) throws {
    for beat in [0, 4, 6] {
      let studio = studio(tempo: 120)
      var there = shown(Double(beat), tempo: 90)
      there.ticksPerBeat = ticksPerBeat
      // The other master has its own tempo, so the beat does not follow from the frame.
      studio.transport.bbt = there
      studio.transport.frame = UInt32(beat) * 32_000
      studio.play(seconds: 0.3)
      try expectStart(studio, on: beat, "beat \(beat)")
    }
  }

  @Test func `a song stopped just after a beat does not play that beat again`() throws {
    let studio = studio(tempo: 120)
    studio.isMaster = true
    studio.transport.state = .starting
    while studio.report.song.beat < 6.01 { studio.play(64) }
    studio.transport.state = .stopped
    studio.play(seconds: 0.4)
    let clicks = studio.clicks.count
    studio.transport.state = .starting
    studio.play(seconds: 3)
    let first = try #require(studio.clicks.dropFirst(clicks).first)
    let beat = Grid(studio.timeline).beat(at: first.heard)
    #expect(Int(beat.rounded()) % 4 == 3 && abs(beat - beat.rounded()) < 1e-4)
  }

  @Test func `with lead auto, bars from our own locate are not taken for a host's`() {
    for delay in 0..<4 {
      let studio = Studio(tempo: 117)
      studio.asksBeforeRolling = true
      studio.isMaster = true
      studio.settings.lead = .auto
      studio.latencies = [.click1: 512, .click2: 512, .clock: 300, .pulse: 512, .run: 512, .jack: 512]
      studio.play(seconds: 0.277)
      let there = Beats(96_000.0 / 48_000 * 117 / 60)
      studio.locate = 96_000
      studio.locateShows = BBT(song: there, meter: Meter(), beatsPerMinute: 117)
      // Play is pressed together with the locate, or just after it.
      if delay == 0 { studio.transport.state = .starting }
      for cycle in 1...600 {
        studio.play(256)
        if cycle == delay { studio.transport.state = .starting }
        #expect(studio.report.master.timebase == .ours)
      }
      #expect(studio.told.map(\.change) == [.playing(true)])
      let bars = (studio.report.sessionBeat - studio.report.song.beat) / 4
      #expect(studio.transport.state == .rolling && abs(bars - bars.rounded()) < 1e-6)
      #expect(abs(studio.report.launch.error) <= 2_700, "\(delay): \(studio.report.launch.error) us")
    }
  }
}
