// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// The first things that a new user does with the program.
@Suite("The first hour", .serialized)
struct FirstHourTests {
  private let clicks = ["tactus:click_1", "tactus:click_2"]

  private func tactus(_ stage: LabStage, _ options: String...) async throws -> ChildProcess {
    let child = try ChildProcess(stage.command([program, "--no-tui"] + options))
    try await child.awaitLine(beginning: "OSC: ")
    return child
  }

  private func end(_ child: ChildProcess) async {
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    #expect(child.saidOnErrors == "")
  }

  @Test
  func `key m plays the click; a cable that the user pulled is not remade`() async throws {
    let stage = try await LabStage()
    let terminal = try await Terminal(in: stage, columns: 80, rows: 24, environment: ["LC_ALL=C.UTF-8"])
    try await terminal.enter(program)
    try await terminal.see("m plays the click, w opens the page, ? shows all keys")
    for click in clicks { #expect(try await stage.cables(of: click).isEmpty) }
    try await terminal.press("m")
    try await terminal.see("the click plays on system:playback_1 and system:playback_2")
    for (click, place) in zip(clicks, ["system:playback_1", "system:playback_2"]) {
      #expect(try await stage.cables(of: click) { !$0.isEmpty } == [place])
      #expect(try await stage.run("jack_disconnect", click, place).status == 0)
    }
    try await terminal.see("not connected")
    try await terminal.press("m")
    try await terminal.look(for: "the click off") { !$0.contains("not connected") }
    try await terminal.press("m")
    try await terminal.see("you have cut its cable")
    for click in clicks { #expect(try await stage.cables(of: click).isEmpty) }
    try await terminal.press("q")
    #expect(try await terminal.isSane())

    // At the next start, the click is on, but tactus does not connect it to the sound card without being
    // asked.
    try await terminal.enter(program)
    try await terminal.see("The click is on, but connected to nothing: press m twice to connect it")
    for click in clicks { #expect(try await stage.cables(of: click).isEmpty) }
    try await terminal.press("m")
    try await terminal.see("Click: off, also at the next start")
    try await terminal.press("m")
    try await terminal.see("the click plays on system:playback_1 and system:playback_2")
    try await terminal.press("q")
    #expect(try await terminal.isSane())
  }

  @Test
  func `tactus send click 1 connects only a click that is not connected`() async throws {
    let stage = try await LabStage()
    let child = try await tactus(stage)
    #expect(try await stage.run("jack_connect", "tactus:click_2", "system:playback_2").status == 0)
    #expect(try await stage.run(program, "send", "click", "1").status == 0)
    #expect(try await stage.run(program, "send", "clock", "0").status == 0)
    #expect(try await stage.cables(of: clicks[0]).isEmpty)
    #expect(try await stage.run("jack_disconnect", "tactus:click_2", "system:playback_2").status == 0)
    #expect(try await stage.run(program, "send", "click", "1").status == 0)
    try await child.awaitLine(beginning: "the click plays on system:playback_1 and system:playback_2")
    #expect(try await stage.cables(of: clicks[0]) { !$0.isEmpty } == ["system:playback_1"])
    await end(child)
  }

  @Test
  func `choices made while tactus runs hold at its next start`() async throws {
    let stage = try await LabStage()
    let first = try await tactus(stage, "--click-gain=0.1")
    for words in [
      ["click", "1"], ["clock", "0"], ["pulse", "0"], ["count/in", "2"], ["meter", "7", "8"],
      ["click/pattern", "XxxXxxx"], ["stop/at", "bar"],
    ] {
      #expect(
        try await ChildProcess.run(stage.command([program, "send"] + words)).status == 0, "\(words)")
    }
    await end(first)
    let second = try await tactus(stage)
    let status = try await stage.run(program, "status", "--json").output
    for text in [
      "\"click\": true", "\"clock\": false", "\"pulse\": false", "\"count/in\": 2",
      "\"click/pattern\": \"XxxXxxx\"",
      "\"stop/at\": \"bar\"",
    ] { #expect(status.contains(text), "\(text)") }
    #expect(status.contains("\"meter\": [7, 8]") || status.contains("\"meter\": [7,8]"), "\(status)")
    await end(second)
  }

  @Test
  func `tactus says when a start begins, and where a stop leaves the song`() async throws {
    let stage = try await LabStage()
    let child = try await tactus(stage, "--tempo=300")
    func send(_ words: String...) async throws {
      #expect(try await ChildProcess.run(stage.command([program, "send"] + words)).status == 0, "\(words)")
    }
    try await send("start", "now")
    // tactus prints "starts now" only if its control thread looks before JACK rolls.
    let lines = try await child.lines(to: "rolling")
    #expect(!lines.contains { $0.hasPrefix("starts ") && $0 != "starts now" }, "\(lines)")
    try await send("stop")
    try await child.awaitLine(beginning: "stopped")
    // Beat 7 is the last beat of the second bar.
    try await send("locate", "7")
    try await Task.sleep(for: .milliseconds(200))
    try await send("quantum", "64")
    try await send("start")
    try await child.awaitLine(beginning: "starts on beat 4 of the bar")
    try await send("stop")
    try await child.awaitLine(beginning: "stopped")
    try await send("locate", "6.5")
    try await Task.sleep(for: .milliseconds(200))
    try await send("start")
    try await child.awaitLine(beginning: "starts in beat 3 of the bar")
    // With the choice stop/at, a stop waits for the bar. The next start then does not begin in the middle
    // of a bar.
    try await send("stop/at", "bar")
    try await send("stop")
    try await child.awaitLine(beginning: "stopped")
    try await Task.sleep(for: .milliseconds(200))
    try await send("start")
    try await child.awaitLine(beginning: "starts on the bar")
    await end(child)
  }
}
