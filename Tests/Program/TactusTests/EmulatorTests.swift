// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// tactus on a simulation of the kernel as programs see it under qemu's user emulation
/// (`tools/native/emulator.c`).
@Suite("Under an emulator")
struct EmulatorTests {
  @Test
  func `under qemu, Link finds its peers, and OSC without a reader is harmless`() async throws {
    let (stage, folder) = (try await LabStage(), try ScratchFolder())
    let library = try await folder.preload("emulator")
    let target = "--osc-send=127.0.0.1:9999"
    let tactus = try ChildProcess(stage.command(["env", "LD_PRELOAD=\(library)", program, target]))
    try await tactus.awaitLine(beginning: "OSC: ")
    let other = try ChildProcess(stage.command([program, "--name=other", "--osc=9000"]))
    try await other.awaitLine(beginning: "OSC: ")
    var status = ""
    for _ in 0..<100 where !status.contains("1 Link") {
      try await Task.sleep(for: .milliseconds(100))
      status = try await stage.run(program, "status", "--osc=20809").output
    }
    #expect(status.contains("1 Link"), "\(status)")
    for child in [tactus, other] {
      child.signal(SIGTERM)
      #expect(await child.status() == 0)
    }
  }
}
