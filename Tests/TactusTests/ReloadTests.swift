// SPDX-License-Identifier: GPL-2.0-or-later
import Choices
import Glibc
import TestSupport
import Testing

@testable import tactus

@Suite("A configuration that is read again")
struct ReloadTests {
  private func written(_ text: String, _ arguments: String...) throws -> Configuration {
    let scratch = try ScratchFolder()
    try scratch.write(text, to: "config.json5")
    return try withExtendedLifetime(scratch) {
      try Startup(arguments, places: Places(folder: scratch.path)).written
    }
  }

  @Test("Only what it says otherwise is changed; what was chosen by hand stays, and what was typed")
  func differences() throws {
    let before = try written(
      "{gain: 0.3, meter: '3/4', launch: 'beat', pattern: 'Xx', quantum: 3}", "-q", "5")
    let after = try written("{gain: 0.4, meter: '3/4', 'accent-file': '/a.wav', quantum: 7}", "-q", "5")
    var present = before
    present.choices.meter = Meter(beatsPerBar: 7, beatType: 8)
    present.choices.click.gain = 0.9
    let reload = Reload(from: before, to: after, present: present)
    var wanted = present
    wanted.choices.click.gain = 0.4
    wanted.choices.launch.moment = .bar
    wanted.choices.click.pattern = Pattern()
    wanted.soundFiles.accent = "/a.wav"
    #expect(reload.wanted == wanted)
    #expect(Set(reload.atOnce) == ["gain", "launch", "pattern", "accent-file"])
    #expect(reload.later == [])
  }

  @Test("Every option can be taken from one configuration into another, and back to nothing")
  func copying() throws {
    let full = try written(
      """
      {name: 'a', server: 'b', connect: ['click_1=x:y'], autoconnect: true, 'start-server': true, wait: true, bpm: 99,
       quantum: 3, meter: '5/8',
       link: false, life: 'auto', 'start-stop-sync': true, lead: 'auto', 'host-is-clock': true, launch: 'now',
       align: 'exact', stop: 'bar', correct: 'locate', 'correct-above': 5, click: 'rolling', sound: 'bell',
       'accent-file': '/a', 'beat-file': '/b', 'subdivision-file': '/c', pattern: 'Xx.', subdivide: 2, gain: 2,
       'count-in': true, clock: 'always', pulse: '24', 'click-offset': 1, 'click-2-offset': 2, 'clock-offset': 3,
       'pulse-offset': 4, 'run-offset': 5, 'jack-offset': 6, json: true, tui: false}
      """)
    for (one, other) in [(Configuration(), full), (full, Configuration())] {
      var copy = one
      for option in Configuration.options where option.long != "config" {
        option.copy(from: other, to: &copy)
      }
      #expect(copy == other)
    }
  }

  @Test("What is about the start alone is named, and waits for the next one")
  func startOnly() throws {
    let reload = Reload(
      from: try written("{}"), to: try written("{bpm: 90, name: 'other', gain: 1}"), present: Configuration())
    #expect(reload.wanted.tempo == 120 && reload.wanted.name == "tactus")
    #expect(reload.line == "configuration read again: gain changed; name, bpm from the next start on")
    let nothing = Reload(from: Configuration(), to: Configuration(), present: Configuration())
    #expect(nothing.line == "configuration read again: nothing is different")
  }

  @Test("Every key that waits for the next start is a key")
  func names() {
    let names = Set(Configuration.options.map(\.long))
    #expect(Reload.startOnly.isSubset(of: names))
  }
}

/// The program without a terminal, as a service has it, and told things by signals.
@Suite("A service that is sent signals", .serialized)
struct SignalledProgramTests {
  private func start(_ stage: LabStage, _ home: ScratchFolder, _ wrapper: String...) async throws
    -> ChildProcess
  {
    let child = try ChildProcess(
      stage.command(
        ["env", "XDG_CONFIG_HOME=\(home.path)", "XDG_STATE_HOME=\(home.path)"] + wrapper + [
          program, "--subdivide=3",
        ]))
    try await child.awaitLine(beginning: "OSC: ")
    return child
  }

  private func ask(_ stage: LabStage, _ words: String...) async throws -> String {
    try await ChildProcess.run(stage.command([program, "send"] + words)).output
  }

  /// To the program and nobody around it.
  private func signal(_ stage: LabStage, _ name: String) async throws {
    #expect(try await stage.run("pkill", "-\(name)", "-x", "tactus").status == 0)
  }

  @Test(
    "SIGHUP makes it read its configuration again, and a wrong one changes nothing and says where it is wrong"
  )
  func reload() async throws {
    let stage = try await LabStage()
    let home = try ScratchFolder()
    let file = try home.write("{launch: 'beat', subdivide: 2}", to: "tactus/config.json5")
    let child = try await start(stage, home, "setsid", "--wait")
    #expect(try await ask(stage, "meter", "3", "4") == "")
    try home.write(
      "{launch: 'now', subdivide: 4, sound: 'bell', autoconnect: true, name: 'x', link: false}",
      to: "tactus/config.json5")
    try await signal(stage, "HUP")
    try await child.awaitLine(
      beginning:
        "configuration read again: autoconnect, link, launch, sound changed; name from the next start on")
    #expect(try await ask(stage, "launch") == "now\n")
    #expect(try await ask(stage, "link/str") == "Disabled\n")
    #expect(try await ask(stage, "click/sound/str") == "bell\n")
    // By hand, and on the command line: the file did not say otherwise than before.
    #expect(try await ask(stage, "meter") == "[3, 4]\n")
    #expect(try await ask(stage, "click/subdivision") == "3\n")
    for _ in 0..<100 {
      if try await stage.run("jack_lsp", "-c", "tactus:click_1").output.contains("playback") { break }
    }
    #expect(try await stage.run("jack_lsp", "-c", "tactus:click_1").output.contains("system:playback_1"))

    try home.write("{launch: 'bar',\n quantm: 5}", to: "tactus/config.json5")
    try await signal(stage, "HUP")
    try await child.awaitLine(
      beginning: "\(file):2: unknown key \"quantm\": do you mean \"quantum\"?; everything stays as it was")
    #expect(try await ask(stage, "launch") == "now\n")
    try await signal(stage, "TERM")
    #expect(await child.status() == 0)
    // Nobody chose it while it played.
    #expect((try? home.text(of: "tactus/state.json5"))?.contains("link") != true)
  }

  @Test("nohup means that SIGHUP is nothing to it")
  func nohup() async throws {
    let stage = try await LabStage()
    let home = try ScratchFolder()
    let child = try await start(stage, home, "setsid", "--wait", "nohup")
    try home.write("{launch: 'now'}", to: "tactus/config.json5")
    try await signal(stage, "HUP")
    #expect(try await ask(stage, "tempo", "121") == "")
    #expect(try await ask(stage, "launch") == "bar\n")
    try await signal(stage, "TERM")
    #expect(await child.status() == 0)
  }

  @Test("SIGUSR1 saves what was chosen at once, so that not even SIGKILL takes it away")
  func save() async throws {
    let stage = try await LabStage()
    let home = try ScratchFolder()
    let child = try await start(stage, home, "setsid", "--wait")
    #expect(try await ask(stage, "click/1/offset", "12.5") == "")
    // A fader that never rests.
    try await signal(stage, "USR1")
    try await child.awaitComplaint("what was chosen is saved")
    try await signal(stage, "KILL")
    await child.status()
    #expect(try home.text(of: "tactus/state.json5").contains("\"click-offset\": {\"is\": 12.5"))
  }
}

extension ChildProcess {
  /// Until it has said so on standard error.
  func awaitComplaint(_ text: String) async throws {
    for _ in 0..<400 {
      if saidOnErrors.contains(text) { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw Failure.silent(after: .seconds(20), errors: saidOnErrors)
  }
}
