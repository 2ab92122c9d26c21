// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// A tactus that is linked with jackd's library, as on a desktop: without `pw-jack`, without LD_LIBRARY_PATH,
/// and without a server's name.
@Suite("Beside PipeWire", .serialized, .enabled(if: Lab.hasPipeWire))
struct PipeWireProgramTests {
  private let plain = ["env", "-u", "LD_LIBRARY_PATH", "-u", "JACK_DEFAULT_SERVER", program]

  @Test(arguments: [[], ["--wait"]])
  func `tactus joins PipeWire without pw-jack`(options: [String]) async throws {
    let stage = try await LabStage("--pipewire")
    let tactus = try ChildProcess(stage.command(plain + options))
    #expect(try await tactus.line()?.contains("(PipeWire ") == true, "\(tactus.saidOnErrors)")
    // The program keeps its process id and its name.
    #expect(try await stage.run("ps", "-o", "comm=", "-C", "tactus").output == "tactus\n")
    let doctor = try await ChildProcess.run(stage.command(plain + ["doctor"]))
    #expect(doctor.output.hasPrefix("+  JACK: PipeWire "), "\(doctor)")
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
    #expect(tactus.saidOnErrors == "")
  }

  @Test
  func `a session's start beside a tactus on PipeWire opens no DAW`() async throws {
    let stage = try await LabStage("--pipewire")
    let scratch = try ScratchFolder()
    let daw = try scratch.write("#!/bin/sh\n>\(scratch.path)/opened\n", to: "bin/hydrogen")
    #expect(chmod(daw, 0o755) == 0)
    let tactus = try ChildProcess(stage.command(plain))
    try await tactus.awaitLine(beginning: "OSC: ")
    let start = ["sh", "-c", "HOME=$0 PATH=$0/bin:$PATH exec \"$@\"", scratch.path] + plain
    let second = try await ChildProcess.run(stage.command(start + ["session", "start", "hydrogen"]))
    #expect(second.errors.hasPrefix("tactus: tactus runs already, as JACK client \"tactus\""), "\(second)")
    #expect(second.status == 1)
    #expect(access(scratch.path + "/opened", F_OK) != 0)
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
  }

  @Test
  func `tactus check measures a cable on PipeWire without pw-jack`() async throws {
    let stage = try await LabStage("--pipewire")
    let ports = ["--output", "system:playback_FL", "--input", "system:monitor_FL"]
    let check = try await ChildProcess.run(stage.command(plain + ["check", "--seconds", "2"] + ports))
    #expect(check.status == 0, "\(check)")
    #expect(check.output.contains("system:monitor_FL"), "\(check)")
  }
}
