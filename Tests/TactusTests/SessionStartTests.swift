// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TestSupport
import Testing

@testable import tactus

/// `tactus session start` with a DAW that is none: what it says of it, and what it leaves to the musician.
@Suite("A session's start", .serialized)
struct SessionStartTests {
  @Test(
    "It says where the DAW's messages go and that it ended, ends with 1 if it failed, and its configuration is yours"
  )
  func companion() async throws {
    let stage = try await LabStage()
    let scratch = try ScratchFolder()
    try scratch.write("<jack_timebase_enabled>true", to: "home/.hydrogen/hydrogen.conf")
    let daw = try scratch.write("#!/bin/sh\necho ouch >&2\nsleep 1\nexit 3\n", to: "bin/hydrogen")
    #expect(chmod(daw, 0o755) == 0)
    let command = [
      "sh", "-c", "HOME=$1/home XDG_STATE_HOME=$1/state PATH=$1/bin:$PATH exec $2 session start hydrogen",
      "sh",
      scratch.path, program,
    ]
    let log = scratch.path + "/state/tactus/hydrogen.log"
    let session = try ChildProcess(stage.command(command))
    try await session.awaitLine(beginning: "hydrogen has ended with status 3; its messages are in \(log)")
    #expect(session.saidOnErrors == "session hydrogen: the messages of hydrogen go to \(log)\n")
    #expect(try scratch.text(of: "state/tactus/hydrogen.log") == "ouch\n")
    session.signal(SIGTERM)
    #expect(await session.status() == 1)
    // What the musician changes in the copy holds; a DAW that is closed is no failure.
    try scratch.write("{name: \"mine\"}", to: "home/.local/share/tactus/sessions/hydrogen/tactus.json5")
    try scratch.write("#!/bin/sh\nexit 0\n", to: "bin/hydrogen")
    let mine = try ChildProcess(stage.command(command))
    #expect(try await mine.line()?.hasSuffix("as \"mine\"") == true, "\(mine.saidOnErrors)")
    try await mine.awaitLine(beginning: "hydrogen has ended; ")
    mine.signal(SIGTERM)
    #expect(await mine.status() == 0)
  }

  @Test(
    "start takes one name, and says where options for tactus go",
    arguments: [
      (["hydrogen", "ardour-leader"], "start takes one name, and no \"ardour-leader\""),
      (["hydrogen", "--no-tui"], "unknown option \"--no-tui\""),
    ])
  func oneName(words: [String], complaint: String) async throws {
    let done = try await ChildProcess.run([program, "session", "start"] + words)
    #expect(done.status == 2 && done.output == "")
    #expect(
      done.errors.hasPrefix(
        "tactus: session: \(complaint); options for tactus go after --: tactus session start NAME -- OPTION\n"
      ),
      "\(done.errors)")
  }

  @Test("A program without sessions beside it names the way in a clone")
  func alone() async throws {
    let scratch = try ScratchFolder()
    let copy = scratch.path + "/tactus"
    #expect(try await ChildProcess.run(["cp", program, copy]).status == 0)
    let done = try await ChildProcess.run([copy, "session", "list"])
    #expect(done.status == 1)
    #expect(
      done.errors
        == "tactus: session: no sessions beside this program; tools/install puts them there, and in a clone "
        + "tools/run session start NAME finds them\n")
  }
}
