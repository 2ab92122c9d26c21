// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// Tests the browser on which the tests of the page rely: it clicks and types as a hand does, and detects
/// errors.
@Suite struct BrowserTests {
  private static let page =
    "data:text/html;charset=utf-8,<!doctype html><html lang=en><title>t</title><main><h1>Höhe</h1>"
    + "<button id=b onclick='n.textContent=Number(n.textContent)+1'>Start</button><p id=n>0</p>"
    + "<label>Tempo <input id=t onchange='n.textContent=this.value'></label>"
    + "<button id=c onclick='n.textContent=99'>Covered</button></main>"

  private func value(_ browser: LabPeer, _ line: String) async throws -> FlatJSON? {
    try await browser.ask(line, within: .seconds(60))["value"]
  }

  @Test func `the test browser clicks, types and reads by CSS selectors and by names`() async throws {
    let stage = try await LabStage("--no-server")
    let browser = try LabPeer(.browser, in: stage)
    for page in 1...2 {
      try await browser.ask("page \(page)", within: .seconds(60))
      try await browser.ask("open \"\(Self.page)\"", within: .seconds(60))
      for _ in 0..<page { try await browser.ask("click @Start") }
      try await browser.ask("size 320 568 touched")
      try await browser.ask("tap @button:Start")
      #expect(try await value(browser, "text #n") == .text("\(page + 1)"))
    }
    try await browser.ask("page 1")
    #expect(try await value(browser, "text #n") == .text("2"))
    #expect(try await value(browser, "text h1") == .text("Höhe"))
    try await browser.ask("fill @Tempo 128.5")
    #expect(try await value(browser, "text #n") == .text("128.5"))
    #expect(try await value(browser, "focus") == .text("#t"))
    try await browser.ask("press Shift+Tab")
    #expect(try await value(browser, "focus") == .text("#b"))
    #expect(try await value(browser, "names button") == .text("Start; Covered"))
    try await browser.quit()
  }

  @Test func `the test browser refuses a covered button and reports a page's errors`() async throws {
    let stage = try await LabStage("--no-server")
    let browser = try LabPeer(.browser, in: stage)
    try await browser.ask("open \"\(Self.page)\"", within: .seconds(60))
    #expect(try await browser.ask("axe", within: .seconds(60))["count"] == .number(0))
    try await browser.ask(
      "evaluate \"(() => { const lid = document.createElement('img'); lid.style = 'position: fixed; inset: 0; z-index: 9; width: 100%; height: 100%'; document.body.append(lid); return 1 })()\""
    )
    await #expect(throws: LabPeer.Refused.self) { try await browser.ask("click #c", within: .seconds(60)) }
    #expect(try await value(browser, "text #n") == .text("0"))
    #expect(try await browser.ask("axe", within: .seconds(60))["count"] != .number(0))
    #expect(try await browser.ask("complaints")["count"] == .number(0))
    try await browser.ask("evaluate \"setTimeout(() => nonsense()), 0\"")
    try await browser.ask("until true")
    #expect(try await browser.ask("complaints")["value"] != .text(""))
    try await browser.quit()
    // Wait for the browser's last process, which may still be ending.
    let left = try await stage.run("timeout", "30", "sh", "-c", "while pgrep -l chromium; do sleep 0.1; done")
    #expect(left.status == 0, "\(left.output)")
  }
}
