// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// The folders of `sessions/` that have no DAW. The suite of each DAW tests the folder of that DAW.
@Suite struct SessionFolderTests {
  private static let folders = [
    "ardour-follower", "ardour-leader", "beside-live", "hardware-only", "hydrogen", "light-and-video",
    "loopers", "modular", "qtractor", "tablet", "tracks-from-there", "two-laptops", "two-rooms",
  ]

  private func tactus(_ words: String...) async throws -> ChildProcess.Finished {
    try await ChildProcess.run([Lab.products + "/tactus"] + words)
  }

  @Test func `tactus session list has every session; a typo gets the nearest name`()
    async throws
  {
    let list = try await tactus("session", "list")
    #expect(list.status == 0)
    let lines = list.output.split(separator: "\n")
    for name in Self.folders {
      let line = lines.first { $0.hasPrefix(name + "  ") }
      #expect((line?.count ?? 0) > name.count + 10, "\(name): \(list.output)")
    }
    #expect(lines.count == Self.folders.count + 1, "\(list.output)")
    let wrong = try await tactus("session", "start", "hydrogne")
    #expect(wrong.status == 2)
    #expect(wrong.errors.contains("do you mean \"hydrogen\"?"), "\(wrong.errors)")
    for path in ["../sessions/hydrogen", ".", "controllers", ""] {
      #expect(try await tactus("session", "start", path).status == 2)
    }
  }

  @Test(arguments: folders)
  func `each session has a complete README and a valid configuration`(
    name: String
  ) async throws {
    let folder = Lab.top + "/sessions/" + name
    let readme = try await ChildProcess.run(["cat", folder + "/README.md"]).output
    for words in ["tactus session start " + name, "Tried", "Connections:", "| `tactus.json5` |"] {
      #expect(readme.contains(words), "\(words)")
    }
    let checked = try await tactus("--config=" + folder + "/tactus.json5", "--probe", "--server=none")
    #expect(checked.errors == "")
    #expect(checked.status == 69)
  }

  @Test func `without a JACK server, a session reports that and starts no program`() async throws {
    let stage = try await LabStage("--no-server")
    let done = try await stage.run(
      "env", "HOME=/dev/shm/.lab/nobody", Lab.products + "/tactus", "session", "start", "hydrogen"
    )
    #expect(done.status == 69)
    #expect(done.errors.contains("no JACK server"), "\(done.errors)")
    #expect(try await stage.run("sh", "-c", "ls /dev/shm/.lab/nobody").status != 0)
  }

  @Test func `hardware only: a synth gets clocks while stopped, start and stop`() async throws {
    let stage = try await LabStage()
    let synth = try ChildProcess(stage.command(["jack_midi_dump", "synth"]))
    let session = try await StartedSession(
      "hardware-only", options: ["--connect=clock=synth:*"], in: stage)
    let transport = try LabPeer(.jack, in: stage)
    let ears = try await Ears("tactus:clock", in: stage)
    let connections = try await stage.cables(of: "tactus:clock")
    #expect(connections.contains { $0.hasPrefix("synth:") }, "\(connections)")
    // The connections of this session wait for ports that this sound card never has.
    let clocks = try await ears.listen(forIntervals: 80)
    #expect(abs(clocks.lateness) < 3, "\(clocks.lateness)")
    try await transport.ask("play")
    try await transport.wait("playing", "true")
    #expect(try await ears.listen(for: .seconds(2)).count > 80)
    let played = try await stage.cables(of: "tactus:click_1")
    #expect(played.contains("system:playback_1"), "\(played)")
    synth.signal(SIGTERM)
    #expect(await session.end() == 0)
  }

  @Test func `modular: sixteenths are on the session's grid`() async throws {
    let stage = try await LabStage()
    let session = try await StartedSession(
      "modular", options: ["--connect=pulse=system:playback_2"], in: stage)
    let ears = try await Ears("tactus:pulse@4", in: stage)
    let pulses = try await ears.listen(forIntervals: 24)
    #expect(abs(pulses.interval - 125) < 0.1, "\(pulses.interval)")
    #expect(abs(pulses.lateness) < 1, "\(pulses.lateness)")
    let connections = try await stage.cables(of: "tactus:pulse")
    #expect(connections.contains("system:playback_2"), "\(connections)")
    #expect(await session.end() == 0)
  }

  @Test
  func `light and video: LTC and MTC run while the transport rolls`()
    async throws
  {
    let stage = try await LabStage()
    let player = try ChildProcess(stage.command(["jack_midi_dump", "desk"]))
    let session = try await StartedSession(
      "light-and-video",
      options: ["--connect=out/video=system:playback_2", "--connect=out/light=desk:*"], in: stage)
    let transport = try LabPeer(.jack, in: stage)
    for (port, other) in [("tactus:video", "system:playback_2"), ("tactus:light", "desk:input")] {
      let cables = try await stage.cables(of: port) { $0.contains(other) }
      #expect(cables.contains(other), "\(port): \(cables)")
    }
    let ears = try await Ears("tactus:video", in: stage)
    #expect(try await ears.listen(for: .seconds(1)).isEmpty)
    try await transport.ask("play")
    try await transport.wait("playing", "true")
    // LTC is never silent once it has begun, so there is one onset.
    var began = try await ears.report()
    for _ in 0..<20 where began.isEmpty {
      try await Task.sleep(for: .milliseconds(500))
      began = try await ears.report()
    }
    #expect(!began.isEmpty)
    // Eight MTC quarter frames together make one position. A quarter frame is the byte f1 and a data byte,
    // whose high nibble is the number of the piece, 0 to 7.
    var parts: Set<Character> = []
    while parts.count < 8, let line = try await player.line(within: .seconds(20)) {
      let words = line.lowercased().split(separator: " ")
      if let place = words.firstIndex(of: "f1"), place + 1 < words.count, let part = words[place + 1].first {
        parts.insert(part)
      }
    }
    #expect(parts == Set("01234567"), "\(parts)")
    player.signal(SIGTERM)
    #expect(await session.end() == 0)
  }

  @Test
  func
    `beside Live: after a crash the session's tempo and beat are back`()
    async throws
  {
    let stage = try await LabStage()
    let session = try await StartedSession("beside-live", in: stage)
    let program = Lab.products + "/tactus"
    let probed = try await stage.run(program, "--probe")
    #expect(probed.status == 0 && probed.output == "")
    func peers() async throws -> String {
      try await stage.run(program, "send", "peers").output.filter { $0 != "\n" }
    }
    #expect(try await peers() == "0")
    var live = try LabPeer(.reference, in: stage)
    try await live.ask("enable on")
    try await live.wait("peers", "1")
    try await live.ask("tempo 131")
    let transport = try LabPeer(.jack, in: stage)
    try await transport.wait("tempo", "131")
    #expect(try await peers() == "1")
    let before = try await PeerStatus(live.ask("clock"))
    let there = try await PeerStatus(live.ask("beat \(before.time)"))
    await live.kill()
    try await session.awaitLine(with: "No Links")
    // A user needs some time to start Live again after a crash. By then, the remaining session is the older
    // one.
    try await Task.sleep(for: LabPeer.ageThatCounts)
    live = try LabPeer(.reference, in: stage)
    try await live.ask("enable on")
    try await live.wait("peers", "1")
    try await live.wait("tempo", "131")
    // The beat went on at 131 BPM from the moment before the crash.
    let now = try await PeerStatus(live.ask("clock"))
    let here = try await PeerStatus(live.ask("beat \(now.time)"))
    let passed = Double(now.time - before.time) * 131 / 60e6
    #expect(abs(Interop.distance(here.phase, there.phase + passed)) < 0.02)
    #expect(await session.end() == 0)
  }

  @Test func `tablet: a remote controller sets the tempo, starts and stops`()
    async throws
  {
    let stage = try await LabStage("--hosts", "2")
    let session = try await StartedSession("tablet", in: stage)
    let transport = try LabPeer(.jack, in: stage, on: 1)
    let screen = try ChildProcess(stage.command(on: 2, ["oscdump", "-L", "9000"]))
    func send(_ words: String...) async throws {
      #expect(try await stage.run2("oscsend", ["10.77.0.1", "20809"] + words).status == 0)
    }
    // tactus drops a subscription if no program reads its port yet, so subscribe again.
    var heard: String?
    for _ in 0..<10 where heard == nil {
      try await send("/tactus/subscribe", "is", "9000", "state")
      heard = try? await screen.line(within: .seconds(2))
    }
    #expect(heard?.contains("/tactus/") == true)
    try await send("/tactus/tempo", "f", "133")
    try await transport.wait("tempo", "133")
    var told = false
    while !told, let line = try await screen.line(within: .seconds(20)) {
      told = line.contains("/tactus/tempo/str") && line.contains("133")
    }
    #expect(told)
    try await send("/tactus/start", "f", "1")
    try await transport.wait("playing", "true")
    try await send("/tactus/stop", "f", "1")
    try await transport.wait("playing", "false")
    #expect(await session.end() == 0)
  }

  @Test func `two laptops: play on one starts both, and their clicks coincide`() async throws {
    let stage = try await LabStage("--hosts", "2")
    let left = try await StartedSession("two-laptops", in: stage, host: 1)
    let right = try await StartedSession("two-laptops", in: stage, host: 2)
    try await left.awaitLine(with: "1 Link")
    let transports = try (1...2).map { try LabPeer(.jack, in: stage, on: $0) }
    try await transports[0].ask("play")
    for transport in transports { try await transport.wait("playing", "true") }
    // Both `Ears` are peers of the same session: each compares what it hears with the session's beat.
    var late: [Double] = []
    for host in 1...2 {
      let ears = try await Ears("tactus:click_1", in: stage, on: host)
      late.append(try await ears.listen(forIntervals: 6).lateness)
    }
    #expect(abs(late[0] - late[1]) < 3, "\(late)")
    print("two laptops: clicks \(late[0] - late[1]) ms apart")
    try await transports[1].ask("stop")
    for transport in transports { try await transport.wait("playing", "false") }
    // Both stand where the second was stopped, and go where it is sent.
    try await Task.sleep(for: .seconds(1))
    try await transports[1].ask("locate 96000")
    try await transports[0].wait("frame", "96000")
    #expect(await left.end() == 0)
    #expect(await right.end() == 0)
  }

  @Test func `session two-rooms: one room calls the other, and play starts both`()
    async throws
  {
    let stage = try await LabStage("--hosts", "2", "--wire", "delay=60ms")
    for host in 1...2 { try await stage.dropGroups(on: host, from: 3 - host) }
    let folder = try ScratchFolder()
    let key = try folder.write("2345-6789-abcd-efgh-jkmn-pqrs\n".utf8, to: "key")
    chmod(key, 0o600)
    let keyed = "--link-key=\(key)"
    let one = try await StartedSession("two-rooms", options: ["--link-accept", keyed], in: stage, host: 1)
    let other = try await StartedSession(
      "two-rooms", options: ["--link-to=10.77.0.1", keyed], in: stage, host: 2)
    try await one.awaitLine(with: "1 Link")
    let transports = try (1...2).map { try LabPeer(.jack, in: stage, on: $0) }
    try await transports[0].ask("play")
    for transport in transports { try await transport.wait("playing", "true") }
    try await transports[1].ask("stop")
    for transport in transports { try await transport.wait("playing", "false") }
    let doctor = try await stage.run(on: 2, Lab.products + "/tactus", "doctor", "--json").output
    #expect(doctor.contains("Other rooms") && doctor.contains("no router translates it"), "\(doctor)")
    #expect(await one.end() == 0)
    #expect(await other.end() == 0)
  }
}

extension LabStage {
  /// Runs a command on the second host.
  fileprivate func run2(_ program: String, _ arguments: [String]) async throws -> ChildProcess.Finished {
    try await ChildProcess.run(command(on: 2, [program] + arguments))
  }
}
