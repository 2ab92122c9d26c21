// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport

/// Rooms far apart. Each is a machine with a tactus and a peer with the reference library. No Link packet
/// passes from one machine to another, but all other packets do. A router may stand between the first two
/// machines.
final class FarStage {
  static let key = "2345-6789-abcd-efgh-jkmn-pqrs"

  let stage: LabStage
  let folder: ScratchFolder
  private(set) var tactus: [Int: ChildProcess] = [:]
  private(set) var peers: [Int: LabPeer] = [:]

  init(hosts: Int) async throws {
    folder = try ScratchFolder()
    stage = try await LabStage("--hosts", "\(hosts)")
    for host in 1...hosts {
      try await run(
        on: host,
        "nft",
        """
        add table inet rooms
        add chain inet rooms in { type filter hook input priority 0; }
        add rule inet rooms in iifname "wire*" ip daddr 224.0.0.0/4 drop
        add rule inet rooms in iifname "wire*" ip6 daddr ff00::/8 udp dport 20808 drop
        """)
    }
  }

  func run(on host: Int, _ command: String...) async throws {
    let done = try await ChildProcess.run(stage.command(on: host, command))
    guard done.status == 0 else {
      throw ChildProcess.Failure.ended(status: done.status, errors: "\(command): \(done.errors)")
    }
  }

  /// Opens a room. `key`: the contents of its key file; nil: no key.
  func open(_ host: Int, _ words: String..., key: String? = FarStage.key) async throws {
    var keyed = "--link-key=none"
    if let key {
      let path = try folder.write("\(key)\n".utf8, to: "key-\(host)")
      chmod(path, 0o600)
      keyed = "--link-key=\(path)"
    }
    let program = [Lab.products + "/tactus", "--no-tui", "--startstop", keyed]
    tactus[host] = try ChildProcess(stage.command(on: host, program + words))
    let peer = try LabPeer(.reference, in: stage, on: host)
    try await peer.ask("enable on")
    try await peer.ask("sync on")
    peers[host] = peer
  }

  /// The value at an OSC address of that machine's tactus.
  func told(_ host: Int, _ path: String) async throws -> String {
    let said = try await stage.run(on: host, Lab.products + "/tactus", "send", path).output
    return said.split(separator: "\n").first.map(String.init) ?? ""
  }

  /// Waits until that machine's tactus reports a wanted value at `path`.
  @discardableResult
  func wait(_ host: Int, path: String = "far/str", until isWanted: (String) -> Bool) async throws -> String {
    let deadline = ContinuousClock.now + .seconds(40)
    var last = ""
    while ContinuousClock.now < deadline {
      last = try await told(host, path)
      if isWanted(last) { return last }
      try await Task.sleep(for: .milliseconds(200))
    }
    throw ChildProcess.Failure.ended(status: 0, errors: "the rooms of \(host): \(last)")
  }

  /// Waits until the rooms have measured each other's clocks.
  func meet(_ hosts: Int...) async throws {
    for host in hosts { try await wait(host) { $0.contains("(±") } }
  }

  /// Sets a tempo in one room and waits until all others have it.
  func agree(on tempo: Int, from host: Int) async throws {
    guard let peer = peers[host] else { return }
    try await peer.ask("tempo \(tempo)")
    for (_, other) in peers { try await other.wait("tempo", "\(tempo)", seconds: 20) }
  }

  /// The distance of the two rooms' beats in milliseconds, as the median of nine readings.
  func distance(_ here: Int, _ there: Int) async throws -> Double {
    guard let one = peers[here], let other = peers[there] else { return .nan }
    var all: [Double] = []
    for _ in 0..<9 { all.append(try await one.phaseDistance(to: other) * 60_000 / one.status().tempo) }
    return Interop.median(all)
  }

  /// Replaces the wire of the machine `host` by a wire to a router. The router translates the host's
  /// address, and forgets a translation after five seconds of silence.
  func hide(_ host: Int, behind router: Int) async throws {
    for each in [host, router] { try await run(on: router, Lab.tool, "plug", "\(each)", "wire1") }
    // The lab has one wire for all machines. So a machine with two network interfaces must answer ARP only at
    // the interface that has the address.
    try await run(on: router, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.arp_ignore=1")
    try await run(
      on: router, "nft",
      """
      add table ip nat
      add chain ip nat post { type nat hook postrouting priority 100; }
      add rule ip nat post oifname "wire0" masquerade random
      """)
    try await run(
      on: router, "sysctl", "-qw", "net.netfilter.nf_conntrack_udp_timeout=5",
      "net.netfilter.nf_conntrack_udp_timeout_stream=5")
    // Refuse every connection from outside, as a home router does.
    try await run(
      on: router, "nft",
      """
      add table ip door
      add chain ip door forward { type filter hook forward priority 0; policy drop; }
      add rule ip door forward iifname "wire1" accept
      add rule ip door forward ct state established accept
      """)
    try await run(on: host, "ip", "link", "set", "wire0", "down")
    try await run(on: host, "ip", "route", "add", "default", "via", "10.77.1.\(router)")
  }
}
