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

  @Test func `half a minute of a set with commands, peers and faults passes`() async throws {
    let done = try await soak("0.01", "--seed", "20808")
    #expect(done.status == 0 && done.output.contains("nothing was violated"), "\(end(of: done))")
  }

  /// Runs `tools/soak --fault`, which plays each fault in turn. After each fault the session, the click
  /// and the clock recover. Each line of faults runs in its own lab, beside the others.
  @Test(
    arguments: [
      "interface,address", "outage", "cut,crash", "stop,suspend", "server,clock", "disk,war",
      "crowd,strangers",
      "byes,broken", "liars,forgers",
    ])
  func `the same session recovers from every fault`(faults: String) async throws {
    let done = try await soak("--fault", faults, "--seed", "20808")
    #expect(done.status == 0 && done.output.contains("all is right after"), "\(end(of: done))")
  }

  @Test func `after a restart of PipeWire tactus is in the session, on the beat`() async throws {
    let done = try await soak("--fault", "server", "--pipewire", "--seed", "20808")
    #expect(done.status == 0 && done.output.contains("all is right after"), "\(end(of: done))")
  }

  @Test func `a hostile machine costs no click, and all agree when it has gone`()
    async throws
  {
    let done = try await soak("0.01", "--hostile", "--seed", "3")
    #expect(done.status == 0 && done.output.contains("nothing was violated"), "\(end(of: done))")
  }

  @Test(
    arguments: [
      ("click", ["1 missing"]), ("leak", ["kilobytes: never less than"]),
      // Either fault may be found first: peers don't count tactus, or tactus does not learn of a tempo in
      // time.
      ("network", ["peers; there are", "missing", "doubled", "off the beat"]),
    ])
  func `a planted skipped click, leak and stalled network thread are found`(
    plant: String, words: [String]
  ) async throws {
    // The run ends when it finds a fault. A click that is missing in a lost cycle is no fault, but a click
    // that is missing later is one.
    let done = try await soak("0.04", "--calm", "--seed", "3", "--plant", plant)
    #expect(done.status == 1, "\(end(of: done))")
    let moment = done.output.split(separator: "\n").first { $0.hasPrefix("broken after ") } ?? ""
    #expect(words.contains { moment.contains($0) }, "\(end(of: done))")
  }

  @Test func `invalid options end with status 2 before anything starts`() async throws {
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
