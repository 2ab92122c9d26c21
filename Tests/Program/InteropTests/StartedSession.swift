// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// A folder of `sessions/`, started in a stage as by a musician who has never used any of its programs: on an
/// invisible display and with an empty home folder.
final class StartedSession {
  let stage: LabStage
  /// The musician's home, inside the lab.
  let home: String
  private let program: ChildProcess

  /// - Parameters:
  ///   - files: the files in the home folder before the session starts.
  ///   - environment: variables in addition to the stage's.
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
      ["env", "HOME=" + home] + environment + [Lab.tool, "screen", Lab.products + "/tactus"]
      + ["session", "start", name] + (options.isEmpty ? [] : ["--"] + options)
    program = try ChildProcess(stage.command(on: host, command))
    var first = try await program.line(within: .seconds(60))
    // Skip these lines: on a busy machine the server may not answer at first.
    while let line = first, ["JACK does not answer", "JACK answers again"].contains(line) {
      first = try await program.line(within: .seconds(60))
    }
    #expect(first?.hasPrefix("JACK server") == true, "\(first ?? program.saidOnErrors)")
  }

  /// Reads tactus's lines until one contains these words, and returns that line.
  @discardableResult
  func awaitLine(with words: String, within limit: Duration = .seconds(60)) async throws -> String {
    let deadline = ContinuousClock.now + limit
    while let line = try await program.line(within: ContinuousClock.now.duration(to: deadline)) {
      if line.contains(words) { return line }
    }
    throw ChildProcess.Failure.ended(status: await program.status(), errors: program.saidOnErrors)
  }

  /// Ends tactus as Ctrl-C does.
  func end() async -> Int32 {
    program.signal(SIGINT)
    return await program.status()
  }
}
