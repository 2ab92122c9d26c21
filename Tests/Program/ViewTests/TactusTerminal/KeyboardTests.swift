// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusMIDI
import TactusTestSupport
import Testing

@testable import TactusSurface
@testable import TactusTerminal

/// The keyboard, connected to a control surface.
private struct Desk {
  var keyboard: Keyboard
  var machine: SurfaceMachine
  var state: SurfaceState
  var now = Micros(1_000_000)
  var commands: [Command] = []
  var said: [String] = []
  var notices: [Notice] = []

  init(_ bindings: [String] = [], _ state: SurfaceState = SurfaceState()) {
    let keys = bindings.compactMap { KeyBinding($0) }
    #expect(keys.count == bindings.count)
    keyboard = Keyboard(KeyMap(keys))
    self.state = state
    machine = SurfaceMachine(SurfaceSettings(), state: state, clocks: Self.clocks(at: now))
  }

  private static func clocks(at now: Micros) -> Clocks {
    Clocks(host: now, unixSeconds: 1_700_000_000, nanoseconds: 0)
  }

  mutating func press(_ key: Key) {
    switch keyboard.press(key, state, at: now) {
    case .press(let targets): machine.press(targets, at: now, clocks: Self.clocks(at: now))
    case .say(let text): said.append(text)
    case .redraw, .leave, nil: break
    }
    drain()
  }

  mutating func wait(_ micros: Int64) {
    let end = now + Micros(micros)
    while now < end {
      now = min(end, max(machine.deadline, now + Micros(1)))
      machine.tick(clocks: Self.clocks(at: now))
      drain()
    }
  }

  private mutating func drain() {
    while let output = machine.nextOutput() {
      switch output {
      case .order(let order): commands.append(order.command)
      case .notice(let notice): notices.append(notice)
      case .send, .outward, .learned, .queued: break
      }
    }
  }

  /// Presses keys and returns the commands that they give. The session's state stays the same.
  static func press(
    _ keys: [Key], _ state: SurfaceState = SurfaceState(), every micros: Int64 = 100_000
  ) -> [Command] {
    var desk = Desk([], state)
    for key in keys {
      desk.press(key)
      desk.wait(micros)
    }
    desk.wait(1_000_000)
    return desk.commands
  }
}

extension [Key] {
  fileprivate static func typed(_ text: String) -> [Key] { text.unicodeScalars.map { .character($0) } }
}

@Suite("The keyboard")
struct KeyboardTests {
  @Test
  func `each standard key gives its command`() {
    let state = Scenes.scene { $0.choices.isLinkEnabled = false }.state
    for (key, command) in [
      (" ", Command.toggle), ("a", .set("link", .flag(true))), ("s", .set("startstop", .flag(true))),
      ("m", .set("click", .flag(true))), ("c", .set("clock", .flag(true))), ("p", .set("pulse", .flag(true))),
      ("[", .set("quantum", .whole(3))), ("]", .set("quantum", .whole(5))), ("l", .set("lead", .word(1))),
      ("+", .tempo(Tempo(121))),
      ("=", .tempo(Tempo(121))), ("-", .tempo(Tempo(119))),
    ] as [(Unicode.Scalar, Command)] {
      #expect(Desk.press([.character(key)], state) == [command], "\(key)")
    }
    for (key, command) in [
      (Key.up, Command.tempo(Tempo(121))), (.down, .tempo(Tempo(119))), (.right, .tempo(Tempo(120.1))),
      (.left, .tempo(Tempo(119.9))), (.pageUp, .tempo(Tempo(130))), (.pageDown, .tempo(Tempo(110))),
      (.home, .rewind),
    ] {
      #expect(Desk.press([key], state) == [command], "\(key)")
    }
    var on = state
    on.choices.isLinkEnabled = true
    on.choices.syncsStartStop = true
    on.choices.click.isOn = true
    on.choices.lead = .auto
    on.choices.quantum = 1
    #expect(Desk.press([.character("a")], on) == [.set("link", .flag(false))])
    #expect(Desk.press([.character("s")], on) == [.set("startstop", .flag(false))])
    #expect(Desk.press([.character("m")], on) == [.set("click", .flag(false))])
    #expect(Desk.press([.character("l")], on) == [.set("lead", .word(3))])
    #expect(Desk.press([.character("[")], on) == [.set("quantum", .whole(1))])
    on.choices.lead = .midi
    on.choices.quantum = 64
    #expect(Desk.press([.character("l")], on) == [.set("lead", .word(0))])
    #expect(Desk.press([.character("]")], on) == [.set("quantum", .whole(64))])
  }

  @Test
  func `quick tempo steps add up; a held key gives 20 commands a second`() {
    #expect(Desk.press([.up, .up, .up]).last == .tempo(Tempo(123)))
    let held = Desk.press(Array(repeating: .up, count: 60), every: 16_667)
    #expect(held.last == .tempo(Tempo(180)))
    #expect(held.count <= 22)
    #expect(Desk.press(Array(repeating: .pageDown, count: 30)).last == .tempo(Tempo(20)))
  }

  @Test
  func `tempo steps by keys start from the tempo rounded to hundredths`() {
    var state = SurfaceState()
    state.timeline.tempo = Tempo(120.099936)
    #expect(Desk.press([.right], state) == [.tempo(Tempo(120.2))])
  }

  @Test
  func `taps on key t set the tempo`() {
    let commands = Desk.press(Array(repeating: .character("t"), count: 5), every: 400_000)
    #expect(commands.last == .tempo(Tempo(150)))
    // The Enter key alone gives no command.
    #expect(Desk.press([.enter, .enter], every: 600_000) == [])
  }

  @Test
  func `key q quits at once when stopped, at the second press when rolling`() {
    let q = Key.character("q")
    var rolling = SurfaceState()
    rolling.transport = .rolling(origin: .zero)
    #expect(Desk.press([q]) == [.quit])
    #expect(Desk.press([q], rolling).isEmpty)
    #expect(Desk.press([q, q], rolling, every: 2_000_000) == [.quit])
    #expect(Desk.press([q, q], rolling, every: 8_000_000).isEmpty)
    var desk = Desk(["x = stop, quit"], rolling)
    desk.press(.character("x"))
    #expect(desk.commands.isEmpty && desk.said.count == 1)
    desk.press(.character("x"))
    #expect(desk.commands == [.stop, .quit])
  }

  @Test
  func `every standard key has a valid address, and only one meaning`() {
    var keys: Set<Key> = []
    for row in KeyMap.standard {
      #expect(!row.words.isEmpty && !row.bindings.isEmpty)
      for binding in row.bindings {
        #expect(keys.insert(binding.event).inserted, "\(binding)")
        #expect((row.viewAction == nil) != binding.targets.isEmpty, "\(binding)")
        #expect(Table.standard.objection(to: binding.targets, ofKey: true) == nil, "\(binding)")
        if row.viewAction == nil { #expect(KeyBinding(binding.description) == binding) }
      }
    }
    // A typing error in a row of the list would give another number of keys.
    #expect(keys.count == 40)
  }

  @Test
  func `a binding of a key is parsed and written alike`() throws {
    for (text, key, targets) in [
      ("x = tap", Key.character("x"), ["tempo/tap"]), ("X = tap", .character("X"), ["tempo/tap"]),
      ("= = start", .character("="), ["start"]), ("==start", .character("="), ["start"]),
      (" , = rewind, start now ", .character(","), ["rewind", "start now"]),
      ("Space = toggle", .character(" "), ["toggle"]),
      ("page up = tempo 128 bar", .pageUp, ["tempo 128 bar"]),
      ("PgUp = start", nil, []), ("escape = stop", nil, []), ("f1 = stop", nil, []), ("x", nil, []),
      ("= tap", nil, []), ("", nil, []), ("x =", nil, []), ("xy = tap", nil, []), ("é = tap", nil, []),
      ("\u{1B} = tap", nil, []), ("note 1 = tap", nil, []),
    ] as [(String, Key?, [String])] {
      let binding = KeyBinding(text)
      #expect(binding?.event == key, "\(text)")
      #expect(binding?.targets.map(\.description) ?? [] == targets, "\(text)")
      if let binding { #expect(KeyBinding(binding.description) == binding) }
    }
  }

  @Test(
    arguments: [
      ("x = tempo/tipp", "no such address: tempo/tipp; do you mean tempo/tap?"),
      ("x = click/pattern abc", "click/pattern: only the letters X (accent), x (beat) and . (silence)"),
      ("x = tempo 5", "tempo: 20 to 999 BPM, not 5"), ("x = click", "click needs its arguments: 0 or 1"),
      ("x = tempo 60..90", "tempo: a key has no range, only a value"),
      ("x = peers", "peers can't be set"),
      ("x = quit", nil), ("x = click 1", nil), ("x = midi/learn tap", nil),
    ] as [(String, String?)])
  func `a key binding with an invalid command is refused with a reason`(text: String, words: String?) throws {
    #expect(Table.standard.objection(to: try #require(KeyBinding(text)).targets, ofKey: true) == words)
  }

  @Test
  func `a configured key replaces the standard key, also on the page of keys`() {
    var desk = Desk(["t = rewind, start now", "t = click 1", "h = tap", "1 = tempo 128", "x = tempo 133.5"])
    desk.press(.character("t"))
    #expect(desk.commands == [.rewind, .start(.now), .set("click", .flag(true))])
    desk.press(.character("h"))
    #expect(desk.keyboard.page == .playing)
    desk.press(.character("1"))
    #expect(desk.commands.last == .tempo(Tempo(128)) && desk.keyboard.typed(at: desk.now) == nil)
    // The digit 1 is bound to a command, but after another digit it is typed as a digit.
    desk.press(.character("9"))
    desk.press(.character("1"))
    #expect(desk.keyboard.typed(at: desk.now)?.text == "91")
    var scene = Scenes.scene()
    scene.page = .keys
    let keys = KeyMap([KeyBinding("t = click/pattern Xx.")].compactMap { $0 })
    let view = TerminalView(glyphs: .ascii, keys: keys)
    let page = view.picture(of: scene, size: Size(columns: 80, rows: 24)).text
    #expect(page.contains("t         click/pattern Xx.") && !page.contains("tap tempo"))
    scene.page = .playing
    #expect(!view.picture(of: scene, size: Size(columns: 40, rows: 12)).text.contains(" tap"))
    #expect(Scenes.text(scene, 40, 12).contains("space start  t tap  up dn tempo  ? keys"))
  }

  @Test
  func `a capital that is not bound acts as its small letter, as for Caps Lock`() {
    var desk = Desk(["M = tempo 128"])
    for letter in ["T", "C", "M"] as [Unicode.Scalar] { desk.press(.character(letter)) }
    #expect(desk.commands == [.set("clock", .flag(false)), .tempo(Tempo(128))] && desk.said == [])
    desk.press(.character("W"))
    #expect(desk.keyboard.page == .code)
    for key in [Key.character("x"), .character("X"), .character("/"), .backspace, .enter, .escape] {
      desk.press(key)
    }
    #expect(
      desk.said == [
        "no key x; ? lists them", "no key X; ? lists them", "no key /; ? lists them",
        "no key backspace; ? lists them", "Enter sets the tempo that you have typed: type one first",
      ])
    #expect(desk.commands.count == 2)
  }

  @Test
  func `the page of keys has every key at 40x12, and more words at 80x24`() {
    var scene = Scenes.scene()
    scene.page = .keys
    for glyphs in [Glyphs.ascii, .unicode] {
      let text = Scenes.text(scene, 40, 12, glyphs)
      #expect(!text.contains("~"))
      for row in KeyMap.standard {
        #expect(text.contains(row.keys(named: glyphs.name(of:))), "\(row.words)")
        #expect(text.contains(row.brief ?? row.words), "\(row.words)")
      }
      let wide = Scenes.text(scene, 80, 24, glyphs)
      for row in KeyMap.standard { #expect(wide.contains(row.words), "\(row.words)") }
    }
    let keys = KeyMap.standard.map { "\($0.keys { $0.description }) \($0.words)" }
    for words in ["l switch the leader", "w QR code, and back", "? h these keys, and back"] {
      #expect(keys.contains(words))
    }
  }

  @Test(
    arguments: [
      ("128", 128.0), ("20", 20), ("999", 999), ("120.5", 120.5), ("120,25", 120.25), ("128.", 128),
      ("0120", 120), ("12.5.5", nil), ("19.99", nil), ("999.01", nil), ("1", nil), ("123456789", nil),
    ] as [(String, Double?)])
  func `a tempo is typed and set with Enter`(text: String, tempo: Double?) {
    var state = SurfaceState()
    state.timeline.tempo = Tempo(90)
    var desk = Desk([], state)
    for key in [Key].typed(text) { desk.press(key) }
    #expect(desk.commands.isEmpty)
    desk.press(.enter)
    #expect(desk.commands == (tempo.map { [.tempo(Tempo($0))] } ?? []))
    let typed = desk.keyboard.typed(at: desk.now)
    #expect((typed == nil) == (tempo != nil))
    guard let typed else { return }
    #expect(typed.objection?.hasPrefix("tempo: 20 to 999 BPM, not ") == true)
    // The user corrects the typed text, and the reason for the refusal disappears.
    desk.press(.backspace)
    #expect(desk.keyboard.typed(at: desk.now)?.objection == nil)
    desk.press(.escape)
    #expect(desk.keyboard.typed(at: desk.now) == nil && desk.commands.isEmpty)
  }

  @Test
  func `Esc, Backspace, another key or ten seconds drop a typed tempo`() {
    func typed(_ keys: [Key], wait: Int64 = 0) -> Desk {
      var desk = Desk()
      for key in [.character("?")] + keys { desk.press(key) }
      desk.wait(wait)
      return desk
    }
    for keys in [[Key].typed("12") + [.escape], .typed("1") + [.backspace], .typed("1 ")] {
      let desk = typed(keys)
      #expect(desk.keyboard.typed(at: desk.now) == nil, "\(keys)")
      #expect(desk.commands == (keys.last == .character(" ") ? [.toggle] : []))
      // Esc ends the typing, but the view stays on the page of keys.
      #expect(desk.keyboard.page == .keys)
    }
    #expect(typed(.typed("12") + [.backspace]).keyboard.typed(at: .zero)?.text == "1")
    var late = typed(.typed("12"), wait: 10_000_000)
    #expect(late.keyboard.typed(at: late.now) == nil)
    // Enter comes too late and changes no tempo, however often it is pressed.
    late.press(.enter)
    late.wait(400_000)
    late.press(.enter)
    #expect(late.commands == [] && late.said.count == 2)
  }

  @Test
  func `a typed tempo is in the view's last row at every size and on each page`() {
    var desk = Desk()
    for key in [Key].typed("120.1234") { desk.press(key) }
    var scene = Scenes.scene()
    for page in [Scene.Page.playing, .keys] {
      scene.page = page
      for (columns, rows) in [(40, 12), (80, 24), (132, 43), (39, 11), (40, 13)] {
        scene.typed = desk.keyboard.typed(at: desk.now)
        let text = Scenes.text(scene, columns, rows).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(text.count == rows)
        #expect(text.last?.hasPrefix("120.1234_ BPM  Enter sets it, Esc lea") == true, "\(columns)x\(rows)")
      }
    }
    desk = Desk()
    for key in [Key].typed("5") + [.enter] { desk.press(key) }
    scene.typed = desk.keyboard.typed(at: desk.now)
    #expect(Scenes.text(scene, 40, 12).hasSuffix("5_ BPM  tempo: 20 to 999 BPM, not 5"))
  }

  @Test
  func `a key's change that lasts is reported, with the key that undoes it`() {
    var state = SurfaceState()
    func remark(_ key: Key) -> String? { Keyboard.remark(KeyMap().targets(of: key), by: key, state) }
    #expect(remark(.character("b")) == "After a stop: back to the bar; b again: back to the start")
    #expect(remark(.character("a")) == "Ableton Link: off, also at the next start; a takes that back")
    // A tactus on another machine does not remember the choices of an unpaired controller.
    let there = Keyboard.remark(
      KeyMap().targets(of: .character("a")), by: .character("a"), state, isKept: false)
    #expect(there == "Ableton Link: off, until that tactus ends; a takes that back")
    #expect(remark(.character("s")) == "Start/stop sync: on, also at the next start; s takes that back")
    state.choices.isLinkEnabled = false
    #expect(remark(.character("a"))?.hasPrefix("Ableton Link: on,") == true)
    for (lead, words) in [
      (Lead.link, "Leads: host, the JACK program that is timebase master; l goes on to auto"),
      (.host, "Leads: auto, JACK's timebase master or else Link; l goes on to midi"),
      (.auto, "Leads: midi, a MIDI clock at the port control; l goes on to link"),
      (.midi, "Leads: link, the Ableton Link session; l goes on to host"),
    ] {
      state.choices.lead = lead
      #expect(remark(.character("l")) == words)
    }
    #expect(remark(.character("m"))?.hasPrefix("Click: on, also at the next start") == true)
    #expect(remark(.character("c"))?.hasPrefix("MIDI clock: off, also at the next start") == true)
    for key: Key in [.character(" "), .character("t"), .up] {
      #expect(remark(key) == nil)
    }
  }

  @Test
  func `if tactus refuses a key's command, the view shows the reason alone`() {
    var desk = Desk()
    desk.press(.character(" "))
    #expect(desk.commands == [.toggle])
    let notice = Notice.refused(
      Refusal(.notNow, "no JACK server"), address: "/tactus/toggle", from: Peer.keys)
    #expect(notice.text == "no JACK server" && notice.isComplaint && notice.pace == nil)
  }
}

extension Command {
  fileprivate static func set(_ path: String, _ value: Value) -> Command {
    .choose(Table.standard.choices.first { $0.path == path }!, [value])
  }
}
