// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5
import TactusOSC
import TactusSurface

/// `tactus monitor`: prints every change, as a line of JSON for each moment.
struct MonitorCommand: Conversing {
  static let name = "monitor"
  static let summary = "Print a line of JSON for each change"
  static let operands = "[GROUP]..."
  static let operandWords = Group.names.map(\.name) + ["all"]
  static let description = """
    The first line has all values, as tactus status --json prints them; each further line
    has what changed at one moment. GROUP is state (the default), beat, phase, position,
    heartbeat, exact or all. Ends with status 0 at Ctrl-C or when tactus ends, 69 if none runs.
    """
  static let options: [Option<MonitorCommand>] = whereaboutsOptions

  /// A subscription's duration in seconds, and how often it is renewed: three times before it ends.
  private static let lease: Int32 = 15
  private static let renewal = Duration.seconds(5)

  var whereabouts = Whereabouts()

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    for word in operands where !Self.operandWords.contains(word) {
      throw Self.objection(to: [word])
    }
    let signals = Signals()
    let groups = operands.isEmpty ? ["state"] : operands
    var running = try RunningTactus(whereabouts)
    let values = try running.values()
    guard Console.say(StatusCommand.json(values)) else { return .failure }
    var changes = Changes(since: values)
    let subscription = Message(
      Table.address("subscribe"), .int32(0), .string(groups.joined(separator: " ")),
      .int32(Self.lease))
    running.say(subscription)
    var renewed = ContinuousClock.now
    var heard = renewed
    var held = HeldLines()
    while !signals.came(withinMilliseconds: 0) {
      let now = ContinuousClock.now
      if now - renewed >= Self.renewal {
        running.say(subscription)
        renewed = now
      }
      guard let messages = try running.receive(withinMilliseconds: held.isEmpty ? 100 : 20) else {
        guard held.say() else { return .failure }
        // tactus confirms each renewal, so a longer silence means that tactus is gone.
        if now - heard > .seconds(Int(Self.lease)) { throw running.nobody }
        continue
      }
      heard = now
      for message in messages where message.address == Table.address("bye") { return .success }
      for message in messages where message.address == Table.address("link/str") {
        // A running tactus always has a text about Link. A blank text belongs to its goodbye.
        held.isDark = message.arguments == [.string(" ")]
      }
      if let line = changes.line(messages) { held.add(line, at: .now) }
      if held.isOld(at: .now), !held.say() { return .failure }
    }
    running.say(Message(Table.address("unsubscribe")))
    return .success
  }
}

/// Holds lines back for a moment. Before `bye`, a surface clears the lights of its controllers; these changes
/// must not be printed.
private struct HeldLines {
  /// Whether the surface has begun to clear the lights. All lines are then held back, however long `bye`
  /// takes on a busy machine.
  var isDark = false {
    didSet { if oldValue && !isDark { forget() } }
  }
  private var lines: [String] = []
  private var since: ContinuousClock.Instant?

  var isEmpty: Bool { lines.isEmpty }

  mutating func add(_ line: String, at now: ContinuousClock.Instant) {
    lines.append(line)
    since = since ?? now
  }

  func isOld(at now: ContinuousClock.Instant) -> Bool { since.map { now - $0 > .milliseconds(60) } ?? false }

  private mutating func forget() {
    lines = []
    since = nil
  }

  /// Prints the lines. Returns false if they could not be written.
  mutating func say() -> Bool {
    guard !isDark else { return true }
    defer { forget() }
    return lines.allSatisfy { Console.say($0) }
  }
}

/// Finds the values that changed. Each renewal of a subscription brings all values again, and the first
/// subscription brings values that may have changed since the query.
struct Changes {
  private var told: [String: [Argument]]

  init(since values: [(row: Node, arguments: [Argument])]) {
    told = Dictionary(values.map { ($0.row.path, $0.arguments) }) { _, last in last }
  }

  mutating func line(_ messages: [Message]) -> String? {
    var fields: [(String, JSON5)] = []
    for message in messages {
      guard let path = Table.path(of: message.address) else { continue }
      guard let row = Table.standard.row(path) ?? Table.ownOutput(path), row.kind != .answer else { continue }
      let before = told.updateValue(message.arguments, forKey: path)
      // A feed reports moments, so an unchanged value is printed, too.
      guard row.kind == .feed || before != message.arguments else { continue }
      fields.append((path, JSON5(message.arguments, of: row)))
    }
    return fields.isEmpty ? nil : JSON5.fields(fields).text
  }
}
