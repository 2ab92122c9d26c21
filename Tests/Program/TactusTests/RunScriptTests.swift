// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Tests tools/run with the program that is already built.
@Suite("tools/run", .serialized)
struct RunScriptTests {
  private static let announcement =
    "no JACK server: tactus runs on a private one without sound; to hear it, start your server, then tactus again\n"

  private func run(on stage: LabStage, _ options: String..., without variable: String = "NONE") -> [String] {
    stage.command(["env", "-u", variable, "TACTUS_PROGRAM=\(program)", Lab.top + "/tools/run"] + options)
  }

  /// The programs that tools/run has started and that still run on the stage.
  private func left(on stage: LabStage) async throws -> String {
    try await stage.run("ps", "-eo", "stat,comm").output.split(separator: "\n")
      .filter { ($0.hasSuffix("jackd") || $0.hasSuffix("tactus")) && !$0.hasPrefix("Z") }.joined(
        separator: "\n")
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `without a JACK server tools/run starts its own and ends it with tactus`(signal: Int32)
    async throws
  {
    let stage = try await LabStage("--no-server")
    let child = try ChildProcess(run(on: stage))
    #expect(try await child.line()?.hasPrefix("JACK server \"tactus-") == true, "\(child.saidOnErrors)")
    #expect(child.saidOnErrors == Self.announcement)
    child.signal(signal)
    #expect(await child.status() == 0)
    #expect(child.saidOnErrors == Self.announcement)
    #expect(try await left(on: stage) == "")
    #expect(try await stage.run("ls", "/dev/shm").output.contains("tactus-") == false)
  }

  @Test
  func `the JACK server of tools/run ends when tactus or the script is killed`() async throws {
    for victim in ["^[^ ]*/tactus$", "^bash .*/tools/run$"] {
      let stage = try await LabStage("--no-server")
      let child = try ChildProcess(run(on: stage))
      #expect(try await child.line()?.hasPrefix("JACK server \"tactus-") == true, "\(child.saidOnErrors)")
      try #require(await stage.run("pkill", "-KILL", "-f", victim).status == 0)
      #expect(await child.status() == 137)
      // The script waits for the server's end, but if the script itself was killed, the test must wait
      // instead. Otherwise the next client may connect while the old server ends, and libjack then waits five
      // seconds for an answer.
      var rest = try await left(on: stage)
      for _ in 0..<150 where rest != "" {
        try await Task.sleep(for: .milliseconds(100))
        rest = try await left(on: stage)
      }
      #expect(rest == "", "after killing \(victim)")
    }
  }

  @Test
  func `tools/run uses a running JACK server and prints nothing of its own`() async throws {
    let stage = try await LabStage("--name", "studio")
    let child = try ChildProcess(run(on: stage))
    #expect(try await child.line()?.hasPrefix("JACK server \"studio\"") == true)
    child.signal(SIGINT)
    #expect(await child.status() == 0)
    #expect(child.saidOnErrors == "")
  }

  @Test(.enabled(if: Lab.hasPipeWire))
  func `tools/run uses the libjack of PipeWire if PipeWire runs`() async throws {
    let stage = try await LabStage("--pipewire")
    let child = try ChildProcess(run(on: stage, without: "LD_LIBRARY_PATH"))
    #expect(try await child.line()?.contains("(PipeWire ") == true, "\(child.saidOnErrors)")
    child.signal(SIGINT)
    #expect(await child.status() == 0)
    #expect(try await left(on: stage) == "")
  }

  @Test
  func `for a missing --server, tools/run starts no other JACK server`() async throws {
    let stage = try await LabStage("--no-server")
    let done = try await ChildProcess.run(run(on: stage, "--server=nobody"))
    #expect(done.status == 69)
    #expect(done.errors.hasPrefix("tactus: no JACK server called \"nobody\" is running; "))
    #expect(try await left(on: stage) == "")
  }

  @Test
  func `tools/run announces a build, and only if the sources have changed`()
    async throws
  {
    let scratch = try ScratchFolder()
    for file in ["run", "lib/packages.sh"] {
      let text = try await ChildProcess.run(["cat", "\(Lab.top)/tools/\(file)"]).output
      try scratch.write(text, to: "clone/tools/" + file)
    }
    try scratch.write("// swift-tools-version: 6.2", to: "clone/Package.swift")
    try scratch.write("1", to: "clone/Sources/Program/TactusApp/main.swift")
    // The fake compiler takes no time, and the program that it makes does nothing.
    let built = "clone/.build/release/tactus"
    let swift = try scratch.write(
      "#!/bin/sh\n[ \"$1\" = --version ] && { echo Swift version 9.9; exit; }\nmkdir -p \(scratch.path)/clone/.build/release\n"
        + "echo built >>\(scratch.path)/log; echo '#!/bin/sh' >\(scratch.path)/\(built); chmod 755 \(scratch.path)/\(built)\n",
      to: "bin/swift")
    #expect(chmod(swift, 0o755) == 0)
    func run() async throws -> String {
      let done = try await ChildProcess.run([
        "sh", "-c", "PATH=$1/bin:$PATH exec bash $1/clone/tools/run", "sh", scratch.path,
      ])
      #expect(done.status == 0, "\(done)")
      return done.errors
    }
    #expect(try await run() == "building tactus; the first time takes some minutes\n")
    // If nothing has changed, the compiler is not even called: in a terminal it would compile again what it
    // had compiled when its output was a pipe.
    #expect(try await run() == "")
    #expect(try await ChildProcess.run(["cat", scratch.path + "/log"]).output == "built\n")
    let later = try await ChildProcess.run([
      "touch", "-d", "+1 minute", scratch.path + "/clone/Sources/Program/TactusApp/main.swift",
    ])
    #expect(later.status == 0)
    #expect(try await run() == "building tactus again: its sources have changed\n")
  }

  @Test
  func `with --help, --version or a wrong option, tools/run starts no server`() async throws {
    let stage = try await LabStage("--no-server")
    let version = try await ChildProcess.run(run(on: stage, "--version"))
    #expect(version.status == 0 && version.output.hasPrefix("tactus ") && version.errors == "")
    let help = try await ChildProcess.run(run(on: stage, "--help"))
    #expect(help.status == 0 && help.output.hasPrefix("Usage: tactus") && help.errors == "")
    #expect(try await ChildProcess.run(run(on: stage, "help")).output == help.output)
    let send = try await ChildProcess.run(run(on: stage, "help", "send"))
    #expect(send.status == 0 && send.output.hasPrefix("Usage: tactus send"))
    let mistake = try await ChildProcess.run(run(on: stage, "--nonsense"))
    #expect(mistake.status == 2 && mistake.errors.hasPrefix("tactus: unknown option"))
  }
}
