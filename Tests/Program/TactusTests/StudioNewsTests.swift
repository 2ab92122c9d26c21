// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusSurface
import Testing

@testable import TactusApp

@Suite("Each event is reported once, in lines for people")
struct StudioNewsTests {
  private var news = Telling()

  @Test
  mutating func `a new number of peers is reported, but not while Link is inactive`() {
    #expect(news.lines(.init(peerCounts: [0])).isEmpty)
    #expect(news.lines(.init(peerCounts: [1, 0, 2, 2])) == ["1 Link", "No Links", "2 Links"])
    #expect(news.lines(.init(peerCounts: [2])).isEmpty)
    #expect(news.lines(.init(peerCounts: [0], isResting: true)).isEmpty && news.peers == 0)
    #expect(news.lines(.init(peerCounts: [0])).isEmpty)
  }

  @Test
  func `a peer's start that tactus ignores is reported, within a limit`() {
    var news = StudioNews()
    func sight(_ play: StudioNews.UnfollowedPlay?) -> StudioNews.Sight { .init(unfollowed: play) }
    let one = StudioNews.UnfollowedPlay(peers: "192.168.7.30", count: 1)
    #expect(
      news.lines(sight(one), at: .zero) == [
        "the Link app at 192.168.7.30 started without tactus; s: start and stop together from now on"
      ])
    #expect(news.lines(sight(one), at: .zero).isEmpty && news.lines(sight(nil), at: .zero).isEmpty)
    let more = StudioNews.UnfollowedPlay(peers: "a, b", count: 2, hint: "tactus send startstop 1")
    #expect(news.lines(sight(more), at: .zero)[0].hasPrefix("a Link app started without tactus; tactus send"))
    var lines = 0
    for _ in 0..<1000 {
      lines += news.lines(sight(nil), at: .zero).count + news.lines(sight(one), at: .zero).count
    }
    #expect(lines == Int(StudioNews.peerLinesAtOnce) - 2)
  }

  @Test
  mutating func `switching start/stop sync off does not report a peer's start`() {
    #expect(news.lines(.init(sharesPlay: true)).isEmpty)
    let play = StudioNews.UnfollowedPlay(peers: "192.168.7.30")
    #expect(news.lines(.init(unfollowed: play)).isEmpty)
    // The peer stops, and then starts while tactus does not follow.
    #expect(news.lines(.init()).isEmpty)
    #expect(news.lines(.init(unfollowed: play)).count == 1)
  }

  @Test
  mutating func `a start that a JACK export (freewheel) advances is reported`() {
    #expect(news.lines(.init(isWaiting: true)).isEmpty)
    #expect(
      news.lines(.init(rollsInExport: true)) == [
        "JACK started at once, off the bar, because it is exporting (freewheeling)"
      ])
    #expect(news.lines(.init(rollsInExport: true)).isEmpty)
    // A start during an export that did not wait for a bar is not reported.
    #expect(news.lines(.init()).isEmpty)
    #expect(news.lines(.init(rollsInExport: true)).isEmpty)
  }

  @Test
  mutating func `each refusal by JACK is reported once`() {
    #expect(news.lines(.init()).isEmpty)
    let cut = news.lines(.init(cutStarts: 1))
    #expect(cut.count == 1 && cut[0].hasPrefix("JACK did not wait for the start: another client"))
    #expect(news.lines(.init(cutStarts: 1)).isEmpty)
    #expect(news.lines(.init(cutStarts: 2, standsStill: true)).count == 2)
    #expect(news.lines(.init(cutStarts: 2, standsStill: true)).isEmpty)
    #expect(news.lines(.init(cutStarts: 2)).isEmpty)
    let senseless = news.lines(.init(cutStarts: 2, isMasterSenseless: true, waitsInVain: true))
    #expect(senseless.count == 2 && senseless[0].contains("make no sense"))
    #expect(senseless[1].hasPrefix("--launch-wait=stopped has no effect"))
    #expect(news.lines(.init(cutStarts: 2, isMasterSenseless: true, waitsInVain: true)).isEmpty)
  }

  @Test
  func `peers are listed anew when their number changes and once a second`() {
    var list = PeerList()
    var asked = 0
    func look(_ time: Int64, _ count: Int) -> String {
      list.poll(at: Micros(time), count: count) {
        asked += 1
        return "look \(asked)"
      }
    }
    #expect(look(0, 0) == "" && asked == 0)
    #expect(look(100, 1) == "look 1" && look(999_999, 1) == "look 1")
    #expect(look(1_000_000, 2) == "look 2")
    #expect(look(2_000_000, 2) == "look 3")
    #expect(look(2_000_001, 0) == "" && look(9_000_000, 0) == "" && asked == 3)
    // The number changes a thousand times within ten seconds.
    for change in 1...1000 { _ = look(10_000_000 + Int64(change) * 10_000, change) }
    #expect(asked <= 3 + 41, "\(asked)")
    #expect(look(21_000_000, 1000) == "look \(asked)")
  }

  @Test
  func `lines about the peers' number are limited; the last has the newest`() {
    var news = StudioNews()
    var lines: [String] = []
    var now = Micros.zero
    for change in 1...6000 {
      now = now + Micros(10_000)
      lines += news.lines(.init(peerCounts: [change, change + 1]), at: now)
      #expect(news.peers == change + 1)
    }
    // The loop above lasts a minute.
    #expect((10...15).contains(lines.count), "\(lines)")
    #expect(lines.first == "1 Link")
    // The next line that the limit allows has the newest number.
    for _ in 1...20 {
      now = now + Micros(1_000_000)
      lines += news.lines(.init(peerCounts: [7]), at: now)
    }
    #expect(lines.last == "7 Links" && lines.count <= 18)
    now = now + Micros(120_000_000)
    #expect(news.lines(.init(peerCounts: [1, 0, 2]), at: now) == ["1 Link", "No Links", "2 Links"])
  }

  @Test
  mutating func `the loss of Link's network is reported with a reason, and its return`() {
    let lost = "Link can't use the network (no more threads); trying again"
    #expect(news.lines(.init(isMute: true, failure: "no more threads")) == [lost])
    #expect(news.lines(.init(isMute: true)).isEmpty)
    #expect(news.lines(.init()) == ["Link is on the network"])
  }

  @Test
  mutating func `counted events are reported when the count grows, not when it restarts`() {
    let moved = "another JACK client was not ready: the start waits for the next bar or beat"
    let back = "the DAW had drifted from the session: tactus moved it back"
    #expect(news.lines(.init(movedLaunches: 2, corrections: 1)) == [moved, back])
    #expect(news.lines(.init(movedLaunches: 2, corrections: 1)).isEmpty)
    #expect(news.lines(.init()).isEmpty)
    #expect(news.lines(.init(corrections: 1)) == [back])
    #expect(news.lines(.init(corrections: 1, leftLate: 1)).count == 1)
    #expect(news.lines(.init(corrections: 1, leftLate: 1)).isEmpty)
  }

  @Test
  mutating func `each start that tactus gives up is reported once`() {
    let lines = [false, true, true, false, true].map { news.lines(.init(isGivenUp: $0)).count }
    #expect(lines == [0, 1, 0, 0, 1])
  }

  @Test
  mutating func `lost MIDI messages are reported once while the loss goes on`() {
    let lines = [0, 3, 7, 7, 8].map { news.lines(.init(lostMIDI: $0)).count }
    #expect(lines == [0, 1, 0, 0, 1])
  }

  @Test
  mutating func `a leading MIDI clock is reported when found, lost or our own`() {
    func of(_ clock: SurfaceState.MIDIClockIn) -> StudioNews.Sight { .init(midiClock: clock) }
    #expect(news.lines(of(.silent)).isEmpty && news.lines(of(.acquiring)).isEmpty)
    #expect(news.lines(of(.locked(Tempo(120)))) == ["MIDI clock leads: 120.0 BPM"])
    #expect(news.lines(of(.locked(Tempo(121)))).isEmpty && news.lines(of(.acquiring)).isEmpty)
    #expect(news.lines(of(.lost)) == ["MIDI clock lost: tactus keeps its last tempo"])
    #expect(news.lines(of(.lost)).isEmpty)
    #expect(news.lines(of(.echo)).first?.contains("is tactus's own") == true)
    #expect(news.lines(of(.off)).isEmpty)
    #expect(news.lines(of(.locked(Tempo(90)))) == ["MIDI clock leads: 90.0 BPM"])
  }
}

@Suite("Without a view each thing that happens to the music is a line")
struct PlayNewsTests {
  private var news = PlayNews()
  private var state = SurfaceState()
  private var now = Micros.zero

  init() {
    state.jack.isRunning = true
    state.doing = .stopped
  }

  private mutating func lines(
    after milliseconds: Int64 = 20, _ change: (inout SurfaceState) -> Void = { _ in }
  )
    -> [String]
  {
    now = now + Micros(milliseconds * 1000)
    change(&state)
    return news.lines(state, at: now)
  }

  @Test
  mutating func `the view reports a click that is unconnected from the start`() {
    func view(_ state: SurfaceState, _ news: inout PlayNews, _ seconds: Int64) -> [String] {
      news.lines(state, at: Micros(seconds * 1_000_000), inView: true)
    }
    state.choices.click.isOn = true
    var first = PlayNews()
    #expect(view(state, &first, 0).isEmpty)
    #expect(view(state, &first, 4) == [PlayNews.silentClick])
    state.doing = .rolling
    #expect(view(state, &first, 9).isEmpty)
    // A user who switches the click on gets another line, and a user who cuts its cable knows about it.
    var second = PlayNews()
    state.choices.click.isOn = false
    #expect(view(state, &second, 0).isEmpty)
    state.choices.click.isOn = true
    #expect(view(state, &second, 1).isEmpty && view(state, &second, 9).isEmpty)
  }

  @Test
  mutating func `an unconnected click is reported once, after 3 s`() {
    let line =
      "the click is connected to nothing: connect click_1 in a patchbay, or start tactus with --autoconnect"
    #expect(lines { $0.choices.click.isOn = true }.isEmpty)
    #expect(lines(after: 2_900).isEmpty && lines(after: 200) == [line] && lines(after: 60_000).isEmpty)
    // tactus reports the missing connection once more if a new connection is lost, or if the user switches
    // the click off and on.
    #expect(lines { $0.jack.isClickConnected = true }.isEmpty)
    #expect(lines { $0.jack.isClickConnected = false }.isEmpty && lines(after: 3_000) == [line])
    #expect(lines { $0.choices.click.isOn = false }.isEmpty && lines { $0.choices.click.isOn = true }.isEmpty)
    #expect(lines(after: 2_900) { $0.jack.isClickConnected = true }.isEmpty && lines(after: 9_000).isEmpty)
    // Without a server, nothing can be connected, so nothing is reported.
    #expect(lines { $0.jack.isClickConnected = false }.isEmpty)
    #expect(lines(after: 1_000) { $0.jack.isRunning = false }.isEmpty && lines(after: 9_000).isEmpty)
  }

  @Test
  mutating func `starts and stops are reported, but not when JACK comes or goes`() {
    #expect(lines().isEmpty && lines().isEmpty)
    #expect(lines { $0.doing = .waiting } == ["starts on the bar"])
    #expect(lines { $0.doing = .rolling } == ["rolling"])
    #expect(lines().isEmpty)
    #expect(lines { $0.doing = .stopped } == ["stopped"])
    #expect(lines { ($0.doing, $0.askedLaunch) = (.waiting, .now) } == ["starts now"])
    #expect(lines { ($0.doing, $0.askedLaunch) = (.stopped, nil) } == ["stopped"])
    // Other lines report the start and the loss of the server.
    #expect(lines { ($0.doing, $0.jack.isRunning) = (.none, false) }.isEmpty)
    #expect(lines { ($0.doing, $0.jack.isRunning) = (.stopped, true) }.isEmpty)
  }

  @Test
  mutating func `a tempo is reported when its fader has rested for half a second`() {
    func set(_ tempo: Double) -> (inout SurfaceState) -> Void { { $0.timeline.tempo = Tempo(tempo) } }
    #expect(lines().isEmpty)
    for step in 0..<20 { #expect(lines(after: 100, set(121 + Double(step))).isEmpty) }
    #expect(lines(after: 480).isEmpty && lines() == ["tempo 140.00 BPM"] && lines(after: 5000).isEmpty)
    // A change of the tempo and back is not reported.
    #expect(lines(set(141)).isEmpty && lines(set(140)).isEmpty && lines(after: 5000).isEmpty)
  }

  @Test
  mutating func `a new leader of the tempo is reported, unless it is a MIDI clock`() {
    #expect(lines().isEmpty)
    #expect(lines { $0.leading = .host } == ["another client leads"])
    #expect(lines { $0.leading = .link } == ["Ableton Link leads"])
    #expect(lines { $0.leading = .midi }.isEmpty && lines { $0.leading = .link }.isEmpty)
  }
}

/// Asks for lines at such long intervals that no limit applies.
private struct Telling {
  private var news = StudioNews()
  private var now = Micros.zero
  var peers: Int { news.peers }

  mutating func lines(_ sight: StudioNews.Sight) -> [String] {
    now = now + Micros(600_000_000)
    return news.lines(sight, at: now)
  }
}
