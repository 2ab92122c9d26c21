// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Programs that follow the bars and beats that tactus shows in JACK: klick and jack_midi_clock.
@Suite struct FollowerTests {
  /// A session at a tempo, with tactus, a tablet and the transport.
  private struct Scene {
    let stage: LabStage
    let program: ChildProcess
    let tablet: LabPeer
    let transport: LabPeer

    init(tempo: Double) async throws {
      stage = try await LabStage()
      program = try ChildProcess(
        stage.command([Lab.products + "/tactus", "--startstop"]))
      try await program.awaitLine(beginning: "OSC: ")
      tablet = try LabPeer(.reference, in: stage)
      transport = try LabPeer(.jack, in: stage)
      try await tablet.ask("enable on")
      try await tablet.ask("sync on")
      try await tablet.wait("peers", "1")
      try await tablet.ask("tempo \(tempo)")
      try await transport.wait("tempo", "\(tempo)")
    }
  }

  @Test func `klick clicks with the session, through a change of tempo`() async throws {
    let scene = try await Scene(tempo: 117)
    let klick = try ChildProcess(scene.stage.command(["klick", "-j", "-e"]))
    let ears = try await Ears("klick:out", in: scene.stage)
    try await scene.tablet.ask("play")
    for tempo in [117.0, 151] {
      try await scene.tablet.ask("tempo \(tempo)")
      try await scene.transport.wait("tempo", "\(tempo)")
      let clicks = try await Interop.undisturbed(in: scene.stage) {
        try await ears.listen(forIntervals: 10)
      }
      #expect(abs(clicks.interval - 60_000 / tempo) < 1, "\(clicks.interval)")
      // klick rounds to JACK's ticks and does not know the latency of its own port. The bars that tactus
      // shows in JACK are corrected by the latency of its own port.
      #expect(abs(clicks.lateness) < 3, "\(clicks.map(\.late))")
      print("klick at \(tempo) BPM: \(clicks.lateness) ms after the beat, median of \(clicks.count)")
    }
    try await scene.tablet.ask("stop")
    #expect(try await ears.receiveSilence(within: 20))
    klick.signal(SIGTERM)
    scene.program.signal(SIGTERM)
    #expect(await scene.program.status() == 0)
  }

  @Test func `jack_midi_clock's clocks are on our beats, and it stops with us`()
    async throws
  {
    let scene = try await Scene(tempo: 124)
    let generator = try ChildProcess(scene.stage.command(["jack_midi_clock"]))
    let ears = try await Ears("jack_midi_clock:mclk_out", in: scene.stage)
    let clocks = try await Interop.undisturbed(in: scene.stage) {
      try await scene.tablet.ask("stop")
      #expect(try await ears.receiveSilence(within: 20))
      try await scene.transport.ask("locate 0")
      try await scene.tablet.ask("play")
      return try await ears.listen(forIntervals: 200).filter { $0.bytes == nil }
    }
    #expect(abs(clocks.interval - 60_000 / 124 / 24) < 0.05, "\(clocks.interval)")
    // jack_midi_clock counts frames from the start on. Therefore it keeps the start's error of up to half
    // a period, and the rounding of the starting position to a tick.
    #expect(abs(clocks.lateness) < 3.5, "\(clocks.lateness)")
    print("jack_midi_clock: \(clocks.lateness) ms after the beat's 24th, median of \(clocks.count)")
    try await scene.tablet.ask("stop")
    #expect(try await ears.receiveSilence(within: 20))
    generator.signal(SIGTERM)
    scene.program.signal(SIGTERM)
    #expect(await scene.program.status() == 0)
  }
}
