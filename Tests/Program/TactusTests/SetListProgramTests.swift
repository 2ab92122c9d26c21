// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusSurface
import TactusTestSupport
import Testing

@testable import TactusApp

@Suite("A set list and OSC to others, in the program", .serialized)
struct SetListProgramTests {
  @Test
  func `songs are options and keys; wrong, duplicate or too many songs fail`()
    throws
  {
    var configuration = try Configuration(arguments: [
      "--song=Opener = tempo 128, meter 4 4", "--song", "B = tap",
    ])
    var state = SurfaceState()
    configuration.choose(in: &state)
    #expect(state.lists.songs.map(\.text) == ["Opener = tempo 128, meter 4 4", "B = tempo/tap"])
    #expect(throws: UserError.self) { try Configuration(arguments: ["--song=A = set/next"]) }
    let words = refusals(of: ["--song=A = tempo 90", "--song=B = tap", "--song= A = tempo 91"])
    #expect(words.contains("\" A = tempo 91\": A is there already"), "\(words)")
    let songs = (0...SetSong.limit).map { "--song=S\($0) = tap" }
    #expect(refusals(of: songs.dropLast()) == "" && refusals(of: songs).contains("at most 128 are possible"))
    let tells = (0...OutwardLine.limit).map { "--osc-tell=beat 10.0.0.2:\(9000 + $0) /b" }
    #expect(refusals(of: tells.dropLast()) == "" && refusals(of: tells).contains("at most 64 are possible"))
    do throws(UserError) {
      try ConfigurationFile.apply(
        Array("{ song: ['A = tempo 100',\n 'A = tempo 101'] }".utf8), from: "file", to: &configuration)
      Issue.record("taken")
    } catch {
      #expect(error.text.contains("A is there already") && error.text.contains("2"), "\(error.text)")
    }
    do throws(UserError) {
      try ConfigurationFile.apply(
        Array("{ song: ['A = tempo 100',\n 'B = tempo 1000'] }".utf8), from: "file", to: &configuration)
      Issue.record("taken")
    } catch {
      #expect(error.text.contains("20 to 999") && error.text.contains("2"), "\(error.text)")
    }
    let reading = try Configuration(arguments: ["--osc-tell=tempo 192.168.7.9:10023 /t {60000 / bpm}"])
    #expect(reading.surfaceSettings.outward.count == 1)
    #expect(throws: UserError.self) {
      try Configuration(arguments: ["--osc-tell=tempo 192.168.7.9:10023 /t {bmp}"])
    }
  }

  private func refusals(of arguments: some Sequence<String>) -> String {
    do throws(UserError) { _ = try Configuration(arguments: Array(arguments)) } catch { return error.text }
    return ""
  }

  @Test
  func `songs added while tactus plays are in the set list at the next start`() throws {
    var configuration = try Configuration(arguments: ["--song=A = tempo 100"])
    var state = SurfaceState()
    configuration.choose(in: &state)
    state.lists.songs.append(try SetSong("Encore = tempo 99, osc/send 10.0.0.2:9000 /x \"a b\" {bpm}"))
    let chosen = configuration.taking(state)
    var memory = UserState()
    let isNew = memory.remember(chosen, since: configuration, over: configuration)
    #expect(isNew)
    try UserState(Array(memory.text.utf8), from: "state").apply(to: &configuration, over: configuration)
    var later = SurfaceState()
    configuration.choose(in: &later)
    #expect(later.lists.songs == state.lists.songs)
  }

  @Test
  func `a reload of the configuration does not repeat MIDI program changes`() throws {
    var configuration = try Configuration(arguments: ["--out=drums=clock"])
    var state = SurfaceState()
    configuration.choose(in: &state)
    state.lists.outputs[0].settings.programs?.ask(for: 3, channel: 9)
    let asked = state.lists.outputs[0].settings.programs
    configuration.choose(in: &state)
    #expect(state.lists.outputs[0].settings.programs == asked)
    configuration = Configuration()
    #expect(state.lists.outputs[0].text == "drums=clock")
  }

  @Test
  func `a tablet steps through the set list, and a mixer gets each echo delay`() async throws {
    let stage = try await LabStage()
    let tablet = try await Tablet(in: stage)
    let mixer = "127.0.0.1:\(tablet.port)"
    let running = try ChildProcess(
      stage.command([
        program, "--out=drums=clock", "--song=Opener = tempo 125, click/pattern X..x, out/drums/program 5 10",
        "--song=Slow One = tempo 75, meter 3 4, osc/send \(mixer) /tactus/load i{beats} \"slow one\"",
        "--osc-tell=tempo \(mixer) /tactus/delay {60000 / bpm * 3/4}",
        "--osc-tell=start \(mixer) /tactus/go true",
      ]))
    try await running.awaitLine(beginning: "OSC: 127.0.0.1:20809")
    try await tablet.receive("delay f:375.0")
    tablet.send("subscribe i:\(tablet.port)")
    try await tablet.receive("set/coming s:Opener")
    tablet.press("set/next")
    try await tablet.receive("delay f:360.0")
    // Ask for the pattern, because its change may have been sent before the tablet subscribed.
    tablet.send("click/pattern")
    try await tablet.receive("click/pattern s:X..x")
    tablet.send("start s:now")
    try await tablet.receive("go T")
    tablet.send("set/next s:bar")
    try await tablet.receive("load i:3 s:slow one")
    try await tablet.receive("delay f:600.0")
    tablet.press("set/next")
    _ = try await tablet.receive(beginning: "error s:set/next: this is the last song of the set list")
    let added = try await ChildProcess.run(stage.command([program, "send", "set/add", "Encore = tempo 100"]))
    #expect(
      added.status == 0 && added.output == "the set list has the song Encore = tempo 100 now\n", "\(added)")
    try await tablet.receive("set/coming s:Encore")
    let status = try await ChildProcess.run(stage.command([program, "status"]))
    #expect(status.output.contains("2 Slow One, then Encore"), "\(status.output)")
    let removed = try await ChildProcess.run(stage.command([program, "send", "set/remove", "Encore"]))
    #expect(
      removed.status == 0 && removed.output == "the song Encore is removed from the set list\n", "\(removed)")
    tablet.send("quit f:1.0")
    #expect(await running.status() == 0)
    #expect(running.saidOnErrors == "")
  }
}
