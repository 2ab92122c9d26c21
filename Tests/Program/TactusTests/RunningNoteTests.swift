// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

@Suite("Which tactus a command talks to")
struct RunningNoteTests {
  private let one = RunningNote.Content(name: "tactus", port: 20809)
  private let two = RunningNote.Content(name: "tactus-01", port: 41234)

  @Test
  func `the file that notes a running tactus goes with it, private to its user`() throws {
    let scratch = try ScratchFolder()
    let folder = scratch.path + "/tactus"
    #expect(RunningNote.all(in: folder) == [])
    var note = RunningNote(one, in: folder)
    #expect(note != nil && RunningNote.all(in: folder) == [one])
    var status = stat()
    #expect(stat(folder, &status) == 0 && status.st_mode & 0o777 == 0o700)
    note = nil
    #expect(RunningNote.all(in: folder) == [] && scratch.names == ["tactus"])
    #expect(RunningNote(one, in: nil) == nil && RunningNote.all(in: nil) == [])
    #expect(RunningNote(one, in: "/nowhere/at/all") == nil)
  }

  @Test
  func `without XDG_RUNTIME_DIR, the folder /run/user/UID is used`() throws {
    let scratch = try ScratchFolder()
    let users = scratch.path
    #expect(RunningNote.folder("/run/me", ofUsers: users) == "/run/me/tactus")
    for variable in [nil, "", "here"] { #expect(RunningNote.folder(variable, ofUsers: users) == nil) }
    #expect(mkdir("\(users)/\(geteuid())", 0o700) == 0)
    for variable in [nil, "", "here"] {
      #expect(RunningNote.folder(variable, ofUsers: users) == "\(users)/\(geteuid())/tactus")
    }
  }

  @Test
  func `the note of a crashed tactus is deleted, and an invalid note ignored`() throws {
    let scratch = try ScratchFolder()
    try scratch.write("{\"name\": \"dead\", \"port\": 4}", to: "4.json5")
    let note = RunningNote(two, in: scratch.path)
    for (name, text) in [
      ("5", "{"), ("6", "{\"name\": 7, \"port\": 8}"), ("7", "{\"name\": \"a\", \"port\": 70000}"),
    ] {
      let path = try scratch.write(text, to: name + ".json5")
      let holder = open(path, O_RDONLY | O_CLOEXEC)
      #expect(flock(holder, LOCK_EX) == 0)
    }
    #expect(mkfifo(scratch.path + "/8.json5", 0o600) == 0)
    #expect(RunningNote.all(in: scratch.path) == [two])
    #expect(!scratch.names.contains("4.json5") && scratch.names.contains("5.json5"))
    withExtendedLifetime(note) {}
  }

  @Test
  func `a command finds the only tactus, one by its name, or the usual port`() throws {
    func port(_ whereabouts: Whereabouts, _ running: RunningNote.Content...) -> String {
      do throws(UserError) {
        return "\(try whereabouts.port(of: running))"
      } catch {
        return error.text
      }
    }
    let three = RunningNote.Content(name: "stage", port: 41235)
    #expect(port(Whereabouts()) == "20809" && port(Whereabouts(), one) == "20809")
    #expect(port(Whereabouts(), two) == "41234")
    #expect(port(Whereabouts(), one, two) == "20809")
    #expect(
      port(Whereabouts(), two, three)
        == "several run here: tactus-01 (OSC port 41234), stage (OSC port 41235); say which with --name=NAME")
    #expect(port(Whereabouts(name: "stage"), one, two, three) == "41235")
    #expect(
      port(Whereabouts(name: "x"), two)
        == "no tactus called \"x\" runs here; there is tactus-01 (OSC port 41234)")
    #expect(port(Whereabouts(name: "x")) == "no tactus called \"x\" runs here")
    #expect(port(Whereabouts(port: 9, name: "x"), one) == "9")
  }

  @Test
  func `a second tactus with the same name is refused with advice`()
    async throws
  {
    let stage = try await LabStage()
    let first = try ChildProcess(stage.command([program]))
    try await first.awaitLine(beginning: "timebase master")
    let line =
      "tactus: tactus runs already, as JACK client \"tactus\", OSC port 20809: tactus status shows its state, "
      + "tactus send quit ends it; "
    let again = try await stage.run(program, "--click")
    #expect(again.status == 1 && again.output == "", "\(again)")
    #expect(again.errors == line + "--name=NAME starts a second one beside it\n")
    let session = try await stage.run(program, "session", "start", "modular")
    #expect(session.status == 1, "\(session)")
    #expect(session.errors == line + "-- --name=NAME starts a second one beside it\n")
    // If the note of the running tactus can't be found (under cron or sudo), JACK still shows its client.
    let blind = try await stage.run("env", "-u", "XDG_RUNTIME_DIR", program)
    #expect(blind.status == 1, "\(blind)")
    #expect(blind.errors.hasPrefix("tactus: tactus runs already, as JACK client \"tactus\""), "\(blind)")
    // A second tactus with another name starts. When the timebase master leaves, the second one takes over.
    let meant = try ChildProcess(stage.command([program, "--name=second"]))
    try await meant.awaitLine(beginning: "another client is timebase master")
    first.signal(SIGTERM)
    #expect(await first.status() == 0)
    try await meant.awaitLine(beginning: "timebase master")
    meant.signal(SIGTERM)
    #expect(await meant.status() == 0)
  }

  @Test
  func `commands find two tactus by their names, and a single one at any port`() async throws {
    let stage = try await LabStage()
    let first = try ChildProcess(stage.command([program]))
    try await first.awaitLine(beginning: "OSC: 127.0.0.1:20809")
    let second = try ChildProcess(stage.command([program, "--launch=now", "--name=tactus-01"]))
    try await second.awaitLine(beginning: "OSC: ")
    func launch(_ options: String...) async throws -> String {
      try await ChildProcess.run(stage.command([program, "send", "launch"] + options)).output
    }
    #expect(try await launch() == "bar\n")
    #expect(try await launch("--name=tactus") == "bar\n")
    #expect(try await launch("--name=tactus-01") == "now\n")
    let doctor = try await stage.run(program, "doctor").output
    #expect(
      doctor.contains("runs, controlled at OSC port 20809") && doctor.contains("tactus-01 runs, controlled"))
    // Two tactus are no conflict, although only one of them can be timebase master.
    #expect(!doctor.contains("takeover") && doctor.contains("leaves bars and beats to tactus"), "\(doctor)")
    let wanted = try await stage.run(program, "doctor", "--name=nobody")
    #expect(
      wanted.status == 1 && wanted.output.contains("!  tactus: no tactus called \"nobody\""), "\(wanted)")
    first.signal(SIGTERM)
    #expect(await first.status() == 0)
    #expect(try await launch() == "now\n")
    let monitor = try ChildProcess(stage.command([program, "monitor"]))
    #expect(try await monitor.line()?.contains("\"launch\": \"now\"") == true)
    #expect(try await stage.run("pkill", "-KILL", "-x", "-o", "tactus").status == 0)
    await second.status()
    #expect(try await stage.run(program, "status").status == 69)
  }
}
