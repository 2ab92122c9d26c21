// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

/// Tests how tactus ends while JACK, the disk or the terminal does not cooperate.
@Suite("The end", .serialized)
struct EndTests {
  /// A pause between two signals. It is long enough that tactus does not take both for one signal.
  private let pause = Duration.milliseconds(400)

  private func shell(_ stage: LabStage, _ script: String) async throws -> ChildProcess.Finished {
    try await ChildProcess.run(stage.command(["sh", "-c", script, "sh", program]))
  }

  /// Starts a JACK server that a test can suspend. The server's process id is in the file /dev/shm/jackd of
  /// the lab.
  private func jackd(_ stage: LabStage) throws -> ChildProcess {
    let script = "echo $$ >/dev/shm/jackd; exec jackd --no-realtime -n stage -d dummy >/dev/null 2>&1"
    return try ChildProcess(stage.command(["sh", "-c", script]))
  }

  private func hold(_ stage: LabStage) async throws {
    #expect(try await shell(stage, "kill -STOP $(cat /dev/shm/jackd)").status == 0)
  }

  /// The state of the server's process as ps shows it. It begins with T if the process is suspended.
  private func state(_ stage: LabStage) async throws -> String {
    try await shell(stage, "ps -o stat= -p $(cat /dev/shm/jackd)").output
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func `while JACK hangs, a second signal ends tactus, and choices are kept`(signal: Int32)
    async throws
  {
    let stage = try await LabStage("--no-server")
    let server = try jackd(stage)
    defer { server.signal(SIGKILL) }
    let child = try ChildProcess(stage.command([program, "--wait", "--server=stage"]))
    try await child.awaitLine(beginning: "OSC: ")
    try await hold(stage)
    // Make a choice while the server is suspended. The choice must be kept even if the main thread already
    // hangs.
    let sent = try await shell(stage, "$1 send click/offset 7")
    #expect(sent.status == 0, "\(sent)")
    child.signal(SIGTERM)
    try await Task.sleep(for: pause)
    child.signal(signal)
    // When tactus knows that JACK does not answer, the first signal ends it without a wait.
    let status = await child.status()
    let state = try await state(stage)
    #expect(state.hasPrefix("T"), "\(state)")
    #expect(
      (status == 1) == child.saidOnErrors.contains("ended without waiting for JACK")
        && (status == 0 || status == 1),
      "\(status) \(child.saidOnErrors)")
    #expect(
      try await shell(stage, "cat $XDG_STATE_HOME/tactus/state.json5").output.contains(
        "\"click-offset\": {\"is\": 7"))
  }

  /// A script that makes tactus call JACK every 5 ms, and that suspends the JACK server meanwhile.
  private let holdWhileAsked = """
    import os, signal, socket, time
    asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for step in range(100):
      if step == 50: os.kill(int(open("/dev/shm/jackd").read()), signal.SIGSTOP)
      asker.sendto(b"/tactus/takeover\\0\\0\\0\\0,\\0\\0\\0", ("127.0.0.1", 20809))
      time.sleep(0.005)
    """

  @Test
  func `a hanging JACK call is noticed, and one signal then ends tactus`() async throws {
    let stage = try await LabStage("--no-server")
    let server = try jackd(stage)
    defer { server.signal(SIGKILL) }
    let child = try ChildProcess(stage.command([program, "--wait", "--server=stage"]))
    try await child.awaitLine(beginning: "timebase master")
    for isLast in [false, true] {
      #expect(try await ChildProcess.run(stage.command(["python3", "-c", holdWhileAsked])).status == 0)
      try await child.awaitLine(beginning: "JACK does not answer")
      #expect(try await shell(stage, "$1 status --json").output.contains("\"jack/connected\": false"))
      if isLast { break }
      #expect(try await shell(stage, "kill -CONT $(cat /dev/shm/jackd)").status == 0)
      try await child.awaitLine(beginning: "JACK answers again")
    }
    let start = ContinuousClock.now
    child.signal(SIGTERM)
    #expect(await child.status() == 1)
    #expect(ContinuousClock.now - start < .seconds(6))
    #expect(child.saidOnErrors.contains("ended without waiting for JACK"))
  }

  @Test
  func `three signals at once end tactus cleanly if JACK answers`() async throws {
    let stage = try await LabStage("--name", "studio")
    let child = try ChildProcess(stage.command([program]))
    try await child.awaitLine(beginning: "OSC: ")
    child.signal(SIGTERM)
    child.signal(SIGHUP)
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    #expect(child.saidOnErrors == "")
    #expect(try await stage.run("jack_lsp").output.contains("tactus:") == false)
  }

  @Test
  func `on a read-only disk, the old state file stays, with one warning`()
    async throws
  {
    let stage = try await LabStage("--name", "studio")
    let prepared = try await shell(
      stage,
      """
      mkdir -p $XDG_STATE_HOME/tactus && cd $XDG_STATE_HOME/tactus && mount -t tmpfs none . && cd . &&
      echo '{"click-offset": {"is": 5, "over": 0}}' >$XDG_STATE_HOME/tactus/state.json5 &&
      mount -o remount,ro $XDG_STATE_HOME/tactus
      """)
    #expect(prepared.status == 0, "\(prepared)")
    let child = try ChildProcess(stage.command([program]))
    try await child.awaitLine(beginning: "OSC: ")
    #expect(try await shell(stage, "$1 status --json").output.contains("\"click/offset\": 5"))
    #expect(try await shell(stage, "$1 send click/offset 7").status == 0)
    for _ in 0..<200 where child.saidOnErrors.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
    #expect(try await shell(stage, "$1 send click/offset 8").status == 0)
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    let said = child.saidOnErrors
    #expect(said.contains("can't be written") && said.contains("Read-only file system"), "\(said)")
    #expect(said.split(separator: "\n").count == 1, "\(said)")
    let left = try await shell(stage, "cd $XDG_STATE_HOME/tactus && ls && cat state.json5")
    #expect(left.output == "state.json5\n{\"click-offset\": {\"is\": 5, \"over\": 0}}\n", "\(left)")
  }

  @Test
  func `two Ctrl-C while JACK hangs give the shell its terminal back`() async throws {
    let stage = try await LabStage("--no-server")
    let server = try jackd(stage)
    defer { server.signal(SIGKILL) }
    let terminal = try await Terminal(in: stage, columns: 80, rows: 24)
    try await terminal.enter("\(program) --wait --server=stage; echo ended with $?")
    try await terminal.see("Ableton Link", "timebase master")
    try await hold(stage)
    try await terminal.press("C-c")
    try await Task.sleep(for: pause)
    try await terminal.press("C-c")
    try await terminal.see("\nended with ")
    #expect(try await terminal.isSane())
    let state = try await state(stage)
    #expect(state.hasPrefix("T"), "\(state)")
  }

  @Test
  func `tactus plays on if the terminal stops background output`() async throws {
    let stage = try await LabStage("--name", "studio")
    let terminal = try await Terminal(in: stage, columns: 120, rows: 24)
    try await terminal.enter("stty tostop; \(program) --no-tui &")
    try await terminal.see("\nOSC: ")
    #expect(try await stage.run("timeout", "2", "jack_lsp").output.contains("tactus:click_1"))
    try await terminal.enter("kill %1; wait; echo ended with $?")
    try await terminal.see("\nended with ")
  }

  /// The test suspends tactus for one of two times, in seconds. The first is longer than the one second after
  /// which jackd drops a client. The second is longer than the five seconds for which jackd waits for a
  /// client that closes.
  @Test(arguments: [1.2, 5.5])
  func `a tactus that was suspended for seconds comes back to its JACK server`(
    seconds: Double
  ) async throws {
    let stage = try await LabStage("--name", "studio")
    let child = try ChildProcess(
      stage.command(["sh", "-c", "echo $$ >/dev/shm/tactus; exec \"$1\" --click", "sh", program]))
    try await child.awaitLine(beginning: "OSC: ")
    // Make two clients run one after the other in each cycle, both connected to the driver.
    let other = try ChildProcess(stage.command(["sh", "-c", "exec jack_iodelay >/dev/null 2>&1"]))
    defer { other.signal(SIGKILL) }
    let wires = """
      until jack_connect tactus:click_1 jack_delay:in; do sleep 0.1; done 2>/dev/null
      jack_connect jack_delay:out system:playback_1
      jack_connect tactus:click_2 system:playback_2
      # For each new cable, and soon after its start, jackd asks tactus for latencies and waits for the answer. If
      # tactus is stopped just then, jackd's own messages about lost cycles pile up; jackd cuts one of them and
      # then answers no client until a later one completes it (facts: jack 8).
      sleep 2
      jack_lsp >/dev/null
      """
    #expect(try await shell(stage, wires).status == 0)
    // Whether the server has noticed that tactus did not answer. It notices nothing if the server itself had
    // to wait for a processor for as long; in that case, the test suspends tactus once more.
    func isMissed() async -> Bool {
      while let line = try? await child.line(within: .seconds(8)) {
        if line.hasPrefix("tactus stood still for ") { return true }
      }
      return false
    }
    var wasMissed = false
    for _ in 0..<5 where !wasMissed {
      let stop = "kill -STOP $(cat /dev/shm/tactus); sleep \(seconds); kill -CONT $(cat /dev/shm/tactus)"
      #expect(try await shell(stage, stop).status == 0)
      wasMissed = await isMissed()
    }
    #expect(wasMissed)
    try await child.awaitLine(beginning: "back on JACK server")
    let isWell = """
      for i in $(seq 50); do
        timeout 1 jack_lsp -c | grep -A1 ^tactus:click_1 | grep -q jack_delay:in &&
          $1 status --json | grep -q '"jack/connected": true' && exit; sleep 0.1
      done; exit 1
      """
    #expect(try await shell(stage, isWell).status == 0)
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    #expect(try await shell(stage, "timeout 2 jack_lsp >/dev/null").status == 0)
  }

  @Test
  func `SIGUSR1 and SIGHUP do not end a tactus command such as status`() async throws {
    let stage = try await LabStage("--no-server")
    // A command blocks or ignores the signals at its beginning, before it asks a tactus. Here no tactus
    // answers it, so the test has time to send signals.
    let script = """
      import os, signal, socket, subprocess, sys
      os.setsid()
      nobody = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      nobody.bind(("127.0.0.1", 0))
      child = subprocess.Popen([sys.argv[1], "status", f"--osc={nobody.getsockname()[1]}"], stderr=subprocess.DEVNULL)
      def begun():
          lines = dict(line.split(":", 1) for line in open(f"/proc/{child.pid}/status"))
          return all((int(lines["SigBlk"], 16) | int(lines["SigIgn"], 16)) & 1 << n - 1 for n in ASKED)
      ASKED = signal.SIGUSR1, signal.SIGHUP
      while not begun(): pass
      for asked in ASKED: os.kill(child.pid, asked)
      print(child.wait())
      """
    let done = try await ChildProcess.run(stage.command(["python3", "-c", script, program]))
    #expect(done.output == "69\n", "\(done)")
  }
}
