// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Parts of the page that come and go by name: the peers' Link Audio channels, and the user's own outputs.
@Suite struct NamedTests {
  @Test func `the page shows, receives, delays and leaves a peer's channel`() async throws {
    let visit = try await Visit("--link-audio", "--name", "here")
    let other = try ChildProcess(
      visit.stage.command([Visit.program, "--link-audio", "--name", "there", "--send=Drums", "--no-tui"]))
    try await visit.ask("size 390 844 touched")
    try await visit.arrive()
    try await visit.show("link")
    let offered =
      "[...document.querySelectorAll('#channels > .line')].find((e) => e.textContent.includes('/Drums'))"
    let received =
      "[...document.querySelectorAll('#channels details')].find((e) => e.textContent.includes('/Drums'))"
    try await visit.until("!!\(offered)", seconds: 60)
    #expect(try await visit.evaluate("\(offered).querySelector('button').ariaLabel").hasPrefix("Take there@"))
    try await visit.touch("click \"#channels > .line button\"")
    try await visit.until("\(received) && !\(offered)", seconds: 60)
    #expect(try await visit.tells("audio/received").contains("/Drums"))
    try await visit.ask("click \"#channels summary\"")
    try await visit.until("\(received).textContent.includes('dropouts')")
    let found = try await visit.ask("axe")
    #expect(found["count"] == .number(0), "\(visit.text(found["findings"]))")
    try await visit.touch("fill \"#channels details input\" 1bar")
    try await visit.ask("press Tab")
    try await visit.until("\(received).querySelector('input').value === '1bar'")
    try await visit.until("\(received).querySelector('button').textContent === 'Leave'")
    try await visit.touch("click \"#channels details button\"")
    try await visit.until("\(offered) && !\(received)", seconds: 60)
    other.signal(SIGTERM)
    #expect(await other.status() == 0)
    try await visit.until("!\(offered)", seconds: 60)
    try await visit.end()
  }

  @Test func `the page's Leave button names the wildcard if one receives the channel`() async throws {
    let visit = try await Visit("--link-audio", "--name", "here", "--receive=*/*")
    let other = try ChildProcess(
      visit.stage.command([Visit.program, "--link-audio", "--name", "there", "--send=Drums", "--no-tui"]))
    try await visit.arrive()
    try await visit.show("link")
    try await visit.until(
      "document.querySelector('#channels details button')?.textContent === 'Leave */*'", seconds: 60)
    other.signal(SIGTERM)
    #expect(await other.status() == 0)
    try await visit.end()
  }

  @Test func `the page adds, removes and stops each of the user's own outputs`() async throws {
    let visit = try await Visit("--out=drums=clock offset=4 when=always")
    try await visit.ask("size 390 844 touched")
    try await visit.arrive()
    try await visit.show("sound")
    let told = "document.querySelector('#sound .outputs')?.textContent"
    try await visit.until("\(told)?.includes('drums') && \(told).includes('offset 4 ms')")
    try await visit.ask(
      "evaluate \"[['select', 'pulse'], ['label:nth-of-type(4) select', 'korg'], ['input', 'ppq'], ['label:nth-of-type(3) input', '4.5']].forEach(([at, to]) => { const box = document.querySelector('.new-output ' + at); box.value = to; box.dispatchEvent(new Event('change')) }), 0\""
    )
    try await visit.touch("click \".new-output button\"")
    try await visit.until("\(told).includes('ppq') && \(told).includes('offset 4.5 ms')")
    try await visit.until("out/ppq/rate", is: "2")
    try await visit.ask("evaluate \"document.querySelector('.new-output input').value = 'a b=c', 0\"")
    try await visit.touch("click \".new-output button\"")
    try await visit.until("document.querySelector('#toasts').textContent.includes('1 to 32 letters')")
    try await visit.ask("click \"#sound .outputs summary\"")
    // A new output does not close the settings of another output that are open.
    try await visit.send("out/add", "late=clock")
    try await visit.until("\(told).includes('late')")
    try await visit.touch("click \"#sound [data-address='out/drums/play'] [role=switch]\"")
    try await visit.until("out/drums/play", is: "0")
    let found = try await visit.ask("axe")
    #expect(found["count"] == .number(0), "\(visit.text(found["findings"]))")
    try await visit.send("out/remove", "ppq")
    try await visit.until("!\(told).includes('ppq') && \(told).includes('drums')")
    try await visit.show("all")
    try await visit.ask("fill #search drums")
    try await visit.until(
      "document.querySelector('#all [data-address=\\\"out/drums/offset\\\"]').checkVisibility()")
    try await visit.end()
  }

  @Test func `the Play view shows the set list, and a touch chooses a song`() async throws {
    let hostile = "<b>Two</b>, 9 Nine"
    let songs = ["One", hostile, "Three"].map { "--song=\($0) = click/offset 0" }
    let visit = try await Visit(songs[0], songs[1], songs[2])
    try await visit.ask("size 320 568 touched")
    try await visit.arrive()
    func shows(_ song: String, then next: String) async throws {
      try await visit.until(
        "document.querySelector('#song').textContent === '\(song)' && document.querySelector('#song-coming').textContent === '\(next)'"
      )
    }
    try await shows("No song yet", then: "then One")
    try await visit.touch("click #song-next")
    try await shows("One", then: "then \(hostile)")
    try await visit.ask("click #songs-open")
    let titles = "[...document.querySelectorAll('#songs button')].map((song) => song.textContent).join('|')"
    #expect(try await visit.evaluate(titles) == "One|\(hostile)|Three")
    let found = try await visit.ask("axe")
    #expect(found["count"] == .number(0), "\(visit.text(found["findings"]))")
    #expect(
      try await visit.evaluate(
        "document.querySelector('#play').scrollWidth <= document.querySelector('#play').clientWidth")
        == "true")
    try await visit.touch("click \"#songs button:nth-child(2)\"")
    try await shows(hostile, then: "then Three")
    #expect(try await visit.evaluate("document.querySelector('#songs').hidden") == "true")
    // While the song plays, the next song waits for the bar.
    try await visit.send("tempo", "20")
    try await visit.send("start", "now")
    try await visit.until("document.querySelector('#toggle').dataset.song === 'rolling'")
    try await visit.touch("click #song-next")
    try await shows(hostile, then: "on the bar: Three")
    try await shows("Three", then: "the last song")
    #expect(
      try await visit.evaluate("getComputedStyle(document.querySelector('#song-next')).visibility")
        == "hidden")
    try await visit.end()
  }

  @Test func `without songs, the Play view shows no set list`() async throws {
    let visit = try await Visit()
    try await visit.arrive()
    try await visit.until("tactus.state.values['set/titles/1']?.[0] === 0")
    #expect(try await visit.evaluate("document.querySelector('#set').hidden") == "true")
    // Sound shows how to add a song, and no buttons without effect.
    try await visit.show("sound")
    let card =
      "[...document.querySelectorAll('#sound .card')].find((c) => c.textContent.startsWith('Set list'))"
    let buttons = "[...\(card).querySelectorAll('button')].filter((b) => b.checkVisibility()).length"
    try await visit.until(
      "\(card).textContent.includes('No songs: tactus send set/add adds one') && \(buttons) === 0")
    try await visit.send("set/add", "Opener = tempo 128")
    try await visit.until("\(card).textContent.includes('No song yet') && \(buttons) > 3")
    try await visit.end()
  }

  @Test func `the Sound view says why a click that is on is silent`() async throws {
    let visit = try await Visit("--click")
    try await visit.ask("size 390 844 touched")
    try await visit.arrive()
    try await visit.show("sound")
    let said =
      "[...document.querySelectorAll('#sound .banner')].filter((b) => b.checkVisibility()).map((b) => b.textContent).join()"
    try await visit.until("\(said).startsWith('Silent: connected to nothing.')")
    let found = try await visit.ask("axe")
    #expect(found["count"] == .number(0), "\(visit.text(found["findings"]))")
    let press = "click \"#sound [data-address='click'] [role=switch]\""
    try await visit.touch(press)
    try await visit.until("\(said) === ''")
    try await visit.touch(press)
    try await visit.until("click/connected", is: "1")
    try await visit.until("\(said) === ''")
    try await visit.send("click/volume", "0")
    try await visit.until("\(said) === 'Silent: its volume is 0.'")
    try await visit.end()
  }

  @Test func `offsets of clock and pulses show the measured lateness`() async throws {
    let visit = try await Visit("--clock", "--clock-when=always", "--pulse")
    try await visit.arrive()
    try await visit.show("sound")
    for output in ["clock", "pulse"] {
      try await visit.until(
        "/^[0-9]+ us$/.test(document.querySelector('#sound [data-address=\\\"\(output)/jitter\\\"] output').value)"
      )
      let row = try await visit.evaluate(
        "document.querySelector('#sound [data-address=\\\"\(output)/jitter\\\"]').previousElementSibling.dataset.address"
      )
      #expect(row == "\(output)/offset")
    }
    try await visit.end()
  }
}
