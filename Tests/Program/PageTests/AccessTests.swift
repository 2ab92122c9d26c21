// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// The page is usable without sight, without a mouse, and on a small screen.
@Suite struct AccessTests {
  static let screens = [
    (name: "320", width: 320, height: 568), (name: "360", width: 360, height: 740),
    (name: "390", width: 390, height: 844), (name: "768", width: 768, height: 1024),
    (name: "1366", width: 1366, height: 768),
  ]

  /// The folder for pictures of all views, which PAGE_PICTURES names; nil: no pictures are kept.
  private static let pictures = getenv("PAGE_PICTURES").map { String(cString: $0) }

  @Test(arguments: ["dark", "light"])
  func `axe-core finds no fault in any view of the page at any size`(scheme: String) async throws {
    let visit = try await Visit(
      "--meter=7/8", "--click-pattern=X..x.X.", "--song=Opener = tempo 128",
      "--song=A rather long title of a slow one = tempo 72")
    try await visit.ask("media prefers-color-scheme \(scheme)")
    try await visit.arrive()
    try await visit.send("set/go", "1")
    try await visit.send("locate/bar", "1000")
    try await visit.until("document.querySelector('#bar').textContent === '1000'")
    for screen in Self.screens {
      try await visit.ask("size \(screen.width) \(screen.height)\(screen.width < 1000 ? " touched" : "")")
      for view in ["play", "sound", "link", "all"] {
        try await visit.show(view)
        let found = try await visit.ask("axe")
        #expect(
          found["count"] == .number(0), "\(screen.name), \(view), \(scheme): \(visit.text(found["findings"]))"
        )
        if let pictures = Self.pictures {
          try await visit.ask("screenshot \(pictures)/page-\(screen.name)-\(view)-\(scheme).png")
        }
      }
    }
    try await visit.end()
  }

  /// Tests the parts that are visible only at times, such as messages. The screen has the size of a phone's,
  /// because users most likely see them there.
  @Test(arguments: ["dark", "light"])
  func `axe-core accepts the temporary parts of the page`(scheme: String) async throws {
    let visit = try await Visit()
    try await visit.ask("media prefers-color-scheme \(scheme)")
    try await visit.ask("size 390 844 touched")
    func look(_ state: String) async throws {
      let found = try await visit.ask("axe")
      #expect(found["count"] == .number(0), "\(state), \(scheme): \(visit.text(found["findings"]))")
      if let pictures = Self.pictures {
        try await visit.ask("screenshot \(pictures)/page-state-\(state)-\(scheme).png")
      }
    }
    try await visit.arrive(unpaired: true)
    try await look("watching")
    try await visit.ask("click #tap")
    try await visit.until("!!document.querySelector('.toast')")
    try await look("refused")
    try await visit.arrive()
    // The user chooses a MIDI clock as the leader, but no MIDI clock is there.
    try await visit.send("lead", "midi")
    try await visit.until("!document.querySelector('#trouble').hidden")
    try await look("trouble")
    try await visit.send("lead", "link")
    // Show a slow bar, and then a bar with more beats than fit in a row.
    for (quantum, tempo) in [(16, 20), (7, 120)] {
      try await visit.send("quantum", "\(quantum)")
      try await visit.send("tempo", "\(tempo)")
      try await visit.until("quantum", is: "\(quantum)")
      try await visit.touch("click #toggle")
      try await visit.until("document.querySelector('#toggle').dataset.song !== 'stopped'")
      try await look("moving-\(quantum)")
      if tempo > 100 {
        try await visit.until("document.querySelector('#toggle').dataset.song === 'rolling'", seconds: 60)
        try await look("rolling-\(quantum)")
      }
      try await visit.touch("click #toggle")
      try await visit.until("document.querySelector('#toggle').dataset.song === 'stopped'")
    }
    try await visit.ask("tap #lock")
    try await visit.until("document.querySelector('#lock').getAttribute('aria-pressed') === 'true'")
    try await look("locked")
    try await visit.show("sound")
    try await visit.ask(
      "evaluate \"document.querySelectorAll('#sound .ask').forEach((each) => each.click()), 0\"")
    try await look("explained")
    try await visit.ask("tap #phone-click")
    try await visit.ask("tap #calibrate")
    try await visit.until("document.querySelector('#calibrate-pad').checkVisibility()")
    try await look("calibrating")
    try await visit.show("play")
    await visit.kill()
    for state in ["lost", "alone"] {
      try await visit.until("document.body.dataset.connection === '\(state)'", seconds: 60)
      try await look(state)
    }
    try await visit.restart()
    try await visit.until("document.body.dataset.connection === 'live'", seconds: 60)
    try await visit.end()
  }

  /// The least contrast of a beat's number with its background, over many frames. axe-core does not judge the
  /// beats' numbers.
  private static let contrast = """
    new Promise((done) => { \
    const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number).slice(0, 3); \
    const light = (colour) => colour.map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4) \
    .reduce((sum, part, n) => sum + part * [0.2126, 0.7152, 0.0722][n], 0); \
    let least = 99, count = 0; \
    const look = () => { \
    for (const cell of document.querySelectorAll('#beats .beat')) { \
    const [own, above] = [getComputedStyle(cell), getComputedStyle(cell, '::before')], top = numbers(above.backgroundColor); \
    const ground = numbers(own.backgroundColor).map((part, n) => part + Number(above.opacity) * (top[n] - part)); \
    const [a, b] = [light(ground), light(numbers(own.color))]; \
    least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)) } \
    if ((count += 1) < 90) requestAnimationFrame(look); else done(least) }; \
    requestAnimationFrame(look) })
    """

  @Test(arguments: ["dark", "light"])
  func `the number of a beat is readable at every brightness of the beat`(scheme: String) async throws {
    let visit = try await Visit("--tempo=60")
    try await visit.ask("media prefers-color-scheme \(scheme)")
    try await visit.ask("size 390 844 touched")
    try await visit.arrive()
    for count in [4, 12] {
      try await visit.send("meter", "\(count)", "4")
      try await visit.until("document.querySelectorAll('#beats .beat').length === \(count)")
      let least = Double(try await visit.evaluate(Self.contrast)) ?? 0
      #expect(least >= 4.5, "\(count) beats, \(scheme)")
    }
    try await visit.end()
  }

  @Test func `the keyboard alone can do everything, and the focus is visible`() async throws {
    let visit = try await Visit()
    try await visit.ask("size 1366 768")
    try await visit.arrive()
    // Press Tab through the whole view: every control gets the focus with an outline, and after the last
    // control the focus leaves the view.
    var met: [String] = []
    for _ in 0..<80 {
      try await visit.ask("press Tab")
      let place = try await visit.value("focus")
      if place.isEmpty || place == met.first { break }
      met.append(place)
      let ring = try await visit.evaluate(
        "(() => { const at = document.activeElement, how = getComputedStyle(at), round = at.closest('label') ?? at; return how.outlineStyle !== 'none' || how.boxShadow !== 'none' || getComputedStyle(round).outlineStyle !== 'none' })()"
      )
      #expect(ring == "true", "\(place) does not show that the keyboard is there")
    }
    for control in ["#tempo", "#tempo-up", "#tap", "#toggle", "#lock"] {
      #expect(met.contains(control), "\(control) is not on the way: \(met)")
    }
    // Type the tempo into the focused field; then start and stop.
    try await visit.ask("evaluate \"document.querySelector('#tempo').focus(), 0\"")
    try await visit.until("document.body.dataset.connection === 'live'")
    try await visit.ask("press Control+a")
    try await visit.ask("type 131")
    try await visit.ask("press Enter")
    try await visit.until("tempo", is: "131")
    try await visit.ask("evaluate \"document.querySelector('#toggle').focus(), 0\"")
    try await visit.touch("press Enter")
    try await visit.until("document.querySelector('#toggle').dataset.song !== 'stopped'")
    try await visit.touch("press Space")
    try await visit.until("document.querySelector('#toggle').dataset.song === 'stopped'")
    // The Tab key stops once for all tabs; the arrow keys move between the tabs.
    try await visit.ask("size 390 844")
    try await visit.ask("evaluate \"document.querySelector('#tab-play').focus(), 0\"")
    try await visit.ask("press ArrowRight")
    try await visit.until("document.querySelector('#sound').checkVisibility()")
    try await visit.ask("press End")
    try await visit.until("document.querySelector('#all').checkVisibility()")
    try await visit.ask("press Home")
    try await visit.until("document.querySelector('#play').checkVisibility()")
    try await visit.end()
  }

  @Test func `the page's lock keeps its controls from touches until the lock is held`() async throws {
    let visit = try await Visit()
    try await visit.ask("size 390 844 touched")
    try await visit.arrive()
    try await visit.ask("tap #lock")
    try await visit.until("document.querySelector('#lock').getAttribute('aria-pressed') === 'true'")
    _ = try? await visit.browser.ask("tap #tempo-up", within: .seconds(60))
    _ = try? await visit.browser.ask("tap #double", within: .seconds(60))
    try await visit.until("tempo", is: "120")
    // A tap on the lock is not enough to unlock the page.
    try await visit.ask("tap #lock")
    try await visit.until("document.querySelector('#lock').getAttribute('aria-pressed') === 'true'")
    try await visit.ask("hold #lock 1")
    try await visit.until("document.querySelector('#lock').getAttribute('aria-pressed') === 'false'")
    try await visit.touch("tap #double")
    try await visit.until("tempo", is: "240")
    try await visit.end()
  }

  @Test func `the page respects reduced motion, and screen readers read its messages`() async throws {
    let visit = try await Visit()
    try await visit.ask("media prefers-reduced-motion reduce")
    try await visit.arrive()
    let moving = try await visit.evaluate(
      "document.getAnimations().filter((each) => each.playState === 'running').length")
    #expect(moving == "0")
    #expect(
      try await visit.evaluate(
        "document.querySelector('#said').computedRole ?? document.querySelector('#said').getAttribute('role')"
      ) == "status")
    try await visit.touch("click #toggle")
    try await visit.until("document.querySelector('#said').textContent !== ''")
    let names = try await visit.value("names button")
    #expect(
      !names.split(separator: ";", omittingEmptySubsequences: false).contains {
        $0.allSatisfy(\.isWhitespace)
      }, "\(names)")
    try await visit.end()
  }
}
