// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// Tests the purpose of the lab: programs with Link find each other inside the lab, and only there.
@Suite(.serialized) struct PeersTests {
  private func findEachOther(_ first: LabPeer, _ second: LabPeer, seconds: Double = 30) async throws {
    try await first.ask("enable on")
    try await second.ask("enable on")
    try await first.wait("peers", "1", seconds: seconds)
    try await second.wait("peers", "1", seconds: seconds)
    #expect(try await first.status().peers == 1)
  }

  @Test func `LinkHut and the reference library see each other on one host`() async throws {
    let stage = try await LabStage()
    let linkhut = try LabPeer(.linkhut, in: stage)
    let reference = try LabPeer(.reference, in: stage)
    try await findEachOther(linkhut, reference)
    try await reference.ask("tempo 131")
    try await linkhut.wait("tempo", "131")
    try await linkhut.ask("tempo 129")
    try await reference.wait("tempo", "129")
    try await linkhut.quit()
    try await reference.wait("peers", "0")
  }

  @Test func `start and stop reach the other peer if both have start/stop sync on`() async throws {
    let stage = try await LabStage()
    let linkhut = try LabPeer(.linkhut, in: stage)
    let reference = try LabPeer(.reference, in: stage)
    try await findEachOther(linkhut, reference)
    try await linkhut.ask("sync on")
    try await reference.ask("sync on")
    try await linkhut.ask("play")
    try await reference.wait("playing", "true")
    try await reference.ask("stop")
    try await linkhut.wait("playing", "false")
  }

  // A measurement has five retries for 51 round trips. Peers that lose 10 % of the datagrams in each
  // direction lose 19 % of the round trips, and need anything from 1 s to minutes to join. Therefore
  // the test waits for minutes.
  @Test(
    .timeLimit(.minutes(5)),
    arguments: [
      "delay=0ms", "loss=5% seed=3", "loss=10% seed=3", "delay=3ms jitter=2ms duplicate=5% reorder=2%",
    ])
  func `peers see each other across two hosts, also over a bad network`(wire: String) async throws {
    let stage = try await LabStage("--hosts", "2", "--wire", wire)
    let linkhut = try LabPeer(.linkhut, in: stage, on: 1)
    let reference = try LabPeer(.reference, in: stage, on: 2)
    try await findEachOther(linkhut, reference, seconds: wire.contains("10%") ? 240 : 60)
  }

  @Test func `a cut network separates two peers, and a healed one joins them`() async throws {
    let stage = try await LabStage("--hosts", "2", "--no-server")
    let one = try LabPeer(.reference, in: stage, on: 1)
    let two = try LabPeer(.reference, in: stage, on: 2)
    try await findEachOther(one, two)
    try await stage.wire("cut", "1", "2")
    try await one.wait("peers", "0")
    try await stage.wire("heal")
    try await one.wait("peers", "1")
  }

  @Test func `peers in two labs at once do not see each other`() async throws {
    let stages = [try await LabStage("--hosts", "2"), try await LabStage("--hosts", "2")]
    let peers = try stages.flatMap { stage in try (1...2).map { try LabPeer(.reference, in: stage, on: $0) } }
    for peer in peers { try await peer.ask("enable on") }
    for peer in peers { try await peer.wait("peers", "1", seconds: 30) }
    for (index, peer) in peers.enumerated() { try await peer.ask("tempo \(100 + 10 * (index / 2))") }
    for (index, peer) in peers.enumerated() { try await peer.wait("tempo", "\(100 + 10 * (index / 2))") }
    for peer in peers { #expect(try await peer.status().peers == 1) }
    for stage in stages {
      #expect(try await stage.run(on: 2, "jack_lsp").output.contains("system:playback_1"))
    }
  }

  @Test func `peers join Link's multicast group only inside their lab`() async throws {
    let link = "4B4E4CE0"  // 224.76.78.75 as /proc/net/igmp writes it
    let outer = try await LabStage("--no-server")
    let inner = """
      $LAB -- sh -c '{ echo enable on; sleep 100; } | $LAB peer linkhut >/dev/null &
      { echo enable on; echo wait peers 1; echo status; } | $LAB peer reference; cat /proc/net/igmp'
      """
    let busy = try ChildProcess(outer.command(["sh", "-c", inner]))
    var outside: Set<String> = []
    var lines: [String] = []
    while let line = try await busy.line(within: .seconds(30)) {
      lines.append(line)
      outside.insert(try await outer.run("cat", "/proc/net/igmp").output)
      outside.insert(try await outer.run("cat", "/proc/net/udp").output)
    }
    #expect(await busy.status() == 0)
    #expect(lines.contains { $0.contains("\"peers\": 1") })
    #expect(lines.contains { $0.contains(link) }, "the peers did not join, so this shows nothing")
    #expect(!outside.contains { $0.contains(link) || $0.contains(":5148 ") })  // 0x5148 is port 20808
  }
}
