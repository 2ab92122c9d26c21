// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import Testing

@testable import tactus

@Suite("What happened is said once, in lines for people")
struct StudioNewsTests {
  private var news = StudioNews()

  @Test("Every number of peers is said, but not while we rest")
  mutating func peers() {
    #expect(news.lines(.init(peerCounts: [0])).isEmpty)
    #expect(news.lines(.init(peerCounts: [1, 0, 2, 2])) == ["1 Link", "No Links", "2 Links"])
    #expect(news.lines(.init(peerCounts: [2])).isEmpty)
    #expect(news.lines(.init(peerCounts: [0], isResting: true)).isEmpty && news.peers == 0)
    #expect(news.lines(.init(peerCounts: [0])).isEmpty)
  }

  @Test("A network that is lost is said with its reason, and that it is back")
  mutating func network() {
    let lost = "Link can't be on the network (no more threads); trying again"
    #expect(news.lines(.init(isMute: true, failure: "no more threads")) == [lost])
    #expect(news.lines(.init(isMute: true)).isEmpty)
    #expect(news.lines(.init()) == ["Link is on the network"])
  }

  @Test("Counters are said when they grow, not when they begin again")
  mutating func counters() {
    let moved = "another JACK client was not ready: the start moves to the next boundary"
    let back = "the host had drifted from the session: located it back"
    #expect(news.lines(.init(movedLaunches: 2, corrections: 1)) == [moved, back])
    #expect(news.lines(.init(movedLaunches: 2, corrections: 1)).isEmpty)
    #expect(news.lines(.init()).isEmpty)
    #expect(news.lines(.init(corrections: 1)) == [back])
  }

  @Test("Lost MIDI is said once for as long as it goes on")
  mutating func lostMIDI() {
    let lines = [0, 3, 7, 7, 8].map { news.lines(.init(lostMIDI: $0)).count }
    #expect(lines == [0, 1, 0, 0, 1])
  }

  @Test("A MIDI clock that leads is said when it is found, lost or our own")
  mutating func clock() {
    func of(_ clock: SurfaceState.MIDIClockIn) -> StudioNews.Sight { .init(midiClock: clock) }
    #expect(news.lines(of(.silent)).isEmpty && news.lines(of(.acquiring)).isEmpty)
    #expect(news.lines(of(.locked(Tempo(120)))) == ["MIDI clock leads: 120.0 BPM"])
    #expect(news.lines(of(.locked(Tempo(121)))).isEmpty && news.lines(of(.acquiring)).isEmpty)
    #expect(news.lines(of(.lost)) == ["MIDI clock lost; its tempo stays"])
    #expect(news.lines(of(.lost)).isEmpty)
    #expect(news.lines(of(.echo)).first?.contains("is our own") == true)
    #expect(news.lines(of(.off)).isEmpty)
    #expect(news.lines(of(.locked(Tempo(90)))) == ["MIDI clock leads: 90.0 BPM"])
  }
}
