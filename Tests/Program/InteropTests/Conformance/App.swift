// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport

/// The app of Ableton's test plan: our program as users have it, played by OSC instead of fingers on a
/// screen.
///
/// It runs on host 1 and remembers nothing of earlier runs; its click sounds while the transport rolls.
final class App {
  static let click = "tactus:click_1"
  static let nameInSession = "tactus.nSONG"

  static let program = Lab.products + "/tactus"

  private let process: ChildProcess
  private let fingers: ChildProcess
  private let receivePort: Int
  private let home: ScratchFolder

  /// - Parameter session: a folder with which a session manager opens the
  ///   app, under the client name that it chose.
  init(on stage: LabStage, _ options: [String], home: ScratchFolder? = nil, session: String? = nil)
    async throws
  {
    let home = try home ?? ScratchFolder()
    self.home = home
    let python = Lab.python
    let manager = [
      python, Lab.top + "/Tests/Control/ControlTests/TactusNSM/peers/fake_nsmd.py", "hello", "--",
    ]
    process = try ChildProcess(
      stage.command(
        ["env", "XDG_CONFIG_HOME=\(home.path)", "XDG_STATE_HOME=\(home.path)"]
          + (session == nil ? [] : manager)
          + [Self.program, "--click", "--click-when=rolling", "--click-sound=tick"] + options))
    if let session {
      _ = try await process.line(within: .seconds(20))  // the announcement
      process.send("open \(session) song \(Self.nameInSession)")
    }
    fingers = try ChildProcess(
      stage.command([
        Lab.python,
        Lab.top + "/Tests/Control/ControlTests/TactusSurface/peers/osc_peer.py",
        "pythonosc",
      ]))
    let line = try await fingers.line(within: .seconds(60)) ?? ""
    receivePort = Int(line.split(separator: " ").last ?? "") ?? 0
    try await says("OSC: ")
  }

  /// Sends an OSC message to the app, for instance `touch("tempo f:131.0")`.
  func touch(_ message: String) { fingers.send("127.0.0.1 20809 /tactus/\(message)") }

  /// Starts playing, and waits until the app plays: a start waits for its bar.
  func play() async throws {
    try await hears("jack/connected", "f:1.0")
    touch("start")
    try await hears("jack/rolling", "f:1.0")
  }

  /// Sets a tempo, and waits until the app shows it.
  func setTempo(_ tempo: Double) async throws {
    touch("tempo f:\(tempo)")
    try await hears("tempo", "f:\(tempo)")
  }

  /// Asks the app again and again until it reports this value.
  func hears(_ path: String, _ value: String) async throws {
    for _ in 0..<100 {
      touch(path)
      let deadline = ContinuousClock.now + .milliseconds(100)
      while ContinuousClock.now < deadline,
        let line = try? await fingers.line(within: .milliseconds(100))
      {
        // The answer goes to the sender, or to the port to which the sender has subscribed.
        if line.hasSuffix("/tactus/\(path) \(value)") { return }
      }
    }
    throw ChildProcess.Failure.silent(after: .seconds(10), errors: "never told \(path) \(value)")
  }

  /// Waits for a line that the app prints for its user, and returns it.
  @discardableResult
  func says(_ start: String, within limit: Duration = .seconds(20)) async throws -> String {
    var said: [String] = []
    do {
      while let line = try await process.line(within: limit) {
        if line.hasPrefix(start) || line.hasPrefix("out: " + start) { return line }
        said.append(line)
      }
    } catch {
      throw ChildProcess.Failure.silent(
        after: limit, errors: "not \"\(start)\" but \(said) \(process.saidOnErrors)")
    }
    throw ChildProcess.Failure.ended(status: await process.status(), errors: process.saidOnErrors)
  }

  /// Brings the app into the foreground: a tablet subscribes to the app.
  func bringToForeground() { touch("subscribe i:\(receivePort) s:heartbeat") }
  func putInBackground() { touch("unsubscribe i:\(receivePort)") }

  func terminate() async -> Int32 {
    process.signal(SIGTERM)
    return await process.status()
  }
}
