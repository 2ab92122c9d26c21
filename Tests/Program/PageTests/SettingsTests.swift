// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@Suite struct SettingsTests {
  @Test func `every row of the table has a labelled control on the page`() async throws {
    let visit = try await visit()
    // Every row that a controller may write has a control on the page.
    let missing = try await visit.evaluate(
      "[...table].filter(([path, node]) => node.ACCESS & 2 && !document.querySelector('#all [data-address=' + CSS.escape(path) + ']')).map(([path]) => path).join()"
    )
    #expect(missing == "", "rows without a place on the page")
    let mute = try await visit.evaluate(
      "[...document.querySelectorAll('#all [data-address] [data-control]')].filter((c) => !(c.labels?.length || c.ariaLabel || c.getAttribute('aria-labelledby') || c.textContent.trim())).map((c) => c.closest('[data-address]').dataset.address).join()"
    )
    #expect(mute == "", "controls without a name")
    try await visit.end()
  }

  @Test func `all settings show titles and addresses, and the search finds both`() async throws {
    let visit = try await visit()
    let row = "document.querySelector('#all [data-address=\\\"link/str\\\"]')"
    #expect(try await visit.evaluate("\(row).querySelector('.name').textContent") == "Link enabled")
    #expect(try await visit.evaluate("\(row).querySelector('.address').textContent") == "link/str")
    let other = "document.querySelector('#all [data-address=\\\"click/sound\\\"]')"
    for words in ["link enabled", "link/str"] {
      try await visit.ask("fill #search \"\(words)\"")
      try await visit.until("\(row).checkVisibility() && !\(other).checkVisibility()")
    }
    try await visit.end()
  }

  @Test func `on the page, a search for the word late finds the click's offset first`() async throws {
    let visit = try await visit()
    let first =
      "[...document.querySelectorAll('#rows .row')].find((r) => r.checkVisibility()).dataset.address"
    let usual = try await visit.evaluate(first)
    try await visit.ask("fill #search late")
    try await visit.until("document.querySelector('#found').textContent.includes('found')")
    #expect(try await visit.evaluate(first) == "click/offset")
    try await visit.ask(
      "evaluate \"(document.querySelector('#search').value = '', document.querySelector('#search').dispatchEvent(new Event('input')), 0)\""
    )
    try await visit.until("document.querySelector('#found').textContent === ''")
    #expect(try await visit.evaluate(first) == usual)
    try await visit.end()
  }

  @Test func `a section of the page that is off is one line with its switch`() async throws {
    let visit = try await visit()
    func row(_ path: String) -> String {
      "document.querySelector('.list:not(#all) [data-address=\\\"\(path)\\\"]')"
    }
    // Pulses are on by default.
    try await visit.send("pulse", "0")
    for (view, path, inside) in [
      ("sound", "pulse", "pulse/rate"), ("link", "link/audio", "link/name"),
    ] {
      try await visit.show(view)
      try await visit.until("\(row(path)).checkVisibility() && !\(row(inside)).checkVisibility()")
      #expect(
        try await visit.evaluate("\(row(path)).closest('.card').clientHeight < 80") == "true", "\(path)")
      let found = try await visit.ask("axe")
      #expect(found["count"] == .number(0), "\(visit.text(found["findings"]))")
      try await visit.touch("click \"#\(view) [data-address='\(path)'] [role=switch]\"")
      try await visit.until("\(row(inside)).checkVisibility()")
      try await visit.touch("click \"#\(view) [data-address='\(path)'] [role=switch]\"")
      try await visit.until("!\(row(inside)).checkVisibility()")
    }
    #expect(
      try await visit.evaluate("\(row("far/str")).checkVisibility() && !\(row("far/key")).checkVisibility()")
        == "true")
    try await visit.end()
  }

  /// Rows that take the page or the session away from other browsers, so the test changes them last.
  private static let atTheEnd = [
    "record", "playing", "jack/rolling", "jack/timebase", "lead", "link", "web/open",
  ]

  /// A script for the browser that changes a row's value at its control.
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
      const words = {'link/audio/delay': ' 35', 'link/name': ' Rack', 'link/distance': ' 2beats', 'midi/learn': ' tap', 'set/song': ' Two',
        'click/swing': ' 58/16', 'clock/swing': ' 58/16', 'pulse/swing': ' 58/16'}[path];
      if (words || isNaN(Number(box.value)) || box.value === '') return 'fill ' + quoted(' input') + (words ?? ' Xx.x');
      const { MIN, MAX } = table.get(path).RANGE[0], value = Number(box.value), up = value + (MAX > 20 ? 2 : 1);
      return 'fill ' + quoted(' input:not([type=range])') + ' ' + (up <= MAX ? up : value - 1) };
    """

  /// The page with all settings visible, and the table as every OSCQuery browser gets it.
  private func visit() async throws -> Visit {
    let songs = ["One", "Two", "Three"].map { "--song=\($0) = click/offset 0" }
    let visit = try await Visit(songs[0], songs[1], songs[2])
    try await visit.ask("size 1366 768")
    try await visit.arrive()
    try await visit.show("all")
    try await visit.until("document.querySelectorAll('#all [data-address]').length > 50")
    try await visit.ask(
      #"evaluate "globalThis.leaves = (node) => Object.values(node.CONTENTS || {}).flatMap(leaves).concat(node.TYPE !== undefined ? [node] : []); fetch('/tactus').then((answer) => answer.json()).then((tree) => { globalThis.table = new Map(leaves(tree).map((n) => [n.FULL_PATH.replace('/tactus/', ''), n])); return table.size })""#
    )
    return visit
  }

  private func rows(_ kind: String, _ visit: Visit) async throws -> [String] {
    try await visit.evaluate(
      "[...table].filter(([path, node]) => node.ACCESS & 2 && (node.TAGS ?? ['value'])[0] === '\(kind)').map(([path]) => path).join()"
    ).split(separator: ",").map(String.init)
  }

  /// Sends an order to the browser, and waits until the page shows the change.
  private func set(_ path: String, by order: String, on visit: Visit, until isSet: String? = nil) async throws
  {
    let value = "JSON.stringify(tactus.state.values['\(path)'] ?? null)"
    try await visit.ask("evaluate \"globalThis.before = \(value), 0\"")
    do {
      try await visit.touch(order)
      try await visit.until(isSet ?? "\(value) !== before", seconds: 15)
    } catch {
      Issue.record("\(path) was not set from the page by \(order): \(error)")
    }
  }

  @Test func `each kind of control sets its value in tactus`() async throws {
    let visit = try await visit()
    try await visit.ask(
      "evaluate \"\(Self.hand.split(separator: "\n").joined(separator: " ").replacing("\"", with: "\\\"")) 0\""
    )
    let rows = try await rows("value", visit)
    #expect(rows.count > 35 && Self.atTheEnd.allSatisfy(rows.contains), "\(rows)")
    for path in rows.filter({ !Self.atTheEnd.contains($0) }) + Self.atTheEnd {
      try await set(path, by: visit.evaluate("hand('\(path)')"), on: visit)
    }
    try await visit.end()
  }

  @Test func `every button of the table has its effect in tactus`() async throws {
    let visit = try await visit()
    let buttons = try await rows("trigger", visit).filter { $0 != "quit" }
    try await visit.ask(
      "evaluate \"document.querySelectorAll('#all details').forEach((each) => each.open = true), 0\"")
    #expect(buttons.count > 45, "\(buttons)")
    // Go to the middle of the set list, so that there is a next and a previous song.
    try await visit.send("set/go", "2")
    try await visit.until("tactus.state.values['set/song'][0] === 'Two'")
    for path in buttons {
      let press = "click \"#all [data-address='\(path)'] button.action\""
      let parts = path.split(separator: "/").map(String.init)
      let (owner, word) = (parts.dropLast().joined(separator: "/"), parts.last ?? "")
      switch word {
      // These buttons act on the session's transport, which PlayTests tests.
      case "tap", "align", "start", "stop", "rewind", "takeover": try await visit.touch(press)
      case "home": try await visit.comeHome(press)
      case "bar" where owner == "quantum":
        try await visit.send("quantum", "3")
        try await visit.until("quantum", is: "3")
        try await set("quantum", by: press, on: visit)
      case _ where parts[0] == "save": try await set("save/str", by: press, on: visit)
      case _ where owner == "set": try await set("set/song", by: press, on: visit)
      case "toggle" where owner.isEmpty: try await visit.touch(press)
      case "toggle", "next", "up", "down", "half", "double": try await set(owner, by: press, on: visit)
      default:
        try await set(
          owner, by: press, on: visit, until: "String(tactus.state.values['\(owner)'][0]) === '\(word)'")
      }
      // Restore the values that would disturb the next rows: a leader would set the tempo, and without Link
      // there is no session.
      if owner == "lead" { try await visit.send("lead", "link") }
      if owner == "link" { try await visit.send("link", "1") }
    }
    try await visit.end()
  }
}

extension Visit {
  /// Tests the `home` button of a bend (a shift of our outputs against the session). Another peer must be
  /// there: without one, a bend would move the session and not our outputs.
  fileprivate func comeHome(_ press: String) async throws {
    let peer = try LabPeer(.reference, in: stage)
    try await peer.ask("enable on")
    try await until("tactus.state.values['peers'][0] === 1")
    // If tactus led the session, a jog would move the session.
    try await send("lead/grid", "0")
    try await send("bend/jog", "20")
    try await until("tactus.state.values['bend/ahead'][0] === 20")
    try await touch(press)
    try await until("tactus.state.values['bend/ahead'][0] === 0")
    try await peer.quit()
    try await until("tactus.state.values['peers'][0] === 0")
  }
}
