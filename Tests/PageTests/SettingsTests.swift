// SPDX-License-Identifier: GPL-2.0-or-later
import TestSupport
import Testing

@Suite struct SettingsTests {
  @Test func `every row of the table is found, has a name and its words, and can be set from here`()
    async throws
  {
    let visit = try await Visit()
    try await visit.ask("size 1366 768")
    try await visit.arrive()
    try await visit.show("all")
    // The table itself, as every OSCQuery browser gets it: what can be written there is here.
    try await visit.ask(
      """
      evaluate "globalThis.leaves = (node) => Object.values(node.CONTENTS || {}).flatMap(leaves).concat(node.TYPE !== undefined && node.ACCESS & 2 ? [node] : []); \
      fetch('/tactus').then((answer) => answer.json()).then((tree) => { globalThis.table = leaves(tree).map((n) => n.FULL_PATH.replace('/tactus/', '')); return table.length })"
      """)
    let missing = try await visit.evaluate(
      "table.filter((path) => !document.querySelector('#all [data-address=' + CSS.escape(path) + ']')).join()"
    )
    #expect(missing == "", "rows without a place on the page")
    let mute = try await visit.evaluate(
      "[...document.querySelectorAll('#all [data-address] [data-control]')].filter((c) => !(c.labels?.length || c.ariaLabel || c.getAttribute('aria-labelledby') || c.textContent.trim())).map((c) => c.closest('[data-address]').dataset.address).join()"
    )
    #expect(mute == "", "controls without a name")
    try await visit.end()
  }

  /// Those that take the page or the session away from under the test; `midi/learn` waits for a key.
  private static let leftAlone: Set<String> = [
    "web/open", "lead", "link", "midi/learn", "jack/timebase", "jack/rolling", "playing", "record",
  ]

  /// What somebody would do at a row's control to have it otherwise, as lines for the browser.
  private static let hand = """
    globalThis.hand = (path) => {
      const at = '#all [data-address="' + path + '"]', row = document.querySelector(at);
      const quoted = (more) => "'" + at + more + "'";
      const radio = row.querySelector('input[type=radio]:not(:checked)');
      if (radio) return 'click ' + quoted(' label:has(input[value="' + radio.value + '"])');
      const list = row.querySelector('select');
      if (list) return 'choose ' + quoted(' select') + ' ' + [...list.options].find((o) => o.value !== list.value).value;
      if (row.querySelector('[role=switch]')) return 'click ' + quoted(' [role=switch]');
      const box = row.querySelector('input:not([type=range])'), fader = row.querySelector('input[type=range]');
      if (fader && !box) return 'drag ' + quoted(' input[type=range]') + ' ' + (fader.value > (Number(fader.min) + Number(fader.max)) / 2 ? -40 : 40);
      if (!box) return 'nothing';
      if (isNaN(Number(box.value)) || box.value === '') return 'fill ' + quoted(' input') + (path === 'link/audio/delay' ? ' 35' : ' Xx.x');
      const { MIN, MAX } = table.get(path).RANGE[0], value = Number(box.value), up = value + (MAX > 20 ? 2 : 1);
      return 'fill ' + quoted(' input:not([type=range])') + ' ' + (up <= MAX ? up : value - 1) };
    """

  @Test func `whatever is set here is set there, of each kind of control`() async throws {
    let visit = try await Visit()
    try await visit.ask("size 1366 768")
    try await visit.arrive()
    try await visit.show("all")
    try await visit.until("document.querySelectorAll('#all [data-address]').length > 50")
    try await visit.ask(
      #"evaluate "globalThis.leaves = (node) => Object.values(node.CONTENTS || {}).flatMap(leaves).concat(node.TYPE !== undefined ? [node] : []); fetch('/tactus').then((answer) => answer.json()).then((tree) => { globalThis.table = new Map(leaves(tree).map((n) => [n.FULL_PATH.replace('/tactus/', ''), n])); return table.size })""#
    )
    try await visit.ask(
      "evaluate \"\(Self.hand.split(separator: "\n").joined(separator: " ").replacing("\"", with: "\\\"")) 0\""
    )
    let rows = try await visit.evaluate(
      "[...table].filter(([path, node]) => node.ACCESS === 3 && (node.TAGS ?? ['value'])[0] === 'value').map(([path]) => path).join()"
    )
    .split(separator: ",").map(String.init).filter { !Self.leftAlone.contains($0) }
    #expect(rows.count > 25, "\(rows)")
    for path in rows {
      let order = try await visit.evaluate("hand('\(path)')")
      try await visit.ask(
        "evaluate \"globalThis.before = JSON.stringify(tactus.state.values['\(path)'] ?? null), 0\"")
      do {
        try await visit.touch(order)
        try await visit.until(
          "JSON.stringify(tactus.state.values['\(path)'] ?? null) !== before", seconds: 10)
      } catch {
        Issue.record("\(path) was not set from the page by \(order): \(error)")
      }
    }
    try await visit.end()
  }
}
