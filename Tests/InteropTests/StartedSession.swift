// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TestSupport
import Testing

/// A folder of `sessions/`, started in a stage as a musician starts it, who never had any of its programs before: under
/// a display that nobody sees and with an empty home.
final class StartedSession {
  let stage: LabStage
  /// The musician's home, inside of the lab.
  let home: String
  private let program: ChildProcess

  /// - Parameters:
  ///   - files: in the home, before the session starts.
  ///   - environment: beside what the stage has.
  init(
    _ name: String, options: [String] = [], in stage: LabStage, host: Int = 1, files: [String: String] = [:],
    environment: [String] = []
  ) async throws {
    self.stage = stage
    home = "/dev/shm/.lab/home-\(name)-\(host)"
    for (path, text) in files {
      let done = try await stage.run(
        on: host, "sh", "-c", "mkdir -p \"${1%/*}\" && printf %s \"$2\" >\"$1\"", "sh", home + "/" + path,
        text)
      #expect(done.status == 0, "\(done.errors)")
    }
    let made = try await stage.run(on: host, "mkdir", "-p", home)
    #expect(made.status == 0, "\(made.errors)")
    let command =
      ["env", "HOME=" + home] + environment + [Lab.tool, "screen", Interop.directoryOfTests + "/tactus"]
      + ["session", "start", name] + (options.isEmpty ? [] : ["--"] + options)
    program = try ChildProcess(stage.command(on: host, command))
    var first = try await program.line(within: .seconds(60))
    // A busy machine may keep the server from answering at first.
    while let line = first, ["JACK does not answer", "JACK answers again"].contains(line) {
      first = try await program.line(within: .seconds(60))
    }
    #expect(first?.hasPrefix("JACK server") == true, "\(first ?? program.saidOnErrors)")
  }

  /// What tactus said until a line with these words in it.
  @discardableResult
  func awaitLine(with words: String, within limit: Duration = .seconds(60)) async throws -> String {
    let deadline = ContinuousClock.now + limit
    while let line = try await program.line(within: ContinuousClock.now.duration(to: deadline)) {
      if line.contains(words) { return line }
    }
    throw ChildProcess.Failure.ended(status: await program.status(), errors: program.saidOnErrors)
  }

  /// As Ctrl-C does.
  func end() async -> Int32 {
    program.signal(SIGINT)
    return await program.status()
  }
}
