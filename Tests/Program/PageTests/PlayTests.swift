// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@Suite struct PlayTests {
  @Test func `the page can type, step, double, halve and bend the tempo`() async throws {
    let visit = try await Visit()
    let peer = try LabPeer(.reference, in: visit.stage)
    try await peer.ask("enable on")
    try await visit.arrive()
    try await peer.wait("peers", "1")
    try await visit.until("peers", is: "1")
    try await visit.touch("fill #tempo 128.5")
    try await peer.wait("tempo", "128.5")
    try await visit.touch("click #tempo-up")
    try await peer.wait("tempo", "129.5")
    try await visit.touch("click #tempo-down")
    try await visit.touch("click #tempo-down")
    try await peer.wait("tempo", "127.5")
    // A button that is held repeats its step by itself.
    try await visit.touch("hold #tempo-up 1.5")
    try await visit.until("tactus.state.values.tempo[0] > 129")
    try await visit.touch("fill #tempo 64")
    try await peer.wait("tempo", "64")
    try await visit.touch("click #double")
    try await peer.wait("tempo", "128")
    try await visit.touch("click #half")
    try await peer.wait("tempo", "64")
    // The tempo changes while the bend button is held, and returns when it is released.
    for way in ["push", "pull"] {
      try await visit.ask(
        "evaluate \"globalThis.seen = new Set(), setInterval(() => seen.add(Math.sign(tactus.state.values.tempo[0] - 64)), 5), 0\""
      )
      try await visit.touch("hold #\(way) 0.6")
      try await peer.wait("tempo", "64")
      try await visit.until("seen.has(\(way == "push" ? 1 : -1))")
    }
    // The user sets a tempo, and bends before the page shows the new tempo. After the bend, the tempo returns
    // to the new tempo.
    try await visit.ask(
      "evaluate \"document.querySelector('#double').click(), document.querySelector('#push').dispatchEvent(new PointerEvent('pointerdown', {button: 0})), 0\""
    )
    try await visit.until("seen.has(1) && tactus.state.values.tempo[0] > 128.1")
    try await visit.ask(
      "evaluate \"document.querySelector('#push').dispatchEvent(new PointerEvent('pointerup', {button: 0})), 0\""
    )
    try await peer.wait("tempo", "128")
    // Changes by other peers are shown.
    try await peer.ask("tempo 171.25")
    try await visit.until("document.querySelector('#tempo').value.startsWith('171.25')")
    try await visit.end()
  }

  @Test func `the page can step and choose the meter, and marks its accents`() async throws {
    let visit = try await Visit("--click-pattern=X..x")
    try await visit.arrive()
    let accents = "[...document.querySelectorAll('#beats .accent')].map((beat) => beat.textContent).join()"
    try await visit.until("document.querySelector('#meter').value === '4' && \(accents) === '1'")
    for count in 5...7 {
      try await visit.touch("click #meter-up")
      try await visit.until("tactus.state.values.meter.join() === '\(count),4'")
    }
    try await visit.touch(
      "evaluate \"(document.querySelector('#meter-unit').value = 8, document.querySelector('#meter-unit').dispatchEvent(new Event('change'))), 0\""
    )
    try await visit.until(
      "tactus.state.values.meter.join() === '7,8' && document.querySelector('#meter').value === '7'")
    try await visit.until("document.querySelectorAll('#beats .beat').length === 7 && \(accents) === '1,5'")
    try await visit.send("click/pattern", "X.X")
    try await visit.until("\(accents) === '1,3,4,6,7'")
    try await visit.send("meter", "3", "4")
    try await visit.until(
      "document.querySelector('#meter').value === '3' && document.querySelector('#meter-unit').value === '4'")
    try await visit.end()
  }

  @Test func `the Play view never scrolls sideways on screens of 320 pixels or more`() async throws {
    let visit = try await Visit("--meter=7/8", "--tempo=130.25")
    try await visit.ask("size 390 844 touched")
    try await visit.arrive()
    try await visit.send("locate/bar", "1000")
    try await visit.until("document.querySelector('#bar').textContent === '1000'")
    for width in [320, 360, 375, 390, 419, 420, 768, 1000, 1366] {
      try await visit.ask("size \(width) 740\(width < 1000 ? " touched" : "")")
      let wide =
        "[...document.querySelectorAll('#play, #play *, header *')].filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX === 'auto' || each.getBoundingClientRect().right > innerWidth + 1)"
      #expect(
        try await visit.evaluate("\(wide).map((each) => each.id || each.className).join()") == "", "\(width)")
    }
    try await visit.end()
  }

  @Test func `the page shows that it refuses a wrong tempo, and keeps the true one`() async throws {
    let visit = try await Visit()
    try await visit.arrive()
    for nonsense in ["5000", "0", "banana", "-1", "1e9"] {
      try await visit.touch("fill #tempo \(nonsense)")
      try await visit.ask("press Escape")
      try await visit.until("Number(document.querySelector('#tempo').value) === tactus.state.values.tempo[0]")
    }
    let tempo = Double(try await visit.evaluate("tactus.state.values.tempo[0]")) ?? 0
    #expect((20...999).contains(tempo))
    try await visit.end()
  }

  @Test func `taps with a finger set the tempo`() async throws {
    let visit = try await Visit()
    try await visit.ask("size 390 844 touched")
    try await visit.arrive()
    // The tempo follows the times at which the page noticed the taps, whatever the speed of this machine.
    try await visit.ask(
      "evaluate \"globalThis.taps = [], document.querySelector('#tap').addEventListener('pointerdown', (e) => taps.push(e.timeStamp)), 0\""
    )
    for _ in 0..<9 { try await visit.ask("tap #tap") }
    try await visit.until("taps.length === 9")
    let gaps = try await visit.evaluate(
      "taps.slice(1).map((at, n) => at - taps[n]).sort((a, b) => a - b).filter((_, n) => n === 0 || n === 7).join()"
    )
    .split(separator: ",").compactMap { Double($0) }
    try #require(gaps.count == 2)
    let (fast, slow) = (60_000 / gaps[0], 60_000 / gaps[1])
    try await visit.until("tactus.state.values.tempo[0] !== 120")
    let tempo = Double(try await visit.evaluate("tactus.state.values.tempo[0]")) ?? 0
    #expect(tempo >= min(999, slow) * 0.9 && tempo <= max(20, fast) * 1.1, "\(tempo), \(slow) to \(fast)")
    try await visit.end()
  }

  @Test func `the page shows a start that waits for its bar, and LinkHut's stop`() async throws {
    let visit = try await Visit("--startstop")
    let linkhut = try LabPeer(.linkhut, in: visit.stage)
    for line in ["enable on", "sync on"] { try await linkhut.ask(line) }
    try await visit.arrive()
    try await linkhut.wait("peers", "1")
    try await linkhut.ask("tempo 60")
    try await visit.until("tempo", is: "60")
    try await visit.touch("choose #launch bar")
    try await visit.until("launch", is: "bar")
    // Record the order in which the start button shows its states.
    try await visit.ask(
      "evaluate \"globalThis.songs = [], new MutationObserver(() => { const now = document.querySelector('#toggle').dataset.song; if ((songs.at(-1) ?? 'stopped') !== now) songs.push(now) }).observe(document.querySelector('#toggle'), {attributeFilter: ['data-song']}), 0\""
    )
    // Press the start button just after the beginning of a bar, so that the start has to wait.
    try await visit.until("((tactus.beatAt(performance.now()) % 4) + 4) % 4 < 1")
    try await visit.touch("click #toggle")
    try await visit.until("songs.at(-1) === 'rolling'")
    let songs = try await visit.evaluate("songs.join()")
    #expect(songs == "waiting,rolling", "\(songs)")
    try await linkhut.wait("playing", "true")
    try await visit.touch("click #toggle")
    try await visit.until("songs.at(-1) === 'stopped'")
    try await linkhut.wait("playing", "false")
    // LinkHut starts and stops, and the page follows.
    try await linkhut.ask("play")
    try await visit.until("songs.at(-1) === 'rolling'")
    try await linkhut.ask("stop")
    try await visit.until("songs.at(-1) === 'stopped'")
    try await visit.end()
  }

  @Test func `the beat row follows the beats of the session through the bar`() async throws {
    let visit = try await Visit()
    let peer = try LabPeer(.reference, in: visit.stage)
    try await peer.ask("enable on")
    try await visit.arrive()
    try await peer.wait("peers", "1")
    try await visit.touch("click #toggle")
    try await visit.until("document.querySelector('#toggle').dataset.song === 'rolling'")
    // Record each shown number together with the session's beat at that time.
    try await visit.ask(
      "evaluate \"globalThis.beats = [], new MutationObserver(() => { const now = Number(document.querySelector('#beats').dataset.beat); if (beats.at(-1)?.[0] !== now) beats.push([now, tactus.beatAt(performance.now())]) }).observe(document.querySelector('#beats'), {attributeFilter: ['data-beat']}), 0\""
    )
    try await visit.until("beats.length > 12", seconds: 60)
    let beats = try await visit.evaluate("beats.slice(0, 12).join(';')").split(separator: ";").map {
      $0.split(separator: ",").compactMap { Double($0) }
    }
    try #require(beats.count == 12 && beats.allSatisfy { $0.count == 2 })
    // A browser on a busy machine draws late or skips a beat. Even then, each number appears close
    // to its own beat.
    let off = zip(beats, beats.dropFirst()).map { before, next in
      let turn = ((next[1] - before[1]) - (next[0] - before[0])).remainder(dividingBy: 4)
      #expect(abs(turn) < 1, "\(beats)")
      return abs(turn)
    }
    #expect(off.sorted()[off.count / 2] < 0.5, "\(beats)")
    // Half a beat of tolerance is enough on any machine, and small enough to find a wrong bar or a wrong
    // clock.
    let time = try await PeerStatus(peer.ask("clock")).time
    let seen = try await visit.ask("frames 0.2 tactus.beatAt(T)")
    let first =
      visit.text(seen["value"]).split(separator: ";").first?.split(separator: " ").compactMap { Double($0) }
      ?? []
    try #require(first.count == 3)
    #expect(abs(first[0] - Double(time)) < 30e6, "the page's clock is not ours")
    let phase = try await PeerStatus(peer.ask("beat \(Int64(first[0]))")).phase
    #expect(abs((first[1] - phase).remainder(dividingBy: 4)) < 0.5, "\(first), \(phase)")
    // In a meter of seven eighths, a beat of the session (a quarter) has two notes.
    try await visit.send("meter", "7", "8")
    try await visit.until("quantum", is: "3.5")
    try await visit.until("document.querySelectorAll('#beats .beat').length === 7")
    try await visit.ask("evaluate \"beats.length = 0\"")
    try await visit.until("beats.length > 15", seconds: 60)
    let sevens = try await visit.evaluate("beats.slice(1, 16).join(';')").split(separator: ";").map {
      $0.split(separator: ",").compactMap { Double($0) }
    }
    try #require(sevens.count == 15 && sevens.allSatisfy { $0.count == 2 })
    let away = zip(sevens, sevens.dropFirst()).map { before, next in
      abs((2 * (next[1] - before[1]) - (next[0] - before[0])).remainder(dividingBy: 7))
    }
    #expect(away.sorted()[away.count / 2] < 0.5, "\(sevens)")
    // A change of the meter is announced before its bar line, and drawn and clicked from the bar line on.
    // Here two bars of four quarters come first, then bars of seven eighths.
    let session =
      "const session = new Session(); session.setTimeline([60, 0, 0, 4]); session.setMeter([7, 8]);"
    func judged(_ words: String) async throws -> String {
      try await visit.evaluate("import('./session.js').then(({ Session }) => { \(session) \(words) })")
    }
    let change = "session.setSong(['rolling', 0, 0, 4, 4, 8, 7, 8]);"
    #expect(
      try await judged(
        "\(change) return [7.9, 8.1, 11.6].map((beat) => session.at(beat * 1e6)).map((one) => [one.bar, one.beat, one.length]).join()"
      )
        == "2,3,4,3,0,7,4,0,7")
    #expect(
      try await judged(
        "\(change) const heard = []; for (let from = 6.5; heard.length < 10; ) { const one = session.clickAt(from, 1); heard.push(one.beat, one.slot); "
          + "from = one.beat + one.spacing / 2; } return heard.join()") == "7,3,8,0,8.5,1,9,2,9.5,3")
    // While stopped, the page shows the meter if the session's quantum is a whole number of bars.
    #expect(
      try await judged(
        "return [4, 3.5, 7, 2.25, 0].map((quantum) => { session.setTimeline([60, 0, 0, quantum]); const { count, perBeat } = session.barsAt(1); "
          + "return [count, perBeat]; }).join()") == "4,1,7,2,7,2,9,4,7,2")
    try await visit.end()
  }
}
