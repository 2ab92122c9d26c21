// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// Swing of clicks, pulses and MIDI clocks. The tests compare the times at which the notes are heard.
struct SwingTests {
  /// The outputs of the tests, with `count` notes in a beat.
  enum Output: CaseIterable {
    case click, standingClick, clock, standingClock, pulse, standingPulse

    var count: Int {
      switch self {
      case .click, .standingClick: 4
      case .clock, .standingClock: 24
      case .pulse, .standingPulse: 4
      }
    }
  }

  private static let swings = [
    Swing(share: 580, perBeat: 4), Swing(share: 667, perBeat: 2), Swing(share: 750, perBeat: 2),
    Swing(share: 750, perBeat: 4),
  ]

  /// The beat of note `number`, by the definition of swing. The notes in the first half of a pair spread
  /// evenly over the share `share` of the pair's length, the notes in the second half over the rest.
  private func beat(_ number: Int, _ count: Int, _ swing: Swing) -> Double {
    let (share, pair) = (Double(swing.share) / 1000, 2 / Double(swing.perBeat))
    let notes = count * 2 / Int(swing.perBeat)
    let (index, inPair) = (number / notes, number % notes)
    let (half, place) = (notes / 2, Double(inPair))
    let share2 = (place - Double(half)) / Double(half) * (1 - share)
    return (Double(index) + (inPair < half ? place / Double(half) * share : share + share2)) * pair
  }

  /// The number of the note near `beat`, out of the first hundred notes.
  private func number(_ beat: Double, _ count: Int, _ swing: Swing) -> Int {
    (0..<100).min { abs(self.beat($0, count, swing) - beat) < abs(self.beat($1, count, swing) - beat) }!
  }

  private func studio(_ output: Output, _ swing: Swing, tempo: Double, seed: UInt64? = nil) -> Studio {
    let studio = Studio(tempo: tempo, seed: seed)
    studio.settings.click.isOn = false
    set(swing, of: output, in: studio)
    return studio
  }

  private func set(_ swing: Swing, of output: Output, in studio: Studio) {
    switch output {
    case .click:
      var settings = ClickSettings(isOn: true)
      (settings.subdivision, settings.swing) = (4, swing)
      studio.rack = [OutputSlot(number: 1, settings: .click(settings), latency: 100)]
    case .standingClick:
      studio.settings.click.isOn = true
      (studio.settings.click.subdivision, studio.settings.click.swing) = (4, swing)
    case .clock:
      var settings = ClockSettings()
      (settings.when, settings.swing) = (.always, swing)
      studio.rack = [OutputSlot(number: 1, settings: .clock(settings), latency: 300)]
    case .standingClock: (studio.settings.clock.when, studio.settings.clock.swing) = (.always, swing)
    case .pulse:
      var settings = GateSettings(rate: Rate(4))
      settings.swing = swing
      studio.rack = [OutputSlot(number: 1, settings: .pulse(settings), latency: 700)]
    case .standingPulse:
      studio.listensToPulse = true
      (studio.settings.pulse.rate, studio.settings.pulse.swing) = (.four, swing)
    }
  }

  /// The times at which the output's notes were heard.
  private func heard(_ output: Output, in studio: Studio) -> [Double] {
    switch output {
    case .click, .pulse: studio.rackEdges[0].filter { $0.value > 0 }.map(\.heard)
    case .standingClick: studio.clicks.map(\.heard)
    case .clock: studio.rackMessages[0].filter { $0.event.status == MIDI.clock }.map(\.heard)
    case .standingClock: studio.messages.filter { $0.event.status == MIDI.clock }.map(\.heard)
    case .standingPulse: studio.pulses.map(\.onset.heard)
    }
  }

  @Test(arguments: Output.allCases, [20, 120, 300])
  func `each note is within a frame of its swung place`(output: Output, tempo: Double) throws {
    for swing in Self.swings {
      let studio = studio(output, swing, tempo: tempo)
      let beats = 12
      studio.play(seconds: Double(beats) * 60 / tempo, frames: 256)
      let times = heard(output, in: studio)
      let first = try #require(times.first)
      let offset = number(studio.beat(at: first), output.count, swing)
      var worst = 0.0
      for (index, time) in times.enumerated() {
        let due = Grid(studio.timeline).time(of: beat(index + offset, output.count, swing))
        worst = max(worst, abs(time - due))
      }
      #expect(worst <= studio.microsPerFrame, "\(swing)")
      #expect(abs(times.count - beats * output.count) <= output.count, "\(swing)")
    }
  }

  @Test(arguments: Output.allCases)
  func `a new swing begins with the next pair of notes and loses no note`(output: Output) throws {
    let studio = studio(output, Swing(), tempo: 120)
    var dice = Dice(seed: 5)
    var changes: [(beat: Double, swing: Swing)] = [(-1, Swing())]
    for _ in 0..<40 {
      studio.play(seconds: Double.random(in: 0.05...3, using: &dice), frames: 64)
      let swing = [Swing(), Self.swings.randomElement(using: &dice)!].randomElement(using: &dice)!
      set(swing, of: output, in: studio)
      studio.play(64)
      changes.append((studio.beat(at: studio.due), swing))
    }
    studio.play(seconds: 2, frames: 64)
    let times = heard(output, in: studio)
    let first = try #require(times.first)
    let offset = number(studio.beat(at: first), output.count, Swing())
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    // A note has its place by one of the swings that were chosen up to a beat and a half before the note.
    var worst = 0.0
    for (index, time) in times.enumerated() {
      let now = studio.beat(at: time)
      let last = changes.lastIndex { $0.beat <= now } ?? 0
      let earlier = changes.prefix(last + 1).filter { $0.beat > now - 1.5 }
      let candidates = [changes[max(0, last - earlier.count)].swing] + earlier.map(\.swing)
      let errors = candidates.map { abs(beat(index + offset, output.count, $0) - now) * 500_000 }
      worst = max(worst, errors.min()!)
    }
    #expect(worst <= studio.microsPerFrame)
    let whole = studio.beat(at: times.last!) - studio.beat(at: first)
    #expect(abs(Double(times.count - 1) - whole * Double(output.count)) < Double(output.count) / 2)
  }

  @Test(arguments: Output.allCases, 1...3 as ClosedRange<UInt64>)
  func `lost cycles and new tempos leave swung notes in order`(output: Output, seed: UInt64) throws {
    let studio = studio(output, Swing(share: 710, perBeat: 2), tempo: 120, seed: seed)
    var dice = Dice(seed: seed)
    studio.play(seconds: 1, frames: 128)
    let begin = studio.beat(at: try #require(heard(output, in: studio).first))
    for _ in 0..<30 {
      studio.play(seconds: Double.random(in: 0.1...2, using: &dice), frames: 128)
      if Bool.random(using: &dice) { studio.setTempo(Double.random(in: 60...240, using: &dice)) }
      if Bool.random(using: &dice) {
        studio.clock.lose(cycles: Int.random(in: 1...12, using: &dice), frames: 128, dice: &dice)
      }
    }
    studio.play(seconds: 2, frames: 128)
    let times = heard(output, in: studio)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    let whole = studio.beat(at: times.last!) - begin
    // A machine counts its clocks and pulses, so none of them may be missing.
    if output.count == 24 { #expect(abs(Double(times.count) - 24 * whole) <= 6, "\(times.count)") }
  }

  @Test func `a bar that is not a whole number of note pairs gets no swing`() throws {
    for (perBeat, isSwung) in [(Int16(2), false), (4, true)] {
      let studio = studio(.standingClick, Swing(share: 700, perBeat: perBeat), tempo: 120)
      studio.settings.click.subdivision = 2
      studio.settings.meter = Meter(beatsPerBar: 7, beatType: 8)
      studio.play(seconds: 14, frames: 256)
      var worst = 0.0
      for click in studio.clicks {
        let sixteenth = studio.beat(at: click.heard) * 4
        let place = sixteenth.rounded(.down)
        let isSecond = Int(place) % 2 == 1
        let away = min(abs(sixteenth - sixteenth.rounded()), abs(sixteenth - place - (isSecond ? 0.4 : 0)))
        worst = max(worst, away * 125_000)
        if click.value == 1 {
          #expect(abs(sixteenth - sixteenth.rounded()) * 125_000 < studio.microsPerFrame)
        }
      }
      #expect(worst < studio.microsPerFrame)
      let offGrid = studio.clicks.filter {
        let sixteenth = studio.beat(at: $0.heard) * 4
        return abs(sixteenth - sixteenth.rounded()) > 0.1
      }
      #expect(offGrid.isEmpty != isSwung)
    }
  }
}
