// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// Whether /etc/jackdrc exists, from which libjack takes the server's command line if there is no ~/.jackdrc.
private let everybodysLineIsThere = access("/etc/jackdrc", F_OK) == 0

@Suite("--start-server", .serialized)
struct StartedServerTests {
  /// A user with a home folder that belongs to the test, on a stage without a server. `line` is the content
  /// of the user's ~/.jackdrc.
  private final class User {
    let home: ScratchFolder
    let stage: LabStage

    init(_ line: String?) async throws {
      home = try ScratchFolder()
      if let line { try home.write(line + "\n", to: ".jackdrc") }
      stage = try await LabStage("--no-server")
    }

    func tactus(_ options: String...) -> [String] {
      // Remove the variable by which the lab keeps libjack from starting a server.
      stage.command(["env", "-u", "JACK_NO_START_SERVER", "HOME=\(home.path)", program] + options)
    }

    /// Returns the number of running servers as soon as the number is `wanted`, or after 20 s.
    func servers(_ wanted: Int) async throws -> Int {
      var count = -1
      for _ in 0..<200 {
        count = try await stage.run("ps", "-eo", "stat,comm").output.split(separator: "\n")
          .count { $0.hasSuffix("jackd") && !$0.hasPrefix("Z") }
        if count == wanted { break }
        try await Task.sleep(for: .milliseconds(100))
      }
      return count
    }
  }

  private static let dummy = "/usr/bin/jackd --no-realtime -d dummy -r 44100 -p 512"

  @Test
  func `--start-server starts JACK as ~/.jackdrc says and ends it with tactus`()
    async throws
  {
    let user = try await User(Self.dummy)
    let child = try ChildProcess(user.tactus("--start-server", "--server=mine"))
    let line = try await child.line(within: .seconds(30))
    #expect(line?.hasPrefix("JACK server \"mine\" (jack2 ") == true, "\(line ?? "") \(child.saidOnErrors)")
    #expect(line?.contains(": 44100 Hz, 512 frames") == true)
    #expect(try await child.line() == "tactus started this server; it ends with its last client")
    #expect(try await child.line()?.hasPrefix("OSC: ") == true)
    #expect(try await user.servers(1) == 1)
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    #expect(child.saidOnErrors == "")
    #expect(try await user.servers(0) == 0)
  }

  @Test
  func `without --start-server, or beside a running JACK, no server is started`() async throws {
    let user = try await User(Self.dummy)
    let without = try await ChildProcess.run(user.tactus("--server=mine"))
    #expect(without.status == 69 && without.errors.contains("--start-server"))
    let probe = try await ChildProcess.run(user.tactus("--start-server", "--probe", "--server=mine"))
    #expect(probe.status == 69 && probe.errors == "")
    #expect(try await user.servers(0) == 0)
    let server = try ChildProcess(
      user.stage.command(["jackd", "--no-realtime", "-n", "mine", "-d", "dummy", "-r", "48000"]))
    let waiting = try ChildProcess(user.tactus("--wait", "--server=mine", "--no-osc"))
    try await waiting.awaitLine(beginning: "JACK server \"mine\"")
    let child = try ChildProcess(user.tactus("--start-server", "--server=mine", "--name=second"))
    #expect(try await child.line()?.contains(": 48000 Hz") == true)
    #expect(try await child.line()?.hasPrefix("this server") == false)
    for process in [child, waiting, server] { process.signal(SIGTERM) }
    #expect(await child.status() == 0)
  }

  @Test
  func `a wrong ~/.jackdrc is reported, and --wait still waits for a server`()
    async throws
  {
    let user = try await User("/usr/bin/jackd -d nosuchdriver")
    let file = user.home.path + "/.jackdrc"
    let words =
      "tactus: no JACK server called \"mine\" is running, and the command in \(file) did not start one"
    let done = try await ChildProcess.run(user.tactus("--start-server", "--server=mine"))
    #expect(done.status == 69 && done.output == "", "\(done)")
    #expect(done.errors == words + "; type that line yourself to see why\n")
    // Start this tactus only after the first one has ended. When both ran at once, two of eight runs had an
    // extra line of output of unknown origin.
    let patient = try ChildProcess(user.tactus("--start-server", "--wait", "--server=mine"))
    for _ in 0..<300 where patient.saidOnErrors == "" { try await Task.sleep(for: .milliseconds(100)) }
    #expect(patient.saidOnErrors == words + "; waiting for it\n")
    let server = try ChildProcess(
      user.stage.command(["jackd", "--no-realtime", "-n", "mine", "-d", "dummy"]))
    let line = try await patient.line(within: .seconds(30))
    #expect(line?.hasPrefix("JACK server \"mine\"") == true, "\(line ?? "nothing")")
    patient.signal(SIGTERM)
    #expect(await patient.status() == 0)
    server.signal(SIGTERM)
  }

  @Test(.enabled(if: !everybodysLineIsThere))
  func `without a ~/.jackdrc, --start-server fails at once, in one line`() async throws {
    let user = try await User(nil)
    let done = try await ChildProcess.run(user.tactus("--start-server", "--server=mine"))
    #expect(done.status == 69 && done.output == "")
    #expect(
      done.errors
        == "tactus: no JACK server called \"mine\" is running, and no ~/.jackdrc says how to start one; "
        + "write there what you would type, such as /usr/bin/jackd -d alsa\n")
  }

  @Test
  func `JACK_NO_START_SERVER is obeyed and reported`() async throws {
    let user = try await User(Self.dummy)
    let done = try await ChildProcess.run(
      user.stage.command(["env", "HOME=\(user.home.path)", program, "--start-server", "-s", "mine"]))
    #expect(done.status == 69)
    #expect(done.errors.hasSuffix(", and JACK_NO_START_SERVER forbids starting one\n"))
  }

  @Test
  func `tactus does not restart a JACK server that it started and that ended`() async throws {
    let user = try await User(Self.dummy)
    let child = try ChildProcess(user.tactus("--start-server", "--server=mine"))
    try await child.awaitLine(beginning: "tactus started this server")
    #expect(try await user.stage.run("pkill", "-TERM", "-x", "jackd").status == 0)
    try await child.awaitLine(beginning: "JACK server gone")
    #expect(try await user.servers(0) == 0)
    // Wait for ten times the interval between two tries.
    try await Task.sleep(for: .seconds(2))
    #expect(try await user.servers(0) == 0)
    let server = try ChildProcess(
      user.stage.command(["jackd", "--no-realtime", "-n", "mine", "-d", "dummy"]))
    try await child.awaitLine(beginning: "back on JACK server \"mine\"")
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    server.signal(SIGTERM)
  }

  @Test
  func `Ctrl-Z ends a JACK server without other clients, and fg restarts it`() async throws {
    let user = try await User(Self.dummy)
    let terminal = try await Terminal(in: user.stage, columns: 80, rows: 24)
    try await terminal.enter(
      "HOME=\(user.home.path) JACK_DEFAULT_SERVER=mine; unset JACK_NO_START_SERVER; export HOME JACK_DEFAULT_SERVER"
    )
    try await terminal.enter("clear; \(program) --start-server")
    try await terminal.see("Ableton Link", "JACK 44100 Hz", "stopped")
    try await terminal.press("C-z")
    try await terminal.see("Stopped")
    #expect(try await user.servers(0) == 0)
    try await terminal.enter("clear; fg")
    try await terminal.see("Ableton Link", "JACK 44100 Hz", "stopped")
    #expect(try await user.servers(1) == 1)
    try await terminal.press("q")
    #expect(try await terminal.isSane())
    #expect(try await user.servers(0) == 0)
  }
}
