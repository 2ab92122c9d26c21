// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TestSupport
import Testing

@testable import tactus

/// The real program under the hands of a real OSC client, with LinkHut in the same session.
@Suite("The program, controlled by OSC", .serialized)
struct ControlledProgramTests {
  /// A controller made with python-osc, in the stage's network.
  private struct Tablet {
    let child: ChildProcess
    var port = 0

    init(in stage: LabStage) async throws {
      let here = String(#filePath)
      let tests = here[..<(here.firstRange(of: "/TactusTests/")?.lowerBound ?? here.startIndex)]
      child = try ChildProcess(
        stage.command([
          "\(tests)/../tools/.venv/bin/python", "\(tests)/ControlSurfaceTests/peers/osc_peer.py", "pythonosc",
        ]))
      let line = try await child.line(within: .seconds(60)) ?? ""
      port = Int(line.split(separator: " ").last ?? "") ?? 0
    }

    func send(_ message: String) { child.send("127.0.0.1 20809 /tactus/\(message)") }

    func press(_ path: String) {
      send("\(path) f:1.0")
      send("\(path) f:0.0")
    }

    /// Waits for this line; what else is told is skipped.
    func hear(_ line: String) async throws {
      while let next = try await child.line(within: .seconds(30)) {
        if next == "/tactus/" + line { return }
      }
      throw ChildProcess.Failure.ended(status: -1, errors: "never told \(line)")
    }

    func hear(beginning: String) async throws -> String {
      while let next = try await child.line(within: .seconds(30)) {
        if next.hasPrefix("/tactus/" + beginning) { return next }
      }
      throw ChildProcess.Failure.ended(status: -1, errors: "never told \(beginning)")
    }
  }

  @Test("A tablet plays a set: LinkHut beside it follows tempo, start and stop")
  func playsASet() async throws {
    let stage = try await LabStage()
    let program = try ChildProcess(stage.command([program]))
    try await program.awaitLine(beginning: "OSC: 127.0.0.1:20809")
    let linkhut = try LabPeer(.linkhut, in: stage)
    try await linkhut.ask("enable on")
    try await linkhut.ask("sync on")
    try await linkhut.wait("peers", "1")
    let tablet = try await Tablet(in: stage)
    tablet.send("subscribe f:\(tablet.port).0 s:state,beat i:60")
    try await tablet.hear("link/str s:Enabled")
    try await tablet.hear("peers/str s:1 Link")

    tablet.send("tempo f:131.0")
    try await linkhut.wait("tempo", "131")
    tablet.send("tempo/nudge f:-2.0")
    try await linkhut.wait("tempo", "129")
    try await tablet.hear("tempo/str s:129.00")
    tablet.send("tempo f:97.0 s:bar")
    try await linkhut.wait("tempo", "97")

    tablet.send("startstop T")
    try await tablet.hear("startstop f:1.0")
    tablet.send("start f:1.0 s:bar")
    tablet.send("start f:0.0")
    try await linkhut.wait("playing", "true")
    try await tablet.hear("jack/rolling f:1.0")
    #expect(try await tablet.hear(beginning: "beat i:") != "")
    tablet.send("launch/error")
    let error = try await tablet.hear(beginning: "launch/error f:")
    let milliseconds = Double(error.split(separator: ":").last ?? "") ?? .nan
    // Half a period of 256 frames at 48 kHz is 2.7 ms; what a stalled machine adds is not ours to judge here.
    #expect(abs(milliseconds) < 60, "\(error)")

    tablet.press("click/toggle")
    try await tablet.hear("click f:1.0")
    tablet.send("locate/bar i:5")
    _ = try await tablet.hear(beginning: "beat i:")
    tablet.press("stop")
    try await linkhut.wait("playing", "false")
    try await tablet.hear("jack/rolling f:0.0")

    // And what another peer does is told.
    try await linkhut.ask("tempo 111")
    try await tablet.hear("tempo/str s:111.00")
    try await linkhut.quit()
    try await tablet.hear("peers/str s:No Links")
    tablet.send("quit f:1.0")
    try await tablet.hear("bye")
    #expect(await program.status() == 0)
    #expect(program.saidOnErrors == "")
  }

  @Test("Without a server a start is refused with the reason, and the session can still be played with")
  func withoutServer() async throws {
    let stage = try await LabStage("--no-server")
    let server = try ChildProcess(
      stage.command(["jackd", "--no-realtime", "-n", "stage", "-d", "dummy"]))
    let program = try ChildProcess(stage.command([program, "--wait", "--server=stage"]))
    try await program.awaitLine(beginning: "OSC: ")
    let tablet = try await Tablet(in: stage)
    tablet.send("subscribe i:\(tablet.port)")
    try await tablet.hear("jack/connected f:1.0")
    server.signal(SIGTERM)
    await server.status()
    try await tablet.hear("status s:no JACK server")
    tablet.send("start")
    try await tablet.hear("error s:start: no JACK server s:/tactus/start i:4")
    tablet.send("tempo f:88.0")
    try await tablet.hear("tempo/str s:88.00")
    program.signal(SIGTERM)
    #expect(await program.status() == 0)
    try await tablet.hear("bye")
  }

  @Test("Wrong addresses on the command line are one line each, and nothing starts")
  func wrongOptions() async throws {
    for (option, words) in [
      ("--osc-listen=stage", "address"), ("--osc-allow=10.0.0.0/40", "network"),
      ("--osc-send=10.0.0.1", "port"),
      ("--osc-port=0", "1 to 65535"), ("--osc-port=99999", "1 to 65535"),
    ] {
      let done = try await ChildProcess.run([program, option])
      #expect(done.status == 2 && done.errors.contains(words), "\(option): \(done.errors)")
    }
  }

  @Test("--help-osc prints every address and needs no server")
  func helpOSC() async throws {
    let done = try await ChildProcess.run([program, "--help-osc"])
    #expect(done.status == 0 && done.errors == "")
    #expect(done.output.contains("\n  tempo  f: 20 to 999 BPM; [s: now, beat, bar]\n"))
  }
}
