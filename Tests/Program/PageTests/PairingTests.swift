// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@Suite struct PairingTests {
  @Test func `the address in the QR code pairs the page and is hidden at once`() async throws {
    let visit = try await Visit()
    try await visit.arrive()
    #expect(try await visit.evaluate("location.hash") == "")
    #expect(try await visit.evaluate("document.cookie") == "", "scripts can read the pairing")
    // The view shows the present values when it opens.
    try await visit.until("tempo", is: "120")
    #expect(try await visit.value("value #tempo").hasPrefix("120"))
    // The page stays paired, both without the fragment and after a reload.
    try await visit.arrive(unpaired: false)
    try await visit.ask("open \(visit.address)")
    try await visit.until("document.body.dataset.paired === 'true'")
    try await visit.ask("reload")
    try await visit.until("document.body.dataset.paired === 'true'")
    try await visit.end()
  }

  @Test func `an unpaired browser sees everything, and its changes are refused`() async throws {
    let visit = try await Visit()
    try await visit.arrive(unpaired: true)
    try await visit.send("tempo", "133")
    try await visit.until("tempo", is: "133")
    try await visit.ask("press Escape")
    _ = try? await visit.browser.ask("fill #tempo 99", within: .seconds(60))
    try await visit.until("tempo", is: "133")
    #expect(try await visit.tells("tempo").contains("133"))
    try await visit.end()
  }

  @Test func `a typed code pairs, and a wrong one does not`() async throws {
    let visit = try await Visit()
    try await visit.ask("size 1366 768")
    try await visit.arrive(unpaired: true)
    try await visit.until("document.querySelector('#code').checkVisibility()")
    let found = try await visit.ask("axe")
    #expect(found["count"] == .number(0), "\(visit.text(found["findings"]))")
    try await visit.ask("evaluate \"(document.querySelector('#code').value = 'AAAA-BBBB-CCCC-DDDD', 0)\"")
    try await visit.ask("click \"#pair button\"")
    try await visit.until("document.querySelector('#toasts').textContent.includes('That code is not valid')")
    #expect(try await visit.evaluate("document.body.dataset.paired") == "false")
    _ = try await visit.ask("complaints")  // the 403 that the console shows
    let code = visit.invitation.split(separator: "#")[1].lowercased()
    try await visit.ask("fill #code \(code)")  // with the Enter key
    try await visit.until("document.body.dataset.paired === 'true'")
    try await visit.until("!document.querySelector('#code').checkVisibility()")
    try await visit.end()
  }

  @Test func `a wrong secret does not pair, and tactus web --forget unpairs`() async throws {
    let visit = try await Visit()
    try await visit.ask("open \(visit.address)#AAAA-BBBB-CCCC-DDDD")
    try await visit.until("document.body.dataset.connection === 'live'")
    try await visit.until("document.body.dataset.paired === 'false'")
    _ = try await visit.ask("complaints")  // the 403 that the console shows
    try await visit.arrive()
    let forgotten = try await visit.stage.run(Visit.program, "web", "--forget")
    #expect(forgotten.status == 0, "\(forgotten.errors)")
    try await visit.until("document.body.dataset.paired === 'false'", seconds: 60)
    try await visit.end()
  }

  @Test
  func `the first view fits on a phone without cuts or sideways scrolling`() async throws {
    let visit = try await Visit()
    for (width, height) in [(320, 568), (390, 844), (820, 1180), (1366, 768)] {
      try await visit.ask("size \(width) \(height)\(width < 1000 ? " touched" : "")")
      try await visit.arrive()
      for view in ["play", "sound", "link", "all"] {
        try await visit.show(view)
        #expect(
          try await visit.evaluate("document.scrollingElement.scrollWidth <= innerWidth") == "true",
          "\(view) at \(width)")
      }
    }
    try await visit.end()
  }
}
