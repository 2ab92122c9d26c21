// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

private let hasSequencer =
  access("/usr/lib/lv2/stepseq_s8n8.lv2", F_OK) == 0 && access("/usr/bin/jalv", X_OK) == 0

/// A plugin that follows JACK's transport through its host: x42's step sequencer in jalv.
@Suite struct PluginHostTests {
  @Test(.enabled(if: hasSequencer, "needs jalv and x42-plugins, which tools/lab prepare installs"))
  func `a step sequencer in jalv plays on our beats, also at a new tempo`() async throws {
    let stage = try await LabStage()
    let program = try ChildProcess(
      stage.command([Lab.products + "/tactus", "--startstop", "--launch-align=exact"]))
    try await program.awaitLine(beginning: "OSC: ")
    let tablet = try LabPeer(.reference, in: stage)
    let transport = try LabPeer(.jack, in: stage)
    try await tablet.ask("enable on")
    try await tablet.ask("sync on")
    try await tablet.wait("peers", "1")
    // The sequencer has eight steps of a quarter each, which alternate between two notes, because successive
    // steps with the same note would merge into a long note. The sequencer must play at JACK's tempo, not at
    // its own.
    let steps = (1...8).flatMap { ["-c", "grid_\($0)_\(1 + $0 % 2)=100"] }
    let jalv = try ChildProcess(
      stage.command(
        ["jalv", "-n", "steps", "-c", "sync=1", "-c", "div=3", "-c", "bpm=70"] + steps
          + ["http://gareus.org/oss/lv2/stepseq#s8n8"]))
    let ears = try await Ears("steps:midiout", in: stage)
    for (tempo, isStart) in [(120.0, true), (97, false), (151, false)] {
      try await tablet.ask("tempo \(tempo)")
      try await transport.wait("tempo", "\(tempo)")
      let notes = try await Interop.undisturbed(in: stage) {
        if isStart {
          try await tablet.ask("stop")
          try await transport.wait("playing", "false")
          try await transport.ask("locate 0")
          try await tablet.ask("play")
          try await transport.wait("playing", "true")
        }
        return try await ears.listen(for: .seconds(8)).filter { $0.bytes?.hasPrefix("9") == true }
      }
      #expect(notes.count > 8, "\(notes.count)")
      let interval = Interop.median(zip(notes, notes.dropFirst()).map { ($1.frame - $0.frame) / 48 })
      let lateness = Interop.median(notes.map { ($0.beat - $0.beat.rounded()) * 60_000 / tempo })
      print(
        "jalv at \(tempo) BPM: notes \(lateness) ms after the beat, every \(interval) ms, median of \(notes.count)"
      )
      #expect(abs(interval - 60_000 / tempo) < 0.5, "\(interval)")
      #expect(abs(lateness) < 3, "\(notes.map(\.beat))")
    }
    try await tablet.ask("stop")
    jalv.signal(SIGTERM)
    program.signal(SIGTERM)
    #expect(await program.status() == 0)
  }
}
