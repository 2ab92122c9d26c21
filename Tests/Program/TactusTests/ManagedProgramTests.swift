// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

/// The program under a session manager that is made with the library of real managers.
@Suite("Under a session manager", .serialized)
struct ManagedProgramTests {
  private func manage(
    _ stage: LabStage, _ home: ScratchFolder, _ greeting: String = "hello", host: String = "127.0.0.1"
  )
    throws -> ChildProcess
  {
    try ChildProcess(
      stage.command(
        [
          "env", "HOME=\(home.path)", "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "FAKE_HOST=\(host)",
          Lab.python, Lab.top + "/Tests/Control/ControlTests/TactusNSM/peers/fake_nsmd.py", greeting,
          "--", program,
        ]))
  }

  private func clients(_ stage: LabStage) async throws -> Set<String> {
    Set(
      try await stage.run("jack_lsp").output.split(separator: "\n").compactMap {
        $0.split(separator: ":").first.map(String.init)
      })
  }

  @Test
  func `tactus reports that it waits for a session manager that opens nothing`() async throws {
    let stage = try await LabStage()
    let mute = try manage(stage, try ScratchFolder())
    try await mute.awaitLine(beginning: "out: tactus: the session manager has not said what to open; waiting")
    #expect(try await clients(stage) == ["system"])
    mute.send("term")
    try await mute.awaitLine(beginning: "ended 0")
  }

  @Test
  func `a session manager's project is saved and opened with its connections`()
    async throws
  {
    let stage = try await LabStage()
    let home = try ScratchFolder()
    try home.write("{ meter: \"7/8\" }", to: ".config/tactus/config.json5")
    let first = try manage(stage, home)
    try await first.awaitLine(
      beginning: "/nsm/server/announce s:tactus s::dirty:message: s:tactus i:1 i:0 i:")
    try await first.awaitLine(beginning: "out: session manager: fake manager")
    // No JACK client exists before the manager's `open` message, which brings the client's name. An `open`
    // from another address has no effect.
    first.send("stranger /nsm/client/open \(home.path)/evil song evil")
    #expect(try await clients(stage) == ["system"])
    first.send("open \(home.project) song tactus.nABCD")
    try await first.awaitLine(beginning: "/reply s:/nsm/client/open s:ready")
    #expect(try await clients(stage) == ["system", "tactus.nABCD"])
    #expect(access(home.path + "/evil", F_OK) != 0)
    try await first.awaitLine(beginning: "/nsm/client/label s:No Links")

    #expect(try await stage.run("jack_connect", "tactus.nABCD:click_2", "system:playback_1").status == 0)
    _ = try await stage.run("oscsend", "127.0.0.1", "20809", "/tactus/tempo", "f", "133.0")
    try await first.awaitLine(beginning: "/nsm/client/is_dirty")
    first.send("stranger /nsm/client/save")
    try await Task.sleep(for: .milliseconds(700))
    first.send("save")
    try await first.awaitLine(beginning: "/reply s:/nsm/client/save s:saved")
    try await first.awaitLine(beginning: "/nsm/client/is_clean")
    // Changes after the last save are lost. tactus has reported them as unsaved.
    _ = try await stage.run("oscsend", "127.0.0.1", "20809", "/tactus/tempo", "f", "77.0")
    try await first.awaitLine(beginning: "/nsm/client/is_dirty")
    first.send("term")
    try await first.awaitLine(beginning: "ended 0")
    let saved = try home.text(of: "sessions/song/tactus.nABCD/config.json5")
    #expect(saved.contains("\n  tempo: 133,\n") && saved.contains("\n  meter: \"7/8\",\n"))
    #expect(!saved.contains("tactus.nABCD"))
    #expect(try await ChildProcess.run(["ls", home.path + "/.local"]).status != 0)

    // At the next start, another client's port appears late, and tactus connects it then.
    try home.write(
      "{ click_2: [\"system:playback_1\"], clock: [\"late:midi\"] }",
      to: "sessions/song/tactus.nABCD/connections.json5")
    let second = try manage(stage, home)
    try await second.awaitLine(beginning: "out: session manager")
    second.send("open \(home.project) song tactus.nABCD")
    try await second.awaitLine(beginning: "/reply s:/nsm/client/open s:ready")
    _ = try await stage.run("oscsend", "127.0.0.1", "20809", "/tactus/tempo", "f", "90.0")
    try await second.awaitLine(beginning: "/nsm/client/is_dirty")
    let cables = try await stage.cables(of: "tactus.nABCD:click_2") { $0.contains("system:playback_1") }
    #expect(cables.contains("system:playback_1"))
    // A connection to a missing port stays in the saved connections.
    second.send("save")
    try await second.awaitLine(beginning: "/reply s:/nsm/client/save s:saved")
    let connections = try home.text(of: "sessions/song/tactus.nABCD/connections.json5")
    #expect(connections.contains("\"clock\": [\"late:midi\"]"))
    second.send("loaded")
    try await second.awaitLine(beginning: "out: the session is loaded")
    second.send("term")
    try await second.awaitLine(beginning: "ended 0")
  }

  @Test
  func `a reopened project has its sent and received channels with connections`()
    async throws
  {
    let stage = try await LabStage()
    let home = try ScratchFolder()
    let cables = [
      ("system:capture_1", "tactus.nABCD:send_Drums_l"), ("tactus.nABCD:Studio_Keys_r", "system:playback_2"),
    ]
    func open() async throws -> ChildProcess {
      let manager = try manage(stage, home)
      try await manager.awaitLine(beginning: "out: session manager")
      manager.send("open \(home.project) song tactus.nABCD")
      try await manager.awaitLine(beginning: "/reply s:/nsm/client/open s:ready")
      return manager
    }
    func say(_ address: String, _ type: String, _ value: String) async throws {
      _ = try await stage.run("oscsend", "127.0.0.1", "20809", "/tactus/" + address, type, value)
    }
    func awaitPort(_ name: String) async throws {
      for _ in 0..<100 where try await !stage.run("jack_lsp").output.contains(name + "\n") {
        try await Task.sleep(for: .milliseconds(50))
      }
      #expect(try await stage.run("jack_lsp").output.contains(name + "\n"))
    }
    let first = try await open()
    #expect(try await clients(stage).contains("tactus.nABCD"))
    try await say("link/audio", "i", "1")
    try await say("audio/send", "s", "Drums")
    try await say("audio/send", "s", "Voice=mono")
    // No peer offers this channel, but its ports exist.
    try await say("audio/receive", "s", "Studio/Keys=1bar")
    for (from, to) in cables {
      try await awaitPort(from)
      try await awaitPort(to)
      #expect(try await stage.run("jack_connect", from, to).status == 0)
      _ = try await stage.cables(of: from) { $0.contains(to) }
    }
    first.send("save")
    try await first.awaitLine(beginning: "/reply s:/nsm/client/save s:saved")
    first.send("term")
    try await first.awaitLine(beginning: "ended 0")
    let saved = try home.text(of: "sessions/song/tactus.nABCD/config.json5")
    #expect(saved.contains("\"link-audio\": true") && saved.contains("Studio/Keys=1bar"), "\(saved)")

    let second = try await open()
    for (from, to) in cables {
      #expect(try await stage.cables(of: from) { $0.contains(to) }.contains(to))
    }
    try await awaitPort("tactus.nABCD:send_Voice")
    second.send("term")
    try await second.awaitLine(beginning: "ended 0")
  }

  @Test
  func `tactus runs on if a session manager refuses or does not answer`() async throws {
    let stage = try await LabStage()
    let home = try ScratchFolder()
    for (greeting, words) in [
      ("refuse", "out: tactus: the session manager refuses: not today; running without one"),
      ("silent", "out: tactus: the session manager does not answer; running without one"),
    ] {
      let manager = try manage(stage, home, greeting)
      try await manager.awaitLine(beginning: words)
      try await manager.awaitLine(beginning: "out: JACK server ")
      #expect(try await clients(stage).contains("tactus"))
      manager.send("term")
      try await manager.awaitLine(beginning: "ended 0")
    }
    let nonsense = try ChildProcess(stage.command(["env", "NSM_URL=http://example/", program, "--no-osc"]))
    try await nonsense.awaitLine(beginning: "JACK server ")
    #expect(nonsense.saidOnErrors.contains("NSM_URL is no session manager's address"))
    nonsense.signal(SIGTERM)
    #expect(await nonsense.status() == 0)
  }

  @Test
  func `a session manager's project that can't be opened gets a refusal`()
    async throws
  {
    let stage = try await LabStage()
    let home = try ScratchFolder()
    for (file, text, words) in [
      ("config.json5", "{ bmp: 120 }", "i:-9 s:\(home.project)/config.json5:1: unknown key \"bmp\""),
      (
        "config.json5", "{ \"beat-file\": \"/nowhere.wav\" }",
        "i:-1 s:the sound file \"/nowhere.wav\" can't be read"
      ),
      (
        "connections.json5", "{ clack: [] }", "i:-9 s:\(home.project)/connections.json5:1: tactus has no port"
      ),
    ] {
      try home.write("{}", to: "sessions/song/tactus.nABCD/config.json5")
      try home.write(text, to: "sessions/song/tactus.nABCD/" + file)
      let manager = try manage(stage, home)
      try await manager.awaitLine(beginning: "out: session manager")
      manager.send("open relative/path song tactus.nABCD")
      try await manager.awaitLine(
        beginning: "/error s:/nsm/client/open i:-9 s:the project's path must be absolute")
      manager.send("open \(home.project) song tactus.nABCD")
      try await manager.awaitLine(beginning: "/error s:/nsm/client/open " + words)
      try await manager.awaitLine(beginning: "ended 2")
      // The invalid file is left as it is, so that the user can repair it.
      #expect(try home.text(of: "sessions/song/tactus.nABCD/" + file) == text)
    }
    // The manager also gets the reason in two more cases: a file stands in the place of the folder, or no
    // JACK server runs.
    try home.write("", to: "sessions/song/file")
    let blocked = try manage(stage, home)
    try await blocked.awaitLine(beginning: "out: session manager")
    blocked.send("open \(home.path)/sessions/song/file song tactus.nABCD")
    try await blocked.awaitLine(beginning: "/error s:/nsm/client/open i:-10 s:")
    try await blocked.awaitLine(beginning: "ended 2")
    let silent = try await LabStage("--no-server")
    let serverless = try manage(silent, home, host: "localhost")
    try await serverless.awaitLine(beginning: "out: session manager")
    serverless.send("open \(home.path)/sessions/song/fresh song tactus.nABCD")
    try await serverless.awaitLine(beginning: "/error s:/nsm/client/open i:-1 s:no JACK server")
    try await serverless.awaitLine(beginning: "ended 69")
  }
}

extension ScratchFolder {
  /// The path of tactus's folder in the session "song", if this scratch folder is the user's home.
  fileprivate var project: String { path + "/sessions/song/tactus.nABCD" }
}
