// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import LinkBeatMath
import Synchronization
import TactusChoices
import TactusJACK
import TactusJSON5
import TactusSurface
import TactusSync
import TactusTestSupport
import Testing

@testable import TactusApp

extension ScratchFolder {
  fileprivate var places: Places { Places(folder: path) }
}

/// Collects the notices of the state keeper.
final class Notices: Sendable {
  private let lines = Mutex<[String]>([])
  func add(_ line: String) { lines.withLock { $0.append(line) } }
  var all: [String] { lines.withLock { $0 } }
}

private func seconds(_ count: Double) -> Micros { Micros(rounding: count * 1e6) }

@Suite("Remembered choices")
struct UserStateTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  private func start(_ arguments: String...) throws -> Startup {
    try Startup(arguments, places: folder.places)
  }

  /// Runs tactus once, while the user makes these choices. Returns the notices.
  private func run(_ arguments: String..., then change: (inout SurfaceState) -> Void) throws -> [String] {
    let startup = try Startup(arguments, places: folder.places)
    let notices = Notices()
    let keeper = startup.keeper { notices.add($0) }
    let before = startup.configuration
    var state = SurfaceState()
    before.choose(in: &state)
    state.timeline.tempo = Tempo(before.tempo)
    keeper.note(before.taking(state), at: seconds(1))
    change(&state)
    keeper.note(before.taking(state), at: seconds(2))
    keeper.close(at: seconds(3))
    return startup.notices + notices.all
  }

  @Test
  func `choices made while tactus plays hold at the next start`() throws {
    let notices = try run("--click-gain=0.25") { state in
      state.choices.isLinkEnabled = false
      state.choices.syncsStartStop = true
      state.timeline.tempo = Tempo(microsPerBeat: 540541)
      state.choices.offsets[.click2] = .milliseconds(-7.25)
      state.choices.quantum = 8
    }
    #expect(notices == [])
    let next = try start().configuration
    #expect(!next.choices.isLinkEnabled && next.choices.syncsStartStop && next.tempo == 111)
    #expect(
      next.choices.offsets[.click2] == .milliseconds(-7.25) && next.choices.offset(of: .click1) == .zero)
    // The quantum is not remembered, and the gain was an option of that run only.
    #expect(next.choices.quantum == 4 && next.choices.click.gain == 0.5)
    #expect(folder.names == ["state.json5"])
    #expect(try start("--link", "-t99").configuration.tempo == 99)
    #expect(try start("--link").configuration.choices.isLinkEnabled)
  }

  @Test
  func `a port without its own offset has its partner port's, also later`() throws {
    try folder.write("{'click-offset': 20, 'pulse-offset': 3}", to: "config.json5")
    _ = try run { state in
      state.choose("click/offset", 7)
      state.choose("pulse/offset", -4)
      #expect(
        state.choices.offset(of: .click2) == Micros(7000) && state.choices.offset(of: .run) == Micros(-4000))
    }
    let next = try start().configuration.choices.offsets
    #expect(next[.click1] == .milliseconds(7) && next[.click2] == nil)
    #expect(next[.pulse] == .milliseconds(-4) && next[.run] == nil)
    #expect(try !folder.text(of: "state.json5").contains("click-2-offset"))
    // The second port's own offset is kept until the user sets a new offset for both click ports.
    _ = try run { $0.choose("click/2/offset", 50.5) }
    #expect(try start().configuration.choices.offsets[.click2] == .milliseconds(50.5))
    _ = try run { $0.choose("click/offset", 2) }
    let given = try start().configuration.choices.offsets
    #expect(given[.click1] == .milliseconds(2) && given[.click2] == nil)
  }

  @Test
  func `choices by an unpaired controller are not remembered`()
    throws
  {
    _ = try run { $0.choices.offsets[.clock] = .milliseconds(3) }
    let before = try folder.text(of: "state.json5")
    let startup = try start()
    let configuration = startup.configuration
    let link = Link(tempo: 120)
    var shown = SurfaceState(timeline: link.captureAppState().timeline)
    configuration.choose(in: &shown)
    let exchange = AudioExchange(session: link.captureAppState(), settings: shown.choices)
    let door = SessionActions(exchange: exchange, state: link.captureAppState())
    let desk = CommandHandler(
      link: link, exchange: exchange, door: door, state: shown, wake: {})
    _ = desk.obey(.set("click/offset", .number(500)), at: .zero, lasts: false)
    _ = desk.obey(.set("link", .flag(false)), at: .zero, lasts: false)
    _ = desk.obey(.set("pulse/offset", .number(-2)), at: .zero)
    #expect(desk.state.choices.offset(of: .click2) == .milliseconds(500) && !desk.state.choices.isLinkEnabled)
    let keeper = startup.keeper { _ in }
    let lasting = try #require(desk.takeLasting())
    #expect(lasting == desk.lasting && desk.takeLasting() == nil)
    keeper.note(configuration.taking(lasting), at: seconds(1))
    keeper.close(at: seconds(2))
    let next = try start().configuration
    var offsets = Settings().offsets
    offsets[.clock] = .milliseconds(3)
    offsets[.pulse] = .milliseconds(-2)
    #expect(next.choices.offsets == offsets && next.choices.isLinkEnabled)
    #expect(try folder.text(of: "state.json5.before") == before)
  }

  @Test
  func `a tempo change by a peer is remembered, too`() {
    let link = Link(tempo: 120)
    let state = link.captureAppState()
    let exchange = AudioExchange(session: state, settings: Settings())
    let door = SessionActions(exchange: exchange, state: state)
    let desk = CommandHandler(
      link: link, exchange: exchange, door: door, state: SurfaceState(timeline: state.timeline), wake: {})
    var snapshot = link.snapshot
    snapshot.peerCount = 3
    desk.publish(snapshot)
    #expect(desk.takeLasting() == nil)
    snapshot.state.setTempo(97, at: .zero)
    desk.publish(snapshot)
    desk.publish(snapshot)
    #expect(desk.takeLasting()?.tempo == Tempo(97) && desk.takeLasting() == nil)
  }

  @Test
  func `a run of tactus without a choice writes no state file`() throws {
    #expect(try run("--no-link", "--tempo=77") { _ in } == [])
    #expect(folder.names == [])
  }

  @Test
  func `the tempo chosen by hand is remembered, not one that a leader set`() throws {
    _ = try run { state in
      state.timeline.tempo = Tempo(494)
      state.chosenTempo = Tempo(120)
    }
    #expect(folder.names == [])
    _ = try run { state in
      state.timeline.tempo = Tempo(494)
      state.chosenTempo = Tempo(101)
    }
    #expect(try start().configuration.tempo == 101)
  }

  @Test
  func `a remembered choice holds until its key in the configuration changes`()
    throws
  {
    try folder.write("{tempo: 90, link: true}", to: "config.json5")
    _ = try run { state in
      state.timeline.tempo = Tempo(131)
      state.choices.isLinkEnabled = false
    }
    #expect(try start().configuration.tempo == 131)
    try folder.write("{tempo: 95, link: true}", to: "config.json5")
    #expect(try start().configuration.tempo == 95)
    #expect(try start().configuration.choices.isLinkEnabled == false)
  }

  @Test
  func `choices of earlier runs stay if a later run makes other choices`() throws {
    _ = try run { $0.choices.syncsStartStop = true }
    _ = try run { $0.choices.offsets[.clock] = .milliseconds(3) }
    let next = try start().configuration
    #expect(next.choices.syncsStartStop && next.choices.offsets[.clock] == .milliseconds(3))
    // When the user has switched the choice off again, it is off at the next start, too.
    _ = try run { $0.choices.syncsStartStop = false }
    #expect(try start().configuration.choices.syncsStartStop == false)
  }

  @Test(arguments: [
    ("{\n\"link\": ", "2: a value is missing at the end"),
    ("\u{0}\u{0}", "1: a value was expected, not U+0"),
    ("[]", "1: holds a list instead of an object"),
  ])
  func `a broken state file is reported, and renamed at the next choice`(
    text: String, words: String
  ) throws {
    try folder.write(text, to: "state.json5")
    let path = folder.path + "/state.json5"
    let startup = try start()
    let notice =
      "\(path):\(words); nothing is remembered; the next change of a setting renames this file to \(path).broken"
    #expect(startup.notices == [notice])
    #expect(startup.configuration == Configuration())
    // Reading leaves the file unchanged.
    #expect(folder.names == ["state.json5"])
    #expect(try run { $0.choices.syncsStartStop = true } == [notice])
    #expect(try folder.text(of: "state.json5.broken") == text)
    #expect(folder.names == ["state.json5", "state.json5.broken"])
  }

  @Test(arguments: [
    ("{\"is\": 5000, \"over\": 120}", "\"tempo\" takes a number from 20 to 999, not 5000"),
    ("{\"is\": 1e308, \"over\": 120}", "\"tempo\" takes a number from 20 to 999"),
    ("5", "\"tempo\" must be { is: ..., over: ... }"), ("[[{}]]", "\"tempo\" must be { is: ..., over: ... }"),
  ])
  func `an invalid value in the state file is named, ignored and kept`(value: String, words: String)
    throws
  {
    _ = try run {
      $0.choices.syncsStartStop = true
      $0.choices.offsets[.clock] = .milliseconds(3)
    }
    var text = try folder.text(of: "state.json5")
    text.insert(
      contentsOf: "\"tempo\": \(value), \"of-a-later-version\": {\"is\": [1], \"over\": null},\n",
      at: text.index(after: try #require(text.firstIndex(of: "{"))))
    try folder.write(text, to: "state.json5")
    let startup = try start()
    #expect(startup.notices.count == 1)
    #expect(startup.notices[0].contains(words), "\(startup.notices)")
    #expect(startup.notices[0].hasSuffix("; only this remembered value is lost"))
    #expect(startup.configuration.choices.syncsStartStop && startup.configuration.tempo == 120)
    _ = try run { $0.choices.offsets[.pulse] = .milliseconds(-4) }
    let after = try start()
    #expect(after.configuration.choices.offsets[.clock] == .milliseconds(3))
    #expect(after.configuration.choices.offsets[.pulse] == .milliseconds(-4))
    #expect(after.notices.count == 1)
    let kept = try folder.text(of: "state.json5")
    #expect(kept.contains("of-a-later-version") && kept.contains("\"tempo\""))
    // The user's next choice of this value replaces the invalid one.
    _ = try run { $0.timeline.tempo = Tempo(99) }
    #expect(try start().notices.isEmpty)
    #expect(try start().configuration.tempo == 99)
  }

  @Test
  func `if the state file is damaged while tactus runs, no choice is lost`() throws {
    _ = try run { $0.choices.syncsStartStop = true }
    let startup = try start()
    let keeper = startup.keeper { Issue.record("\($0)") }
    var configuration = startup.configuration
    configuration.choices.offsets[.clock] = .milliseconds(3)
    keeper.note(configuration, at: seconds(1))
    keeper.close(at: seconds(2))
    try folder.write("garb{", to: "state.json5")
    configuration.choices.offsets[.pulse] = .milliseconds(-4)
    keeper.note(configuration, at: seconds(3))
    keeper.close(at: seconds(4))
    let next = try start().configuration
    #expect(
      next.choices.syncsStartStop && next.choices.offsets[.clock] == .milliseconds(3)
        && next.choices.offsets[.pulse] == .milliseconds(-4))
    #expect(try folder.text(of: "state.json5.broken") == "garb{")
  }

  @Test
  func `two tactus at once both keep their changes in the state file`() throws {
    func begin() throws -> (StateKeeper, Configuration) {
      let startup = try start()
      return (startup.keeper { Issue.record("\($0)") }, startup.configuration)
    }
    var (first, ofFirst) = try begin()
    var (second, ofSecond) = try begin()
    ofFirst.tempo = 131
    first.note(ofFirst, at: seconds(1))
    first.close(at: seconds(2))
    ofSecond.choices.syncsStartStop = true
    second.note(ofSecond, at: seconds(3))
    second.close(at: seconds(4))
    #expect(try start().configuration.tempo == 131)
    // An older choice of one run does not overwrite a newer choice of the other run.
    ofSecond.tempo = 90
    second.note(ofSecond, at: seconds(5))
    second.close(at: seconds(6))
    ofFirst.choices.offsets[.clock] = .milliseconds(3)
    first.note(ofFirst, at: seconds(7))
    first.close(at: seconds(8))
    let next = try start().configuration
    #expect(
      next.tempo == 90 && next.choices.syncsStartStop && next.choices.offsets[.clock] == .milliseconds(3))
  }

  @Test
  func `a state file with entries of a newer version is accepted`() throws {
    try folder.write(
      "{\"lights\": 5, \"tempo\": {\"is\": 88, \"over\": 120, \"since\": 1}}", to: "state.json5")
    #expect(try start().notices == [])
    #expect(try start().configuration.tempo == 88)
  }

  @Test
  func `a fader's value is saved when it rests, or every ten seconds`() throws {
    let startup = try start()
    let keeper = startup.keeper { _ in }
    func set(_ tempo: Double, at time: Double) {
      var configuration = startup.configuration
      configuration.tempo = tempo
      keeper.note(configuration, at: seconds(time))
    }
    func isWritten(_ tempo: Double) -> Bool { (try? start().configuration.tempo) == tempo }
    /// Waits for the thread that writes the file.
    func waitUntilWritten(_ tempo: Double, at time: Double) {
      for _ in 0..<2000 where !isWritten(tempo) {
        set(tempo, at: time)
        usleep(5000)
      }
      #expect(isWritten(tempo))
    }
    set(100, at: 1)
    set(101, at: 1.9)
    set(101, at: 2.8)
    #expect(folder.names == [])
    waitUntilWritten(101, at: 2.9)
    var time = 3.0
    while time < 12.9 {
      set(100 + time, at: time)
      time += 0.5
    }
    #expect(isWritten(101))
    waitUntilWritten(113, at: 13.1)
    keeper.close(at: seconds(14))
  }

  @Test
  func `a failing write of the state file is reported once for all its tries`() throws {
    let startup = try start()
    let notices = Notices()
    let keeper = StateKeeper(
      path: "/dev/full/state.json5", start: startup.configuration, file: Configuration()
    ) { notices.add($0) }
    var configuration = startup.configuration
    for round in 0..<40 {
      configuration.tempo = 100 + Double(round)
      for look in 0..<4 {
        keeper.note(configuration, at: seconds(Double(round * 12 + look * 3)))
        usleep(2000)
      }
    }
    keeper.close(at: seconds(1000))
    #expect(
      notices.all.count == 1 && notices.all[0].contains("can't be written: /dev/full"), "\(notices.all)")
  }
}

extension Command {
  static func set(_ path: String, _ values: Value...) -> Command {
    .choose(Table.standard.choices.first { $0.path == path }!, values)
  }
}

extension SurfaceState {
  fileprivate mutating func choose(_ path: String, _ value: Double) {
    Table.standard.choices.first { $0.path == path }!.choose(&choices, [.number(value)])
  }
}
