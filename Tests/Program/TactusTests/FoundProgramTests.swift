// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// The program, announced by a real Avahi. Another machine on the wire looks for it.
@Suite("The program, found on the network", .serialized)
struct FoundProgramTests {
  private let avahi = Lab.top + "/tools/lib/avahi"

  @Test
  func `another machine finds the name, address and port of tactus`() async throws {
    let stage = try await LabStage("--hosts", "2")
    let tactus = try ChildProcess(
      stage.command(
        on: 1, [avahi, program, "--osc-listen=0.0.0.0", "--osc-name=tactus on stage", "--osc-query=20810"]))
    try await tactus.awaitLine(beginning: "OSCQuery: ")
    // A second machine watches the announcements all the time.
    let browser = try ChildProcess(stage.command(on: 2, [avahi, "avahi-browse", "-arp"]))
    let name = #"wire0;IPv4;tactus\032on\032stage;"#
    var missing: Set = ["_osc._udp;20809", "_oscjson._tcp;20810"]
    while let found = missing.isEmpty ? nil : try await line(of: browser, with: "=;\(name)") {
      let words = found.split(separator: ";", omittingEmptySubsequences: false)
      guard words.count > 8 else { continue }
      #expect(words[7] == "10.77.0.1", "\(found)")
      missing.remove("\(words[4]);\(words[8])")
    }
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
    _ = try await line(of: browser, with: "-;\(name)_osc._udp;local")
    browser.signal(SIGTERM)
    await browser.status()
  }

  private func line(of browser: ChildProcess, with beginning: String) async throws -> String {
    while let line = try await browser.line(within: .seconds(30)) {
      if line.hasPrefix(beginning) { return line }
    }
    throw ChildProcess.Failure.ended(status: -1, errors: "never said \(beginning)")
  }
}
