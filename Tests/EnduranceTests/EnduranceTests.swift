// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TestSupport
import Testing

/// `tools/soak` itself: half a minute of it, and whether it finds what it is there to find. With the program as users have
/// it; `tools/test` builds that.
@Suite(.enabled(if: isBuilt, "needs swift build -c release --product tactus"))
struct EnduranceTests {

  private func soak(_ words: String...) async throws -> ChildProcess.Finished {
    let log = "/tmp/tactus-soak-test-\(getpid())-\(words.joined(separator: ""))"
    defer { unlink(log) }
    return try await ChildProcess.run(
      [Lab.top + "/tools/soak", "--tactus", program, "--log", log] + words, within: .seconds(600))
  }

  @Test func `half a minute of a set with commands, peers and faults is in order`() async throws {
    let done = try await soak("0.01", "--seed", "20808")
    #expect(done.status == 0 && done.output.contains("nothing was violated"), "\(end(of: done))")
  }

  /// `tools/soak --fault`: each fault in turn, and after each the session, the click and the clock are right again. Each
  /// line is played in a lab of its own, beside the others.
  @Test(
    arguments: [
      "interface,address", "outage", "cut,crash", "stop,suspend", "server,clock", "disk,war",
      "crowd,strangers",
      "byes,broken", "liars,forgers",
    ])
  func `after every fault all is right again, in the same session`(faults: String) async throws {
    let done = try await soak("--fault", faults, "--seed", "20808")
    #expect(done.status == 0 && done.output.contains("all is right after"), "\(end(of: done))")
  }

  @Test func `PipeWire that is killed and comes back finds us in the session, on the beat`() async throws {
    let done = try await soak("--fault", "server", "--pipewire", "--seed", "20808")
    #expect(done.status == 0 && done.output.contains("all is right after"), "\(end(of: done))")
  }

  @Test func `a hostile machine on the wire costs no click, and all agree again when it has gone`()
    async throws
  {
    let done = try await soak("0.01", "--hostile", "--seed", "3")
    #expect(done.status == 0 && done.output.contains("nothing was violated"), "\(end(of: done))")
  }

  @Test(
    arguments: [
      ("click", ["1 missing"]), ("leak", ["kilobytes: never less than"]),
      // Whichever comes first: it is not counted as a peer, or does not hear of a tempo in time.
      ("network", ["peers; there are", "missing", "doubled", "off the beat"]),
    ])
  func `a skipped click, a leaked buffer and a stalled network thread are found`(
    plant: String, words: [String]
  ) async throws {
    // It ends when something is found; a click that is left out in a lost cycle is held against nobody, the next one is.
    let done = try await soak("0.04", "--calm", "--seed", "3", "--plant", plant)
    #expect(done.status == 1, "\(end(of: done))")
    let moment = done.output.split(separator: "\n").first { $0.hasPrefix("broken after ") } ?? ""
    #expect(words.contains { moment.contains($0) }, "\(end(of: done))")
  }

  @Test func `what cannot be meant ends with 2 before anything is started`() async throws {
    for words in [["soon"], ["0"], ["1", "--plant", "nothing"], ["--fault", "cut,rain"], []] {
      let done = try await ChildProcess.run([Lab.top + "/tools/soak"] + words)
      #expect(done.status == 2 && done.errors.hasPrefix("soak: "), "\(words)")
    }
  }
}

/// The last lines, the last first: a report keeps the beginning of what it is given.
private func end(of done: ChildProcess.Finished) -> String {
  (done.output + done.errors).split(separator: "\n").suffix(12).reversed().joined(separator: "\n")
}

private let program = Lab.top + "/.build/release/tactus"
private let isBuilt = access(program, X_OK) == 0
