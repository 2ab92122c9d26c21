// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusApp

@Suite("A configuration that is read again")
struct ReloadTests {
  private func written(_ text: String, _ arguments: String...) throws -> Configuration {
    let scratch = try ScratchFolder()
    try scratch.write(text, to: "config.json5")
    return try withExtendedLifetime(scratch) {
      try Startup(arguments, places: Places(folder: scratch.path)).written
    }
  }

  @Test
  func `a reload changes only keys whose values changed in the file`() throws {
    let before = try written(
      "{'click-gain': 0.3, meter: '3/4', launch: 'beat', 'click-pattern': 'Xx', quantum: 3}", "-q", "5")
    let after = try written(
      "{'click-gain': 0.4, meter: '3/4', 'accent-file': '/a.wav', quantum: 7}", "-q", "5")
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
    #expect(Set(reload.atOnce) == ["click-gain", "launch", "click-pattern", "accent-file"])
    #expect(reload.later == [])
  }

  @Test
  func `every option can be copied from one configuration to another`() throws {
    let full = try written(
      """
      {name: 'a', server: 'b', connect: ['click_1=x:y'], autoconnect: true, 'start-server': true, wait: true, tempo: 99,
       quantum: 3, meter: '5/8',
       link: false, life: 'auto', 'startstop': true, lead: 'auto', 'lead-grid': true, launch: 'now',
       'launch-align': 'exact', 'stop-when': 'bar', 'drift-correct': 'locate', 'drift-above': 5, click: true,
       'click-when': 'rolling', 'click-sound': 'bell', 'accent-file': '/a', 'beat-file': '/b', 'subdivision-file': '/c',
       'click-pattern': 'Xx.', 'click-subdivision': 2, 'click-gain': 2, 'count-in': 2, clock: false,
       'clock-when': 'always', 'clock-settle': 50, pulse: false, 'pulse-rate': '24', 'click-offset': 1, 'click-2-offset': 2, 'clock-offset': 3,
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

  @Test
  func `a reload names changed keys that only count at the next start`() throws {
    let reload = Reload(
      from: try written("{}"), to: try written("{tempo: 90, name: 'other', 'click-gain': 1}"),
      present: Configuration())
    #expect(reload.wanted.tempo == 120 && reload.wanted.name == "tactus")
    #expect(reload.line == "configuration read again: click-gain changed; name, tempo from the next start on")
    let nothing = Reload(from: Configuration(), to: Configuration(), present: Configuration())
    #expect(nothing.line == "configuration read again: nothing has changed")
  }
}

/// tactus without a terminal, as a service runs it, controlled by signals.
@Suite("A service that is sent signals", .serialized)
struct SignalledProgramTests {
  private func start(_ stage: LabStage, _ home: ScratchFolder, _ wrapper: String...) async throws
    -> ChildProcess
  {
    let child = try ChildProcess(
      stage.command(
        ["env", "XDG_CONFIG_HOME=\(home.path)", "XDG_STATE_HOME=\(home.path)"] + wrapper + [
          program, "--click-subdivision=3",
        ]))
    try await child.awaitLine(beginning: "OSC: ")
    return child
  }

  private func ask(_ stage: LabStage, _ words: String...) async throws -> String {
    try await ChildProcess.run(stage.command([program, "send"] + words)).output
  }

  /// Sends the signal to the program alone, not to the programs that started it.
  private func signal(_ stage: LabStage, _ name: String) async throws {
    #expect(try await stage.run("pkill", "-\(name)", "-x", "tactus").status == 0)
  }

  @Test
  func `SIGHUP reloads the configuration; a wrong file changes nothing`()
    async throws
  {
    let stage = try await LabStage()
    let home = try ScratchFolder()
    let file = try home.write("{launch: 'beat', 'click-subdivision': 2}", to: "tactus/config.json5")
    let child = try await start(stage, home, "setsid", "--wait")
    #expect(try await ask(stage, "meter", "3", "4").hasPrefix("meter is "))
    try home.write(
      "{launch: 'now', 'click-subdivision': 4, 'click-sound': 'bell', autoconnect: true, name: 'x', link: false}",
      to: "tactus/config.json5")
    try await signal(stage, "HUP")
    try await child.awaitLine(
      beginning:
        "configuration read again: autoconnect, link, launch, click-sound changed; name from the next start on"
    )
    #expect(try await ask(stage, "launch") == "now\n")
    #expect(try await ask(stage, "link/str") == "Disabled\n")
    #expect(try await ask(stage, "click/sound") == "bell\n")
    // These values were set by hand or on the command line. The file's values for the same keys did not
    // change.
    #expect(try await ask(stage, "meter") == "[3, 4]\n")
    #expect(try await ask(stage, "click/subdivision") == "3\n")
    let cables = try await stage.cables(of: "tactus:click_1") { !$0.isEmpty }
    #expect(cables == ["system:playback_1"])

    try home.write("{launch: 'bar',\n quantm: 5}", to: "tactus/config.json5")
    try await signal(stage, "HUP")
    try await child.awaitLine(
      beginning: "\(file):2: unknown key \"quantm\": do you mean \"quantum\"?; everything stays as it was")
    #expect(try await ask(stage, "launch") == "now\n")
    try await signal(stage, "TERM")
    #expect(await child.status() == 0)
    // A value that tactus got by a reload is not remembered as a choice.
    #expect((try? home.text(of: "tactus/state.json5"))?.contains("link") != true)
  }

  @Test
  func `under nohup, SIGHUP has no effect on tactus`() async throws {
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

  @Test
  func `SIGUSR1 saves choices at once, so they survive a SIGKILL`() async throws {
    let stage = try await LabStage()
    let home = try ScratchFolder()
    let child = try await start(stage, home, "setsid", "--wait")
    #expect(try await ask(stage, "click/offset", "12.5") == "click/offset is 12.5 ms now\n")
    // The choice is saved at once. Without the signal, tactus would wait for a while, because the value may
    // come from a fader that still moves.
    try await signal(stage, "USR1")
    try await child.awaitComplaint("your choices are saved")
    try await signal(stage, "KILL")
    await child.status()
    #expect(try home.text(of: "tactus/state.json5").contains("\"click-offset\": {\"is\": 12.5"))
  }
}

extension ChildProcess {
  /// Waits until standard error contains this text.
  func awaitComplaint(_ text: String) async throws {
    for _ in 0..<400 {
      if saidOnErrors.contains(text) { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw Failure.silent(after: .seconds(20), errors: saidOnErrors)
  }
}
