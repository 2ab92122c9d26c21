// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Attackers without the key on the wire between two rooms: one records datagrams, another sends them.
@Suite struct FarEnemyTests {
  /// Records the datagrams between two addresses (`tools/lib/workshop/listening/secrecy.py`).
  private func tap(_ far: FarStage, on host: Int, _ words: String...) throws -> ChildProcess {
    let program = Lab.top + "/tools/lib/workshop/listening/secrecy.py"
    return try ChildProcess(far.stage.command(on: host, ["/usr/bin/python3", program] + words))
  }

  private func said(_ process: ChildProcess) async throws -> [String: Double] {
    let line = try #require(await process.line(within: .seconds(60)), "\(process.saidOnErrors)")
    return try #require(FlatJSON.object(line)).compactMapValues(\.number)
  }

  @Test
  func `recorded datagrams between two rooms contain nothing readable`()
    async throws
  {
    let far = try await FarStage(hosts: 2)
    let (wire, room) = (
      try tap(far, on: 1, "40", "10.77.0.1", "10.77.0.2"),
      try tap(far, on: 1, "40", "10.77.0.1", "224.76.78.75")
    )
    try await far.open(1, "--link-accept")
    try await far.open(2, "--link-to=10.77.0.1")
    try await far.meet(1, 2)
    try await far.agree(on: 131, from: 1)
    try await far.peers[2]?.ask("start 0")
    try await far.peers[1]?.wait("playing", "on")
    let (heard, control) = (try await said(wire), try await said(room))
    print("on the far wire: \(heard); on the room's own: \(control)")
    #expect(heard["datagrams", default: 0] > 1000)
    #expect(heard["readable"] == 0)
    // The skew says how uneven the byte values at one position are, in standard deviations. By chance alone,
    // the largest among some hundred positions is about 4.
    #expect(heard["skew", default: 1e9] < 8)
    #expect(control["datagrams", default: 0] > 10 && control["readable"] == control["datagrams"])
  }

  @Test func `floods, forgeries and replays on the wire between rooms do nothing`()
    async throws
  {
    let far = try await FarStage(hosts: 3)
    let recording = far.folder.path + "/recording"
    try await far.stage.wire("from=1", "to=2", "delay=20ms")
    try await far.open(1, "--link-accept")
    let tap = try tap(far, on: 1, "12", "10.77.0.1", "10.77.0.2", recording)
    try await far.open(2, "--link-to=10.77.0.1")
    try await far.meet(1, 2)
    try await far.agree(on: 131, from: 1)
    _ = try await said(tap)
    let before = try await state(far)
    let program = Lab.top + "/tools/lib/python"
    let enemy = try ChildProcess(
      far.stage.command(on: 3, [program, "enemy", "far", "10.77.0.1", "20819", recording, "15", "4000"]))
    var away: [String] = []
    for _ in 0..<20 {
      let rooms = try await far.told(1, "far/str")
      if !rooms.contains("(±") { away.append(rooms) }
      try await Task.sleep(for: .milliseconds(500))
    }
    let told = try await said(enemy)
    let after = try await state(far)
    let spent = (after.processor - before.processor) / (after.time - before.time)
    print("far enemy: \(told); \(spent) of a core, \((after.memory - before.memory) / 1024) KiB more")
    #expect(told["sent", default: 0] > 15_000 && told["recorded", default: 0] > 100)
    // tactus may have missed a handshake that was recorded. It answers such a handshake once when it is
    // replayed.
    #expect(try #require(told["answered"]) <= #require(told["lost"]))
    #expect(away.isEmpty, "\(away)")
    #expect(try await far.told(1, "tempo").contains("131"))
    #expect(after.memory - before.memory < 4 << 20)
    try await far.agree(on: 97, from: 2)
    #expect(abs(try await far.distance(1, 2)) < 5 + 10)
  }

  /// The state of the first room's tactus: processor seconds, bytes of memory, and the time of this reading.
  private func state(_ far: FarStage) async throws -> (processor: Double, memory: Int, time: Double) {
    // The program is a child of the process that put it on its host.
    let outer = try #require(far.tactus[1]).identifier
    let children = try await ChildProcess.run(["cat", "/proc/\(outer)/task/\(outer)/children"]).output
    let process = try #require(children.split(separator: " ").first.flatMap { Int32($0) })
    let stat = try await ChildProcess.run(["cat", "/proc/\(process)/stat"]).output
    let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    // After the name in parentheses, utime and stime are the fields 12 and 13, and rss is field 22.
    let ticks = try #require(Double(fields[11])) + #require(Double(fields[12]))
    return (
      ticks / Double(sysconf(Int32(_SC_CLK_TCK))), try #require(Int(fields[21])) * 4096,
      Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    )
  }
}
