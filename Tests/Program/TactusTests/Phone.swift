// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport

/// A phone in the stage's network. It pairs, has a cookie and a WebSocket, and prints what it receives.
struct Phone {
  let child: ChildProcess

  init(in stage: LabStage, on host: Int = 1) throws {
    child = try ChildProcess(
      stage.command(on: host, [Lab.python, Lab.top + "/Tests/Program/TactusTests/peers/phone.py"]))
  }

  func ask(_ line: String) async throws -> String {
    child.send(line)
    return try await child.line(within: .seconds(40)) ?? "(gone)"
  }

  func say(_ message: String) { child.send("say " + message) }

  /// Waits for a line that contains this text; skips other lines.
  func receive(_ text: String) async throws -> String {
    while let line = try await child.line(within: .seconds(30)) {
      if line.contains(text) { return line }
    }
    throw ChildProcess.Failure.ended(status: -1, errors: "never told \(text)")
  }
}
