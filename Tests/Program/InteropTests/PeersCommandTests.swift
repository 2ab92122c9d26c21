// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// `tactus peers` between two machines.
@Suite struct PeersCommandTests {
  @Test func `a script waits for a peer with and without a tactus of its own`() async throws {
    let stage = try await LabStage("--hosts", "2")
    let program = Lab.products + "/tactus"
    func peers(_ words: String...) async throws -> (status: Int32, output: String) {
      let done = try await ChildProcess.run(
        stage.command(on: 1, ["env", "XDG_RUNTIME_DIR=/dev/shm", program, "peers"] + words))
      return (done.status, done.output)
    }
    let nobody = try await peers("--wait=1")
    #expect(nobody.status == 1 && nobody.output.contains("No Links"))
    let there = try ChildProcess(
      stage.command(on: 2, ["env", "XDG_STATE_HOME=/dev/shm/.lab/state-2", program]))
    let found = try await peers("--wait=20")
    #expect(found.status == 0 && found.output.contains("1 Link"))
    let here = try ChildProcess(
      stage.command(
        on: 1, ["env", "XDG_RUNTIME_DIR=/dev/shm", "XDG_STATE_HOME=/dev/shm/.lab/state-1", program]))
    try await here.awaitLine(beginning: "OSC")
    let asked = try await peers("--wait=20")
    #expect(asked.status == 0 && asked.output.contains("1 Link"))
    for one in [there, here] {
      one.signal(SIGINT)
      #expect(await one.status() == 0)
    }
  }
}
