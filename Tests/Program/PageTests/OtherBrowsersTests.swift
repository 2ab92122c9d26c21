// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// A short use of the page in browsers other than Chromium.
@Suite(.serialized) struct OtherBrowsersTests {
  private static let browsers: [(name: String, kind: LabPeer.Kind)] = [
    ("Firefox", .firefox), ("WebKit", .webkit),
  ]

  @Test(arguments: ["Firefox", "WebKit"])
  func `every browser pairs, plays, and reconnects after tactus was killed`(
    name: String
  ) async throws {
    let kind = try #require(Self.browsers.first { $0.name == name }).kind
    let visit = try await Visit("--launch=bar", by: kind)
    try await visit.arrive()
    #expect(try await visit.evaluate("location.hash") == "")
    #expect(try await visit.evaluate("document.cookie") == "", "scripts can read the pairing")
    try await visit.touch("fill #tempo 97")
    try await visit.until("tempo", is: "97")
    #expect(try await visit.tells("tempo").contains("97"))
    // A button that is held repeats its step by itself.
    try await visit.touch("hold #tempo-up 1")
    try await visit.until("tactus.state.values.tempo[0] >= 99")
    try await visit.touch("fill #tempo 240")
    try await visit.until("tempo", is: "240")
    try await visit.touch("click #toggle")
    try await visit.until("document.querySelector('#toggle').dataset.song === 'rolling'", seconds: 60)
    // Check that the row of beats, as the browser draws it, goes through the bar.
    try await visit.ask(
      "evaluate \"window.seen = '', new MutationObserver(() => window.seen += document.querySelector('#beats').dataset.beat).observe(document.querySelector('#beats'), {attributes: true, attributeFilter: ['data-beat']}), 0\""
    )
    try await visit.until("window.seen.includes('12341')", seconds: 60)
    for view in ["sound", "link", "all", "play"] {
      try await visit.show(view)
      #expect(try await visit.evaluate("document.scrollingElement.scrollWidth <= innerWidth") == "true")
    }
    try await visit.until("document.querySelectorAll('#rows .row').length > 50")
    await visit.kill()
    try await visit.until("document.body.dataset.connection !== 'live'")
    try await visit.restart()
    try await visit.until("document.body.dataset.connection === 'live'", seconds: 60)
    try await visit.until("document.body.dataset.paired === 'true'")
    try await visit.touch("fill #tempo 141")
    try await visit.until("tempo", is: "141")
    // The page sends requests to tactus only.
    #expect(
      try await visit.evaluate(
        "performance.getEntriesByType('resource').filter((each) => !each.name.startsWith(location.origin + '/') && !each.name.startsWith('blob:')).map((each) => each.name).join()"
      ) == "")
    try await visit.end()
  }
}
