// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

/// The rules of LinkKit (Ableton's library for iOS) for apps in the background, in JACK's terms. The program
/// has no terminal here, so it is in the foreground only while a tablet subscribes to it. The tests read the
/// number of peers from LinkHut.
@Suite("With --life=auto", .serialized)
struct LifeCycleTests {
  private func studio(_ options: String...) async throws -> (LabStage, ChildProcess, LabPeer) {
    let stage = try await LabStage()
    let child = try ChildProcess(stage.command([program, "--life=auto", "--link"] + options))
    try await child.awaitLine(beginning: "OSC: ")
    let linkhut = try LabPeer(.linkhut, in: stage)
    try await linkhut.ask("enable on")
    return (stage, child, linkhut)
  }

  private func end(_ child: ChildProcess) async {
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    #expect(child.saidOnErrors == "")
  }

  @Test
  func `in the background Link stays while the transport rolls`() async throws {
    let (stage, child, linkhut) = try await studio()
    let transport = try LabPeer(.jack, in: stage)
    try await Task.sleep(for: .milliseconds(1500))
    #expect(try await linkhut.status().peers == 0)
    try await transport.ask("play")
    try await child.awaitLine(beginning: "Ableton Link is back")
    try await child.awaitLine(beginning: "1 Link")
    try await linkhut.wait("peers", "1")
    try await Task.sleep(for: .milliseconds(1500))
    #expect(try await linkhut.status().peers == 1)
    try await transport.ask("stop")
    try await child.awaitLine(beginning: "Ableton Link rests")
    try await linkhut.wait("peers", "0", seconds: 3)
    await end(child)
  }

  @Test
  func `Link leaves the network until a controller subscribes`()
    async throws
  {
    let (stage, child, linkhut) = try await studio()
    let tablet = try await Tablet(in: stage)
    tablet.send("subscribe i:\(tablet.port)")
    try await child.awaitLine(beginning: "1 Link")
    try await tablet.receive("peers/str s:1 Link")
    try await linkhut.wait("peers", "1")
    tablet.send("unsubscribe i:\(tablet.port)")
    try await child.awaitLine(beginning: "Ableton Link rests")
    try await linkhut.wait("peers", "0", seconds: 3)
    // After the controller's return, the user's switch for Link is unchanged.
    tablet.send("subscribe i:\(tablet.port)")
    try await tablet.receive("link/str s:Enabled")
    try await tablet.receive("link/active f:0.0")
    try await tablet.receive("link/active f:1.0")
    try await child.awaitLine(beginning: "1 Link")
    try await linkhut.wait("peers", "1")
    tablet.send("link i:0")
    try await child.awaitLine(beginning: "No Links")
    try await linkhut.wait("peers", "0", seconds: 3)
    tablet.send("link i:1")
    try await child.awaitLine(beginning: "1 Link")
    try await linkhut.wait("peers", "1")
    await end(child)
  }

  @Test
  func `with start/stop sync Link stays in the background and follows`() async throws {
    let (stage, child, linkhut) = try await studio("--startstop")
    let transport = try LabPeer(.jack, in: stage)
    try await linkhut.ask("sync on")
    try await linkhut.wait("peers", "1")
    try await Task.sleep(for: .milliseconds(1500))
    // After 1.5 s the peer must still be counted. Two sessions that began within half a second of each other
    // may need this time to become one.
    try await linkhut.wait("peers", "1")
    try await linkhut.ask("play")
    try await transport.wait("playing", "true")
    try await linkhut.ask("stop")
    try await transport.wait("playing", "false")
    await end(child)
    while let line = try await child.line(within: .seconds(5)) {
      #expect(!line.hasPrefix("Ableton Link rests"))
    }
  }

  @Test(arguments: [true, false])
  func `a start that waits ends with tactus, unless a peer made the start`(isOurs: Bool) async throws {
    let (stage, child, linkhut) = try await studio("--startstop", "--count-in=4")
    let transport = try LabPeer(.jack, in: stage)
    try await linkhut.ask("sync on")
    try await linkhut.wait("peers", "1")
    try await Task.sleep(for: .milliseconds(1500))
    try await linkhut.wait("peers", "1")
    if isOurs { try await transport.ask("play") } else { try await linkhut.ask("play") }
    try await linkhut.wait("playing", "true")
    try await child.awaitLine(beginning: "starts on the bar")
    await end(child)
    if isOurs { try await linkhut.wait("playing", "false") }
    try await Task.sleep(for: .milliseconds(300))
    #expect(try await linkhut.status().isPlaying != isOurs)
    #expect(try await !transport.status().isPlaying)
  }

  @Test
  func `Link stays on the network while a port of tactus is connected`() async throws {
    let (stage, child, linkhut) = try await studio()
    try await Task.sleep(for: .milliseconds(1500))
    #expect(try await linkhut.status().peers == 0)
    let port = "tactus:click_1"
    #expect(try await stage.run("jack_connect", port, "system:playback_1").status == 0)
    try await child.awaitLine(beginning: "1 Link")
    try await linkhut.wait("peers", "1")
    try await Task.sleep(for: .milliseconds(1500))
    #expect(try await linkhut.status().peers == 1)
    #expect(try await stage.run("jack_disconnect", port, "system:playback_1").status == 0)
    try await child.awaitLine(beginning: "Ableton Link rests")
    try await linkhut.wait("peers", "0", seconds: 3)
    await end(child)
  }

  @Test
  func `without --life=auto, Link never leaves the network`() async throws {
    let stage = try await LabStage()
    let child = try ChildProcess(stage.command([program]))
    let linkhut = try LabPeer(.linkhut, in: stage)
    try await linkhut.ask("enable on")
    try await linkhut.wait("peers", "1")
    try await Task.sleep(for: .milliseconds(1500))
    #expect(try await linkhut.status().peers == 1)
    await end(child)
  }

  @Test
  func `Link reports a missing interface, and finds peers on an existing one`()
    async throws
  {
    let stage = try await LabStage()
    let linkhut = try LabPeer(.linkhut, in: stage)
    try await linkhut.ask("enable on")
    let nowhere = try ChildProcess(stage.command([program, "--link", "--link-interface=nowhere0"]))
    try await nowhere.awaitLine(
      beginning: "Link can't use the network (none of the chosen interfaces: No such device)")
    nowhere.signal(SIGTERM)
    #expect(await nowhere.status() == 0)
    let child = try ChildProcess(stage.command([program, "--link", "--link-interface=lo"]))
    try await child.awaitLine(beginning: "1 Link")
    try await linkhut.wait("peers", "1")
    await end(child)
  }
}
