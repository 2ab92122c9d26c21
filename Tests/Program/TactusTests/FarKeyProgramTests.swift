// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// Tests `tactus far-key` on a full disk.
struct FarKeyProgramTests {
  @Test func `on a full disk, far-key leaves no file, and the next try makes a key`() async throws {
    let stage = try await LabStage()
    let full = try await ChildProcess.run(
      stage.command([
        "sh", "-c",
        """
        mkdir -p /dev/shm/keys && mount -t tmpfs -o size=64k none /dev/shm/keys && cd /dev/shm/keys &&
        ! head -c 1000000 /dev/zero >full 2>/dev/null; "$0" far-key --file=/dev/shm/keys/key; echo "status $?"; ls
        """,
        program,
      ]))
    #expect(full.output == "status 1\nfull\n", "\(full)")
    #expect(full.errors.contains("No space left"), "\(full)")
    let again = try await ChildProcess.run(
      stage.command([
        "sh", "-c",
        "cd /dev/shm/keys && rm full && \"$0\" far-key --file=/dev/shm/keys/key >/dev/null; echo \"status $?\"; ls",
        program,
      ]))
    #expect(again.output == "status 0\nkey\n", "\(again)")
  }
}
