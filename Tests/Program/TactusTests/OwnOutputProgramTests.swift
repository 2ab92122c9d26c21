// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import TactusChoices
import TactusSurface
import TactusTestSupport
import Testing

@testable import TactusApp

@Suite("A user's own outputs, in the program", .serialized)
struct OwnOutputProgramTests {
  @Test
  func `own outputs are options and keys; wrong and duplicate ones are refused`()
    throws
  {
    var configuration = try Configuration(arguments: [
      "--out=drums=clock offset=4", "--out", "x=run",
    ])
    var state = SurfaceState()
    configuration.choose(in: &state)
    #expect(state.lists.outputs.map(\.text) == ["drums=clock offset=4", "x=run"])
    #expect(throws: UserError.self) { try Configuration(arguments: ["--out=drums=klock"]) }
    #expect(throws: UserError.self) {
      try Configuration(arguments: ["--out=drums=clock", "--out=x=run", "--out=drums=reset"])
    }
    let outputs = (0...OutputSettings.limit).map { "--out=x\($0)=run" }
    #expect(try Configuration(arguments: Array(outputs.dropLast())).outputs.count == OutputSettings.limit)
    #expect(throws: UserError.self) { try Configuration(arguments: outputs) }
    try ConfigurationFile.apply(
      Array("{ out: ['ppq=pulse rate=24'] }".utf8), from: "file", to: &configuration)
    configuration.choose(in: &state)
    #expect(state.lists.outputs.map(\.text) == ["ppq=pulse rate=24"])
    do throws(UserError) {
      try ConfigurationFile.apply(
        Array("{ out: ['a=run',\n 'b=clock width=3'] }".utf8), from: "file", to: &configuration)
      Issue.record("taken")
    } catch {
      #expect(error.text.contains("width=3") && error.text.contains("2"), "\(error.text)")
    }
  }

  @Test
  func `an output added while tactus runs exists at the next start, and plays`() throws {
    var configuration = Configuration()
    var state = SurfaceState()
    configuration.choose(in: &state)
    var drums = try NamedOutput("drums=clock rate=2")
    drums.settings.clock?.plays = false
    state.lists.outputs = [drums]
    let chosen = configuration.taking(state)
    var memory = UserState()
    let isNew = memory.remember(chosen, since: configuration, over: configuration)
    #expect(isNew)
    try UserState(Array(memory.text.utf8), from: "state").apply(to: &configuration, over: Configuration())
    var later = SurfaceState()
    configuration.choose(in: &later)
    #expect(
      later.lists.outputs.map(\.text) == ["drums=clock rate=2"]
        && later.lists.outputs[0].settings.clock?.plays == true)
    // A reload of the configuration does not start an output that the user stopped.
    configuration.choose(in: &state)
    #expect(state.lists.outputs.map(\.settings.clock?.plays) == [false])
  }

  @Test
  func `a tablet adds, stops, starts and removes an output during the song`()
    async throws
  {
    let stage = try await LabStage()
    let running = try ChildProcess(stage.command([program, "--out=bass=clock when=always"]))
    try await running.awaitLine(beginning: "OSC: 127.0.0.1:20809")
    let tablet = try await Tablet(in: stage)
    tablet.send("subscribe i:\(tablet.port)")
    try await tablet.receive("out/bass/state s:rests")
    tablet.send("out/add s:drums=clock")
    try await tablet.receive("out/drums/rate s:1")
    tablet.send("start s:now")
    try await tablet.receive("out/drums/state s:plays")
    tablet.send("out/drums/play i:0")
    try await tablet.receive("out/drums/state s:rests")
    tablet.send("out/drums/play i:1")
    try await tablet.receive("out/drums/state s:plays")
    tablet.send("out/drums/offset f:600.0")
    try await tablet.receive(
      "error s:out/drums/offset: -500 to 500 ms, not 600 s:/tactus/out/drums/offset i:3")
    tablet.send("out/add s:clock=clock")
    _ = try await tablet.receive(beginning: "error s:out/add: clock is taken by a port")
    let ports = try await ChildProcess.run(stage.command(["jack_lsp"]))
    #expect(ports.output.contains("tactus:drums\n") && ports.output.contains("tactus:bass\n"))
    tablet.send("out/remove s:drums")
    tablet.send("out/remove s:drums")
    try await tablet.receive("error s:out/remove: there is no such output s:/tactus/out/remove i:4")
    let added = try await stage.run(program, "send", "out/add", "late=clock  rate=1 offset=4")
    #expect(
      added.status == 0 && added.output == "the output late=clock offset=4 is there now\n", "\(added)")
    let removed = try await stage.run(program, "send", "out/remove", "late")
    #expect(removed.status == 0 && removed.output == "the output late is removed\n", "\(removed)")
    let twice = try await stage.run(program, "send", "out/remove", "late")
    #expect(twice.status == 1 && twice.output == "", "\(twice)")
    let status = try await ChildProcess.run(stage.command([program, "status"]))
    #expect(status.output.contains("bass (clock plays"), "\(status.output)")
    // `tactus status` shows the addresses of own outputs like all others.
    let all = try await ChildProcess.run(stage.command([program, "status", "--json"])).output
    #expect(
      all.contains("\"out/bass/state\": \"plays\"") && all.contains("\"out/bass/play\": true"), "\(all)")
    #expect(!all.contains("out/drums"), "\(all)")
    let monitor = try ChildProcess(stage.command([program, "monitor"]))
    let first = try await monitor.line() ?? ""
    #expect(first.contains("\"out/bass/offset\": 0"), "\(first)")
    tablet.send("out/bass/offset f:4.0")
    var next: [String] = []
    while next.count < 20, next.last?.contains("out/bass/offset") != true, let line = try await monitor.line()
    {
      next.append(line)
    }
    #expect(next.last?.contains("\"out/bass/offset\": 4") == true, "\(next)")
    monitor.signal(SIGTERM)
    #expect(await monitor.status() == 0)
    tablet.send("quit f:1.0")
    #expect(await running.status() == 0)
    #expect(running.saidOnErrors == "")
  }
}
