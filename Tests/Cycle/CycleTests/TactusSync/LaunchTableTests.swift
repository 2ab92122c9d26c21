// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// The tests of each row of the table at the head of `Launch.swift`.
struct LaunchTableTests {
  /// A transport at beat 40 of its song and 120 BPM; the session's bars are at whole multiples of two
  /// seconds.
  private struct Stand {
    static let cycleMicros = 256.0 / 48_000 * 1e6
    static let bar = 2_000_000.0

    var launch = Launch()
    var heard = 102_000.0
    var frame: UInt32 = 960_000
    var settings = LaunchSettings()
    var answer: Bool?

    init(exact: Bool = false) {
      settings.alignment = exact ? .exact : .nearest
    }

    private func now(_ state: Transport.State) -> CycleContext {
      var choices = Settings()
      choices.launch = settings
      return CycleContext(
        SessionState(), heard: heard, transport: Transport(state: state, frame: frame), settings: choices)
    }

    mutating func see(_ state: Transport.State) {
      heard += Self.cycleMicros
      launch.observe(now(state))
    }

    mutating func ask() {
      heard += Self.cycleMicros
      answer = launch.mayRoll(
        now(.starting), Launch.Question(songBeat: Beats(Double(frame) / 24_000), leader: .none))
    }

    mutating func pressPlay(before bar: Double? = nil) {
      if let bar { heard = bar - 3 * Self.cycleMicros }
      see(.stopped)
      ask()
    }

    /// Presses Play with exact alignment. The control thread has sent the transport to the place of the
    /// start.
    mutating func pressPlayAndGoThere() throws {
      pressPlay()
      let action = launch.action
      try #require(action.condition == .starting)
      frame = action.place.frame
      ask()
    }

    /// The start is released, but another client holds it, and the start has moved to the next bar.
    mutating func miss() {
      pressPlay(before: Self.bar)
      see(.starting)
      see(.starting)
    }

    /// Three times in a row another client holds the start, and it moves to the next bar.
    mutating func missThrice() {
      pressPlay(before: Self.bar)
      for _ in 0..<2 {
        see(.starting)
        heard = launch.start!.target.value * 500_000 - 2 * Self.cycleMicros
        ask()
      }
    }
  }

  private typealias Scenario = @Sendable (inout Stand) throws -> Void

  /// The events of each row of the table: those that come before, and the row's own event.
  private static let rows: [String: (exact: Bool, before: Scenario, event: Scenario)] = [
    "idle | stops": (false, { $0.see(.rolling) }, { $0.see(.stopped) }),
    "idle | asked": (false, { $0.see(.rolling) }, { $0.ask() }),
    "standing | asked": (false, { $0.see(.stopped) }, { $0.ask() }),
    "standing | rolls": (false, { $0.see(.stopped) }, { $0.see(.rolling) }),
    "standing | asked in a start's second cycle": (
      false,
      {
        $0.see(.stopped)
        $0.see(.starting)
      }, { $0.ask() }
    ),
    "standing | asked, and its beat is due": (
      false,
      {
        $0.heard = Stand.bar - 3 * Stand.cycleMicros
        $0.see(.stopped)
      }, { $0.ask() }
    ),
    "begun | asked within two cycles": (
      false,
      {
        $0.pressPlay(before: Stand.bar)
        $0.see(.rolling)
        $0.frame = 1_200_000
      }, { $0.ask() }
    ),
    "begun | asked later": (
      false,
      {
        $0.pressPlay(before: Stand.bar)
        for _ in 0..<4 { $0.see(.rolling) }
      }, { $0.ask() }
    ),
    "begun | rolls on": (
      false,
      {
        $0.pressPlay(before: Stand.bar)
        $0.see(.rolling)
        $0.heard += TransportLimits.answerMicros
      }, { $0.see(.rolling) }
    ),
    "begun | asked, where it was sent just before it rolled": (
      false,
      {
        $0.miss()
        $0.frame += 100_000
        $0.see(.rolling)
        $0.frame = $0.launch.action.place.frame
      }, { $0.ask() }
    ),
    "held | asked, and its beat is far": (false, { $0.pressPlay() }, { $0.ask() }),
    "held | asked, and a cycle's start would miss its beat, which shall be exact": (
      false, { $0.pressPlay() },
      {
        $0.settings.alignment = .exact
        $0.ask()
      }
    ),
    "held | asked, and its beat is due": (
      false,
      {
        $0.pressPlay()
        $0.heard = Stand.bar - 2 * Stand.cycleMicros
      }, { $0.ask() }
    ),
    "held | rolls without us": (false, { $0.pressPlay() }, { $0.see(.rolling) }),
    "held | stops where play was pressed": (false, { $0.pressPlay() }, { $0.see(.stopped) }),
    "held | stops where it was sent": (true, { try $0.pressPlayAndGoThere() }, { $0.see(.stopped) }),
    "released | asked elsewhere, or its beat was missed": (
      false,
      {
        $0.pressPlay(before: Stand.bar)
        $0.frame = 480_000
      }, { $0.ask() }
    ),
    "released | rolls": (false, { $0.pressPlay(before: Stand.bar) }, { $0.see(.rolling) }),
    "released | starts still, too late for its beat": (
      false, { $0.pressPlay(before: Stand.bar) }, { $0.see(.starting) }
    ),
    "released | starts still, too late, after two retries": (
      false, { $0.missThrice() }, { $0.see(.starting) }
    ),
    "givenUp | rolls": (
      false,
      {
        $0.missThrice()
        $0.see(.starting)
      }, { $0.see(.rolling) }
    ),
    "givenUp | stops": (
      false,
      {
        $0.missThrice()
        $0.see(.starting)
      }, { $0.see(.stopped) }
    ),
    "held | rolls before it was sent to a later beat": (
      false,
      {
        $0.miss()
        $0.frame += 256
      }, { $0.see(.rolling) }
    ),
    "overtaken | asked, where it was sent": (
      false,
      {
        $0.miss()
        $0.frame += 256
        $0.see(.rolling)
        $0.frame = $0.launch.action.place.frame
      }, { $0.ask() }
    ),
    "overtaken | rolls on": (
      false,
      {
        $0.miss()
        $0.frame += 256
        $0.see(.rolling)
        $0.frame += 100_000
      }, { $0.see(.rolling) }
    ),
    "puttingBack | is moved elsewhere": (
      true,
      {
        try $0.pressPlayAndGoThere()
        $0.see(.stopped)
        $0.frame = 96_000
      }, { $0.see(.stopped) }
    ),
    "puttingBack | asked": (
      true,
      {
        try $0.pressPlayAndGoThere()
        $0.see(.stopped)
        $0.settings.alignment = .nearest
      }, { $0.ask() }
    ),
    "held | the server freewheels": (false, { $0.pressPlay() }, { $0.launch.letGo(.starting) }),
  ]

  private func name(_ stage: Launch.Stage) -> String {
    switch stage {
    case .idle: "idle"
    case .standing: "standing"
    case .begun: "begun"
    case .held: "held"
    case .released: "released"
    case .overtaken: "overtaken"
    case .givenUp: "givenUp"
    case .puttingBack: "puttingBack"
    }
  }

  /// The cells of the table, without the heading row.
  private func table() throws -> [[String]] {
    let file = try #require(fopen("\(Lab.top)/Sources/Cycle/TactusSync/Transport/Launch.swift", "r"))
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 1024)
    var rows: [[String]] = []
    while fgets(&buffer, Int32(buffer.count), file) != nil {
      let line = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      guard line.hasPrefix("/// | ") else { continue }
      rows.append(
        line.split(separator: "|").dropFirst().map { $0.split(separator: " ").joined(separator: " ") })
    }
    return Array(rows.dropFirst(2))
  }

  @Test func `each row of the launch table in Launch.swift holds`() throws {
    let table = try table()
    #expect(table.count == Self.rows.count)
    for row in table {
      let title = "\(row[0]) | \(row[1])"
      let scenario = try #require(Self.rows[title], "\(title)")
      var stand = Stand(exact: scenario.exact)
      try scenario.before(&stand)
      #expect(name(stand.launch.stage) == row[0], "before: \(title)")
      stand.answer = nil
      try scenario.event(&stand)
      #expect(name(stand.launch.stage) == row[2], "next: \(title)")
      #expect("\(stand.launch.action.condition)" == row[3], "action: \(title)")
      #expect((stand.answer.map { $0 ? "yes" : "no" } ?? "-") == row[4], "answer: \(title)")
    }
  }

  /// The control thread uses the last report of a dead server until the next server's first cycle.
  @Test func `a server that dies during a launch leaves no locate and no held start`() throws {
    var stages: Set<String> = []
    for row in try table() {
      let title = "\(row[0]) | \(row[1])"
      let scenario = try #require(Self.rows[title], "\(title)")
      var stand = Stand(exact: scenario.exact)
      try scenario.before(&stand)
      try scenario.event(&stand)
      stages.insert(name(stand.launch.stage))
      var told = Report()
      stand.launch.report(into: &told.launch)
      let rest = told.atRest
      #expect(
        rest.launch.action.condition == .none && !rest.launch.isHolding && !rest.launch.isGivenUp,
        "without a server: \(title)")
      #expect(
        rest.launch.action.number == told.launch.action.number,
        "what was asked for is not asked again: \(title)")
      var next = Report()
      Launch().report(into: &next.launch)
      next.countOn(from: told.counts)
      #expect(next.launch.action.condition == .none && !next.launch.isHolding, "with the next one: \(title)")
      #expect(
        next.launch.action.number == told.launch.action.number, "an action of the next is another: \(title)")
    }
    #expect(stages.count == 8)
  }
}
