// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Two rooms of two machines each. Each room has a tactus. The wire between the two tactus is slow and lossy,
/// and nothing else passes between the rooms.
@Suite struct FarTests {
  /// Machines 1 and 2 are one room, 3 and 4 are the other. The peers are on machines 2 and 4.
  private final class Rooms {
    let stage: LabStage
    let folder: ScratchFolder
    var tactus: [ChildProcess] = []
    var peers: [LabPeer] = []

    init() async throws {
      folder = try ScratchFolder()
      stage = try await LabStage("--hosts", "4")
      for (one, other) in [("1", "4"), ("2", "3"), ("2", "4")] { try await stage.wire("cut", one, other) }
      for (one, other) in [("1", "3"), ("3", "1")] {
        try await stage.wire("from=\(one)", "to=\(other)", "delay=60ms", "jitter=20ms", "loss=2%")
      }
      for host in [1, 3] { try await stage.dropGroups(on: host, from: 4 - host) }
    }

    func start(keys: [String], _ kind: LabPeer.Kind = .reference) async throws {
      for (host, (key, wire)) in zip([1, 3], zip(keys, ["--link-accept", "--link-to=10.77.0.1"])) {
        let path = try folder.write("\(key)\n".utf8, to: "key-\(host)")
        chmod(path, 0o600)
        let process = try ChildProcess(
          stage.command(
            on: host,
            [
              Lab.products + "/tactus", "--no-tui", "--startstop", "--link-key=\(path)", wire,
            ]))
        tactus.append(process)
      }
      peers = try [2, 4].map { try LabPeer(kind, in: stage, on: $0) }
      for peer in peers {
        try await peer.ask("enable on")
        try await peer.ask("sync on")
      }
    }

    /// A process that counts the datagrams between the two rooms for some seconds, and those among them that
    /// contain Link's protocol name in plain text. It prints both counts.
    func listen(for seconds: Int) throws -> ChildProcess {
      let program = """
        import socket, time
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        wire.settimeout(1)
        end, count, readable = time.time() + \(seconds), 0, 0
        while time.time() < end:
          try: frame = wire.recv(4096)
          except TimeoutError: continue
          if bytes([10, 77, 0, 1]) not in (frame[26:30], frame[30:34]) or frame[30] >= 224: continue
          count += 1
          readable += b"_asdp_v" in frame or b"_link_v" in frame
        print(count, readable)
        """
      return try ChildProcess(stage.command(on: 3, ["python3", "-c", program]))
    }

    /// The distance of the rooms' beats in milliseconds, as the median of nine readings.
    func distance() async throws -> Double {
      var all: [Double] = []
      for _ in 0..<9 {
        all.append(try await peers[0].phaseDistance(to: peers[1]) * 60_000 / peers[0].status().tempo)
      }
      return Interop.median(all)
    }
  }

  private static let key = "2345-6789-abcd-efgh-jkmn-pqrs"

  @Test func `two rooms are one session over a slow, lossy wire and after a cut`() async throws {
    let rooms = try await Rooms()
    let listener = try rooms.listen(for: 20)
    try await rooms.start(keys: [Self.key, Self.key])
    let (here, there) = (rooms.peers[0], rooms.peers[1])
    // The other room's relay counts as a peer; the peers behind it are not visible.
    for tactus in rooms.tactus { try await tactus.awaitLine(beginning: "2 Links") }
    try await here.ask("tempo 133")
    try await there.wait("tempo", "133")
    try await there.ask("tempo 97")
    try await here.wait("tempo", "97")
    try await here.ask("start 0")
    try await there.wait("playing", "on")
    try await there.ask("stop")
    try await here.wait("playing", "off")
    // The wire has 20 ms of jitter, but only the fastest quarter of the pings is used.
    #expect(abs(try await rooms.distance()) < 5)
    let heard = try #require(await listener.line(within: .seconds(40))).split(separator: " ").compactMap {
      Int($0)
    }
    #expect(heard.count == 2 && heard[0] > 100 && heard[1] == 0, "\(heard)")
    try await rooms.stage.wire("cut", "1", "3")
    for tactus in rooms.tactus { try await tactus.awaitLine(beginning: "1 Link") }
    try await there.ask("tempo 111")
    #expect(abs(try await here.status().tempo - 97) < 0.001)
    try await rooms.stage.wire("heal", "1", "3")
    for tactus in rooms.tactus { try await tactus.awaitLine(beginning: "2 Links") }
    try await here.wait("tempo", "111", seconds: 30)
    #expect(abs(try await rooms.distance()) < 5)
  }

  @Test func `two LinkHuts in two rooms click together`() async throws {
    let rooms = try await Rooms()
    try await rooms.start(keys: [Self.key, Self.key], .linkhut)
    for tactus in rooms.tactus { try await tactus.awaitLine(beginning: "2 Links") }
    let ears = [
      try await Ears("LinkHut:out_1", in: rooms.stage, on: 2),
      try await Ears("LinkHut:out_1", in: rooms.stage, on: 4),
    ]
    try await rooms.peers[1].ask("play")
    try await rooms.peers[0].wait("playing", "true")
    // Each side estimates the other side's clock from its fastest pings. If a busy machine has delayed
    // every ping so far, the estimate is wrong by milliseconds until faster pings come.
    try await Task.sleep(for: .seconds(40))
    for ear in ears { ear.say("section now") }
    try await Task.sleep(for: .seconds(20))
    var heard: [[Double]] = []
    for ear in ears { heard.append(try await ear.report().filter(\.isSure).map(\.heard)) }
    let gaps = heard[0].compactMap { click in
      heard[1].map { ($0 - click) / 1000 }.min { abs($0) < abs($1) }
    }
    guard gaps.count(where: { abs($0) < 250 }) >= 8 else {
      try unjudged("JACK lost cycles all the while")
    }
    let apart = Interop.median(gaps.filter { abs($0) < 250 })
    print("two rooms: LinkHut's clicks \(apart) ms apart")
    #expect(abs(apart) < 2, "\(gaps)")
  }

  @Test func `rooms with different keys stay apart, and the wrong key is reported`() async throws {
    let rooms = try await Rooms()
    try await rooms.start(keys: [Self.key, "tuvw-" + Self.key])
    for peer in rooms.peers { try await peer.wait("peers", "1", seconds: 30) }
    while let line = try await rooms.tactus[0].line(within: .seconds(30)) {
      if line.contains("it used another key or none") { break }
    }
    try await rooms.peers[0].ask("tempo 133")
    try await Task.sleep(for: .seconds(2))
    #expect(try await rooms.peers[1].status().tempo == 120)
  }
}

extension LabStage {
  /// Drops Link's multicast group, as a router between two machines would.
  func dropGroups(on host: Int, from other: Int) async throws {
    let rules = """
      add table inet rooms
      add chain inet rooms in { type filter hook input priority 0; }
      add rule inet rooms in ip saddr 10.77.0.\(other) ip daddr 224.0.0.0/4 drop
      add rule inet rooms in ip6 daddr ff00::/8 udp dport 20808 drop
      """
    let done = try await run(on: host, "nft", rules)
    guard done.status == 0 else {
      throw ChildProcess.Failure.ended(status: done.status, errors: done.errors)
    }
  }
}
