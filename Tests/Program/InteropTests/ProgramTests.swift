// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// The program between JACK's transport on one side and LinkHut and the reference library on the other.
@Suite struct ProgramTests {
  private func tactus(_ options: String..., on stage: LabStage, host: Int = 1) async throws -> ChildProcess {
    let program = try ChildProcess(stage.command(on: host, [Lab.products + "/tactus"] + options))
    // This line may come late: jackd does not answer while it removes a client that crashed.
    try await program.awaitLine(beginning: "JACK server")
    return program
  }

  @Test(arguments: [LabPeer.Kind.reference, .linkhut])
  func `the transport follows the session's tempo, start and stop`(
    other: LabPeer.Kind
  ) async throws {
    let stage = try await LabStage()
    let they = try LabPeer(other, in: stage)
    let transport = try LabPeer(.jack, in: stage)
    let program = try await tactus("--startstop", on: stage)
    try await they.ask("enable on")
    try await they.ask("sync on")
    try await they.wait("peers", "1")
    try await they.ask("tempo 127")
    try await transport.wait("tempo", "127")
    try await they.ask("play")
    try await transport.wait("playing", "true")
    try await transport.ask("stop")
    try await they.wait("playing", "false")
    try await transport.ask("play")
    try await they.wait("playing", "true")
    try await they.ask("stop")
    try await transport.wait("playing", "false")
    program.signal(SIGTERM)
    // tactus says goodbye, so the peer need not wait for its timeout.
    try await they.wait("peers", "0", seconds: 3)
    #expect(await program.status() == 0)
    #expect(abs(try await they.status().tempo - 127) < 0.01)
  }

  @Test func `two studios that join a running session play the same bar`()
    async throws
  {
    let stage = try await LabStage("--hosts", "2")
    let they = try LabPeer(.reference, in: stage, on: 1)
    try await they.ask("tempo 111")
    try await they.found()
    var studios: [(program: ChildProcess, transport: LabPeer)] = []
    for host in 1...2 {
      let transport = try LabPeer(.jack, in: stage, on: host)
      studios.append((try await tactus("--tempo=140", on: stage, host: host), transport))
    }
    try await they.wait("peers", "2")
    for studio in studios {
      try await studio.transport.wait("tempo", "111")
      try await studio.transport.ask("play")
    }
    for studio in studios { try await studio.transport.wait("playing", "true") }
    // The bar that is shown for a frame is the bar at which the frame is heard. Take medians, because single
    // readings suffer from a busy machine.
    let apart = try await Interop.undisturbed(in: stage, on: 1...2) {
      var medians: [Double] = []
      for studio in studios {
        var distances: [Double] = []
        for _ in 0..<15 {
          let shown = try await PeerStatus(studio.transport.ask("beat"))
          let heard = shown.time + Int64(shown.fields["latency"]?.number ?? 0)
          let session = try await PeerStatus(they.ask("beat \(heard)"))
          distances.append(Interop.distance(shown.phase, session.phase))
          try await Task.sleep(for: .milliseconds(20))
        }
        medians.append(Interop.median(distances) * 60_000 / 111)
      }
      return medians
    }
    #expect(apart.allSatisfy { abs($0) < 3 }, "\(apart) ms")
    #expect(abs(try await they.status().tempo - 111) < 0.001)
  }

  @Test func `a crash of tactus disturbs neither the session nor the JACK server`()
    async throws
  {
    let stage = try await LabStage()
    let they = try LabPeer(.reference, in: stage)
    let program = try await tactus(on: stage)
    try await they.ask("enable on")
    try await they.wait("peers", "1")
    try await they.ask("tempo 93")
    program.signal(SIGKILL)
    #expect(await program.status() == 128 + SIGKILL)
    try await they.wait("peers", "0")
    // The remaining peer keeps its session alone. Wait until that session is certainly the older one.
    try await Task.sleep(for: LabPeer.ageThatCounts)
    let again = try await tactus("--tempo=150", on: stage)
    try await they.wait("peers", "1")
    let transport = try LabPeer(.jack, in: stage)
    try await transport.wait("tempo", "93")
    #expect(abs(try await they.status().tempo - 93) < 0.001)
    again.signal(SIGINT)
    #expect(await again.status() == 0)
  }
}
