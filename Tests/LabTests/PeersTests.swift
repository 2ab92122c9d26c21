// SPDX-License-Identifier: GPL-2.0-or-later
import TestSupport
import Testing

/// The lab's reason to be: programs that speak Link find each other in it, and only in it.
@Suite(.serialized) struct PeersTests {
  private func findEachOther(_ first: LabPeer, _ second: LabPeer, seconds: Double = 30) throws {
    try first.ask("enable on")
    try second.ask("enable on")
    try first.wait("peers", "1", seconds: seconds)
    try second.wait("peers", "1", seconds: seconds)
    #expect(try first.status().peers == 1)
  }

  @Test func `LinkHut and the reference library see each other on one host`() throws {
    let stage = try LabStage()
    let linkhut = try LabPeer(.linkhut, in: stage)
    let reference = try LabPeer(.reference, in: stage)
    try findEachOther(linkhut, reference)
    try reference.ask("tempo 131")
    try linkhut.wait("tempo", "131")
    try linkhut.ask("tempo 129")
    try reference.wait("tempo", "129")
    try linkhut.quit()
    try reference.wait("peers", "0")
  }

  @Test func `start and stop reach the other peer when both want to know`() throws {
    let stage = try LabStage()
    let linkhut = try LabPeer(.linkhut, in: stage)
    let reference = try LabPeer(.reference, in: stage)
    try findEachOther(linkhut, reference)
    try linkhut.ask("sync on")
    try reference.ask("sync on")
    try linkhut.ask("play")
    try reference.wait("playing", "true")
    try reference.ask("stop")
    try linkhut.wait("playing", "false")
  }

  // A measurement has five retries for 51 round trips, so a peer that loses 10 % of the datagrams in each direction
  // (19 % of the round trips) needs anything from 1 s to minutes to join; 5 % each way is 10 % of the round trips.
  @Test(arguments: ["delay=0ms", "loss=5% seed=3", "delay=3ms jitter=2ms duplicate=5% reorder=2%"])
  func `they see each other across two hosts, also on a bad wire`(wire: String) throws {
    let stage = try LabStage("--hosts", "2", "--wire", wire)
    let linkhut = try LabPeer(.linkhut, in: stage, on: 1)
    let reference = try LabPeer(.reference, in: stage, on: 2)
    try findEachOther(linkhut, reference, seconds: 60)
  }

  @Test func `a cut wire parts them and a healed one joins them again`() throws {
    let stage = try LabStage("--hosts", "2", "--no-server")
    let one = try LabPeer(.reference, in: stage, on: 1)
    let two = try LabPeer(.reference, in: stage, on: 2)
    try findEachOther(one, two)
    try stage.wire("cut", "1", "2")
    try one.wait("peers", "0")
    try stage.wire("heal")
    try one.wait("peers", "1")
  }

  @Test func `two labs at once do not see each other`() throws {
    let stages = [try LabStage("--hosts", "2"), try LabStage("--hosts", "2")]
    let peers = try stages.flatMap { stage in try (1...2).map { try LabPeer(.reference, in: stage, on: $0) } }
    for peer in peers { try peer.ask("enable on") }
    for peer in peers { try peer.wait("peers", "1", seconds: 30) }
    for (index, peer) in peers.enumerated() { try peer.ask("tempo \(100 + 10 * (index / 2))") }
    for (index, peer) in peers.enumerated() { try peer.wait("tempo", "\(100 + 10 * (index / 2))") }
    for peer in peers { #expect(try peer.status().peers == 1) }
    for stage in stages {
      #expect(try stage.run(on: 2, "jack_lsp").output.contains("system:playback_1"))
    }
  }

  @Test func `nothing joins Link's group outside of the lab in which the peers are`() throws {
    let link = "4B4E4CE0"  // 224.76.78.75 as /proc/net/igmp writes it
    let outer = try LabStage("--no-server")
    let inner = """
      $LAB -- sh -c '{ echo enable on; sleep 100; } | $LAB peer linkhut >/dev/null &
      { echo enable on; echo wait peers 1; echo status; } | $LAB peer reference; cat /proc/net/igmp'
      """
    let busy = try ChildProcess(outer.command(["sh", "-c", inner]))
    var outside: Set<String> = []
    var lines: [String] = []
    while let line = try busy.line(within: .seconds(30)) {
      lines.append(line)
      outside.insert(try outer.run("cat", "/proc/net/igmp").output)
      outside.insert(try outer.run("cat", "/proc/net/udp").output)
    }
    #expect(busy.status() == 0)
    #expect(lines.contains { $0.contains("\"peers\": 1") })
    #expect(lines.contains { $0.contains(link) }, "the peers did not join, so this shows nothing")
    #expect(!outside.contains { $0.contains(link) || $0.contains(":5148 ") })  // 0x5148 is port 20808
  }
}
