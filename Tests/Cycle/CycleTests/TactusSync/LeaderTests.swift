// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// A start of JACK's transport that came with a sequencer's Start. The sequencer's first beat is already
/// past.
@Suite struct LeaderTests {
  /// Play is pressed `delay` microseconds after the sequencer's first beat.
  private func start(
    after delay: Double, alignment: Alignment = .nearest,
    _ change: (inout FakeTransport) -> Void = { _ in }
  ) -> FakeTransport {
    var jack = FakeTransport()
    jack.settings.alignment = alignment
    jack.run(seconds: 0.3)
    // The session's grid has moved to the sequencer, whose first beat is in the next cycle.
    let first = jack.time + jack.latency
    jack.leaderOrigin = 8
    jack.origin = first - 8 * 500_000
    change(&jack)
    jack.run(seconds: delay / 1e6)
    jack.pressPlay()
    jack.run(seconds: 1.6)
    return jack
  }

  /// The microseconds by which our song is later than the sequencer's song.
  private func error(_ jack: FakeTransport) -> Double? {
    jack.rolledAt.map { $0 - jack.grid.time(of: 8 + Double(jack.rolledFrom) / 24_000) }
  }

  @Test(arguments: [Alignment.nearest, .exact])
  func `a start by a sequencer rolls on its next beat, from that beat's frame`(alignment: Alignment) throws {
    for delay in stride(from: 5_000.0, through: 900_000, by: 79_000) {
      let jack = start(after: delay, alignment: alignment)
      let off = try #require(error(jack))
      #expect(
        abs(off) <= (alignment == .exact ? jack.frameMicros : jack.period / 2 + 1),
        "pressed after \(delay) us: \(off) us off")
      let waited = try #require(jack.rolledAt) - jack.grid.time(of: 8) - delay
      #expect(waited < 500_000 + 60_000 + jack.latency, "pressed after \(delay) us: waited \(waited) us")
      #expect(jack.songOrigin == Beats(8))
      #expect(jack.actions <= 3)
      // While JACK gets ready, it shows the place to which the transport was sent.
      let told = try #require(jack.toldBeat)
      #expect(abs(told.value - Double(jack.rolledFrom) / 24_000) < 1e-4, "\(told)")
    }
  }

  @Test func `if the control thread is slow, a sequencer's start takes a later beat`() throws {
    let jack = start(after: 25_000) { $0.controlCycles = 60 }
    #expect(abs(try #require(error(jack))) <= jack.period / 2 + 1)
    #expect(jack.songOrigin == Beats(8))
  }

  @Test func `a sequencer's start beside a slow client is later, at the right place`() throws {
    let jack = start(after: 25_000) { $0.otherHolds = 200_000 }
    #expect(abs(try #require(error(jack))) <= jack.period / 2 + 1)
    #expect(jack.songOrigin == Beats(8))
  }

  @Test func `no start rolls on a grid that is about to move to a sequencer's`() throws {
    var jack = FakeTransport()
    // The old grid has a bar line 60 ms from now, and the sequencer's grid is known only in 100 ms.
    jack.run(seconds: 0.3)
    jack.origin = jack.time + 60_000 - 8 * 500_000
    jack.leaderOrigin = 8
    jack.leaderIsSettledAt = jack.time + 100_000
    let first = jack.time + jack.latency
    jack.pressPlay()
    jack.run(seconds: 0.1)
    #expect(jack.rolledAt == nil)
    jack.origin = first - 8 * 500_000
    jack.run(seconds: 1)
    #expect(abs(try #require(error(jack))) <= jack.period / 2 + 1)
    #expect(jack.songOrigin == Beats(8))
  }

  @Test func `a start at a place ahead of a sequencer's song waits for that place`() throws {
    let jack = start(after: 5_000) { $0.leaderOrigin = 9 }
    let rolled = try #require(jack.rolledAt)
    #expect(jack.rolledFrom == 0 && jack.actions == 0)
    #expect(abs(rolled - jack.grid.time(of: 9)) <= jack.period / 2 + 1)
  }
}
