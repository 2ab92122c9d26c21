// SPDX-License-Identifier: GPL-2.0-or-later
import TestSupport

/// A click as it was heard.
struct Onset {
  let port: String
  let frame: Int
  /// Microseconds of Link's clock: by the wall, which no stall puts off.
  let heard: Double
  /// Of the reference peer, if it was in the session: the beat then, and microseconds from the nearest one.
  let beat: Double
  let error: Double
  /// Not in the cycle after a lost one, and no change of tempo close by.
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
    // JACK's clock is the finer one where it has settled; the wall's is the one that cannot be milliseconds off.
    let byJACK = fields["quiet"] == .boolean(true) ? fields["error"]?.number : nil
    error = byJACK.flatMap { abs($0 - wallError) < 500 ? $0 : nil } ?? wallError
    isSure = fields["steady"] == .boolean(true) && (fields["since_stall"]?.number ?? 0) >= 2
  }
}

/// `tools/listen` on a host: hears ports, and is a reference peer from when it is told to be.
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

  /// In a session with so many others: until then it has a beat of its own.
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

  /// All that was heard since `begin`, in order, and whether the server lost cycles meanwhile.
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

/// Both hosts' ears, or one pair for both programs.
struct Ears {
  let ours, theirs: Ear

  private var all: [Ear] { ours === theirs ? [ours] : [ours, theirs] }

  /// From silent listener to a peer like any other; it measures the session's clock, and changes nothing.
  func joinSession() async throws {
    for ear in all { ear.tell("link on") }
    for ear in all {
      // The reference library gives a measurement up after five lost answers, and then waits for long.
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

  /// Out and in again, which measures the session's clock anew.
  func joinAgain() async throws {
    for ear in all { ear.tell("link off") }
    try await Task.sleep(for: .milliseconds(500))
    try await joinSession()
  }

  /// What both play within so many seconds, or while `meanwhile` runs.
  func hear(seconds: Double, meanwhile: () async throws -> Void = {}) async throws -> Heard {
    for ear in all { ear.begin() }
    let started = ContinuousClock.now
    try await meanwhile()
    let rest = Duration.milliseconds(Int(seconds * 1000)) - started.duration(to: .now)
    if rest > .zero { try await Task.sleep(for: rest) }
    // What is reported ends a quarter of a second ago at the latest: nobody knows yet whether the rest was steady.
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
