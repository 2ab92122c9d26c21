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
}
