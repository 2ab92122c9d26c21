// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

/// Tests `tactus session start` with a fake DAW: the messages about the DAW are right, and the musician's
/// files stay.
@Suite("A session's start", .serialized)
struct SessionStartTests {
  /// `with`: shell commands or variables that come before the start command.
  private func start(in scratch: ScratchFolder, with: String = "") -> [String] {
    [
      "sh", "-c",
      "\(with)HOME=$1/home XDG_STATE_HOME=$1/state PATH=$1/bin:$PATH exec $2 session start hydrogen",
      "sh", scratch.path, program,
    ]
  }

  @Test
  func `the end of the DAW is reported, and its failure gives status 1`()
    async throws
  {
    let stage = try await LabStage()
    let scratch = try ScratchFolder()
    try scratch.write("<jack_timebase_enabled>true", to: "home/.hydrogen/hydrogen.conf")
    func daw(endsWith status: Int) -> String {
      "#!/bin/sh\necho ouch >&2\nuntil [ -e \(scratch.path)/end\(status) ]; do sleep 0.1; done; exit \(status)\n"
    }
    let executable = try scratch.write(daw(endsWith: 3), to: "bin/hydrogen")
    #expect(chmod(executable, 0o755) == 0)
    let command = start(in: scratch)
    let log = scratch.path + "/state/tactus/hydrogen.log"
    let session = try ChildProcess(stage.command(command))
    try await session.awaitLine(beginning: "OSC: ")
    try scratch.write("", to: "end3")
    try await session.awaitLine(beginning: "hydrogen has ended with status 3; its messages are in \(log)")
    #expect(session.saidOnErrors == "session hydrogen: the messages of hydrogen go to \(log)\n")
    #expect(try scratch.text(of: "state/tactus/hydrogen.log") == "ouch\n")
    session.signal(SIGTERM)
    #expect(await session.status() == 1)
    // The musician's changes to the copied files stay. A DAW that the user has closed is no failure.
    try scratch.write("{name: \"mine\"}", to: "home/.local/share/tactus/sessions/hydrogen/tactus.json5")
    try scratch.write(daw(endsWith: 0), to: "bin/hydrogen")
    let mine = try ChildProcess(stage.command(command))
    #expect(try await mine.line()?.hasSuffix("as \"mine\"") == true, "\(mine.saidOnErrors)")
    try await mine.awaitLine(beginning: "OSC: ")
    try scratch.write("", to: "end0")
    try await mine.awaitLine(beginning: "hydrogen has ended; ")
    mine.signal(SIGTERM)
    #expect(await mine.status() == 0)
  }

  @Test func `session start uses a DAW that stayed open from the last start`() async throws {
    let stage = try await LabStage()
    let scratch = try ScratchFolder()
    try scratch.write("<jack_timebase_enabled>true", to: "home/.hydrogen/hydrogen.conf")
    let daw = try scratch.write(
      "#!/bin/sh\necho $$ >>\(scratch.path)/opened\nuntil [ -e \(scratch.path)/end ]; do sleep 0.1; done\n",
      to: "bin/hydrogen")
    #expect(chmod(daw, 0o755) == 0)
    let command = start(in: scratch)
    for turn in 0..<3 {
      let session = try ChildProcess(stage.command(command))
      try await session.awaitLine(beginning: "OSC: ")
      let words = turn == 0 ? "the messages of hydrogen go to" : "hydrogen is still open from the last start"
      #expect(session.saidOnErrors.contains(words), "\(session.saidOnErrors)")
      if turn == 2 {
        try scratch.write("", to: "end")
        // The line is "hydrogen has ended", or "hydrogen ended at once" if tactus had not checked before.
        try await session.awaitLine(beginning: "hydrogen ")
      }
      session.signal(SIGINT)
      // A DAW that tactus never saw running counts as failed.
      let status = await session.status()
      #expect(status == 0 || turn == 2)
    }
    #expect(try scratch.text(of: "opened").split(separator: "\n").count == 1)
    // The DAW was closed, so the next start opens it again.
    let session = try ChildProcess(stage.command(command))
    try await session.awaitLine(beginning: "hydrogen ")
    session.signal(SIGTERM)
    _ = await session.status()
    #expect(try scratch.text(of: "opened").split(separator: "\n").count == 2)
  }

  @Test(arguments: [true, false])
  func `session start reports a DAW that does not join JACK in time`(joins: Bool) async throws {
    let stage = try await LabStage()
    let scratch = try ScratchFolder()
    try scratch.write("<jack_timebase_enabled>true", to: "home/.hydrogen/hydrogen.conf")
    let waits =
      joins
      ? "exec jack_metro --name Hydrogen --bpm 60" : "until [ -e \(scratch.path)/end ]; do sleep 0.1; done"
    let daw = try scratch.write("#!/bin/sh\n\(waits)\n", to: "bin/hydrogen")
    #expect(chmod(daw, 0o755) == 0)
    let session = try ChildProcess(stage.command(start(in: scratch, with: "TACTUS_DAW_SECONDS=3 ")))
    try await session.awaitLine(beginning: "OSC: ")
    let words = "hydrogen is open and has not joined JACK"
    if joins {
      try await Task.sleep(for: .seconds(6))
      #expect(!session.saidOnErrors.contains(words), "\(session.saidOnErrors)")
    } else {
      for _ in 0..<300 where !session.saidOnErrors.contains(words) {
        try await Task.sleep(for: .milliseconds(100))
      }
      #expect(session.saidOnErrors.contains(words), "\(session.saidOnErrors)")
    }
    try scratch.write("", to: "end")
    session.signal(SIGINT)
    _ = await session.status()
    _ = try await stage.run("pkill", "-x", "jack_metro")
  }

  @Test func `session start uses a DAW that the musician has already opened`() async throws {
    let stage = try await LabStage()
    let scratch = try ScratchFolder()
    try scratch.write("<jack_timebase_enabled>true", to: "home/.hydrogen/hydrogen.conf")
    let daw = try scratch.write("#!/bin/sh\ntouch \(scratch.path)/opened\n", to: "bin/hydrogen")
    #expect(chmod(daw, 0o755) == 0)
    // Start a client with the name that Hydrogen has in JACK.
    let opened = try ChildProcess(stage.command(["jack_metro", "--name", "Hydrogen", "--bpm", "60"]))
    let isThere = try await stage.run("sh", "-c", "until jack_lsp | grep -q ^Hydrogen:; do sleep 0.1; done")
    #expect(isThere.status == 0)
    let session = try ChildProcess(stage.command(start(in: scratch)))
    try await session.awaitLine(beginning: "OSC: ")
    #expect(session.saidOnErrors.contains("hydrogen is open already"), "\(session.saidOnErrors)")
    #expect(access(scratch.path + "/opened", F_OK) != 0)
    session.signal(SIGINT)
    #expect(await session.status() == 0)
    opened.signal(SIGTERM)
    _ = await opened.status()
  }

  @Test(arguments: [
    ("ardour-follower", "ardour", "jack_lsp"), ("qtractor", "qtractor", "jack_bufsize"),
    ("loopers", "slgui", "jack_connect"),
  ])
  func `a session that misses JACK's small programs says what to install`(
    session: String, daw: String, missing: String
  ) async throws {
    let stage = try await LabStage()
    let scratch = try ScratchFolder()
    // Symbolic links to all programs of this machine, except JACK's command-line programs, in one folder.
    let tools = try await ChildProcess.run([
      "sh", "-c", "cp -rs /usr/bin $1/tools && rm -f $1/tools/jack_*", "sh", scratch.path,
    ])
    #expect(tools.status == 0, "\(tools.errors)")
    let executable = try scratch.write("#!/bin/sh\n", to: "bin/" + daw)
    #expect(chmod(executable, 0o755) == 0)
    let started = try ChildProcess(
      stage.command([
        "env", "HOME=\(scratch.path)/home", "XDG_STATE_HOME=\(scratch.path)/state",
        "PATH=\(scratch.path)/bin:\(scratch.path)/tools", program, "session", "start", session,
      ]))
    try await started.awaitLine(beginning: "OSC: ")
    let said = started.saidOnErrors
    #expect(said.contains("without \(missing) "), "\(said)")
    #expect(said.contains("apt install jack-example-tools"), "\(said)")
    started.signal(SIGTERM)
    _ = await started.status()
  }

  /// `size`: how many bytes of the file the copy has; nil: all of them. `isReplaced`: whether the next start
  /// replaces the copy.
  @Test(
    arguments: [
      ("four-on-the-floor.h2song", 0, true), ("four-on-the-floor.h2song", 4096, true),
      ("four-on-the-floor.h2song", nil, false), ("tactus.json5", 0, true),
    ] as [(String, Int?, Bool)])
  func `session start replaces an incomplete copy of a file`(file: String, size: Int?, isReplaced: Bool)
    async throws
  {
    let stage = try await LabStage()
    let scratch = try ScratchFolder()
    try scratch.write("<jack_timebase_enabled>true", to: "home/.hydrogen/hydrogen.conf")
    let daw = try scratch.write("#!/bin/sh\n", to: "bin/hydrogen")
    #expect(chmod(daw, 0o755) == 0)
    let (folder, original) = (
      "home/.local/share/tactus/sessions/hydrogen/", Lab.top + "/sessions/hydrogen/" + file
    )
    try scratch.write("", to: folder + file)
    let cut = try await ChildProcess.run([
      "sh", "-c", "head -c \(size.map(String.init) ?? "99999") \(original) >\(scratch.path)/\(folder)\(file)",
    ])
    #expect(cut.status == 0)
    let session = try ChildProcess(stage.command(start(in: scratch)))
    try await session.awaitLine(beginning: "OSC: ")
    let said = session.saidOnErrors
    #expect(said.contains("the copy of \(file) in") == isReplaced, "\(said)")
    let now = try await ChildProcess.run(["cmp", original, "\(scratch.path)/\(folder)\(file)"])
    #expect(now.status == 0, "\(now)")
    session.signal(SIGTERM)
    _ = await session.status()
  }

  @Test func `if a session's file can't be copied whole, the start fails`() async throws {
    let stage = try await LabStage()
    let scratch = try ScratchFolder()
    try scratch.write("<jack_timebase_enabled>true", to: "home/.hydrogen/hydrogen.conf")
    let daw = try scratch.write("#!/bin/sh\ntouch \(scratch.path)/opened\n", to: "bin/hydrogen")
    #expect(chmod(daw, 0o755) == 0)
    // Allow files of one block only, less than the song needs, as on a full disk.
    let done = try await ChildProcess.run(
      stage.command(start(in: scratch, with: "ulimit -f 1; ")))
    #expect(done.status == 1 && done.errors.contains("cannot copy four-on-the-floor.h2song"), "\(done)")
    #expect(access(scratch.path + "/opened", F_OK) != 0)
    let copies = scratch.path + "/home/.local/share/tactus/sessions/hydrogen"
    let left = try await ChildProcess.run(["find", copies, "-type", "f"])
    #expect(left.output == "")
  }

  @Test
  func `a DAW that ends before tactus starts is reported by tactus`() async throws {
    let stage = try await LabStage()
    let scratch = try ScratchFolder()
    let daw = try scratch.write("#!/bin/sh\necho ouch\n", to: "bin/daw")
    #expect(chmod(daw, 0o755) == 0)
    let script = try scratch.write(
      ". \"$1/session.sh\"\nbeside daw\nwait $!\nexec \"$TACTUS_PROGRAM\" --no-tui\n", to: "start")
    let session = try ChildProcess(
      stage.command([
        "env", "HOME=\(scratch.path)", "XDG_STATE_HOME=\(scratch.path)/state", "TACTUS_PROGRAM=\(program)",
        "PATH=\(scratch.path)/bin:/usr/bin:/bin", "bash", script, Lab.top + "/sessions",
      ]))
    let log = scratch.path + "/state/tactus/\(scratch.path.split(separator: "/").last ?? "").log"
    try await session.awaitLine(beginning: "daw ended at once; its messages are in \(log)")
    session.signal(SIGTERM)
    #expect(await session.status() == 1)
  }

  @Test
  func `a note of a DAW that belongs to another tactus is ignored`() {
    #expect(Companion("1 2 daw /log", of: 1) != nil)
    for words in ["1 2 daw /log", "7 0 daw /log", "7 daw /log", "", nil] {
      #expect(Companion(words, of: 7) == nil, "\(words ?? "none")")
    }
  }

  @Test(arguments: [
    (["hydrogen", "ardour-leader"], "start takes one name, and no \"ardour-leader\""),
    (["hydrogen", "--no-tui"], "unknown option \"--no-tui\""),
  ])
  func `session start takes one name, and its errors say where options go`(words: [String], complaint: String)
    async throws
  {
    let done = try await ChildProcess.run([program, "session", "start"] + words)
    #expect(done.status == 2 && done.output == "")
    #expect(
      done.errors.hasPrefix(
        "tactus: session: \(complaint); options for tactus go after --: tactus session start NAME -- OPTION\n"
      ),
      "\(done.errors)")
  }

  @Test
  func `a tactus without session folders says how to run them in a clone`() async throws {
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
