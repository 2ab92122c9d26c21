// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Real-world routes between rooms: routers that translate addresses, addresses that change, machines with
/// two addresses, more than two rooms, a VPN.
@Suite struct FarWayTests {
  @Test
  func
    `a room behind a router stays in when the router's address changes`()
    async throws
  {
    let far = try await FarStage(hosts: 3)
    try await far.hide(3, behind: 2)
    try await far.open(1, "--link-accept")
    try await far.open(3, "--link-to=10.77.0.1")
    try await far.meet(1, 3)
    try await far.agree(on: 131, from: 1)
    try await far.agree(on: 97, from: 3)
    #expect(abs(try await far.distance(1, 3)) < 5)
    let doctor = try await far.stage.run(on: 3, Lab.products + "/tactus", "doctor", "--json")
      .output
    #expect(
      doctor.contains("the other rooms see this machine at 10.77.0.2: a router translates its address"),
      "\(doctor)")
    try await far.run(
      on: 2, "sh", "-c", "ip addr del 10.77.0.2/24 dev wire0; ip addr add 10.77.0.22/24 dev wire0")
    try await far.wait(1) { $0.contains("10.77.0.22:") && $0.contains("(±") }
    try await far.agree(on: 143, from: 1)
    try await far.agree(on: 88, from: 3)
    // The next answer tells the caller its new address, as the other room sees it.
    try await far.wait(3, path: "far/seen") { $0.contains("10.77.0.22:") }
  }

  @Test func `two rooms stay joined when the address of one of them changes`() async throws {
    let far = try await FarStage(hosts: 2)
    try await far.open(1, "--link-accept")
    try await far.open(2, "--link-to=10.77.0.1")
    try await far.meet(1, 2)
    for (host, old, new) in [(2, "10.77.0.2", "10.77.0.52"), (1, "10.77.0.1", "10.77.0.51")] {
      try await far.run(
        on: host, "sh", "-c", "ip addr del \(old)/24 dev wire0; ip addr add \(new)/24 dev wire0")
      try await far.agree(on: 100 + host, from: 1)
      try await far.agree(on: 110 + host, from: 2)
    }
    try await far.wait(1) { $0.hasPrefix("10.77.0.52:") && $0.contains("(±") }
    #expect(abs(try await far.distance(1, 2)) < 5)
  }

  @Test(arguments: ["10.77.0.1", "10.77.0.101", "fd77::1", "fd77::101"])
  func `a machine with two addresses answers from the address that was called`(
    address: String
  ) async throws {
    let far = try await FarStage(hosts: 2)
    try await far.run(on: 1, "ip", "addr", "add", "10.77.0.101/24", "dev", "wire0")
    for (host, own) in [(1, "fd77::1"), (1, "fd77::101"), (2, "fd77::2")] {
      try await far.run(on: host, "ip", "-6", "addr", "add", "\(own)/64", "dev", "wire0", "nodad")
    }
    // Allow replies only from an address that was called, as a router in front of the caller does.
    try await far.run(
      on: 2, "nft",
      """
      add rule inet rooms in udp dport 20808 accept
      add rule inet rooms in iifname "wire0" meta l4proto udp ct state new drop
      """)
    try await far.open(1, "--link-accept")
    try await far.open(2, "--link-to=\(address)")
    try await far.meet(1, 2)
    try await far.agree(on: 131, from: 1)
    try await far.agree(on: 97, from: 2)
  }

  @Test func `three rooms that call a fourth form one session, also after a cut`()
    async throws
  {
    let far = try await FarStage(hosts: 4)
    try await far.stage.wire("delay=20ms", "jitter=5ms", "loss=2%")
    try await far.open(1, "--link-accept")
    for host in 2...4 { try await far.open(host, "--link-to=10.77.0.1") }
    try await far.meet(2, 3, 4)
    try await far.wait(1) { $0.split(separator: "(±").count == 4 }
    for host in 1...4 { try await far.agree(on: 100 + host, from: host) }
    for host in 2...4 { #expect(abs(try await far.distance(1, host)) < 5) }
    try await far.peers[2]?.ask("start 0")
    for peer in far.peers.values { try await peer.wait("playing", "on") }
    try await far.peers[4]?.ask("stop")
    for peer in far.peers.values { try await peer.wait("playing", "off") }
    try await far.stage.wire("cut", "3")
    try await far.wait(3) { $0.hasSuffix("has stopped answering") }
    try await far.peers[3]?.ask("tempo 77")
    try await far.peers[1]?.wait("tempo", "104")
    try await far.stage.wire("heal", "3")
    for peer in far.peers.values { try await peer.wait("tempo", "77", seconds: 30) }
    #expect(abs(try await far.distance(2, 3)) < 5)
  }

  @Test func `in a VPN, rooms without a key join each other, but no room with a key`() async throws {
    let far = try await FarStage(hosts: 3)
    try await far.open(1, "--link-accept=10.77.0.1", key: nil)
    try await far.open(2, "--link-to=10.77.0.1", key: nil)
    try await far.open(3, "--link-to=10.77.0.1")
    try await far.meet(1, 2)
    try await far.wait(3) { $0.contains("does not answer") }
    try await far.peers[2]?.ask("tempo 131")
    try await far.peers[1]?.wait("tempo", "131")
    #expect(try await far.peers[3]?.status().tempo == 120)
    #expect(try await far.told(1, "far/key").contains(where: \.isLetter) == false)
  }
}
