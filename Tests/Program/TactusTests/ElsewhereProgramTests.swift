// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

/// `tactus view` and `tactus save`: a tactus runs without a terminal, and a user is at another terminal.
@Suite("A tactus that runs as a service", .serialized)
struct ElsewhereProgramTests {
  private func serve(_ stage: LabStage, on host: Int = 1, _ options: String...) async throws -> ChildProcess {
    let child = try ChildProcess(stage.command(on: host, [program] + options))
    try await child.awaitLine(beginning: "OSC: ")
    return child
  }

  @Test
  func `tactus view takes keys, and may end while the service runs on`() async throws {
    let stage = try await LabStage()
    let service = try await serve(stage)
    let terminal = try await Terminal(in: stage, columns: 100, rows: 30)
    try await terminal.enter("\(program) view")
    try await terminal.see(
      "Ableton Link", "Enabled, No Links", "JACK 48000 Hz", "stopped", "20809, this machine")
    #expect(try await terminal.isTaken())
    try await terminal.press("Up", "Up", "Right")
    #expect(try await settles(stage, "tempo", "122.1\n"))
    try await terminal.press("Space")
    try await terminal.see("rolling")
    #expect(try await settles(stage, "jack/rolling", "true\n"))
    // The view shows the service's messages and refusals.
    try await terminal.press("s")
    try await terminal.see("sync on")
    try await terminal.press("9", "9", "9", "9", "Enter")
    try await terminal.see("20 to 999 BPM")
    try await terminal.press("Escape")
    try await terminal.look(for: "no typed tempo") { !$0.contains("20 to 999 BPM") }
    try await terminal.press("q")
    #expect(try await terminal.isSane())
    #expect(try await stage.run(program, "status").output.contains("Transport        rolling"))
    // Restart the service while the view shows it.
    try await terminal.enter("\(program) view")
    try await terminal.see("rolling", "sync on")
    #expect(try await stage.run(program, "send", "quit").status == 0)
    try await terminal.see("tactus has ended; this view continues")
    #expect(await service.status() == 0)
    let again = try await serve(stage, on: 1, "--quantum=7")
    try await terminal.see("it answers again", "Quantum  7", "rolling")
    try await terminal.press("Space")
    try await terminal.see("stopped")
    try await terminal.press("q")
    try await terminal.prompt()
    again.signal(SIGTERM)
    #expect(await again.status() == 0)
    try await terminal.enter("clear; \(program) view")
    try await terminal.see("no tactus answers")
    let nowhere = try await stage.run(program, "view")
    #expect(nowhere.status == 69 || nowhere.errors.contains("no terminal"), "\(nowhere)")
  }

  @Test
  func `a view on another machine has the rights of a controller`() async throws {
    let stage = try await LabStage("--hosts", "2")
    let service = try await serve(stage, on: 2, "--osc-listen=0.0.0.0")
    let address = "10.77.0.2"
    let terminal = try await Terminal(in: stage, columns: 100, rows: 30)
    try await terminal.enter("\(program) view \(address)")
    try await terminal.see("tactus at \(address)", "Enabled", "stopped", "\(address):20809")
    try await terminal.press("Up")
    #expect(try await settles(stage, on: 2, "tempo", "121\n"))
    try await terminal.press("Space")
    try await terminal.see("rolling")
    // This key's command is allowed only on the service's machine.
    try await terminal.press("o")
    try await terminal.see("only from the same machine")
    try await terminal.press("w")
    try await terminal.see("on \(address), tactus send web/open 1: open it to that machine's networks.")
    try await terminal.press("q")
    try await terminal.prompt()
    service.signal(SIGTERM)
    #expect(await service.status() == 0)
    try await terminal.enter("clear; \(program) view \(address)")
    try await terminal.see("no tactus answers at \(address)")
    try await terminal.enter("clear; \(program) view one two; \(program) view a/b")
    try await terminal.see("tactus view shows one tactus at a time", "is no address of a machine")
  }

  private func settles(_ stage: LabStage, on host: Int = 1, _ path: String, _ value: String) async throws
    -> Bool
  {
    for _ in 0..<100 {
      if try await stage.run(on: host, program, "send", path).output == value { return true }
      try await Task.sleep(for: .milliseconds(50))
    }
    return false
  }

  @Test
  func `saving writes the configuration, and keeps what a user wrote`() async throws {
    let stage = try await LabStage()
    let home = try ScratchFolder()
    let file = home.path + "/tactus/config.json5"
    func run(_ words: String...) async throws -> ChildProcess.Finished {
      try await ChildProcess.run(stage.command(["env", "XDG_CONFIG_HOME=\(home.path)", program] + words))
    }
    let child = try ChildProcess(
      stage.command([
        "env", "XDG_CONFIG_HOME=\(home.path)", program, "--no-tui", "--click", "rolling", "--autoconnect",
        "--osc-name=stage",
      ]))
    try await child.awaitLine(beginning: "OSC: ")
    #expect(try await run("send", "meter", "7", "8").status == 0)
    #expect(try await run("send", "out/add", "drums=clock offset=4").status == 0)
    let first = try await run("save")
    #expect(first.status == 0 && first.output == "saved to \(file)\n", "\(first)")
    let startup = try Startup([], places: Places(configuration: file, state: nil))
    let saved = startup.configuration
    #expect(saved.choices.click.isOn && saved.choices.click.when == .rolling && saved.autoconnects)
    #expect(saved.choices.meter.beatsPerBar == 7 && saved.outputs == ["drums=clock offset=4"])
    // Options about the output of this run, such as --no-tui, are not saved.
    #expect(saved.showsView && saved.surface.serviceName == "stage")

    // tactus may overwrite a file that tactus itself wrote.
    #expect(try await run("send", "click/gain", "0.25").status == 0)
    let later = try await run("save")
    #expect(
      later.status == 0 && later.output.contains("the previous settings are in \(file).before now"),
      "\(later)")
    #expect(
      try Startup([], places: Places(configuration: file, state: nil)).configuration.choices.click.gain
        == 0.25
    )

    // If two tactus run, the configuration file may belong to either of them, so `save` is refused.
    let second = try ChildProcess(
      stage.command(["env", "XDG_CONFIG_HOME=\(home.path)", program, "--no-tui", "--name=two"]))
    try await second.awaitLine(beginning: "OSC: ")
    let doubtful = try await run("save", "--name=two")
    #expect(doubtful.status == 1 && doubtful.errors.contains("tactus runs, too"), "\(doubtful)")
    second.signal(SIGTERM)
    #expect(await second.status() == 0)

    // Without --replace, `save` does not change a file that was written by hand.
    let mine = "{ // mine\n  tempo: 99 }\n"
    try WholeFile.write(mine, to: file)
    let refused = try await run("save")
    #expect(refused.status == 1 && refused.output == "", "\(refused)")
    #expect(
      refused.errors.contains("was written by hand") && refused.errors.contains("--replace"), "\(refused)")
    #expect(try WholeFile.read(file, limit: 1 << 20) == Array(mine.utf8))
    let replaced = try await run("save", "--replace")
    #expect(replaced.status == 0, "\(replaced)")
    #expect(try WholeFile.read(file + ".before", limit: 1 << 20) == Array(mine.utf8))
    #expect(
      try Startup([], places: Places(configuration: file, state: nil)).configuration.choices.click.gain
        == 0.25
    )

    // If the disk refuses the write, tactus reports that and continues.
    #expect(
      try await stage.run("sh", "-c", "rm -r '\(home.path)/tactus' && touch '\(home.path)/tactus'").status
        == 0)
    let failed = try await run("save")
    #expect(failed.status == 1 && failed.errors.contains("not saved: "), "\(failed)")
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    let nobody = try await run("save")
    #expect(nobody.status == 69, "\(nobody)")
  }
}

@Test
func `the command line accepts every example of the help`() throws {
  let lines = Configuration.examples.split(separator: "\n").dropFirst()
  #expect(lines.count >= 5)
  for line in lines {
    let words =
      line.prefix { _ in true }.split(separator: "  ").first.map { $0.split(separator: " ").map(String.init) }
      ?? []
    #expect(words.first == "tactus")
    if let command = words.dropFirst().first, Subcommands.named(command) != nil { continue }
    _ = try Configuration(arguments: words.dropFirst())
  }
}
