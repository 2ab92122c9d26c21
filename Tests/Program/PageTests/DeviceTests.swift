// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// The settings of the phone itself, and what the page shows of tactus.
@Suite struct DeviceTests {
  /// The milliseconds that the calibration finds if the phone's sound is late by `late` and the finger is 30
  /// ms early.
  private static func calibrated(_ late: Double, early offset: Double, at tempo: Double) -> String {
    """
    import('/click.js').then(({Calibration}) => { \
    const session = { timeline: { tempo: \(tempo) }, beatAt: (host) => host / 60e6 * \(tempo) }, clock = { hostAt: (at) => at * 1000 }; \
    const run = new Calibration(clock, session), length = 60e3 / \(tempo); \
    let beat = 100; \
    for (const late of [0, \(late) - \(offset)]) { \
      for (let done = false; !done; beat += 1) done = run.tap(beat * length + late - 30 + (beat * 37 % 41) - 20); \
      run.step += 1 } \
    return run.result(\(offset)) })
    """
  }

  @Test func `a calibration by tapping finds a lateness up to 3/4 of a beat`() async throws {
    let visit = try await Visit()
    try await visit.arrive()
    for (late, offset, tempo) in [
      (0.0, 0.0, 120.0), (35, 0, 120), (-60, 0, 120), (250, 0, 120), (360, 0, 120), (200, 200, 120),
      (200, 30, 173.5),
      (12, 200, 60), (600, 0, 60),
    ] {
      let found = Double(try await visit.evaluate(Self.calibrated(late, early: offset, at: tempo))) ?? .nan
      #expect(abs(found - late) < 5, "\(late) ms, \(offset) ms early, at \(tempo) BPM: \(found)")
    }
    try await visit.end()
  }

  /// The seconds at which the phone's click is heard at 60 BPM, four clicks a beat, with a timer each 50 ms.
  /// The swing changes from 60 % eighths to 75 % sixteenths during beat 1.
  private static func heard(_ meter: String, quantum: Double) -> String {
    """
    Promise.all([import('/click.js'), import('/session.js')]).then(([{PhoneClick}, {Session}]) => { \
    const session = new Session(), heard = []; let now = 0; \
    const clock = { hostAt: () => now * 1e6, localOf: (host) => host / 1e3 }; \
    const click = new PhoneClick(clock, session); \
    click.localTime = () => 0; \
    Object.assign(click, { isOn: true, gain: { gain: {} }, sounds: { X: 1, x: 1 }, settings: { pattern: '', subdivision: 4, when: 'always' } }); \
    click.context = { state: 'running', get currentTime() { return now }, getOutputTimestamp: () => ({ contextTime: now + 1, performanceTime: now * 1e3 + 1e3 }) }; \
    click.sound = (letter, beat, at) => click.scheduled.push({ node: { stop() { this.isStopped = true } }, beat, at, letter }); \
    click.setSwing('60/8'); session.setMeter(\(meter)); session.setTimeline([60, 0, 0, \(quantum)]); \
    const all = new Set(); \
    for (let step = -3; step < 80; step += 1) { \
      now = Math.max(0, step) / 20; if (step === 26) click.setSwing('75/16'); click.place(); \
      for (const one of click.scheduled) all.add(one) } \
    for (const { node, at } of all) if (!node.isStopped && at < 3.2) heard.push(at.toFixed(3) - 0); \
    return heard.sort((a, b) => a - b).join() })
    """
  }

  private static func words(_ seconds: [Double]) -> String {
    seconds.map { $0 == $0.rounded() ? "\(Int($0))" : "\($0)" }.joined(separator: ",")
  }

  @Test func `the phone's click swings; a new swing begins with a pair of notes`() async throws {
    let visit = try await Visit()
    try await visit.arrive()
    let quarters = [0, 0.3, 0.6, 0.8, 1, 1.3, 1.6, 1.8, 2, 2.375, 2.5, 2.875, 3]
    #expect(try await visit.evaluate(Self.heard("[4, 4]", quantum: 4)) == Self.words(quarters))
    // A bar of seven eighths is no whole number of pairs of eighths, so the eighths do not swing. While
    // sixteenths swing, a click comes on each 32nd note.
    let straight = (0..<16).map { Double($0) / 8 }
    let sevens = straight + [2, 2.188, 2.375, 2.438, 2.5, 2.688, 2.875, 2.938, 3, 3.188]
    #expect(try await visit.evaluate(Self.heard("[7, 8]", quantum: 3.5)) == Self.words(sevens))
    try await visit.end()
  }

  @Test
  func `the offset of the phone can be set in several ways and is kept`() async throws {
    let visit = try await Visit()
    try await visit.ask("size 390 844 touched")
    try await visit.arrive()
    try await visit.show("sound")
    try await visit.ask("tap \"@button:Earlier by: more\"")
    try await visit.until("tactus.click.offset === 1")
    try await visit.ask("tap \"@button:Earlier by: less\"")
    try await visit.until("tactus.click.offset === 0")
    try await visit.ask("evaluate \"document.querySelector('#phone-offset').focus(), 0\"")
    try await visit.ask("press ArrowRight")
    try await visit.until("tactus.click.offset === 0.5")
    try await visit.ask("drag #phone-offset 30")
    // A fader sends thirty times a second: wait for its last value.
    try await visit.until(
      "tactus.click.offset > 20 && tactus.click.offset === Number(document.querySelector('#phone-offset').value)"
    )
    let offset = try await visit.evaluate("tactus.click.offset")
    try await visit.ask("reload")
    try await visit.until("tactus.click.offset === \(offset)")
    try await visit.end()
  }

  @Test func `a paired browser can start the doctor's examination on the page`() async throws {
    let visit = try await Visit()
    try await visit.arrive(unpaired: true)
    try await visit.show("link")
    try await visit.ask("click #ask-doctor")
    try await visit.until("document.querySelector('#toasts').textContent.includes('scan the code')")
    try await visit.arrive()
    try await visit.show("link")
    try await visit.touch("click #ask-doctor")
    try await visit.until("document.querySelectorAll('#doctor li').length > 3", seconds: 60)
    let told = try await visit.evaluate("document.querySelector('#doctor').textContent")
    for word in ["JACK: ", "Network", "tactus: runs"] { #expect(told.contains(word), "\(told)") }
    try await visit.end()
  }

  @Test func `the page shows a refusal once, and the control shows the true value`() async throws {
    let visit = try await Visit()
    try await visit.ask("size 1366 768")
    try await visit.arrive()
    try await visit.show("all")
    try await visit.until("document.querySelectorAll('#all [data-address]').length > 50")
    let pattern = "\"[data-address='click/pattern'] input\""
    try await visit.touch("fill \(pattern) xqx")
    try await visit.until("document.querySelector('#toasts').textContent.startsWith('click/pattern: ')")
    #expect(
      try await visit.evaluate("document.querySelector('#toasts').textContent.split('click/pattern').length")
        == "2")
    // The typed text stays, so that the user can correct it, as long as the field has the focus.
    try await visit.ask("press Tab")
    try await visit.until(
      "document.querySelector('#all [data-address=\\\"click/pattern\\\"] input').value === ''")
    try await visit.end()
  }
}
