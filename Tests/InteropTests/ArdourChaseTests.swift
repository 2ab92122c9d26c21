// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TestSupport
import Testing

private let hasArdour = access("/usr/lib/ardour7", F_OK) == 0

/// Ardour that follows our timecode and not JACK's transport, heard by its own click. Not our MIDI clock: docs/midi.md says why.
@Suite(
  .serialized, .enabled(if: hasArdour, "needs Ardour 7, which tools/lab prepare installs from Debian 12"))
struct ArdourChaseTests {
  enum Timecode: String, CaseIterable {
    case ltc, mtc

    /// As Ardour calls it, and its port.
    var name: String { rawValue.uppercased() }
  }

  /// A session that chases this timecode as soon as somebody presses its button. Opened with the button in, Ardour reads nothing
  /// until it is pressed out and in again.
  private static func files(_ timecode: Timecode) async throws -> [String: String] {
    let session = try await ChildProcess.run([
      "sed", "-e", "s/@RATE@/48000/", "-e", "/jack-time-master\\|external-sync/s/value=\"1\"/value=\"0\"/",
      Lab.top + "/sessions/ardour-follower/ardour-follower.ardour",
    ])
    let own = ".local/share/tactus/sessions/ardour-follower/ardour-follower.ardour"
    return try await ArdourTests.preferences(following: timecode.name).merging([own: session.output]) { $1 }
  }

  /// JACK throws Ardour out where two of its threads ask at once while it loads (`ArdourTests`): then again.
  private func open(_ timecode: Timecode) async throws -> (StartedSession, Ears) {
    let isThere = """
      for i in $(seq 900); do
        grep -qs 'JACK HALTED' "$1"/*.log && exit 3; grep -qs 'could not initialize' "$1"/*.log && exit 4
        grep -q :0EEB /proc/net/udp && jack_lsp | grep -qx 'ardour:Click/audio_out 1' && break; sleep 0.1
      done
      sleep 1
      """
    for _ in 1...6 {
      let stage = try await LabStage()
      let session = try await StartedSession(
        "ardour-follower",
        options: [
          "--tempo=120", "--jack-offset=0", "--no-click", "--count-in=0", "--launch-align=nearest",
          "--out=sync=\(timecode) fps=30", "--connect=out/sync=ardour:\(timecode.name) in",
        ], in: stage, files: try await Self.files(timecode))
      let log = session.home + "/.local/state/tactus"
      let opened = try await ChildProcess.run(
        stage.command(["sh", "-c", isThere, "sh", log]), within: .seconds(180))
      if opened.status == 0 {
        let ears = try await Ears("ardour:Click/audio_out 1", in: stage)
        let wanted: Set = ["ardour:\(timecode.name) in"]
        if try await stage.cables(of: "tactus:sync", until: { $0 == wanted }) == wanted {
          return (session, ears)
        }
      } else if opened.status != 3 {
        let said = try await stage.run("sh", "-c", "tail -n 5 \(log)/*.log").output
        throw ChildProcess.Failure.ended(status: opened.status, errors: "Ardour does not open: \(said)")
      }
      _ = await session.end()
    }
    throw ChildProcess.Failure.ended(status: 1, errors: "JACK throws Ardour out each time it loads")
  }

  /// Its sync button in, and if it reads nothing, out and in again.
  private func follow(_ ears: Ears, in stage: LabStage) async throws {
    for round in 1...8 {
      for _ in 1...(round == 1 ? 1 : 2) {
        let sent = try await stage.run(
          "oscsend", "localhost", "3819", "/access_action", "s", "Transport/ToggleExternalSync")
        #expect(sent.status == 0, "\(sent.errors)")
        try await Task.sleep(for: .seconds(1))
      }
      for _ in 1...4 {
        guard try await ears.listen(for: .seconds(2)).isEmpty else { return }
      }
    }
    // On a full machine it may never begin to read. That ours can be read, libltc (TimecodeTests) and xjadeo (VideoTests) show.
    try unjudged("Ardour began to read no timecode")
  }

  @Test(arguments: Timecode.allCases)
  func `Ardour follows our timecode through changes of tempo and locates`(timecode: Timecode) async throws {
    let (session, ears) = try await open(timecode)
    let stage = session.stage
    let transport = try LabPeer(.jack, in: stage)
    try await transport.ask("play")
    try await transport.wait("playing", "true")
    try await follow(ears, in: stage)
    // Where it stayed elsewhere its clicks would be elsewhere, too: no locate goes as far as to a click.
    for step in ["", "tempo 97", "locate 1449600", "locate 484800"] {
      let late = try await Interop.undisturbed(in: stage) {
        if step.hasPrefix("tempo") {
          ears.say(step)
          try await transport.wait("tempo", String(step.dropFirst(6)))
        } else if !step.isEmpty {
          try await transport.ask(step)
        }
        // It comes nearer for some seconds.
        try await Task.sleep(for: .seconds(4))
        return try await ears.listen(forIntervals: 8).behind(transport, clickingEach: 500)
      }
      let middle = Interop.median(late)
      // A third of a frame.
      #expect(abs(middle) < 11, "\(step): \(late)")
      print(
        "Ardour on \(timecode)\(step.isEmpty ? "" : ", after \(step)"): \(middle) ms behind, "
          + "\(late.min() ?? .nan) to \(late.max() ?? .nan), \(late.count) clicks")
    }
    try await transport.ask("stop")
    #expect(try await ears.hearSilence(within: 20))
    #expect(await session.end() == 0)
  }
}
