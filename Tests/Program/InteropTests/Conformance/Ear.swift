// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport

/// A click that was heard.
struct Onset {
  let port: String
  let frame: Int
  /// When the click was heard, in microseconds of wall-clock time on Link's clock. A stall of the machine
  /// does not disturb this time.
  let heard: Double
  /// The reference peer's beat when the click was heard, if that peer was in the session; and the click's
  /// distance from the nearest beat, in microseconds.
  let beat: Double
  let error: Double
  /// Whether the click can be judged: it is not in the cycle after a lost cycle, and the tempo does not
  /// change nearby.
  let isSure: Bool

  init?(_ fields: [String: FlatJSON]) {
    guard case .text("onset")? = fields["type"], case .text(let port)? = fields["port"],
      let frame = fields["frame"]?.number, let beat = fields["beat"]?.number,
      let heard = fields["heard_by_wall"]?.number, let wallError = fields["wall_error"]?.number
    else { return nil }
    self.port = port
    self.frame = Int(frame)
    self.heard = heard
    self.beat = beat
    // JACK's clock is finer than the wall clock once it has settled, but may be off by milliseconds. So
    // prefer it only if it agrees with the wall clock within 500 us.
    let byJACK = fields["quiet"] == .boolean(true) ? fields["error"]?.number : nil
    error = byJACK.flatMap { abs($0 - wallError) < 500 ? $0 : nil } ?? wallError
    isSure = fields["steady"] == .boolean(true) && (fields["since_stall"]?.number ?? 0) >= 2
  }
}

/// Runs `tools/listen` on a host: it listens to ports, and becomes a reference peer on demand.
final class Ear {
  private let process: ChildProcess

  init(on stage: LabStage, host: Int, _ options: [String], _ ports: [String]) async throws {
    process = try ChildProcess(
      stage.command(on: host, [Lab.top + "/tools/listen", "--json", "--events"] + options + ports))
    while let line = try await process.line(within: .seconds(60)) {
      if line.contains("\"ready\"") { return }
    }
    throw ChildProcess.Failure.ended(status: await process.status(), errors: process.saidOnErrors)
  }

  func tell(_ line: String) { process.send(line) }

  /// Waits until this listener has `count` peers in its session. Until then, the listener has a
  /// session of its own, and its beat means nothing.
  func seesPeers(_ count: Int) async throws -> Bool {
    for _ in 0..<80 {
      tell("peers")
      while let line = try await process.line(within: .seconds(10)) {
        guard line.contains("\"type\":\"peers\"") else { continue }
        if FlatJSON.object(line)?["count"]?.number ?? 0 >= Double(count) { return true }
        break
      }
      try await Task.sleep(for: .milliseconds(100))
    }
    return false
  }

  func begin() { tell("section now") }

  /// All clicks since `begin`, in order, and whether the server lost no cycle meanwhile.
  func end() async throws -> (onsets: [Onset], isWhole: Bool) {
    tell("report")
    var onsets: [Onset] = []
    var isWhole = true
    while let line = try await process.line(within: .seconds(20)) {
      if line.contains("\"type\":\"end\"") { return (onsets.sorted { $0.heard < $1.heard }, isWhole) }
      if line.contains("\"type\":\"method\"") {
        isWhole = line.contains("\"interruptions\":0,\"server_stalls\":0,")
      }
      if let onset = FlatJSON.object(line).flatMap(Onset.init) { onsets.append(onset) }
    }
    throw ChildProcess.Failure.ended(status: await process.status(), errors: process.saidOnErrors)
  }
}

/// The listeners for our program and for LinkHut: one `Ear` on each host, or one for both.
struct EarPair {
  let ours, theirs: Ear

  private var all: [Ear] { ours === theirs ? [ours] : [ours, theirs] }

  /// Turns the listeners into peers, which measure the session's clock and change nothing.
  func joinSession() async throws {
    for ear in all { ear.tell("link on") }
    for ear in all {
      // The reference library gives up a measurement after five lost answers, and then waits for long.
      for attempt in 1... {
        if try await ear.seesPeers(2) { break }
        guard attempt < 5 else {
          throw ChildProcess.Failure.silent(
            after: .seconds(40), errors: "the listener does not find the session")
        }
        ear.tell("link off")
        try await Task.sleep(for: .milliseconds(300))
        ear.tell("link on")
      }
    }
    try await Task.sleep(for: .milliseconds(1500))
  }

  /// Leaves the session and joins it again, because each join measures the session's clock anew.
  func joinAgain() async throws {
    for ear in all { ear.tell("link off") }
    try await Task.sleep(for: .milliseconds(500))
    try await joinSession()
  }

  /// Listens to both programs for `seconds`, or while `meanwhile` runs.
  func receive(seconds: Double, meanwhile: () async throws -> Void = {}) async throws -> Heard {
    for ear in all { ear.begin() }
    let started = ContinuousClock.now
    try await meanwhile()
    let rest = Duration.milliseconds(Int(seconds * 1000)) - started.duration(to: .now)
    if rest > .zero { try await Task.sleep(for: rest) }
    // A report leaves out the last quarter of a second, because the listener does not know yet whether the
    // tempo was steady during that time.
    var onsets: [Onset] = []
    var isWhole = true
    for ear in all {
      let end = try await ear.end()
      onsets += end.onsets
      isWhole = isWhole && end.isWhole
    }
    return Heard(
      ours: onsets.filter { $0.port != LinkHut.sound }, theirs: onsets.filter { $0.port == LinkHut.sound },
      isWhole: isWhole)
  }
}
