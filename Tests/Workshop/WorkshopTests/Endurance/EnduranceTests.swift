// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Runs `tools/soak` for half a minute, and checks that it finds planted faults.
@Suite struct EnduranceTests {

  private func soak(_ words: String...) async throws -> ChildProcess.Finished {
    let log = "/tmp/tactus-soak-test-\(getpid())-\(words.joined(separator: ""))"
    defer { unlink(log) }
    return try await ChildProcess.run(
      [Lab.top + "/tools/soak", "--tactus", program, "--log", log] + words, within: .seconds(600))
  }

  @Test func `tools/soak finds no fault in half a minute with peers and disturbances`() async throws {
    let done = try await soak("0.01", "--seed", "20808")
    #expect(done.status == 0 && done.output.contains("nothing was violated"), "\(end(of: done))")
  }

  /// Runs `tools/soak --fault`, which plays each fault in turn. After each fault, the session, the click and
  /// the MIDI clock must recover. Each argument lists faults that are played one after another in one lab.
  @Test(
    arguments: [
      "interface,address", "outage", "cut,crash", "stop,suspend", "server,clock", "disk,war",
      "crowd,strangers",
      "byes,broken", "liars,forgers",
    ])
  func `the session recovers from every fault that tools/soak plays`(faults: String) async throws {
    let done = try await soak("--fault", faults, "--seed", "20808")
    #expect(done.status == 0 && done.output.contains("all is right after"), "\(end(of: done))")
  }

  @Test func `after a restart of PipeWire, tactus is in the session, on the beat`() async throws {
    let done = try await soak("--fault", "server", "--pipewire", "--seed", "20808")
    #expect(done.status == 0 && done.output.contains("all is right after"), "\(end(of: done))")
  }

  @Test func `a hostile machine costs no click, and all peers agree when it is gone`()
    async throws
  {
    let done = try await soak("0.01", "--hostile", "--seed", "3")
    #expect(done.status == 0 && done.output.contains("nothing was violated"), "\(end(of: done))")
  }

  @Test(
    arguments: [
      ("click", ["1 missing"]), ("leak", ["kilobytes: never less than"]),
      // The stalled network thread has several effects, and tools/soak may find any of them first: peers
      // don't count tactus, or tactus does not learn of a tempo in time.
      ("network", ["peers; there are", "missing", "doubled", "off the beat"]),
    ])
  func `tools/soak finds a planted missing click, leak and stalled thread`(
    plant: String, words: [String]
  ) async throws {
    // The run ends when it finds a fault. A click that is missing in a lost cycle does not count as a fault,
    // so it may take some time until one is found.
    let done = try await soak("0.04", "--calm", "--seed", "3", "--plant", plant)
    #expect(done.status == 1, "\(end(of: done))")
    let moment = done.output.split(separator: "\n").first { $0.hasPrefix("broken after ") } ?? ""
    #expect(words.contains { moment.contains($0) }, "\(end(of: done))")
  }

  @Test func `tools/soak ends with status 2 if an option is invalid`() async throws {
    for words in [["soon"], ["0"], ["1", "--plant", "nothing"], ["--fault", "cut,rain"], []] {
      let done = try await ChildProcess.run([Lab.top + "/tools/soak"] + words)
      #expect(done.status == 2 && done.errors.hasPrefix("soak: "), "\(words)")
    }
  }
}

/// The last lines in reverse order: a report keeps only the beginning of its text.
private func end(of done: ChildProcess.Finished) -> String {
  (done.output + done.errors).split(separator: "\n").suffix(12).reversed().joined(separator: "\n")
}

private let program = Lab.products + "/tactus"
