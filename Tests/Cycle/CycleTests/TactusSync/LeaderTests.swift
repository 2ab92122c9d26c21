// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// A song of JACK's transport that began beside the song of a sequencer at 120 BPM.
private struct LedSong {
  let studio: Studio
  /// The times of the sequencer's first beat and of Play.
  let first, pressedAt: Double

  /// The beginning of a bar of the session that is nearest to the sequencer's first beat.
  private var origin: Double { (studio.beat(at: first) / 4).rounded() * 4 }
  var waited: Double? { studio.rolling.map { $0.heard - pressedAt } }
  /// The microseconds by which our song is later than the sequencer's song, on the grid at the time of the
  /// start.
  var error: Double? {
    studio.rolling.map { ($0.beat - origin - Double($0.frame) / 24_000) * 500_000 }
  }
  /// Whether our song's beat 0 and the sequencer's first beat are both at `origin`.
  var isTogether: Bool {
    abs(studio.report.sessionBeat - studio.report.song.beat - origin) < 1e-3
      && abs(studio.beat(at: first) - origin) * 500_000 < 1_000
  }
}

/// A start of JACK's transport that came with a sequencer's Start. The sequencer's first beat is already
/// past.
@Suite struct LeaderTests {
  private let halfACycle = 128 / 0.048
  private let latency = 512 / 0.048

  /// Starts a sequencer that leads the session. Play is pressed `delay` microseconds later.
  private func start(
    after delay: Double, alignment: Alignment = .nearest, _ change: (Studio) -> Void = { _ in }
  ) -> LedSong {
    let cable = ClockCable(.own { _ in 120 }, tempo: 120)
    let studio = cable.studio
    studio.asksBeforeRolling = true
    studio.latencies[.jack] = 512
    studio.settings.launch.alignment = alignment
    cable.play(seconds: 4.3)
    change(studio)
    cable.send(MIDI.start)
    let first = cable.next
    cable.play(seconds: delay / 1e6)
    let pressedAt = studio.due
    studio.beginStarting()
    cable.play(seconds: 1.6)
    return LedSong(studio: studio, first: first, pressedAt: pressedAt)
  }

  @Test(arguments: [Alignment.nearest, .exact])
  func `a start by a sequencer rolls on its next beat, from that beat's frame`(alignment: Alignment) throws {
    for delay in stride(from: 5_000.0, through: 900_000, by: 79_000) {
      let jack = start(after: delay, alignment: alignment)
      let off = try #require(jack.error)
      #expect(
        abs(off) <= (alignment == .exact ? jack.studio.microsPerFrame : halfACycle + 1),
        "pressed after \(delay) us: \(off) us off")
      let waited = try #require(jack.waited)
      #expect(waited < 500_000 + 60_000 + latency, "pressed after \(delay) us: waited \(waited) us")
      #expect(jack.isTogether)
      #expect(jack.studio.placed.count <= 3)
      // While JACK gets ready, it shows the place to which the transport was sent.
      let told = try #require(jack.studio.placed.last).beat
      #expect(abs(told - Double(jack.studio.rolling!.frame) / 24_000) < 1e-4, "\(told)")
    }
  }

  @Test func `if the control thread is slow, a sequencer's start takes a later beat`() throws {
    let jack = start(after: 25_000) { $0.controlCycles = 30 }
    #expect(abs(try #require(jack.error)) <= halfACycle + 1)
    #expect(jack.isTogether)
  }

  @Test func `a sequencer's start beside a slow client is later, at the right place`() throws {
    let jack = start(after: 25_000) { $0.othersTake = 200_000 }
    #expect(abs(try #require(jack.error)) <= halfACycle + 1)
    #expect(jack.isTogether)
  }

  @Test func `no start rolls on a grid that is about to move to a sequencer's`() throws {
    for left in stride(from: 5_000.0, through: 60_000, by: 5_000) {
      let jack = start(after: 0) { studio in
        // The old grid has a bar line soon, and the session takes the sequencer's grid only in some cycles.
        let line = studio.clock.nextDue + latency + left
        studio.timeline.timeOrigin = Micros(rounding: line - 8 * 500_000)
      }
      #expect(abs(try #require(jack.error)) <= halfACycle + 1, "the bar line was \(left) us away")
      #expect(jack.isTogether)
    }
  }

  @Test func `a start at a place ahead of a sequencer's song waits for that place`() {
    var launch = Launch()
    launch.observe(CycleContext(SessionState(), heard: 0))
    let question = Launch.Question(
      songBeat: .zero, leader: .playing(origin: Beats(9), framesPerBeat: 24_000))
    let cycle = 256 / 0.048
    var rolls = 8 * 500_000 + 5_000 + cycle
    while rolls < 12 * 500_000 {
      let now = CycleContext(
        SessionState(), heard: rolls - cycle, transport: Transport(state: .starting, frame: 0))
      if launch.mayRoll(now, question) { break }
      launch.observe(now)
      rolls += cycle
    }
    #expect(abs(rolls - 9 * 500_000) <= cycle / 2 + 1 && launch.action.number == 0)
  }
}
