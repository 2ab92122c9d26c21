// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusJSON5
import TactusOSC
import TactusSurface
import TactusTestSupport
import Testing

@testable import TactusApp

/// Tests `status`, `monitor`, `send` and kept connections: a tactus runs, and a second tactus asks the first.
@Suite("Commands to a running tactus", .serialized)
struct RunningProgramTests {
  private func start(_ stage: LabStage, _ options: String...) async throws -> ChildProcess {
    let child = try ChildProcess(stage.command([program] + options))
    try await child.awaitLine(beginning: "OSC: ")
    return child
  }

  private func fields(_ line: String) throws -> [String: String] {
    guard case .object(let members) = try JSON5.read(Array(line.utf8)).value else { return [:] }
    return Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.element.value.text) })
  }

  @Test
  func `the timebase master's name is guessed from the JACK clients`() async throws {
    let stage = try await LabStage()
    let listen = [Lab.top + "/tools/listen", "--no-link", "--json", "--name"]
    let hydrogen = try ChildProcess(
      stage.command(listen + ["Hydrogen", "--timebase", "120", "system:capture_1"]))
    try await hydrogen.awaitLine(beginning: "{\"type\":\"ready\"")
    let child = try await start(stage)
    func master() async throws -> String {
      try await stage.run(program, "send", "jack/timebase/str").output
    }
    func becomes(_ words: String) async throws {
      for _ in 0..<60 where try await master() != words + "\n" {
        try await Task.sleep(for: .milliseconds(50))
      }
      #expect(try await master() == words + "\n")
    }
    try await becomes("Hydrogen (probably)")
    let ardour = try ChildProcess(stage.command(listen + ["ardour", "system:capture_1"]))
    try await becomes("another client")
    ardour.send("end")
    await ardour.status()
    try await becomes("Hydrogen (probably)")
    hydrogen.send("end")
    await hydrogen.status()
    try await becomes("nobody")
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
  }

  @Test
  func `tactus leaves the timebase to a DAW, at once or at the next stop`()
    async throws
  {
    let stage = try await LabStage()
    let child = try await start(stage)
    func shows(_ words: String...) async throws {
      var status = ""
      for _ in 0..<60 {
        status = try await stage.run(program, "status").output
        if words.allSatisfy({ status.contains($0) }) { return }
        try await Task.sleep(for: .milliseconds(50))
      }
      Issue.record("no \(words) in\n\(status)")
    }
    func send(_ words: String...) async throws {
      let done = try await ChildProcess.run(stage.command([program, "send"] + words))
      #expect(done.status == 0, "\(words): \(done)")
    }
    try await shows("Timebase master  tactus\n")
    try await send("start", "now")
    try await shows("Transport        rolling")
    try await send("lead", "host")
    try await shows("Timebase master  tactus until it stops\n", "Ableton Link (lead host: no host yet)\n")
    try await send("stop")
    try await shows("Timebase master  nobody\n")
    try await send("start", "now")
    try await shows("Timebase master  nobody\n", "Transport        rolling")
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
  }

  @Test
  func `an unconnected click is reported until it is connected`() async throws {
    let stage = try await LabStage()
    let child = try await start(stage, "--click")
    #expect(
      try await stage.run(program, "status").output.contains("\nClick            always, not connected\n"))
    #expect(try await stage.run(program, "doctor").output.contains("its ports are not connected"))
    #expect(try await stage.run("jack_connect", "tactus:click_1", "system:playback_1").status == 0)
    for _ in 0..<60 where try await stage.run(program, "send", "click/connected").output != "true\n" {
      try await Task.sleep(for: .milliseconds(50))
    }
    #expect(try await stage.run(program, "status").output.contains("\nClick            always\n"))
    #expect(try await !stage.run(program, "doctor").output.contains("its ports are not connected"))
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
  }

  @Test
  func `tactus send reads and sets values; a refusal has a reason and status 1`() async throws {
    let stage = try await LabStage()
    let child = try await start(stage)
    func send(_ words: String...) async throws -> ChildProcess.Finished {
      try await ChildProcess.run(stage.command([program, "send"] + words))
    }
    for (words, output) in [
      (["tempo", "131.1"], ""), (["tempo"], "131.1\n"), (["/tactus/link/str"], "Enabled\n"),
      (["meter"], "[4, 4]\n"),
      (["launch", "beat"], ""), (["launch"], "beat\n"), (["link"], "true\n"), (["start", "now"], ""),
      (["/jacklink/bpm", "99"], ""), (["tempo/str"], "99.00\n"),
      (["clock/offset", "8"], "clock/offset is 8 ms now\n"),
      (["clock/offset", "0"], "clock/offset is 0 ms now\n"),
      (["startstop", "on"], "startstop is on now\n"), (["startstop", "off"], "startstop is off now\n"),
      (["midi/learn", "tap"], "touch the key, knob or pedal for tempo/tap now\n"),
      (["midi/learn", ""], "tactus waits for no MIDI message now\n"), (["quantum", "8.0"], ""),
      (["quantum", "bar"], ""),
      (["quantum"], "4\n"), (["quantum", "3.5"], ""), (["quantum"], "3.5\n"), (["quantum", "4"], ""),
    ] {
      let done = try await ChildProcess.run(stage.command([program, "send"] + words))
      #expect(done.status == 0 && done.output == output && done.errors == "", "\(words): \(done)")
    }
    let bindings = try await send("midi/list")
    #expect(bindings.status == 0 && bindings.output.hasSuffix(" (standard)\n"), "\(bindings)")
    // If the command table refuses a command, `send` does not send the command.
    for (words, line) in [
      (["tempoo", "5"], "there is no tempoo: do you mean tempo?"),
      (["midi/lern", "tap"], "there is no midi/lern: do you mean midi/learn?"),
      (["learn", "tap"], "there is no learn: do you mean midi/learn?"),
      (["click/1/offset", "0"], "there is no click/1/offset: do you mean click/offset?"),
      (["tempo", "5"], "tempo takes 20 to 999 BPM, not 5"),
      (["tempo", "fast"], "tempo takes a number, 20 to 999 BPM, not \"fast\""),
      (["lead", "me"], "lead takes one of link, host, auto, midi, not \"me\""),
      (["quantum", "4.3"], "quantum takes 0 to 256 beats (3.5 are seven eighths), or bar, not 4.3"),
      (["tempo", "120,5"], "tempo takes a number, 20 to 999 BPM, not \"120,5\": write 120.5"),
      (["quantum", "257"], "quantum takes 0 to 256 beats (3.5 are seven eighths), or bar, not 257"),
      (["peers", "3"], "peers can only be read"),
      (["beat"], "beat is sent to subscribers of the group beat: tactus monitor beat prints it"),
      (["meter", "4"], "meter takes 2 arguments: "), (["set/add"], "set/add takes 1 argument: text"),
      (["quantum", "4", "4"], "quantum takes at most 1 argument, not 2"), ([], "a command is missing"),
    ] {
      let done = try await ChildProcess.run(stage.command([program, "send"] + words))
      #expect(done.status == 2 && done.output == "", "\(words): \(done)")
      #expect(done.errors.hasPrefix("tactus: send: \(line)"), "\(done.errors)")
    }
    // The running tactus reports a fault that the command table can't find.
    let other = try LabPeer(.jack, in: stage)
    try await other.ask("stop")
    let meter = try await send("meter", "4", "3")
    #expect(meter.status == 1 && meter.errors.contains("1, 2, 4, 8, 16 or 32"), "\(meter)")
    let quit = try await send("quit")
    #expect(quit.status == 0)
    #expect(await child.status() == 0)
    let nobody = try await send("tempo")
    #expect(nobody.status == 69)
    #expect(nobody.errors.hasPrefix("tactus: no tactus answers at OSC port 20809 of this machine; "))
  }

  @Test
  func `tactus send ends a refused command with status 1 and the reason`() async throws {
    let stage = try await LabStage("--no-server")
    let server = try ChildProcess(stage.command(["jackd", "--no-realtime", "-n", "stage", "-d", "dummy"]))
    let child = try await start(stage, "--wait", "--server=stage")
    server.signal(SIGTERM)
    await server.status()
    try await child.awaitLine(beginning: "JACK server gone")
    let done = try await stage.run(program, "send", "start")
    #expect(done.status == 1 && done.errors == "tactus: start: no JACK server\n", "\(done)")
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
  }

  @Test
  func `with --json, each line of output is JSON`() async throws {
    let stage = try await LabStage()
    let child = try ChildProcess(stage.command([program, "--json"]))
    var message = ""
    while !message.hasPrefix("\"JACK server "), let line = try await child.line() {
      message = try #require(try fields(line)["message"], "\(line)")
    }
    #expect(message.hasPrefix("\"JACK server "), "\(child.saidOnErrors)")
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
  }

  @Test
  func `tactus status is text or JSON; without a tactus it has exit status 69`() async throws {
    let stage = try await LabStage()
    let nobody = try await stage.run(program, "status")
    #expect(nobody.status == 69 && nobody.output == "")
    #expect(nobody.errors.split(separator: "\n").count == 1)
    let child = try await start(
      stage, "--tempo=97.5", "--osc=9123", "--meter=7/8", "--click", "--click-offset=50.67",
      "--clock-offset=-8", "--click-2-offset=3")
    let wrongPort = try await stage.run(program, "status", "-o", "9124")
    #expect(wrongPort.status == 69)
    #expect(try await stage.run(program, "status").status == 0)
    let done = try await stage.run(program, "status", "-o", "9123")
    #expect(done.status == 0)
    #expect(done.output.contains("Tempo            97.50 BPM, 7/8, quantum 3.5\n"), "\(done.output)")
    #expect(done.output.contains("Ableton Link     Enabled, No Links\n"))
    for line in [
      "Transport        stopped; a start comes on the bar", "JACK             client \"tactus\", ",
      "Click            always, not connected, offset 50.67 ms, offset of click_2 3 ms\n",
      "MIDI clock       while the transport rolls, offset -8 ms\n", "Pulses           1 a beat\n",
      "OSC              127.0.0.1:9123",
    ] {
      #expect(done.output.contains(line), "\(line)\n\(done.output)")
    }
    let doctor = try await stage.run(program, "doctor").output.split { $0 == " " || $0 == "\n" }
      .joined(separator: " ")
    #expect(
      doctor.contains(
        "tactus: sends earlier (below 0: later) than JACK's latencies ask for, because of your offsets: "
          + "click/offset 50.67 ms, click/2/offset 3 ms, clock/offset -8 ms"), "\(doctor)")
    // Without a folder in which a running tactus notes its port, commands know only the usual port. The
    // message says so.
    let blind = try await stage.run("env", "XDG_RUNTIME_DIR=", program, "status")
    #expect(blind.status == 69 && blind.errors.contains("(XDG_RUNTIME_DIR is not set, so that"), "\(blind)")
    #expect(try await stage.run(program, "send", "start", "now").status == 0)
    var rolling = ""
    for _ in 0..<50 where !rolling.contains("Transport        rolling\n") {
      rolling = try await stage.run(program, "status").output
    }
    #expect(rolling.contains("Transport        rolling\n"), "\(rolling)")
    let json = try fields(try await stage.run(program, "status", "--json", "--osc=9123").output)
    #expect(json["tempo"] == "97.5" && json["link"] == "true" && json["meter"] == "[7, 8]")
    #expect(json["jack/timebase/str"] == "\"tactus\"" && json["update"] == nil)
    // The user need not type a port that is in the configuration.
    let configured = try await stage.run(
      "sh", "-c",
      "mkdir -p $XDG_CONFIG_HOME/tactus && echo '{osc: 9123}' >$XDG_CONFIG_HOME/tactus/config.json5 && \(program) status"
    )
    #expect(configured.status == 0)
    // A tactus whose process is stopped is still found. The file name of its note is its process id.
    func signal(_ name: String) async throws {
      let command = "kill -\(name) $(basename $XDG_RUNTIME_DIR/tactus/*.json5 .json5)"
      #expect(try await stage.run("sh", "-c", command).status == 0)
    }
    try await signal("STOP")
    let silent = try await stage.run(program, "status")
    try await signal("CONT")
    #expect(silent.status == 69 && silent.errors.contains("at OSC port 9123 does not answer: it may be busy"))
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
  }

  @Test
  func `tactus monitor prints all values first, then only changes`()
    async throws
  {
    let stage = try await LabStage()
    let child = try await start(stage)
    let monitor = try ChildProcess(stage.command([program, "monitor"]))
    let beats = try ChildProcess(stage.command([program, "monitor", "beat"]))
    let first = try fields(try await monitor.line() ?? "")
    #expect(first["tempo"] == "120" && first.count > 60)
    _ = try await stage.run(program, "send", "tempo", "133.25")
    var seen: [String: String] = [:]
    while let line = try await monitor.line(), seen["tempo"] == nil {
      seen = try fields(line)
      #expect(seen.count < 20, "\(line)")
    }
    #expect(seen["tempo"] == "133.25" && seen["tempo/str"] == "\"133.25\"" && seen["link"] == nil)
    _ = try await beats.line()
    var beat = try await beats.line() ?? ""
    while try fields(beat)["beat"] == nil { beat = try await beats.line() ?? "" }
    #expect(try fields(beat)["tempo"] == nil)
    beats.signal(SIGINT)
    #expect(await beats.status() == 0)
    child.signal(SIGTERM)
    var last: [String: String] = [:]
    while let line = try await monitor.line() {
      last = try fields(line)
      // At the end tactus darkens its controllers' lights. The monitor does not print these
      // changes.
      #expect(last["link/str"] != "\" \"", "\(line)")
    }
    #expect(await monitor.status() == 0)
    let wrong = try await stage.run(program, "monitor", "beets")
    #expect(wrong.status == 2 && wrong.errors.contains("not \"beets\""))
  }

  @Test
  func `changes before tactus monitor has subscribed are printed once`() {
    let row = Table.standard.row("tempo")!
    var changes = Changes(since: [(row, [.float32(120)])])
    func dump(_ tempo: Float) -> [Message] {
      [
        Message(Table.address("update"), .int32(1)), Message(Table.address("tempo"), .float32(tempo)),
        Message(Table.address("peers"), .int32(0)), Message(Table.address("update"), .int32(0)),
      ]
    }
    #expect(changes.line(dump(121)) == "{\"tempo\": 121, \"peers\": 0}")
    #expect(changes.line(dump(121)) == nil)
    #expect(changes.line(dump(120)) == "{\"tempo\": 120}")
    // The monitor prints each beat, even if its values have not changed.
    let beat = [Message(Table.address("beat"), .int32(1), .int32(1))]
    #expect(changes.line(beat) != nil && changes.line(beat) != nil)
  }

  @Test
  func `connections are kept, also with the next JACK server`()
    async throws
  {
    let stage = try await LabStage("--no-server")
    let jackd = stage.command(["jackd", "--no-realtime", "-n", "stage", "-d", "dummy"])
    var server = try ChildProcess(jackd)
    let child = try await start(
      stage, "--wait", "--server=stage", "-P", "-c", "run=system:playback_2", "--connect=pulse=late:*")
    func wait(_ port: String, for others: Set<String>) async throws {
      let seen = try await stage.cables(of: port, server: "stage") { $0 == others }
      #expect(seen == others, "\(port)")
    }
    for _ in 0..<2 {
      try await wait("tactus:click_1", for: ["system:playback_1"])
      try await wait("tactus:click_2", for: ["system:playback_2"])
      try await wait("tactus:run", for: ["system:playback_2"])
      let late = try ChildProcess(
        stage.command([program, "--server=stage", "--name=late", "--osc=9124", "--no-link"]))
      try await late.awaitLine(beginning: "OSC: ")
      // The only free input of this server is a MIDI port, so the connection from the audio port can't be
      // made, which does no harm.
      #expect(try await stage.cables(of: "tactus:pulse", server: "stage") == [])
      late.signal(SIGTERM)
      #expect(await late.status() == 0)
      server.signal(SIGTERM)
      await server.status()
      server = try ChildProcess(jackd)
      try await child.awaitLine(beginning: "back on JACK server")
    }
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    server.signal(SIGTERM)
    let wrong = try await ChildProcess.run([program, "-c", "click_1"])
    #expect(wrong.status == 2)
    #expect(
      wrong.errors.hasPrefix(
        "tactus: -c takes two JACK ports such as click_1=system:playback_1, not \"click_1\""))
  }

  @Test
  func `groff and mandoc accept the man pages, which name every option`() async throws {
    for page in ["tactus", "osc"] {
      let text = try await ChildProcess.run([program, "man", page])
      let lint = try await ChildProcess.run(["sh", "-c", "\(program) man \(page) | mandoc -Tlint"])
      #expect(lint.status == 0 && lint.output == "", "\(lint.output)")
      let groff = try await ChildProcess.run([
        "sh", "-c", "\(program) man \(page) | groff -man -ww -Tutf8 >/dev/null",
      ])
      #expect(groff.status == 0 && groff.errors == "", "\(groff.errors)")
      guard page == "tactus" else { continue }
      let shown = try await ChildProcess.run([
        "sh", "-c", "\(program) man | groff -man -Tascii -P-c -P-b -P-u -rLL=200n",
      ])
      for line in [
        "tactus view [OPTION]... [ADDRESS[:PORT]]", "tactus send [OPTION]... COMMAND [VALUE]...",
        "tactus session [OPTION]... list | start NAME [-- OPTION...]",
      ] {
        #expect(shown.output.contains(line + "\n"), "\(line)")
      }
      for command in [.program] + CommandOutline.commands {
        for option in command.options {
          let name = option.long.split(separator: "-").joined(separator: "\\-")
          #expect(text.output.contains("\\fB\\-\\-\(name)\\fR"), "\(option.long)")
        }
        if let name = command.name { #expect(text.output.contains(".SS tactus \(name)\n")) }
      }
    }
  }
}
