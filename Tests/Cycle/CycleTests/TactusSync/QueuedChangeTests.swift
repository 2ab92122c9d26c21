// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// A change of tempo and meter that waits for its beat, with outputs that must know of the change before that
/// beat.
struct QueuedChangeTests {
  /// A song that rolls from the session's beat 0. `Plan` computes the song's true times itself, without
  /// `Grid`.
  private struct Plan {
    var from = 120.0
    var to: Double
    var line = 12.0
    var meter = Meter()

    private static let start = 1e9
    private var before: Double { Double(Tempo(from).microsPerBeat) }
    private var after: Double { Double(Tempo(to).microsPerBeat) }
    var lineTime: Double { Self.start + line * before }

    func time(of beat: Double) -> Double {
      beat < line ? Self.start + beat * before : lineTime + (beat - line) * after
    }
    func beat(at time: Double) -> Double {
      time < lineTime ? (time - Self.start) / before : line + (time - lineTime) / after
    }
    var change: QueuedChange { QueuedChange(at: Beats(line), tempo: Tempo(to), meter: meter) }

    /// Carries out the change as the program does: from the bar line on the session has the new tempo, and
    /// the user's choices the new meter.
    func carryOut(_ studio: Studio) {
      studio.setTempo(to, at: lineTime)
      studio.settings.meter = meter
      studio.settings.queued = nil
    }

    /// Plays until the time `end`, and carries out the change `late` microseconds after the bar line.
    func play(_ studio: Studio, until end: Double, frames: UInt32, late: Double, each: () -> Void = {}) {
      while studio.clock.nextDue < end {
        if studio.settings.queued != nil, studio.clock.nextDue > lineTime + late { carryOut(studio) }
        studio.play(frames)
        each()
      }
    }
  }

  private static func roll(_ studio: Studio, _ frames: UInt32) {
    studio.isMaster = true
    studio.transport.state = .starting
    studio.play(frames)
    studio.transport.state = .rolling
  }

  private static func early(_ kind: OutputKind, _ number: UInt32, milliseconds: Double) -> OutputSlot {
    var settings = OutputSettings(kind)
    settings.clock?.when = .always
    return OutputSlot(number: number, settings: settings, offset: Micros(rounding: milliseconds * 1000))
  }

  @Test(arguments: [64 as UInt32, 256, 1024], [180.0, 62])
  func `JACK's clients see a queued tempo and meter from the bar line on`(frames: UInt32, tempo: Double) {
    let plan = Plan(from: 120, to: tempo, line: 12, meter: Meter(beatsPerBar: 7, beatType: 8))
    let studio = Studio(tempo: plan.from)
    studio.latencies = PerPort(repeating: 2 * frames)
    Self.roll(studio, frames)
    studio.settings.queued = plan.change
    var (first, lag) = (0.0, 0.0)
    plan.play(studio, until: plan.time(of: 20), frames: frames, late: 3000) {
      let next = studio.due + Double(3 * frames) * studio.microsPerFrame
      guard let shown = studio.sync.bbt(nextFrame: studio.transport.frame) else { return }
      let song = studio.report.sessionBeat - studio.report.song.beat
      let beat = plan.beat(at: next) - song
      let isNew = next >= plan.lineTime
      // The bar line's time is rounded, so a cycle that begins within two microseconds of it may show the old
      // or the new values.
      guard abs(next - plan.lineTime) > 2 else { return }
      #expect(abs(shown.tempo - (isNew ? plan.to : plan.from)) < 0.01, "\(beat)")
      #expect(shown.beatsPerBar == (isNew ? 7 : 4) && shown.beatType == (isNew ? 8 : 4))
      let place =
        isNew
        ? (12 - song) + Double(shown.bar - 1 - Int32(12 - song) / 4) * 3.5 + Double(shown.beat - 1) / 2
          + Double(shown.tick) / 1920 / 2
        : Double(shown.bar - 1) * 4 + Double(shown.beat - 1) + Double(shown.tick) / 1920
      if beat > 0 { #expect(abs(place - beat) < 2.5 / 1920, "\(place) of \(beat)") }
      if isNew, first == 0 { first = next }
      if !isNew { lag = studio.report.song.hostLag }
      #expect(abs(studio.report.song.hostLag - lag) < 20)
    }
    #expect(first - plan.lineTime < Double(frames) * studio.microsPerFrame + 2)
  }

  @Test(arguments: [(120.0, 180.0), (180, 100), (90, 240), (240, 60), (20, 300)], [64 as UInt32, 256, 1024])
  func `outputs that are sent early follow a queued tempo`(tempo: (Double, Double), frames: UInt32) {
    let plan = Plan(from: tempo.0, to: tempo.1, line: 12)
    let studio = Studio(tempo: plan.from)
    let offsets: [Double] = [200, 20, 500, 0]
    studio.rack =
      offsets.enumerated().map { Self.early(.clock, UInt32($0 + 1), milliseconds: $1) }
      + [Self.early(.pulse, 5, milliseconds: 200)]
    Self.roll(studio, frames)
    studio.settings.queued = plan.change
    plan.play(studio, until: plan.time(of: 16), frames: frames, late: 3000)
    for (place, offset) in offsets.enumerated() {
      let clocks = studio.rackMessages[place].filter { $0.event.status == MIDI.clock }
      var last = (0.0, 0.0)
      for clock in clocks {
        let heard = clock.heard + offset * 1000
        let number = (plan.beat(at: heard) * 24).rounded()
        #expect(abs(heard - plan.time(of: number / 24)) < 12, "clock \(number), \(offset) ms early")
        if last.1 > 0 { #expect(number == last.0 + 1, "\(offset) ms early") }
        last = (number, heard)
      }
      #expect(clocks.count > 24 * 14)
    }
    let edges = studio.rackEdges[4].filter { $0.value > 0 }.map { $0.heard + 200_000 }
    for heard in edges {
      #expect(abs(heard - plan.time(of: plan.beat(at: heard).rounded())) < 12)
    }
    #expect(edges.count >= 15)
  }

  @Test(arguments: [60.0, 300])
  func `a queued tempo that is taken back costs an early output no clock`(tempo: Double) {
    let plan = Plan(from: 120, to: tempo, line: 12)
    let studio = Studio(tempo: plan.from)
    studio.rack = [Self.early(.clock, 1, milliseconds: 200)]
    Self.roll(studio, 256)
    studio.settings.queued = plan.change
    while studio.clock.nextDue < plan.lineTime - 80_000 { studio.play(256) }
    studio.settings.queued = nil
    while studio.clock.nextDue < plan.lineTime + 4e6 { studio.play(256) }
    let clocks = studio.rackMessages[0].filter { $0.event.status == MIDI.clock }.map { $0.heard + 200_000 }
    let last = clocks.last.map { studio.beat(at: $0) * 24 } ?? 0
    let first = clocks.first.map { studio.beat(at: $0) * 24 } ?? 0
    #expect(abs(last - last.rounded()) < 0.01)
    #expect(Int(last.rounded()) - Int(first.rounded()) + 1 == clocks.count)
  }

  @Test
  func `a queued tempo that is not carried out in time has no effect`() {
    let plan = Plan(from: 120, to: 240, line: 12)
    let studio = Studio(tempo: plan.from)
    Self.roll(studio, 256)
    studio.settings.queued = plan.change
    while studio.clock.nextDue < plan.lineTime + 2e6 { studio.play(256) }
    #expect(abs(studio.report.sessionBeat - studio.beat(at: studio.due)) < 1e-6)
    #expect(studio.sync.bbt(nextFrame: studio.transport.frame)?.tempo == 120)
    // The beat of this queued change is long past.
    studio.settings.queued = QueuedChange(at: Beats(3), tempo: Tempo(240))
    studio.play(256)
    #expect(abs(studio.report.sessionBeat - studio.beat(at: studio.due)) < 1e-6)
  }

  @Test(arguments: [0.0, 25_000, 100_000])
  func `a queued meter begins at its bar line, even if carried out late`(late: Double) {
    // Half a note lasts 31 ms, which is shorter than JACK's latency of 64 ms.
    var plan = Plan(from: 240, to: 240, line: 12.5, meter: Meter(beatsPerBar: 3))
    let studio = Studio(tempo: 240)
    studio.latencies = PerPort(repeating: 3072)
    studio.settings.meter = Meter(beatsPerBar: 5, beatType: 16)
    Self.roll(studio, 1024)
    while studio.report.song.beat < 2 { studio.play(1024) }
    let origin = studio.report.sessionBeat - studio.report.song.beat
    plan.line = origin + 12.5
    studio.settings.queued = plan.change
    plan.play(studio, until: plan.time(of: plan.line + 8), frames: 1024, late: late)
    #expect(studio.report.bars.meter == plan.meter)
    #expect(studio.report.bars.first == 100)
  }
}
