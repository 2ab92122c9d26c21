// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Programs with channels of audio, each on its own host. Each sends a pulse on every beat, and measures the
/// distance of others' pulses from their beats plus the chosen delay, in frames.
@Suite struct ChannelTests {
  /// The delay in milliseconds. It is longer than a busy machine delays a thread.
  static let delay = 150

  private func peer(_ name: String, in stage: LabStage, on host: Int, _ card: String = "") async throws
    -> LabPeer
  {
    let peer = try LabPeer(.program([Self.program]), in: stage, on: host)
    try await peer.ask("enable on")
    try await peer.ask("audio \(name) \(card)")
    return peer
  }

  static let program = Lab.products + "/link-peer"

  /// Waits for `count` more pulses. Returns the median of their distances from the beat.
  private func median(_ peer: LabPeer, of count: Int = 9) async throws -> Double {
    try await peer.ask("heard")
    for _ in 0..<100 {
      try await Task.sleep(for: .milliseconds(500 * count))
      let heard = try await peer.ask("heard")
      if let pulses = heard["pulses"]?.number, pulses >= Double(count) / 3,
        let median = heard["median"]?.number
      {
        return median
      }
    }
    throw NotHeard()
  }

  private struct NotHeard: Error {}

  @Test(arguments: ["48000 0", "48000 80", "44100 -80"])
  func `a received click is at its beat for any rates of the sound cards`(card: String)
    async throws
  {
    let stage = try await LabStage("--hosts", "2", "--no-server")
    let rack = try await peer("Rack", in: stage, on: 1)
    let ear = try await peer("Ear", in: stage, on: 2, card)
    try await rack.ask("send metro")
    try await ear.ask("take Rack/metro \(Self.delay)")
    #expect(abs(try await median(ear)) <= 0.5)
  }

  @Test func `five machines hear each other's clicks at their beats`() async throws {
    let stage = try await LabStage("--hosts", "5", "--no-server")
    var peers: [LabPeer] = []
    for host in 1...5 {
      peers.append(try await peer("P\(host)", in: stage, on: host))
      try await peers[host - 1].ask("send metro")
    }
    for (place, peer) in peers.enumerated() {
      try await peer.ask("take P\((place + 1) % 5 + 1)/metro \(Self.delay)")
    }
    for peer in peers {
      #expect(abs(try await median(peer)) <= 0.5)
      #expect(try await peer.ask("channels")["count"]?.number == 4)
    }
  }

  @Test func `a closed channel is silent, and is heard again when it reopens`() async throws {
    let stage = try await LabStage("--hosts", "2", "--no-server")
    let rack = try await peer("Rack", in: stage, on: 1)
    let ear = try await peer("Ear", in: stage, on: 2)
    try await rack.ask("send metro")
    try await ear.ask("take Rack/metro \(Self.delay)")
    #expect(abs(try await median(ear)) <= 0.5)
    try await rack.ask("audio off")
    try await eventually(ear) { $0["connected"] == .boolean(false) && $0["receiving"] == .boolean(false) }
    try await ear.ask("heard")
    try await Task.sleep(for: .seconds(2))
    #expect(try await ear.ask("heard")["pulses"]?.number == 0)
    try await rack.ask("audio on")
    try await eventually(ear) { $0["connected"] == .boolean(true) && $0["receiving"] == .boolean(true) }
    #expect(abs(try await median(ear)) <= 0.5)
  }

  @Test func `after a change of tempo received clicks are at their beats`() async throws {
    let stage = try await LabStage("--hosts", "2", "--no-server")
    let rack = try await peer("Rack", in: stage, on: 1)
    let ear = try await peer("Ear", in: stage, on: 2)
    try await rack.ask("send metro")
    try await ear.ask("take Rack/metro \(Self.delay)")
    for tempo in [97, 140] {
      try await ear.ask("tempo \(tempo)")
      try await rack.wait("tempo", "\(tempo)")
      #expect(abs(try await median(ear)) <= 0.5)
    }
  }

  @Test func `a network with losses and jitter does not move received clicks`() async throws {
    let stage = try await LabStage("--hosts", "2", "--no-server")
    let rack = try await peer("Rack", in: stage, on: 1)
    let ear = try await peer("Ear", in: stage, on: 2)
    try await rack.ask("send metro")
    try await ear.ask("take Rack/metro \(Self.delay)")
    try await stage.wire("loss=5%", "jitter=30ms", "duplicate=2%")
    #expect(abs(try await median(ear, of: 21)) <= 0.5)
    #expect(try await ear.ask("heard")["lost"]?.number ?? 0 > 20)
  }

  @Test func `without subscribers nothing is sent and no thread looks for audio`() async throws {
    let stage = try await LabStage("--hosts", "2", "--no-server")
    let rack = try await peer("Rack", in: stage, on: 1)
    let ear = try await peer("Ear", in: stage, on: 2)
    try await rack.ask("send metro")
    try await ear.ask("take Rack/metro \(Self.delay)")
    #expect(try await rack.ask("health")["listeners"]?.number == 1)
    try await ear.ask("release")
    for _ in 0..<100 where try await rack.ask("health")["listeners"]?.number != 0 {
      try await Task.sleep(for: .milliseconds(50))
    }
    #expect(try await rack.ask("health")["listeners"]?.number == 0)
    let before = try await switches(of: "link-audio", on: stage)
    try await Task.sleep(for: .seconds(2))
    // The thread wakes for announcements four times a second, and to answer the peer's announcements. If it
    // looked for audio, it would wake a thousand times more.
    #expect(try await switches(of: "link-audio", on: stage) - before < 400)
  }

  /// The number of times that threads of this name went to sleep.
  private func switches(of thread: String, on stage: LabStage) async throws -> Int {
    let script =
      "grep -l \(thread) /proc/*/task/*/comm | sed s/comm/status/ | xargs grep -h ^voluntary | cut -f2"
    let done = try await stage.run("sh", "-c", script)
    return done.output.split(separator: "\n").compactMap { Int($0) }.reduce(0, +)
  }

  private func eventually(_ peer: LabPeer, _ holds: (LabPeer.Fields) -> Bool) async throws {
    for _ in 0..<200 {
      if holds(try await peer.ask("heard")) { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw NotHeard()
  }

  @Test func `forged audio in a flood is not heard`() async throws {
    let stage = try await LabStage("--hosts", "3", "--no-server")
    let rack = try await peer("Rack", in: stage, on: 1)
    let ear = try await peer("Ear", in: stage, on: 2)
    try await rack.ask("send metro")
    try await ear.ask("take Rack/metro \(Self.delay)")
    try await ear.ask("heard")
    let table = try await stage.run(on: 2, "cat", "/proc/net/udp").output
    let ports = table.split(separator: "\n").compactMap { line in
      line.split(separator: " ").dropFirst().first.flatMap { $0.split(separator: ":").last }
        .flatMap { UInt16($0, radix: 16) }
    }
    // The flood is audio of channels that nothing here subscribes to, in whole or shortened datagrams.
    let forger = """
      import socket, struct, sys, time
      s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      for n in range(20000):
          body = b"chnnlsv\\x01\\x06\\0\\0\\0" + bytes([33 + n % 90]) * 8 + bytes([33 + n % 80]) * 16
          body += struct.pack(">IQHqqBIBH", 1, n, 251, n, 500000, 1, 48000, 1, 502) + b"\\x7f\\xff" * 251
          for port in sys.argv[1:]: s.sendto(body[:len(body) - n % 3], ("10.77.0.2", int(port)))
          if n % 20 == 0: time.sleep(0.001)
      """
    let done = try await ChildProcess.run(
      stage.command(on: 3, ["/usr/bin/python3", "-c", forger] + ports.map(String.init)))
    #expect(done.status == 0)
    #expect(abs(try await median(ear)) <= 0.5)
    let health = try await ear.ask("health")
    #expect(health["unwanted"]?.number ?? 0 > 1000)
    #expect(health["malformed"]?.number ?? 0 > 1000)
  }
}
