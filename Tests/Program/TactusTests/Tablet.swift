// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport

/// An OSC controller that is made with python-osc, in the stage's network.
struct Tablet {
  let child: ChildProcess
  var port = 0

  init(in stage: LabStage) async throws {
    child = try ChildProcess(
      stage.command([
        Lab.python, Lab.top + "/Tests/Control/ControlTests/TactusSurface/peers/osc_peer.py", "pythonosc",
      ]))
    let line = try await child.line(within: .seconds(60)) ?? ""
    port = Int(line.split(separator: " ").last ?? "") ?? 0
  }

  func send(_ message: String) { child.send("127.0.0.1 20809 /tactus/\(message)") }

  func press(_ path: String) {
    send("\(path) f:1.0")
    send("\(path) f:0.0")
  }

  /// Waits for this line; skips other lines.
  func receive(_ line: String) async throws {
    while let next = try await child.line(within: .seconds(30)) {
      if next == "/tactus/" + line { return }
    }
    throw ChildProcess.Failure.ended(status: -1, errors: "never told \(line)")
  }

  func receive(beginning: String) async throws -> String {
    while let next = try await child.line(within: .seconds(30)) {
      if next.hasPrefix("/tactus/" + beginning) { return next }
    }
    throw ChildProcess.Failure.ended(status: -1, errors: "never told \(beginning)")
  }
}
