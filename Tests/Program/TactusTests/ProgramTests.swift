// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

let program = Lab.products + "/tactus"

@Test
func `help and version go to standard output and need no server`() async throws {
  for (option, start) in [("--help", "Usage: tactus"), ("-h", "Usage: tactus"), ("-V", "tactus 0.")] {
    let done = try await ChildProcess.run([program, option], environment: ["JACK_DEFAULT_SERVER": "nobody"])
    #expect(done.status == 0 && done.errors == "" && done.output.hasPrefix(start), "\(option): \(done)")
    #expect(done.output.hasSuffix("\n") && !done.output.hasSuffix("\n\n"))
  }
}

@Test
func `a wrong command line ends with status 2, a reason and a hint`()
  async throws
{
  let done = try await ChildProcess.run([program, "--sever=x"])
  #expect(done.status == 2 && done.output == "")
  #expect(
    done.errors == "tactus: unknown option \"--sever\": do you mean \"--server\"?\nTry 'tactus --help'.\n")
}

@Test
func `without a server the program ends with status 69 and a line of advice`() async throws {
  let done = try await ChildProcess.run([program, "-s", "nobody"])
  #expect(done.status == 69 && done.output == "")
  #expect(done.errors.hasPrefix("tactus: no JACK server called \"nobody\" is running; "))
  #expect(done.errors.split(separator: "\n").count == 1)
}

@Test
func `--server wins over JACK_DEFAULT_SERVER`() async throws {
  let other = try await ChildProcess.run([program], environment: ["JACK_DEFAULT_SERVER": "nobody-else"])
  #expect(other.errors.contains("\"nobody-else\""))
  let named = try await ChildProcess.run(
    [program, "--server=nobody"], environment: ["JACK_DEFAULT_SERVER": "nobody-else"])
  #expect(named.errors.contains("\"nobody\""))
}

@Test
func `--probe without a JACK server prints nothing and ends with status 69`() async throws {
  let done = try await ChildProcess.run([program, "--probe", "--server", "nobody"])
  #expect(done.status == 69 && done.output == "" && done.errors == "")
}

@Test
func `a sound file that can't be used is a usage error that names it`()
  async throws
{
  for option in ["--accent-file", "--beat-file", "--subdivision-file"] {
    let done = try await ChildProcess.run([program, option, "/nowhere.wav", "--server=nobody"])
    #expect(done.status == 2 && done.output == "")
    #expect(
      done.errors == "tactus: the sound file \"/nowhere.wav\" can't be read: No such file or directory\n")
  }
}

@Test
func `a client name that JACK can't take is a usage error`() async throws {
  let done = try await ChildProcess.run([program, "--name=a:b", "--server=nobody"])
  #expect(done.status == 2 && done.errors.contains("no colon"))
}

@Test
func `output that can't be written is a failure, unless its reader has ended`()
  async throws
{
  for words in ["--help", "--version", "man", "config --print-default", "completions bash", "session list"] {
    let done = try await ChildProcess.run(["sh", "-c", "\"$0\" \(words) >/dev/full", program])
    #expect(done.status == 1, "\(words)")
    #expect(
      done.errors == "tactus: can't write to standard output: No space left on device\n", "\(words)")
    let closed = try await ChildProcess.run(["bash", "-c", "\"$0\" \(words) | true", program])
    #expect(closed.errors == "", "\(words)")
  }
}

extension ChildProcess {
  /// The next lines, including the first that begins with `start`.
  func lines(to start: String) async throws -> [String] {
    var lines: [String] = []
    while let line = try await line() {
      lines.append(line)
      if line.hasPrefix(start) { return lines }
    }
    throw Failure.ended(status: await status(), errors: saidOnErrors)
  }

  /// Waits for lines with these beginnings, in any order; skips other lines.
  func awaitLine(beginning starts: String...) async throws {
    var missing = starts
    while let line = try await line() {
      missing.removeAll { line.hasPrefix($0) }
      if missing.isEmpty { return }
    }
    throw Failure.ended(status: await status(), errors: saidOnErrors)
  }
}

@Suite("The program on a server", .serialized)
struct ProgramOnServerTests {
  @Test(arguments: [SIGINT, SIGTERM, SIGQUIT])
  func `the first line names the JACK server, and a signal ends with status 0`(
    signal: Int32
  ) async throws {
    let stage = try await LabStage("--name", "studio", "--rate", "44100", "--period", "128")
    let child = try ChildProcess(
      stage.command(["env", "-u", "JACK_DEFAULT_SERVER", program, "-s", "studio", "-n", "pulse"]))
    let line = try await child.line(beginning: "JACK server \"studio\" (jack2 ")
    #expect(line.contains(": 44100 Hz, 128 frames a period (2.9 ms), "))
    #expect(line.hasSuffix(", as \"pulse\""))
    #expect(try await stage.run("jack_lsp").output.contains("pulse:"))
    child.signal(signal)
    #expect(await child.status() == 0)
    #expect(child.saidOnErrors == "")
    #expect(try await stage.run("jack_lsp").output.contains("pulse:") == false)
    #expect(try await stage.run(program, "--probe").status == 0)
  }

  @Test
  func `--wait waits for a JACK server; a signal ends the wait with status 0`()
    async throws
  {
    let stage = try await LabStage("--no-server")
    let child = try ChildProcess(stage.command([program, "--wait", "--server=late"]))
    let impatient = try ChildProcess(stage.command([program, "--wait", "--server=never"]))
    for waiting in [child, impatient] {
      for _ in 0..<1200 where waiting.saidOnErrors.isEmpty { try await Task.sleep(for: .milliseconds(25)) }
    }
    let server = try ChildProcess(
      stage.command(["sh", "-c", "exec jackd --no-realtime -n late -d dummy >/dev/null 2>&1"]))
    _ = try await child.line(beginning: "JACK server \"late\"")
    // libjack's database may complain if two programs open it at the same time: ignore that.
    let said = child.saidOnErrors.split(separator: "\n").filter { !$0.hasPrefix("BDB") }
    #expect(said == ["tactus: no JACK server called \"late\" is running; waiting for it"])
    for process in [child, impatient] {
      process.signal(SIGTERM)
      #expect(await process.status() == 0)
    }
    server.signal(SIGTERM)
  }

  @Test
  func `several tactus can start and end at the same moment on a busy machine`() async throws {
    let stage = try await LabStage()
    let busy = try (0..<4).map { _ in try ChildProcess(["sh", "-c", "while :; do :; done"]) }
    defer { for loop in busy { loop.signal(SIGKILL) } }
    for _ in 0..<4 {
      let programs = try (0..<6).map {
        try ChildProcess(stage.command([program, "--no-osc", "--name=player \($0)"]))
      }
      for program in programs {
        // On a busy machine, a server may not answer at first.
        try await program.awaitLine(beginning: "JACK server ")
      }
      for program in programs { program.signal(SIGTERM) }
      for program in programs {
        let (status, said) = (await program.status(), program.saidOnErrors)
        // If JACK does not answer for seconds, the program ends without JACK, with status 1.
        let isJACKSilent = status == 1 && said.contains("ended without waiting for JACK")
        if isJACKSilent { notJudged(said.split(separator: "\n").joined(separator: "; ")) }
        #expect(status == 0 || isJACKSilent, "\(said)")
      }
    }
  }

  @Test
  func `tactus outlives its JACK server, and joins the next one`() async throws {
    let stage = try await LabStage("--no-server")
    let start = stage.command(["jackd", "--no-realtime", "-n", "stage", "-d", "dummy"])
    let first = try ChildProcess(start)
    let child = try ChildProcess(stage.command([program, "--wait", "--server=stage"]))
    try await child.awaitLine(beginning: "JACK server \"stage\"")
    first.signal(SIGTERM)
    await first.status()
    try await child.awaitLine(beginning: "JACK server gone")
    let second = try ChildProcess(start)
    try await child.awaitLine(beginning: "back on JACK server \"stage\"")
    child.signal(SIGINT)
    #expect(await child.status() == 0)
    second.signal(SIGTERM)
  }
}
