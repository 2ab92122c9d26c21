// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

/// The program with a MIDI client at its port `control`, and LinkHut in the same session.
@Suite("The program, controlled by MIDI", .serialized)
struct MIDIProgramTests {
  private func link(_ stage: LabStage) async throws -> LabPeer {
    let linkhut = try LabPeer(.linkhut, in: stage)
    try await linkhut.ask("enable on")
    try await linkhut.wait("peers", "1")
    return linkhut
  }

  @Test
  func `a learned MIDI key taps the tempo, also after a restart of tactus`()
    async throws
  {
    let stage = try await LabStage()
    let tactus = try ChildProcess(stage.command([program]))
    try await tactus.awaitLine(beginning: "OSC: ")
    let linkhut = try await link(stage)
    // The key is pressed every 20,000 frames, which is 144 times a minute.
    let keys = try ChildProcess(stage.command(["jack_midiseq", "keys", "20000", "0", "60", "4000"]))
    defer { keys.signal(SIGKILL) }
    try await connect("keys:out", in: stage)
    let sent = try await stage.run("oscsend", "localhost", "20809", "/tactus/midi/learn", "s", "tempo/tap")
    #expect(sent.status == 0)
    try await tactus.awaitLine(beginning: "MIDI: learned note 60 ch 1 = tempo/tap")
    try await linkhut.wait("tempo", "144", seconds: 30)
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
    // The learned binding still holds after a restart.
    let again = try ChildProcess(stage.command([program, "--tempo=100"]))
    // A tactus that joins takes the session's tempo and drops commands from before: wait until it has joined.
    try await again.awaitLine(beginning: "OSC: ", "1 Link")
    #expect(try await stage.run("oscsend", "localhost", "20809", "/tactus/tempo", "f", "90").status == 0)
    try await linkhut.wait("tempo", "90")
    try await connect("keys:out", in: stage)
    try await linkhut.wait("tempo", "144", seconds: 30)
    again.signal(SIGTERM)
    #expect(await again.status() == 0)
  }

  @Test(arguments: [false, true])
  func `a MIDI pedal is listed, stays connected, and is shown when it is used`(onPipeWire: Bool)
    async throws
  {
    let stage = onPipeWire ? try await LabStage("--pipewire") : try await LabStage()
    let tactus = try ChildProcess(
      stage.command([program, "--midi=note 60 = tempo 133 now", "--connect=Foot*:out=control"]))
    try await tactus.awaitLine(beginning: "OSC: ")
    func send(_ word: String) async throws -> String {
      try await stage.run(program, "send", word).output
    }
    let bindings = try await send("midi/list").split(separator: "\n").map(String.init)
    #expect(bindings.first == "note 60 = tempo 133 now (configured)")
    #expect(bindings.contains("start = rewind, start (standard)"))
    #expect(bindings.allSatisfy { $0.contains(" = ") && $0.hasSuffix(")") })
    // Switch the pedal on, off and on.
    for time in 1...2 {
      #expect(try await stage.run(program, "send", "tempo", "100").status == 0)
      let pedal = try ChildProcess(stage.command(["jack_midiseq", "Footswitch", "20000", "0", "60", "4000"]))
      for _ in 0..<100 where try await send("tempo") != "133\n" {
        try await Task.sleep(for: .milliseconds(100))
      }
      #expect(try await send("tempo") == "133\n", "\(time)")
      #expect(try await send("midi/last") == "note 60 ch 1\n")
      // The server accepts a client of the same name only after it has noticed that the old one has ended.
      pedal.signal(SIGKILL)
      await pedal.status()
      for _ in 0..<100 where try await stage.run("jack_lsp").output.contains("Foot") {
        try await Task.sleep(for: .milliseconds(100))
      }
    }
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
  }

  @Test
  func `a MIDI clock leads the session, and its tempo stays if the clock stops`() async throws {
    let stage = try await LabStage()
    let tactus = try ChildProcess(stage.command([program, "--lead=midi"]))
    try await tactus.awaitLine(beginning: "OSC: ")
    let linkhut = try await link(stage)
    // The sequencer is another tactus. It is alone in a session that has its own tempo.
    let sequencer = try ChildProcess(
      stage.command([
        program, "--name=sequencer", "--no-link", "--no-osc", "--tempo=133", "--clock-when=always",
      ]))
    try await sequencer.awaitLine(beginning: "JACK server")
    try await connect("sequencer:clock", in: stage)
    try await tactus.awaitLine(beginning: "MIDI clock leads: 133.0 BPM")
    try await linkhut.wait("tempo", "133", seconds: 30)
    let refused = try await stage.run("oscsend", "localhost", "20809", "/tactus/tempo", "f", "99")
    #expect(refused.status == 0)
    try await tactus.awaitLine(beginning: "OSC from 127.0.0.1")
    sequencer.signal(SIGKILL)
    await sequencer.status()
    try await tactus.awaitLine(beginning: "MIDI clock lost: tactus keeps its last tempo")
    #expect(try await linkhut.status().tempo == 133)
    // No user has chosen the clock's tempo, so tactus must not begin with that tempo at the next
    // start.
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
    let remembered = try await stage.run(program, "config")
    #expect(remembered.status == 0 && !remembered.output.contains("133"), "\(remembered.output)")
  }

  private func connect(_ port: String, in stage: LabStage) async throws {
    for _ in 0..<100 {
      if try await stage.run("jack_connect", port, "tactus:control").status == 0 { return }
      try await Task.sleep(for: .milliseconds(100))
    }
    Issue.record("\(port) can't be connected")
  }
}
