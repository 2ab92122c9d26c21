// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Runs the tests of `JACKHostTests` once more with PipeWire's libjack. This needs another process of the
/// test program, because a process has only one libjack.
@Suite struct PipeWireTests {
  @Test(.enabled(if: Lab.isHere && Lab.hasPipeWire && !TestServer.isPipeWire))
  func `the JACK server tests pass with PipeWire's libjack, too`()
    async throws
  {
    let library = try #require(Self.library, "PipeWire's libjack is not installed")
    let inherited = getenv("LD_LIBRARY_PATH").map { ":" + String(cString: $0) } ?? ""
    let again = try ChildProcess(
      [try Self.program, "--testing-library", "swift-testing", "--filter", "JACKHostTests.JACKHostTests"],
      environment: ["LD_LIBRARY_PATH": library + inherited])
    var said = ""
    let deadline = ContinuousClock.now + .seconds(900)
    while ContinuousClock.now < deadline {
      do {
        guard let line = try await again.line(within: .milliseconds(5)) else { break }
        said += line + "\n"
      } catch ChildProcess.Failure.silent {
        try await Task.sleep(for: .milliseconds(100))
      }
    }
    again.signal(SIGKILL)  // The signal ends the process if it hangs.
    let status = await again.status()
    let report = said + again.saidOnErrors
    for line in said.split(separator: "\n") where line.contains("not judged: ") { print(line) }
    #expect(status == 0, "\(report)")
    #expect(report.contains("passed after"), "\(report)")
  }

  private static var program: String {
    get throws {
      var path = [UInt8](repeating: 0, count: 4_096)
      let length = readlink("/proc/self/exe", &path, path.count)
      try #require(length > 0)
      return String(decoding: path[..<length], as: UTF8.self)
    }
  }

  /// The folder of PipeWire's libjack. It is searched where Debian and other distributions put it on any
  /// architecture.
  private static var library: String? {
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
      .map { $0 + "/pipewire-0.3/jack" }
      .first { access($0 + "/libjack.so.0", R_OK) == 0 }
  }
}
