// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TestSupport
import Testing

@testable import tactus

/// The real program under the hands of a real OSC client, with LinkHut in the same session.
@Suite("The program, controlled by OSC", .serialized)
struct ControlledProgramTests {
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

  @Test("Nobody reads what it prints: it is controlled all the same")
  func unread() async throws {
    let stage = try await LabStage()
    let program = try ChildProcess(stage.command(["sh", "-c", "\"$0\" | sleep 60", program]))
    let tablet = try LabPeer(.controller, in: stage)
    for _ in 0..<100 where try await tablet.ask("ping", within: .seconds(20))["ms"] == .number(-1) {}
    // Each bad packet is a line; a pipe holds about eight hundred of them.
    try await tablet.ask("crowd 3000")
    for _ in 0..<5 {
      let answer = try await tablet.ask("ping", within: .seconds(20))["ms"]?.number ?? -1
      #expect(answer >= 0)
    }
    program.signal(SIGKILL)
  }

  @Test("Wrong addresses on the command line are one line each, and nothing starts")
  func wrongOptions() async throws {
    for (option, words) in [
      ("--osc-listen=stage", "address"), ("--osc-allow=10.0.0.0/40", "network"),
      ("--osc-send=10.0.0.1", "port"),
      ("--osc=0", "1 to 65535"), ("--osc=99999", "1 to 65535"),
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
