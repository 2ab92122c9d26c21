// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

private let luaSession = "/usr/bin/ardour7-lua"

/// Ardour without its windows. It follows our timecode instead of JACK's transport, and is judged by the
/// sound of its own click. Our MIDI clock is not tested: docs/midi.md says why.
@Suite(
  .serialized,
  .enabled(
    if: access(luaSession, X_OK) == 0, "needs Ardour 7, which tools/lab prepare installs from Debian 12"))
struct ArdourChaseTests {
  enum Timecode: String, CaseIterable {
    case ltc, mtc

    /// Ardour's name for the timecode, and for the timecode's port.
    var name: String { rawValue.uppercased() }
  }

  private static let script = """
    AudioEngine:set_backend ("JACK", "ardour", "")
    local session = load_session (arg[1], "ardour-follower")
    ARDOUR.config ():set_clicking (true)
    session:cfg ():set_external_sync (true)
    if not AudioEngine:running () then os.exit (3) end
    print ("it follows")
    io.flush ()
    for _ in io.lines () do
      print (session:transport_sample ())
      io.flush ()
    end
    close_session ()
    """

  /// Opens Ardour, and opens it again if JACK throws it out: while Ardour loads, two of its threads may call
  /// JACK at once (see `ArdourTests`).
  private func open(_ timecode: Timecode, in folder: ScratchFolder, on stage: LabStage) async throws
    -> ChildProcess
  {
    let session = try await ChildProcess.run([
      "sed", "-e", "s/@RATE@/48000/", "-e", "/jack-time-master/s/value=\"1\"/value=\"0\"/",
      Lab.top + "/sessions/ardour-follower/ardour-follower.ardour",
    ])
    try folder.write(session.output, to: "ardour-follower.ardour")
    let preferences = try #require(
      try await ArdourTests.preferences(following: timecode.name)[".config/ardour7/config"])
    try folder.write(preferences, to: "ardour7/config")
    try folder.write(Self.script, to: "follow.lua")
    for _ in 1...8 {
      let ardour = try ChildProcess(
        stage.command([
          "env", "HOME=" + folder.path, "XDG_CONFIG_HOME=" + folder.path, luaSession,
          folder.path + "/follow.lua",
          folder.path,
        ]))
      do {
        try await ardour.awaitLine(beginning: "it follows")
        return ardour
      } catch { ardour.signal(SIGKILL) }
    }
    throw ChildProcess.Failure.ended(status: 1, errors: "JACK throws Ardour out each time it loads")
  }

  /// The timecode has 25 fps: Ardour reads LTC only if its rate differs from that of Ardour's session, 30
  /// fps.
  @Test(arguments: Timecode.allCases)
  func `Ardour follows our timecode through changes of tempo and locates`(timecode: Timecode) async throws {
    let stage = try await LabStage()
    let tactus = try ChildProcess(
      stage.command([
        Lab.products + "/tactus", "--tempo=120", "--no-click", "--out=sync=\(timecode) fps=25",
        "--connect=out/sync=ardour:\(timecode.name) in",
      ]))
    try await tactus.awaitLine(beginning: "OSC: ")
    let folder = try ScratchFolder()
    let ardour = try await open(timecode, in: folder, on: stage)
    let ears = try await Ears("ardour:Click/audio_out 1", in: stage)
    let transport = try LabPeer(.jack, in: stage)
    try await transport.ask("play")
    try await transport.wait("playing", "true")
    // Each locate goes to a position between two clicks. If Ardour did not follow, its clicks would
    // be off the beat.
    for step in ["", "tempo 97", "locate 1449600", "locate 484800"] {
      let late = try await Interop.undisturbed(in: stage) {
        if step.hasPrefix("tempo") {
          ears.say(step)
          try await transport.wait("tempo", String(step.dropFirst(6)))
        } else if !step.isEmpty {
          try await transport.ask(step)
        }
        // Ardour needs some seconds to reach the new position.
        try await Task.sleep(for: .seconds(4))
        return try await ears.listen(forIntervals: 8).behind(transport, clickingEach: 500)
      }
      // If Ardour were off by half a second, its clicks would still be on the beat, so check its frame, too.
      let frame = try #require(await transport.ask("status")["frame"]?.number)
      let place = try await place(of: ardour)
      #expect(abs(place - frame) < 12_000, "\(place), \(frame)")
      let middle = Interop.median(late)
      #expect(abs(middle) < 3, "\(step): \(late)")
      print(
        "Ardour on \(timecode)\(step.isEmpty ? "" : ", after \(step)"): \(middle) ms behind, "
          + "\(late.min() ?? .nan) to \(late.max() ?? .nan), \(late.count) clicks")
    }
    try await transport.ask("stop")
    #expect(try await ears.receiveSilence(within: 20))
    ardour.closeInput()
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
  }

  /// Asks Ardour for its frame, and skips the other lines that Ardour prints.
  private func place(of ardour: ChildProcess) async throws -> Double {
    ardour.send("where")
    while let line = try await ardour.line(within: .seconds(20)) {
      if let place = Double(line) { return place }
    }
    throw ChildProcess.Failure.ended(status: await ardour.status(), errors: ardour.saidOnErrors)
  }
}
