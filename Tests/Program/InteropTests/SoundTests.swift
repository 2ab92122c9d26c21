// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Link Audio between two machines with JACK: ports, their sound and their connections.
@Suite struct SoundTests {
  private func tactus(_ options: String..., on stage: LabStage, host: Int) async throws -> ChildProcess {
    let program = try ChildProcess(
      stage.command(
        on: host,
        [
          "env", "XDG_STATE_HOME=/dev/shm/.lab/state-\(host)", Lab.products + "/tactus",
          "--link-audio",
        ]
          + options))
    try await program.awaitLine(beginning: "JACK server")
    return program
  }

  /// The names of tactus's ports on a host that contain one of `texts`, once there are `count` of them.
  private func ports(
    with texts: String..., count: Int, on stage: LabStage, host: Int = 2
  ) async throws -> [String] {
    var found: [String] = []
    for _ in 0..<300 {
      let lines = try await stage.run(on: host, "jack_lsp").output.split(separator: "\n").map(String.init)
      found = lines.filter { line in line.hasPrefix("tactus:") && texts.contains { line.contains($0) } }
        .sorted()
      if found.count == count { return found }
      try await Task.sleep(for: .milliseconds(100))
    }
    return found
  }

  private func say(_ words: String..., on stage: LabStage, host: Int) async throws -> Bool {
    let command = stage.command(on: host, [Lab.products + "/tactus", "send"] + words)
    return try await ChildProcess.run(command).status == 0
  }

  @Test func `a click sent to another machine sounds there a beat later`() async throws {
    let stage = try await LabStage("--hosts", "2")
    let there = try await tactus(
      "--click", "--click-pattern=x", "--send=Click=tactus:click_1", on: stage, host: 1)
    let here = try await tactus(
      "--click", "--click-pattern=x", "--link-audio-delay=1beat", "--receive=*/Click", on: stage, host: 2)
    let received = try await ports(with: "Click_l", count: 1, on: stage)
    #expect(received.count == 1)
    let recorder = Lab.top + "/tools/lib/workshop/listening/apart.py"
    // If the sender's JACK server loses time, the receiver corrects the error of at most 2 ms by 0.35 ms a
    // second. JACK's clock also jumps, and returns, when the driver wakes up late; this loses no cycle, so it
    // is not counted. While a correction is under way, the test listens again, at most three times.
    var restless = 0
    let apart = try await Interop.undisturbed(in: stage, on: 1...2, calm: .seconds(8)) {
      let heard = try await stage.run(
        on: 2, "/usr/bin/python3", recorder, "6", "tactus:click_1", received.first ?? "")
      return FlatJSON.object(heard.output) ?? [:]
    } where: { heard in
      guard let least = heard["least"]?.number, let most = heard["most"]?.number,
        heard["count"]?.number ?? 0 >= 10
      else { return false }
      if most - least > 6 { restless += 1 }
      return most - least <= 6 || restless > 3
    }
    // The difference may be one frame, because each click lies on a whole frame.
    #expect(abs(apart["median"]?.number ?? .infinity) <= 1, "\(apart), \(restless) times on its way")
    for program in [there, here] {
      program.signal(SIGINT)
      #expect(await program.status() == 0)
    }
  }

  @Test func `ports follow the received channels, and stay while a peer is away`()
    async throws
  {
    let stage = try await LabStage("--hosts", "2")
    let there = try await tactus("--send=Drums", "--send=Voice=mono", on: stage, host: 1)
    let here = try await tactus(on: stage, host: 2)
    #expect(try await ports(with: "send_", count: 3, on: stage, host: 1).count == 3)
    #expect(try await say("audio/receive", "*/*", on: stage, host: 2))
    let four = try await ports(with: "Drums", "Voice", count: 4, on: stage)
    #expect(four.count == 4)
    #expect(try await say("audio/send/end", "Voice", on: stage, host: 1))
    #expect(try await ports(with: "send_", count: 2, on: stage, host: 1).count == 2)
    #expect(try await !say("audio/send/end", "Voice", on: stage, host: 1))
    // Connect the ports and let the peer leave: the peer may come back.
    let connected = try await stage.run(on: 2, "jack_connect", four.first ?? "", "system:playback_1")
    #expect(connected.status == 0)
    there.signal(SIGINT)
    #expect(await there.status() == 0)
    try await Task.sleep(for: .seconds(1))
    let back = try await tactus("--send=Drums", "--send=Voice=mono", on: stage, host: 1)
    #expect(try await ports(with: "Drums", "Voice", count: 4, on: stage) == four)
    let cables = try await stage.run(on: 2, "jack_lsp", "-c", "playback_1")
    #expect(cables.output.contains(four.first ?? "-"))
    #expect(try await say("link/audio", "0", on: stage, host: 2))
    #expect(try await ports(with: "Drums", "Voice", count: 0, on: stage).isEmpty)
    for program in [back, here] {
      program.signal(SIGINT)
      #expect(await program.status() == 0)
    }
    // The choice of channels is remembered.
    let again = try await tactus(on: stage, host: 2)
    let state = try await stage.run(on: 2, "cat", "/dev/shm/.lab/state-2/tactus/state.json5").output
    #expect(state.contains("\"receive\": {\"is\": [\"*/*\"]"))
    again.signal(SIGINT)
    #expect(await again.status() == 0)
  }

  @Test func `a peer that changes its name keeps its ports and their cables here`() async throws {
    let stage = try await LabStage("--hosts", "2")
    let there = try await tactus("--link-name=Rack", "--send=Drums", on: stage, host: 1)
    let here = try await tactus("--receive=*/*", on: stage, host: 2)
    let two = try await ports(with: "Rack_Drums", count: 2, on: stage)
    #expect(two == ["tactus:Rack_Drums_l", "tactus:Rack_Drums_r"])
    #expect(try await stage.run(on: 2, "jack_connect", two.first ?? "", "system:playback_1").status == 0)
    for name in ["Stage", "Cellar", "auto", "Rack"] {
      #expect(try await say("link/name", name, on: stage, host: 1))
      var told = ""
      let title = name == "auto" ? "  tactus@" : "  \(name)/Drums: "
      for _ in 0..<100 where !told.contains(title) {
        told = try await stage.run(on: 2, Lab.products + "/tactus", "status").output
        try await Task.sleep(for: .milliseconds(100))
      }
      #expect(told.contains(title), "\(told)")
      #expect(try await ports(with: "Drums", count: 2, on: stage) == two)
    }
    let cables = try await stage.run(on: 2, "jack_lsp", "-c", "playback_1")
    #expect(cables.output.contains("tactus:Rack_Drums_l"))
    for program in [there, here] {
      program.signal(SIGINT)
      #expect(await program.status() == 0)
    }
  }

  @Test func `five machines have each other's clicks at their ports, and play them`() async throws {
    let stage = try await LabStage("--hosts", "5")
    var programs: [ChildProcess] = []
    for host in 1...5 {
      programs.append(
        try await tactus(
          "--click", "--send=Click=tactus:click_1", "--receive=*/Click", "--link-audio-delay=1beat",
          on: stage, host: host))
    }
    for host in 1...5 {
      let names = try await ports(with: "Click_l", count: 4, on: stage, host: host)
      #expect(Set(names).count == 4)
      var told = ""
      for _ in 0..<100 where told.split(separator: "plays, 500 ms").count < 5 {
        told = try await stage.run(on: host, Lab.products + "/tactus", "status").output
        try await Task.sleep(for: .milliseconds(100))
      }
      #expect(told.split(separator: "plays, 500 ms").count == 5, "\(told)")
    }
    for program in programs { program.signal(SIGINT) }
    for program in programs { #expect(await program.status() == 0) }
  }

  @Test func `in session tracks-from-there each machine receives the other's channel`()
    async throws
  {
    let stage = try await LabStage("--hosts", "2")
    let sessions = [
      try await StartedSession("tracks-from-there", in: stage, host: 1),
      try await StartedSession("tracks-from-there", in: stage, host: 2),
    ]
    for host in 1...2 {
      // There are two ports to send, and two for the other machine's channel.
      #expect(try await ports(with: "Tracks", count: 4, on: stage, host: host).count == 4)
    }
    for session in sessions { #expect(await session.end() == 0) }
  }
}
