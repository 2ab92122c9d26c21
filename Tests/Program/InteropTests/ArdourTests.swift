// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

private let hasArdour = access("/usr/lib/ardour7", F_OK) == 0

/// Ardour with its windows, as the start scripts in the folder `sessions` open it. It is judged by the sound
/// of its own click; its buttons are pressed over OSC.
@Suite(
  .serialized, .enabled(if: hasArdour, "needs Ardour 7, which tools/lab prepare installs from Debian 12"))
struct ArdourTests {
  /// The buttons of Ardour that these tests press.
  private enum Button: String {
    case play = "/transport_play"
    case stop = "/transport_stop"
  }

  private enum Player: CaseIterable {
    case tablet, ardour

    func press(_ button: Button, _ tablet: LabPeer, in stage: LabStage) async throws {
      switch self {
      case .tablet: try await tablet.ask(button == .play ? "play" : "stop")
      case .ardour: #expect(try await stage.run("oscsend", "localhost", "3819", button.rawValue).status == 0)
      }
    }
  }

  /// The preferences that the start scripts give a new user, plus Ardour's click and OSC, which these tests
  /// need. The file `instant.xml` suppresses Ardour's warning about memory limits, which appears on systems
  /// that have such limits.
  static func preferences(following master: String = "JACK Transport") async throws -> [String: String] {
    let made = try await ChildProcess.run([
      "sh", "-c",
      """
      sed -n '/^<?xml/,/^<.Ardour>/p' "$1" | sed \\
        -e 's|<Config>|&<Option name="clicking" value="1"/>|' -e 's|\\$(rate)|48000|' -e 's|\\$backend|JACK|' \\
        -e "s|current=\\"JACK Transport|current=\\"$2|" \\
        -e 's|<TransportMasters|<ControlProtocols>\\
          <Protocol name="Open Sound Control (OSC)" active="1"/></ControlProtocols>&|'
      """, "sh", Lab.top + "/sessions/session.sh", master,
    ])
    #expect(made.output.contains("</Ardour>"), "\(made.errors)")
    return [
      ".config/ardour7/.a7": "", ".config/ardour7/config": made.output,
      ".config/ardour7/instant.xml": memoryWarning,
    ]
  }
  private static let memoryWarning = "<instant><no-memory-warning/></instant>"

  private func tablet(_ stage: LabStage) async throws -> LabPeer {
    let tablet = try LabPeer(.reference, in: stage)
    try await tablet.ask("enable on")
    try await tablet.ask("sync on")
    return tablet
  }

  @Test
  func `Ardour follows: its start is on the bar, its click on the beat`()
    async throws
  {
    // Ardour becomes timebase master while it loads, and the session's script makes tactus the master again.
    let (session, transport) = try await open(
      "ardour-follower", at: 101, showing: 120, files: Self.preferences())
    let stage = session.stage
    try await transport.wait("tempo", "101", seconds: 60)
    let tablet = try await tablet(stage)
    let ears = try await Ears("ardour:Click/audio_out 1", in: stage)
    try await tablet.wait("peers", "2")
    try await tablet.ask("tempo 120")
    try await transport.wait("tempo", "120")
    try await transport.ask("count")
    for player in Player.allCases {
      let (clicks, bars, slower) = try await Interop.undisturbed(in: stage) {
        // At the song's beginning, a start begins in the cycle nearest to its beat. From bar 2 on, a start
        // can be exact to the frame.
        try await transport.ask("locate 96000")
        try await player.press(.play, tablet, in: stage)
        let clicks = try await ears.listen(forIntervals: 6)
        try await tablet.wait("playing", "true")
        let bars = try await barDistance(transport, tablet, framesPerBeat: 24_000)
        var slower: [Ears.Event]?
        if player == .tablet {
          // Ardour reads no tempo from JACK. The other clients see the session's tempo, and no change of
          // tempo relocates Ardour.
          let relocations = try await transport.ask("status")["relocations"]?.number
          try await tablet.ask("tempo 97")
          try await transport.wait("tempo", "97")
          slower = try await ears.listen(forIntervals: 4)
          #expect(try await transport.ask("status")["relocations"]?.number == relocations)
        }
        try await player.press(.stop, tablet, in: stage)
        try await transport.wait("playing", "false")
        try await tablet.wait("playing", "false")
        #expect(try await ears.receiveSilence(within: 20))
        try await tablet.ask("tempo 120")
        try await transport.wait("tempo", "120")
        return (clicks, bars, slower)
      }
      #expect(abs(clicks.interval - 500) < 0.1, "\(clicks.interval)")
      #expect(abs(clicks.lateness) < 3, "\(clicks.map(\.late))")
      #expect(abs(bars) < 0.05)
      if let slower { #expect(abs(slower.interval - 500) < 20, "\(slower.interval)") }
      print("Ardour, started by \(player): click \(clicks.lateness) ms after the beat, \(clicks.count)")
    }
    #expect(await session.end() == 0)
  }

  /// Starts the session with Ardour loaded: as timebase master Ardour shows its own tempo, and it listens to
  /// OSC if its preferences say so. While Ardour loads, two of its threads call the JACK server over one
  /// socket. If one thread interrupts the other, jackd reads a damaged request ("Unknown request") and throws
  /// Ardour out. In that case this function starts the session and Ardour once more.
  private func open(
    _ name: String, at tempo: Int, showing ardours: Int, files: [String: String]
  ) async throws -> (StartedSession, transport: LabPeer) {
    for _ in 1...6 {
      let stage = try await LabStage()
      let session = try await StartedSession(name, options: ["--tempo=\(tempo)"], in: stage, files: files)
      let transport = try LabPeer(.jack, in: stage)
      let hasButtons = files.values.contains { $0.contains("Open Sound Control") }
      if try await hasLoaded(session, transport, showing: ardours, hasButtons: hasButtons) {
        return (session, transport)
      }
      _ = await session.end()
      await transport.kill()
    }
    throw ChildProcess.Failure.ended(status: 1, errors: "JACK throws Ardour out each time it loads")
  }

  /// Waits until Ardour has loaded. Returns false if JACK has thrown Ardour out.
  private func hasLoaded(
    _ session: StartedSession, _ transport: LabPeer, showing tempo: Int, hasButtons: Bool
  ) async throws -> Bool {
    let log = session.home + "/.local/state/tactus/*.log"
    func isOut() async throws -> Bool {
      try await session.stage.run("sh", "-c", "grep -qs 'JACK HALTED' \(log)").status == 0
    }
    for _ in 1...80 where try await !isOut() {
      guard (try? await transport.wait("tempo", "\(tempo)", seconds: 0.5)) != nil else { continue }
      if hasButtons { try await awaitButtons(in: session.stage, or: log) }
      return try await !isOut()
    }
    if try await isOut() { return false }
    let said = try await session.stage.run(
      "sh", "-c", "DISPLAY=:0 xdotool search --onlyvisible --name . getwindowname %@; tail -n 5 \(log)")
    throw ChildProcess.Failure.ended(status: 1, errors: "\(said.output) \(said.errors)")
  }

  /// Waits until Ardour listens to OSC, or its log says that it was thrown out.
  private func awaitButtons(in stage: LabStage, or log: String) async throws {
    let done = try await stage.run(
      "sh", "-c",
      """
      for i in $(seq 300); do
        grep -q :0EEB /proc/net/udp && exit 0; grep -qs 'JACK HALTED' \(log) && exit 0; sleep 0.1
      done; exit 1
      """)
    #expect(done.status == 0)
    try await Task.sleep(for: .seconds(1))
  }

  /// The distance in beats between Ardour's bars and the session's bars. Ardour counts its bars from frame 0,
  /// and a bar sounds when JACK shows its frame. The result is the median of nine readings, because the test
  /// may be interrupted between reading the frame and its time.
  private func barDistance(_ transport: LabPeer, _ tablet: LabPeer, framesPerBeat: Double) async throws
    -> Double
  {
    var distances: [Double] = []
    for _ in 1...9 {
      let shown = try await transport.ask("status")
      let time = Int64(shown["time"]?.number ?? 0)
      let session = try await PeerStatus(tablet.ask("beat \(time)"))
      distances.append(Interop.distance((shown["frame"]?.number ?? .nan) / framesPerBeat, session.phase))
    }
    return distances.sorted()[distances.count / 2]
  }

  @Test func `Ardour leads: the session has the tempo, its beats and its bars`() async throws {
    let map = try await ChildProcess.run([
      "sed", "-e", "s/@RATE@/48000/", "-e", "s/npm=\"120\" enpm=\"120\"/npm=\"150\" enpm=\"150\"/",
      Lab.top + "/sessions/ardour-leader/ardour-leader.ardour",
    ])
    let own = ".local/share/tactus/sessions/ardour-leader/ardour-leader.ardour"
    let (session, transport) = try await open(
      "ardour-leader", at: 98, showing: 150, files: Self.preferences().merging([own: map.output]) { $1 })
    let stage = session.stage
    let tablet = try await tablet(stage)
    let ears = try await Ears("ardour:Click/audio_out 1", in: stage)
    try await tablet.wait("peers", "2")
    // A lost cycle moves Ardour's beat. While the session has other peers, the session's beat does not follow
    // such a move.
    let (clicks, bars) = try await Interop.undisturbed(in: stage) {
      try await Player.ardour.press(.play, tablet, in: stage)
      try await tablet.wait("playing", "true", seconds: 30)
      try await tablet.wait("tempo", "150", seconds: 40)
      let clicks = try await ears.listen(forIntervals: 8)
      let bars = try await barDistance(transport, tablet, framesPerBeat: 19_200)
      try await Player.ardour.press(.stop, tablet, in: stage)
      try await tablet.wait("playing", "false")
      #expect(try await ears.receiveSilence(within: 20))
      return (clicks, bars)
    }
    #expect(abs(clicks.interval - 400) < 0.1, "\(clicks.interval)")
    #expect(abs(clicks.lateness) < 3, "\(clicks.map(\.late))")
    #expect(abs(bars) < 0.05)
    print("Ardour leading: its click \(clicks.lateness) ms after the beat, median of \(clicks.count)")
    // A start from another Link peer, such as a tablet, makes Ardour roll, too.
    try await tablet.ask("play")
    #expect(try await ears.listen(for: .seconds(2), fromTheFirstWithin: 30).count >= 3)
    #expect(await session.end() == 0)
  }

  @Test func `Ardour opens without a question for a first-time user`() async throws {
    let (session, transport) = try await open(
      "ardour-leader", at: 98, showing: 120, files: [".config/ardour7/instant.xml": Self.memoryWarning])
    let ports = try await session.stage.run("jack_lsp", "-c", "ardour:Master/audio_out 1").output
    #expect(ports.contains("system:playback_1"), "\(ports)")
    try await transport.wait("bbt", "true", seconds: 15)
    #expect(await session.end() == 0)
  }
}
