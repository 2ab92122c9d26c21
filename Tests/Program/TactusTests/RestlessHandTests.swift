// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

/// Programs that send far more requests than people do. Each test has a stage of its own.
@Suite("Hands that never rest")
struct RestlessHandTests {
  @Test(arguments: ["now", "bar"])
  func `a transport started and stopped 200 times a second ends as last asked`(
    launch: String
  ) async throws {
    let stage = try await LabStage()
    let tactus = try ChildProcess(
      stage.command([program, "--startstop", "--launch=\(launch)", "--click"]))
    try await tactus.awaitLine(beginning: "OSC: ")
    let peer = try LabPeer(.reference, in: stage)
    try await peer.ask("enable on")
    try await peer.ask("sync on")
    let time = try await peer.wait("peers", "1").time
    // The sessions of the two programs may have the same age, so that none has joined the other yet. A common
    // tempo shows that they have joined.
    try await peer.ask("tempo 300")
    try await peer.wait("tempo", "300")
    func beat() async throws -> Double { try await peer.ask("beat \(time)")["beat"]?.number ?? .nan }
    let before = try await beat()
    let transport = try LabPeer(.jack, in: stage)
    for (flips, isPlaying) in [(301, true), (300, false), (151, true)] {
      try await transport.ask("flip \(flips) 200")
      try await transport.wait("playing", "\(isPlaying)")
      try await peer.wait("playing", "\(isPlaying)")
      // Check that the state stays.
      try await Task.sleep(for: .milliseconds(300))
      #expect(try await transport.status().isPlaying == isPlaying)
      #expect(try await peer.status().isPlaying == isPlaying)
      #expect(abs(try await beat() - before) < 0.01)
    }
    #expect(try await transport.status().tempo == 300)
    #expect(try await stage.run("jack_lsp").output.contains("tactus:click_1"))
    #expect(try await stage.run(program, "status", "--json").output.contains("\"jack/connected\": true"))
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
  }

  /// It does not matter whether the last start or the last stop wins, but in the end all programs must agree
  /// on it, and stay so.
  @Test(arguments: ["now", "bar"])
  func `incessant starts and stops by three programs end in one state`(launch: String)
    async throws
  {
    let stage = try await LabStage()
    let tactus = try ChildProcess(
      stage.command([program, "--startstop", "--launch=\(launch)", "--tempo=300"]))
    try await tactus.awaitLine(beginning: "OSC: ")
    let peers = [try LabPeer(.reference, in: stage), try LabPeer(.linkhut, in: stage)]
    for peer in peers {
      try await peer.ask("enable on")
      try await peer.ask("sync on")
    }
    for peer in peers { try await peer.wait("peers", "2") }
    let transport = try LabPeer(.jack, in: stage)
    for (flips, words) in [
      (201, ["play", "stop"]), (200, ["stop", "play"]), (151, ["play"]), (150, ["stop"]),
    ] {
      let hand = Task { try await transport.ask("flip \(flips) 50") }
      for turn in 0..<60 {
        // LinkHut refuses a play or stop if another program has just played or stopped the session.
        _ = try? await peers[turn % 2].ask(words[turn / 2 % words.count])
        try await Task.sleep(for: .milliseconds(7 * (turn % 9)))
      }
      _ = try await hand.value
      func states() async throws -> [Bool?] {
        [
          try await transport.status().isPlaying, try await peers[0].status().isPlaying,
          try await peers[1].status().isPlaying,
        ]
      }
      // A start may have to wait for the bar, or for the server's slow clients.
      var lasted = 0
      for _ in 0..<100 where lasted < 10 {
        lasted = Set(try await states()).count == 1 ? lasted + 1 : 0
        try await Task.sleep(for: .milliseconds(50))
      }
      let ending = try await states()
      #expect(lasted == 10, "\(flips) flips: \(ending)")
    }
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
  }

  /// The states of jackd in which the test kills it. The process id of jackd is in the file /dev/shm/jackd of
  /// the lab.
  private enum Scene: String, CaseIterable {
    case rest = "true"
    case rolling = "$1 send launch now && $1 send start"
    case heldStart = "$1 send launch bar && $1 send quantum 64 && $1 send start"
    case waitingStop =
      "$1 send quantum 64 && $1 send launch now && $1 send stop/when bar && $1 send start && $1 send stop"
    case freewheel = "jack_freewheel -s stage y || true"
    case hanging = "kill -STOP $(cat /dev/shm/jackd)"
  }

  @Test
  func `tactus returns to a jackd that restarts with another sample rate`()
    async throws
  {
    let stage = try await LabStage("--no-server")
    func shell(_ script: String) async throws -> ChildProcess.Finished {
      try await ChildProcess.run(stage.command(["sh", "-c", script, "sh", program]))
    }
    func jackd(_ rate: Int, _ period: Int) throws -> ChildProcess {
      let options = "--no-realtime -n stage -d dummy -r \(rate) -p \(period)"
      let script = "echo $$ >/dev/shm/jackd; exec jackd \(options) >/dev/null 2>&1"
      return try ChildProcess(stage.command(["sh", "-c", script]))
    }
    let forms = [(44_100, 128), (48_000, 1024), (96_000, 512), (192_000, 2048)]
    var server = try jackd(48_000, 256)
    let tactus = try ChildProcess(
      stage.command([program, "--wait", "--server=stage", "--tempo=240", "--click", "--no-link"]))
    try await tactus.awaitLine(beginning: "OSC: ")
    for round in 0..<20 {
      let scene = Scene.allCases[round % Scene.allCases.count]
      let (rate, period) = forms[round % forms.count]
      let set = try await shell(scene.rawValue)
      #expect(set.status == 0, "\(scene): \(set)")
      #expect(try await shell("kill -KILL $(cat /dev/shm/jackd)").status == 0)
      await server.status()
      server = try jackd(rate, period)
      try await tactus.awaitLine(beginning: "back on JACK server")
      let isThere = """
        for i in $(seq 100); do
          $1 status --json | grep '"jack/connected": true' && exit; sleep 0.05
        done; exit 1
        """
      let told = try await shell(isThere)
      #expect(told.status == 0, "\(scene), \(rate) Hz")
      #expect(
        told.output.contains("\"tempo\": 240") && told.output.contains("\"jack/rolling\": false"),
        "\(scene), \(rate) Hz: \(told)")
    }
    #expect(try await shell("jack_lsp -s stage").output.contains("tactus:click_1"))
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
    server.signal(SIGTERM)
  }

  /// A JACK client that sends 20,000 meaningless messages a second, and among them a key that is pressed 144
  /// times a minute.
  private let keyInAFlood = """
    import jack, sys
    client = jack.Client("flood", no_start_server=True)
    out = client.midi_outports.register("out")
    place = 0
    @client.set_process_callback
    def play(frames):
        global place
        out.clear_buffer()
        count = 20000 * frames // client.samplerate
        for index in range(count):
            at = index * frames // count
            if place + at <= (place // 20000 + 1) * 20000 < place + (index + 1) * frames // count:
                out.write_midi_event((place // 20000 + 1) * 20000 - place, (0x90, 60, 100))
            else:
                out.write_midi_event(at, (0x80, index % 59, 0))
        place += frames
    with client:
        print("plays", flush=True)
        sys.stdin.read()
    """

  @Test
  func `a key is learned from a flood of MIDI, and losses are reported`()
    async throws
  {
    let stage = try await LabStage()
    let tactus = try ChildProcess(stage.command([program]))
    try await tactus.awaitLine(beginning: "OSC: ")
    #expect(try await stage.run(program, "send", "midi/learn", "tempo/tap").status == 0)
    let flood = try ChildProcess(
      stage.command([Lab.python, "-c", keyInAFlood]))
    try await flood.awaitLine(beginning: "plays")
    #expect(try await stage.run("jack_connect", "flood:out", "tactus:control").status == 0)
    try await tactus.awaitLine(
      beginning: "MIDI and keys: too many messages at once", "MIDI: learned note 60 ch 1 = tempo/tap")
    var tempo = ""
    for _ in 0..<100 where Double(tempo).map({ abs($0 - 144) > 0.01 }) ?? true {
      // During the flood, tactus always answers OSC commands.
      let told = try await stage.run(program, "send", "tempo")
      #expect(told.status == 0, "\(told)")
      tempo = told.output.split(separator: "\n").first.map(String.init) ?? ""
      try await Task.sleep(for: .milliseconds(100))
    }
    #expect(Double(tempo).map { abs($0 - 144) <= 0.01 } == true, "\(tempo)")
    flood.closeInput()
    let forgotten = try await stage.run(program, "send", "midi/forget", "tap")
    #expect(forgotten.status == 0 && forgotten.output == "tap is forgotten\n", "\(forgotten)")
    let again = try await stage.run(program, "send", "midi/forget", "all")
    #expect(again.status == 1 && again.output == "", "\(again)")
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
  }

  /// Packets that take tactus long, as `tools/bench osc` found with the release build.
  @Test(arguments: ["query", "xx/" + String(repeating: "quantum", count: 33)])
  func `a flood of expensive OSC packets blocks neither pings nor the end`(path: String)
    async throws
  {
    let stage = try await LabStage()
    let tactus = try ChildProcess(stage.command([program]))
    try await tactus.awaitLine(beginning: "OSC: ")
    let enemy = try LabPeer(.controller, in: stage)
    let tablet = try LabPeer(.controller, in: stage)
    #expect(try await tablet.ask("ping")["ms"]?.number ?? -1 > 0)
    try await enemy.ask("flood 200 \(path)")
    for _ in 0..<20 { #expect(try await tablet.ask("ping")["ms"]?.number ?? -1 > 0) }
    let start = ContinuousClock.now
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
    #expect(ContinuousClock.now - start < .seconds(6))
    try await enemy.quit()
  }
}
