// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// Tests what the page does when something fails on a stage.
@Suite struct TroubleTests {
  @Test func `after a restart of tactus the page reconnects with true values`() async throws {
    let visit = try await Visit()
    try await visit.arrive()
    try await visit.touch("fill #tempo 97")
    try await visit.until("tempo", is: "97")
    await visit.kill()
    try await visit.until("document.body.dataset.connection !== 'live'")
    // The page's beat goes on while tactus is gone.
    let before = Double(try await visit.evaluate("tactus.beatAt(performance.now())")) ?? .nan
    try await visit.until("tactus.beatAt(performance.now()) > \(before)")
    try await visit.restart()
    try await visit.until("document.body.dataset.connection === 'live'")
    try await visit.until("document.body.dataset.paired === 'true'")
    let tempo = try await visit.tells("tempo")
    try await visit.until("'\(tempo)'.includes(String(Math.round(tactus.state.values.tempo[0])))")
    try await visit.touch("fill #tempo 141")
    try await visit.until("tempo", is: "141")
    try await visit.end()
  }

  @Test func `the page names another tactus at its address and asks to confirm it`() async throws {
    let visit = try await Visit("--name=one", "--web=20890")
    try await visit.arrive()
    try await visit.touch("fill #tempo 97")
    try await visit.until("tempo", is: "97")
    await visit.kill()
    try await visit.restart("--name=two")
    try await visit.until("!document.querySelector('#other').hidden", seconds: 60)
    #expect(try await visit.value("text #other").contains("two is at this address now, not one"))
    #expect(try await visit.value("text #name") == "two")
    try await visit.until("tactus.state.values.tempo?.[0] > 0")
    let tempo = try await visit.tells("tempo")
    try await visit.ask("click #double")
    try await visit.until("document.querySelector('#toasts').textContent.includes('not one')")
    #expect(try await visit.tells("tempo") == tempo)
    try await visit.ask("click #other")
    try await visit.until("document.querySelector('#other').hidden")
    try await visit.touch("fill #tempo 141")
    try await visit.until("tempo", is: "141")
    try await visit.end()
  }

  @Test func `the page finds a tactus at a new address by the code of its QR code`() async throws {
    let visit = try await Visit("--web=20890")
    try await visit.arrive()
    let before = visit.address
    await visit.kill()
    try await visit.restart("--web=20899")
    #expect(visit.address != before)
    try await visit.until("document.body.dataset.connection === 'alone'", seconds: 60)
    #expect(try await visit.value("text #connection").contains("scan its code"))
    try await visit.arrive()
    try await visit.touch("fill #tempo 141")
    try await visit.until("tempo", is: "141")
    // The address without the code works, too, because the browser is paired with this machine's tactus.
    try await visit.ask("open \(visit.address)")
    try await visit.until("document.body.dataset.paired === 'true'")
    try await visit.end()
  }

  @Test func `the page reloads for a new version, unless its click is on`() async throws {
    let visit = try await Visit()
    // Replace the server's answer by the answer of a newer version.
    let renewed =
      "globalThis.mark = 1, globalThis.theirs = fetch, globalThis.fetch = async (...words) => words[0] === '/session' ? new Response(JSON.stringify({...await (await theirs(...words)).json(), version: 'newer'})) : theirs(...words), 0"
    try await visit.arrive()
    try await visit.show("sound")
    try await visit.ask("click #phone-click")
    try await visit.ask("evaluate \"\(renewed)\"")
    // Record the messages: this message is visible only for some seconds, and on a busy machine the
    // test may look too late.
    try await visit.ask(
      "evaluate \"globalThis.toasted = '', new MutationObserver(() => toasted += document.querySelector('#toasts').textContent).observe(document.querySelector('#toasts'), {childList: true}), 0\""
    )
    await visit.kill()
    try await visit.until("document.body.dataset.connection === 'lost'")
    try await visit.restart()
    try await visit.until("toasted.includes('another version')", seconds: 60)
    #expect(try await visit.evaluate("globalThis.mark") == "1")
    try await visit.until("document.body.dataset.connection === 'live'")
    try await visit.ask("click #phone-click")
    await visit.kill()
    try await visit.until("document.body.dataset.connection !== 'live'")
    try await visit.restart()
    try await visit.until("globalThis.mark === undefined && globalThis.tactus !== undefined", seconds: 60)
    try await visit.until("document.body.dataset.connection === 'live'", seconds: 60)
    try await visit.end()
  }

  @Test func `the message about a lost connection moves no control`() async throws {
    let visit = try await Visit()
    let places =
      "['tempo-down', 'tempo-up', 'pull', 'push', 'lock', 'meter-down', 'meter-up', 'meter-unit', 'tap', 'toggle', 'rewind'].map((id) => Object.values(document.getElementById(id).getBoundingClientRect().toJSON()).map(Math.round).join(' ')).join()"
    for size in ["320 568 touched", "390 844 touched", "820 1180 touched", "1366 768"] {
      try await visit.ask("size \(size)")
      try await visit.arrive()
      try await visit.until("document.querySelector('#connection').hidden")
      let before = try await visit.evaluate(places)
      await visit.kill()
      try await visit.until(
        "document.body.dataset.connection === 'lost' && !document.querySelector('#connection').hidden")
      #expect(try await visit.evaluate(places) == before, "\(size)")
      #expect(
        try await visit.evaluate(
          "document.querySelector('#beats').getBoundingClientRect().height > 12 && document.querySelector('#connection').checkVisibility()"
        ) == "true", "\(size)")
      try await visit.restart()
      try await visit.until("document.body.dataset.connection === 'live'")
    }
    try await visit.end()
  }

  @Test func `the page reconnects after a cut and refuses orders meanwhile`() async throws {
    let visit = try await Visit(isFar: true)
    try await visit.arrive()
    try await visit.stage.wire("cut", "2")
    try await visit.until("document.body.dataset.connection !== 'live'")
    try await visit.ask(
      "evaluate \"globalThis.told = 0, new MutationObserver(() => told++).observe(document.querySelector('#toasts'), {childList: true}), 0\""
    )
    try await visit.ask("click #tempo-up")
    try await visit.until("told > 0 || document.querySelector('#tempo-up').disabled")
    // The session continues without the page.
    try await visit.send("tempo", "88")
    try await visit.until("document.body.dataset.connection === 'alone'", seconds: 60)
    try await visit.stage.wire("heal")
    try await visit.until("document.body.dataset.connection === 'live'", seconds: 60)
    try await visit.until("tempo", is: "88")
    try await visit.end()
  }

  @Test func `sixteen browsers that only watch do not block a paired phone`() async throws {
    let visit = try await Visit()
    try await visit.ask("page 2")
    try await visit.arrive(unpaired: true)
    // Use all the places that tactus has for subscribers.
    try await visit.ask(
      "evaluate \"globalThis.told = 0, globalThis.crowd = Array.from({length: 15}, () => { const one = new WebSocket('ws://' + location.host + '/osc'); one.onopen = () => one.send(JSON.stringify(['/tactus/subscribe', 'state'])); one.onmessage = ({data}) => told += data.includes('/tactus/subscribed'); return one }), 0\""
    )
    try await visit.until("told === 15")
    try await visit.ask("page 1")
    try await visit.arrive()
    try await visit.until("document.querySelectorAll('#beats .beat').length === 4")
    try await visit.send("tempo", "99")
    try await visit.until("tempo", is: "99")
    // Another browser that only watches comes.
    try await visit.ask("page 3")
    try await visit.ask("open \(visit.address)")
    try await visit.until("document.body.dataset.connection === 'deaf'")
    #expect(try await visit.value("text #connection").contains("Too many browsers are connected"))
    try await visit.ask("page 2")
    try await visit.ask("evaluate \"crowd.forEach((one) => one.close()), 0\"")
    try await visit.ask("page 3")
    try await visit.until("document.body.dataset.connection === 'live'")
    try await visit.send("tempo", "101")
    try await visit.until("tempo", is: "101")
    try await visit.end()
  }

  @Test func `two phones on the same fader end with the same value`() async throws {
    let visit = try await Visit()
    for page in 1...2 {
      try await visit.ask("page \(page)")
      try await visit.arrive()
      try await visit.show("sound")
    }
    let fader = "\"[data-address='click/volume'] input[type=range]\""
    for round in 0..<4 {
      for page in [1, 2] {
        try await visit.ask("page \(page)")
        try await visit.ask("drag \(fader) \((round + page) % 2 == 0 ? 60 : -60) 0 20")
      }
    }
    // After the last touch, both phones and tactus have the same value of the fader.
    let deadline = ContinuousClock.now + .seconds(30)
    var places: [Double] = []
    repeat {
      places = [
        try await visit.tells("click/volume").split(separator: " ").last.flatMap { Double($0) } ?? .nan
      ]
      for page in [1, 2] {
        try await visit.ask("page \(page)")
        places.append(Double(try await visit.value("value \(fader)")) ?? .nan)
      }
    } while !places.allSatisfy { abs($0 - places[0]) < 0.01 } && ContinuousClock.now < deadline
    #expect(places.allSatisfy { abs($0 - places[0]) < 0.01 }, "tactus, and the two: \(places)")
    try await visit.send("click/volume", "0.25")
    for page in [1, 2] {
      try await visit.ask("page \(page)")
      try await visit.until(
        "Math.abs(document.querySelector('[data-address=\\\"click/volume\\\"] input[type=range]').value - 0.25) < 0.02"
      )
      try await visit.isWithoutComplaints()
    }
    try await visit.end()
  }
}
