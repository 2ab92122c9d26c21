// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// A transport plan with invented reports: 120 BPM, cycles of 256 frames.
struct PlanStand {
  static let cycleMicros = 256.0 / 48_000 * 1e6

  var plan = TransportPlan()
  var report = Report()
  var time = 10_000_000.0
  /// The actions that the last event caused.
  var actions: [TransportAction] = []
  /// The session's beat at which the song begins, while it rolls.
  var origin = 16.0

  init() {
    (report.moment.frames, report.moment.heard.frameMicros) = (256, 1e6 / 48_000)
    report.tempo = 120
    report.master.timebase = .ours
    show()
  }

  /// Fills the report. A bar lasts two seconds. While the transport stands, the song is at its beat 4.
  private mutating func show() {
    report.moment.due = time
    report.moment.heard.start = time
    report.sessionBeat = time / 500_000
    report.song.beat = report.song.isRolling ? report.sessionBeat - origin : 4
    report.moment.frame = UInt32(report.song.beat * 24_000)
  }

  private mutating func next(_ event: TransportPlan.Event) -> [TransportAction] {
    let now = TransportPlan.Observation(
      report, at: Micros(rounding: time + Self.cycleMicros / 2), on: TransportServer())
    return plan.next(event, now)
  }

  mutating func command(_ commands: TransportCommand...) {
    actions = commands.flatMap { next(.command($0)) }
  }

  /// Lets a cycle pass, after which the control thread looks.
  mutating func look() {
    time += Self.cycleMicros
    show()
    // The first action of each look sets the limit, and is left out here.
    actions = next(.observe).dropFirst() + next(.tick)
  }

  mutating func look(for micros: Double) {
    let end = time + micros
    while time < end { look() }
  }

  /// Looks until an action is due.
  mutating func lookForAction() {
    repeat { look() } while actions.isEmpty && time < 20_000_000
  }

  mutating func leave() { actions = next(.leave) }

  mutating func roll() { report.song.isRolling = true }
  mutating func stand() { report.song.isRolling = false }

  mutating func leaveStanding() {
    plan.choices.launch.wait = .stopped
    command(.play)
  }

  var words: String { actions.map(Self.word).joined(separator: ", ") }

  private static func word(_ action: TransportAction) -> String {
    switch action {
    case .play: "play"
    case .stop: "stop"
    case .locate: "locate"
    case .relocate: "relocate"
    case .locateIfOpen: "locate if open"
    case .holdOn: "hold on"
    case .limit: "limit"
    case .insistOnLimit: "insist on limit"
    }
  }

  var stage: String {
    switch plan.stage {
    case .idle: "idle"
    case .correcting: "correcting"
    case .locating: "locating"
    case .following: "following"
    case .stopping: "stopping"
    case .standing: "standing"
    case .asked(let request): request.starts ? "asked to start" : "asked to stop"
    }
  }
}

/// The tests of each row of the table at the head of `TransportPlan.swift`.
struct TransportPlanTableTests {
  private typealias Scenario = @Sendable (inout PlanStand) -> Void

  private static let jump = TransportCommand.jump(frame: 960_000, beat: 40, step: 4)

  /// The line on which the song began four beats later.
  private static let line = TransportCommand.follow(beat: 0, sessionBeat: 20)

  private static func followLater(_ stand: inout PlanStand) {
    stand.roll()
    stand.command(line)
  }

  private static func correct(_ stand: inout PlanStand) {
    stand.roll()
    stand.plan.choices.correction = .locate
    stand.report.song.hostLag = 20_000
  }

  private static func jumpLater(_ stand: inout PlanStand) {
    stand.roll()
    stand.command(jump)
  }

  private static func stopLater(_ stand: inout PlanStand) {
    stand.roll()
    stand.command(.stopOn(bar: true))
  }

  private static func stopMoving(_ stand: inout PlanStand) {
    stand.roll()
    stand.command(.stop)
  }

  /// The events of each row of the table: those that come before, and the row's own event.
  private static let rows: [String: (before: Scenario, event: Scenario)] = [
    "idle | play, and the transport stands": ({ _ in }, { $0.command(.play) }),
    "idle | play, and the transport shall stand until just before the beat": (
      { _ in }, { $0.leaveStanding() }
    ),
    "idle | play, and it rolls": ({ $0.roll() }, { $0.command(.play) }),
    "idle | tactus leaves": ({ $0.roll() }, { $0.leave() }),
    "idle | tactus leaves while it holds a start": (
      { $0.report.launch.isHolding = true }, { $0.leave() }
    ),
    "idle | stop": ({ $0.roll() }, { $0.command(.stop) }),
    "idle | stop on the bar, and it rolls": ({ $0.roll() }, { $0.command(.stopOn(bar: true)) }),
    "idle | locate": ({ $0.roll() }, { $0.command(.locate(frame: 7)) }),
    "idle | jump, and it rolls": ({ $0.roll() }, { $0.command(jump) }),
    "idle | jump, and it stands": ({ _ in }, { $0.command(jump) }),
    "idle | a host lags for half a second": (
      {
        correct(&$0)
        $0.look(for: 490_000)
      }, { $0.look(for: 20_000) }
    ),
    "correcting | the bar is near": (
      {
        correct(&$0)
        $0.look(for: 510_000)
      }, { $0.lookForAction() }
    ),
    "correcting | it stops": (
      {
        correct(&$0)
        $0.look(for: 510_000)
      },
      {
        $0.stand()
        $0.look()
      }
    ),
    "idle | another machine's line, and it rolls": ({ $0.roll() }, { $0.command(line) }),
    "following | the beat is near": (followLater, { $0.lookForAction() }),
    "following | a JACK client locates": (
      followLater,
      {
        $0.origin = 17
        $0.look()
      }
    ),
    "following | jump": (followLater, { $0.command(jump) }),
    "following | it stops": (
      followLater,
      {
        $0.stand()
        $0.look()
      }
    ),
    "locating | another machine's line": (jumpLater, { $0.command(line) }),
    "locating | the beat is near": (jumpLater, { $0.lookForAction() }),
    "locating | play": (jumpLater, { $0.command(.play) }),
    "locating | stop": (jumpLater, { $0.command(.stop) }),
    "locating | stop on the bar": (jumpLater, { $0.command(.stopOn(bar: true)) }),
    "locating | it stops": (
      jumpLater,
      {
        $0.stand()
        $0.look()
      }
    ),
    "stopping | the bar is near": (stopLater, { $0.lookForAction() }),
    "stopping | jump": (stopLater, { $0.command(jump) }),
    "stopping | play": (stopLater, { $0.command(.play) }),
    "stopping | stop on the bar again": (stopLater, { $0.command(.stopOn(bar: true)) }),
    "stopping | it stops": (
      stopLater,
      {
        $0.stand()
        $0.look()
      }
    ),
    "standing | the beat is near": ({ $0.leaveStanding() }, { $0.lookForAction() }),
    "standing | a start shall not stand any more": (
      { $0.leaveStanding() },
      {
        $0.plan.choices.launch.wait = .starting
        $0.look()
      }
    ),
    "standing | locate": ({ $0.leaveStanding() }, { $0.command(.locate(frame: 7)) }),
    "standing | stop": ({ $0.leaveStanding() }, { $0.command(.stop) }),
    "standing | it starts": (
      { $0.leaveStanding() },
      {
        $0.roll()
        $0.look()
      }
    ),
    "asked to start | it starts": (
      { $0.command(.play) },
      {
        $0.roll()
        $0.look()
      }
    ),
    "asked to start | nothing within the limit": (
      {
        $0.command(.play)
        $0.look(for: 490_000)
      }, { $0.look(for: 20_000) }
    ),
    "asked to start | stop": ({ $0.command(.play) }, { $0.command(.stop) }),
    "asked to start | play": ({ $0.command(.play) }, { $0.command(.play) }),
    "asked to stop | locate": (stopMoving, { $0.command(.locate(frame: 7)) }),
    "asked to stop | it stops": (
      stopMoving,
      {
        $0.stand()
        $0.look()
      }
    ),
    "asked to stop | it stops, and a locate has waited": (
      {
        stopMoving(&$0)
        $0.command(.locate(frame: 7))
      },
      {
        $0.stand()
        $0.look()
      }
    ),
    "asked to stop | it stops, and a stop goes back": (
      {
        $0.plan.choices.stopPlace = .start
        stopMoving(&$0)
      },
      {
        $0.stand()
        $0.look()
      }
    ),
    "asked to stop | it stops, and a start has waited": (
      {
        stopMoving(&$0)
        $0.command(.play)
      },
      {
        $0.stand()
        $0.look()
      }
    ),
    "asked to stop | nothing within the limit": (
      {
        stopMoving(&$0)
        $0.look(for: 490_000)
      }, { $0.look(for: 20_000) }
    ),
  ]

  /// The cells of the table, without the heading row.
  private func table() throws -> [[String]] {
    let file = try #require(
      fopen("\(Lab.top)/Sources/Cycle/TactusSync/Transport/TransportPlan.swift", "r"))
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 1024)
    var rows: [[String]] = []
    while fgets(&buffer, Int32(buffer.count), file) != nil {
      let line = String(
        decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      guard line.hasPrefix("/// | ") else { continue }
      rows.append(
        line.split(separator: "|").dropFirst().map {
          $0.split(separator: " ").joined(separator: " ")
        })
    }
    return Array(rows.dropFirst(2))
  }

  @Test func `each row of the stage table in TransportPlan.swift holds`() throws {
    let table = try table()
    #expect(table.count == Self.rows.count)
    for row in table {
      let title = "\(row[0]) | \(row[1])"
      let scenario = try #require(Self.rows[title], "\(title)")
      var stand = PlanStand()
      scenario.before(&stand)
      #expect(stand.stage == row[0], "before: \(title)")
      stand.actions = []
      scenario.event(&stand)
      #expect(stand.stage == row[2], "next: \(title)")
      #expect(stand.words == row[3].trimmed, "actions: \(title)")
    }
  }
}

extension String {
  fileprivate var trimmed: String { split(separator: " ").joined(separator: " ") }
}

/// Transport commands that come before JACK has shown the result of the last one.
struct TransportPlanTests {
  private func stopped() -> PlanStand {
    var stand = PlanStand()
    stand.roll()
    stand.command(.stop)
    return stand
  }

  @Test func `transport commands wait only if a rolling transport was stopped`() {
    var stand = PlanStand()
    stand.command(.locate(frame: 7))
    #expect(stand.words == "locate" && stand.stage == "idle")
    stand.command(.stop, .locate(frame: 7))
    #expect(stand.words == "stop, locate")
  }

  @Test func `transport commands after a stop wait, in order, until it stands`() {
    var stand = stopped()
    stand.command(.locate(frame: 7), .play)
    #expect(stand.words == "")
    stand.look()
    #expect(stand.words == "")
    stand.stand()
    stand.look()
    #expect(stand.words == "locate, limit, play")
    stand.look()
    #expect(stand.words == "")
  }

  @Test func `a stop among waiting transport commands holds back the rest`() {
    var stand = stopped()
    stand.command(.play, .stop, .locate(frame: 7))
    stand.stand()
    stand.look()
    #expect(stand.words == "limit, play, stop")
    // JACK may have begun to start before it was asked to stop.
    stand.roll()
    stand.look()
    #expect(stand.words == "")
    stand.stand()
    stand.look(for: 3 * PlanStand.cycleMicros)
    #expect(stand.stage == "idle")
  }

  @Test func `a transport that does not stop delays commands for half a second`() {
    var stand = stopped()
    stand.command(.play)
    stand.look(for: 490_000)
    #expect(stand.words == "" && stand.stage == "asked to stop")
    stand.look(for: 10_000 + PlanStand.cycleMicros)
    #expect(stand.stage == "asked to start")
  }

  @Test func `if too many transport commands wait, the last ones are kept`() {
    var stand = stopped()
    for frame in 0..<100_000 { stand.command(.locate(frame: UInt32(frame))) }
    stand.stand()
    stand.look()
    let frames = stand.actions.map { action -> UInt32 in
      if case .locate(let frame, _) = action { return frame } else { return 0 }
    }
    #expect(frames == (99_936..<100_000).map { UInt32($0) })
  }

  @Test func `waiting transport commands are dropped when the server has gone`() {
    var stand = stopped()
    stand.command(.play)
    stand.plan.forget()
    stand.stand()
    stand.look()
    #expect(stand.words == "" && stand.stage == "idle")
    stand.command(.locate(frame: 7))
    #expect(stand.words == "locate")
  }

  /// A toggle of start and stop follows the last request, whatever JACK still shows.
  @Test func `until JACK shows a request, a start/stop toggle goes by the request`() {
    var stand = PlanStand()
    func moves(_ stand: PlanStand) -> Bool { stand.plan.moves(stand.report) }
    #expect(!moves(stand))
    stand.command(.play)
    #expect(moves(stand))
    stand.command(.stop)
    #expect(!moves(stand))
    // For a cycle JACK still shows the start that it had begun.
    stand.roll()
    stand.look()
    #expect(!moves(stand))
    stand.command(.play)
    #expect(moves(stand))
    stand.stand()
    stand.look(for: 3 * PlanStand.cycleMicros)
    #expect(stand.stage == "asked to start" && moves(stand))
    // JACK never carries out this start.
    stand.look(for: 510_000)
    #expect(stand.stage == "idle" && !moves(stand))
    stand.roll()
    #expect(moves(stand))
  }

  @Test func `a start after a stop of a standing transport is requested from JACK`() {
    var stand = PlanStand()
    stand.command(.stop)
    // Another client starts the transport.
    stand.roll()
    stand.command(.play)
    #expect(stand.words == "play" && stand.stage == "asked to start")
    #expect(stand.plan.moves(stand.report))
  }

  @Test func `each start and stop of the session is obeyed once`() {
    var stand = PlanStand()
    func obey(_ number: UInt32, starts: Bool) -> Bool {
      var session = SessionCommand()
      (session.number, session.starts) = (number, starts)
      let now = TransportPlan.Observation(
        stand.report, at: Micros(rounding: stand.time), on: TransportServer())
      return !stand.plan.next(.session(session), now).asksNothing
    }
    #expect(obey(1, starts: true))
    #expect(!obey(1, starts: true))
    stand.roll()
    stand.look()
    #expect(obey(2, starts: false))
    var unseen = SessionCommand()
    (unseen.number, unseen.starts) = (3, true)
    stand.plan.ignore(unseen)
    #expect(!obey(3, starts: true))
  }

  /// jackd reads its timeout for a hold only when the hold begins, so a later change does not affect that
  /// hold.
  @Test func `a held start that gets longer than JACK's timeout renews its hold`() {
    for isHolding in [true, false] {
      var stand = PlanStand()
      stand.report.launch.isHolding = isHolding
      stand.look()
      #expect(stand.words.isEmpty)
      stand.plan.choices.quantum = 40
      stand.look()
      #expect(stand.words == (isHolding ? "hold on" : ""))
      stand.look()
      #expect(stand.words.isEmpty)
    }
  }
}
