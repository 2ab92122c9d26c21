// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// The program in a real terminal, as a user sees it.
@Suite("In a terminal", .serialized)
struct TerminalTests {
  private func start(
    _ stage: LabStage, _ columns: Int, _ rows: Int, options: String = "--startstop",
    environment: [String] = ["LC_ALL=C.UTF-8"]
  ) async throws -> Terminal {
    let terminal = try await Terminal(in: stage, columns: columns, rows: rows, environment: environment)
    try await terminal.enter("\(program) \(options)")
    try await terminal.see("Ableton Link", "Enabled")
    return terminal
  }

  /// Starts the program in a terminal without a JACK server, which may start later.
  private func startWaiting(_ command: String) async throws -> (LabStage, Terminal) {
    let stage = try await LabStage("--no-server")
    let terminal = try await Terminal(in: stage, columns: 80, rows: 24)
    try await terminal.enter(command)
    try await terminal.see("Ableton Link", "no JACK server", "waiting for it")
    return (stage, terminal)
  }

  @Test(arguments: [(40, 12), (80, 24), (132, 43)])
  func `at every terminal size the view is complete, and its keys work`(
    columns: Int, rows: Int
  ) async throws {
    let stage = try await LabStage()
    let terminal = try await start(stage, columns, rows, options: "--startstop --osc-listen=0.0.0.0")
    #expect(try await terminal.isTaken())
    let screen = try await terminal.see(
      "No Links", "sync on", "stopped", "? keys", "OSC", "█", "░", "━", "timebase master")
    #expect(screen.split(separator: "\n").allSatisfy { $0.count <= columns })

    let linkhut = try LabPeer(.linkhut, in: stage)
    try await linkhut.ask("enable on")
    try await linkhut.ask("sync on")
    try await terminal.see("1 Link")
    try await linkhut.wait("peers", "1")
    try await terminal.press("Up", "Up", "Right")
    try await linkhut.wait("tempo", "122.1")
    try await terminal.press("?")
    try await terminal.see("122.10 BPM", "tap tempo")
    try await linkhut.ask("tempo 120.1")
    try await terminal.see("120.10 BPM")
    try await terminal.press("Escape")
    try await terminal.look(for: "the view") { !$0.contains("tap tempo") }

    try await terminal.press("Space")
    try await linkhut.wait("playing", "true")
    try await terminal.see("rolling")
    try await terminal.press("Space")
    try await linkhut.wait("playing", "false")
    try await terminal.see("stopped")
    // The view has one line for messages. JACK connects the click after the key, so that message comes late.
    try await terminal.press("m")
    try await terminal.see("the click plays on")
    try await terminal.press("c", "s")
    try await terminal.see("sync off", "Start/stop sync: off, also at")
    try await terminal.press("a")
    try await terminal.see("Disabled", "No Links")
    try await linkhut.wait("peers", "0", seconds: 3)
    try await terminal.press("a")
    try await terminal.see("Enabled", "1 Link")

    try await terminal.resize(columns + 7, rows + 3)
    try await terminal.see("Enabled", "1 Link")
    try await terminal.resize(39, 12)
    try await terminal.see("40x12")
    try await terminal.resize(columns, rows)
    try await terminal.see("Enabled")
    try await terminal.press("q")
    #expect(try await terminal.isSane())
  }

  @Test
  func `the view's first picture does not claim that OSC is off`() async throws {
    let stage = try await LabStage()
    let terminal = try await Terminal(in: stage, columns: 80, rows: 24, environment: ["LC_ALL=C.UTF-8"])
    let folder = try ScratchFolder()
    for start in 1...4 {
      let record = "\(folder.path)/\(start)"
      try await terminal.enter("script --quiet --flush --command '\(program)' \(record)")
      try await terminal.see("OSC", "this machine only")
      try await terminal.press("q")
      #expect(try await terminal.isSane())
      let all = try folder.text(of: "\(start)")
      #expect(all.contains("this machine only") && !all.contains("--no-osc"), "start \(start)")
    }
  }

  @Test
  func `bound keys, a typed tempo and taps work without OSC`() async throws {
    let stage = try await LabStage()
    let terminal = try await start(
      stage, 80, 24, options: "--no-osc --tempo=90 --key 'x = tempo 133.5' --key 'h = link/toggle'")
    let linkhut = try LabPeer(.linkhut, in: stage)
    try await linkhut.ask("enable on")
    try await terminal.see("OSC", "off (--no-osc)", "1 Link")
    try await terminal.press("x")
    try await linkhut.wait("tempo", "133.5")
    try await terminal.press("1", "2")
    try await terminal.see("12_ BPM", "Enter sets it")
    try await terminal.press("Enter")
    try await terminal.see("tempo: 20 to 999 BPM, not 12")
    try await terminal.resize(40, 12)
    try await terminal.see("12_ BPM")
    try await terminal.press("8", ".", "5", "Enter")
    try await linkhut.wait("tempo", "128.5")
    try await terminal.press("?")
    try await terminal.see("x         tempo 133~", "h         link/togg~", "?         these keys")
    try await terminal.press("Escape")
    try await terminal.look(for: "the view") { !$0.contains("these keys") }
    try await terminal.press("h")
    try await terminal.see("Disabled")
    try await terminal.press("9", "h")
    try await terminal.see("Enabled", "space start")
    try await terminal.press("q")
    #expect(try await terminal.isSane())
    try await terminal.enter("clear; \(program) --key 'x = tempo/tipp'")
    // The line is longer than the terminal is wide, and the terminal drops spaces at its edge.
    try await terminal.look(for: "the reason") {
      $0.filter { !$0.isWhitespace }.contains("nosuchaddress:tempo/tipp;doyoumeantempo/tap?")
    }
  }

  @Test
  func `keys work before there is a JACK server, and are remembered`() async throws {
    let (stage, terminal) = try await startWaiting("\(program) --wait --server=never")
    try await terminal.press("s")
    try await terminal.see("sync on")
    try await terminal.press("1", "3", "1", "Enter", "?")
    try await terminal.see("131.00 BPM")
    try await terminal.press("q")
    #expect(try await terminal.isSane())
    let state = try await stage.run("sh", "-c", "cat $XDG_STATE_HOME/tactus/state.json5")
    #expect(state.output.contains("\"startstop\": {\"is\": true"), "\(state)")
    #expect(state.output.contains("\"tempo\": {\"is\": 131,"), "\(state)")
  }

  @Test
  func `the view shows the address for a tablet, or how to get one`() async throws {
    let stage = try await LabStage("--hosts", "2")
    let terminal = try await start(stage, 80, 24, options: "--osc-listen=0.0.0.0")
    try await terminal.see("10.77.0.1:20809")
    try await terminal.press("q")
    try await terminal.prompt()
    try await terminal.enter("clear; \(program)")
    try await terminal.see("--osc-listen=0.0.0.0")
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGSEGV])
  func `the shell gets its terminal back however tactus ends`(signal: Int32) async throws {
    let stage = try await LabStage()
    let terminal = try await start(stage, 80, 24)
    #expect(try await terminal.isTaken())
    if signal == SIGINT {
      try await terminal.press("C-c")
    } else {
      #expect(try await stage.run("pkill", "-\(signal)", "-x", "tactus").status == 0)
    }
    #expect(try await terminal.isSane())
  }

  @Test
  func `Ctrl-Z gives the terminal to the shell, and fg returns it to the view`() async throws {
    let stage = try await LabStage()
    let terminal = try await start(stage, 80, 24)
    for _ in 0..<2 {
      try await terminal.press("C-z")
      try await terminal.see("Stopped")
      #expect(try await terminal.isSane())
      try await terminal.enter("clear; fg")
      try await terminal.see("Ableton Link", "Enabled")
      #expect(try await terminal.isTaken())
    }
    try await terminal.press("C-z")
    try await terminal.see("Stopped")
    try await terminal.enter("clear; bg; sleep 1; echo here")
    try await terminal.see("\nhere\n")
    #expect(try await terminal.isSane())
    try await terminal.enter("clear; fg")
    try await terminal.see("Ableton Link", "Enabled")
    try await terminal.press("q")
    #expect(try await terminal.isSane())
  }

  @Test
  func `with Ctrl-Z, tactus leaves JACK and Link; with fg, it returns`()
    async throws
  {
    let stage = try await LabStage()
    let terminal = try await start(stage, 80, 24)
    let linkhut = try LabPeer(.linkhut, in: stage)
    try await linkhut.ask("enable on")
    try await linkhut.wait("peers", "1")
    #expect(try await stage.run("jack_connect", "tactus:click_1", "system:playback_1").status == 0)
    try await terminal.press("C-z")
    try await terminal.see("Stopped")
    try await linkhut.wait("peers", "0", seconds: 3)
    #expect(try await stage.run("jack_lsp").output.contains("tactus") == false)
    try await terminal.enter("clear; fg")
    try await terminal.see("Ableton Link", "1 Link", "stopped")
    let cables = try await stage.cables(of: "tactus:click_1") { !$0.isEmpty }
    #expect(cables == ["system:playback_1"])
    try await terminal.press("q")
    #expect(try await terminal.isSane())
  }

  @Test
  func `with --life=auto, Link leaves the network in the background`()
    async throws
  {
    let stage = try await LabStage()
    let linkhut = try LabPeer(.linkhut, in: stage)
    try await linkhut.ask("enable on")
    let terminal = try await start(stage, 80, 24, options: "--life=auto")
    try await linkhut.wait("peers", "1")
    try await Task.sleep(for: .milliseconds(1500))
    #expect(try await linkhut.status().peers == 1)
    try await terminal.press("C-z")
    try await terminal.see("Stopped")
    try await terminal.enter("clear; bg")
    try await terminal.see("Ableton Link rests")
    try await linkhut.wait("peers", "0", seconds: 3)
    #expect(try await stage.run("jack_connect", "tactus:pulse", "system:playback_2").status == 0)
    try await linkhut.wait("peers", "1")
    #expect(try await stage.run("jack_disconnect", "tactus:pulse", "system:playback_2").status == 0)
    try await linkhut.wait("peers", "0", seconds: 5)
    try await terminal.enter("clear; fg")
    try await terminal.see("Ableton Link", "1 Link")
    try await linkhut.wait("peers", "1")
    try await terminal.press("q")
    #expect(try await terminal.isSane())
  }

  @Test
  func `keys typed before the view appears are obeyed later`() async throws {
    let stage = try await LabStage()
    let gate = try ScratchFolder()
    let terminal = try await Terminal(in: stage, columns: 80, rows: 24)
    try await terminal.enter(
      "printf 'it %s\\n' waits; until [ -e \(gate.path)/open ]; do sleep 0.05; done; \(program)")
    // Wait for this line: if the key came earlier, the shell might read the key.
    try await terminal.see("it waits")
    try await terminal.type("?")
    // Wait for the terminal's echo of the key, which shows that the key waits to be read.
    try await terminal.look(for: "the key") { $0.split(separator: "\n").last == "?" }
    try gate.write("", to: "open")
    try await terminal.see("tap tempo")
    try await terminal.press("q")
    #expect(try await terminal.isSane())
  }

  @Test
  func `a library's message before a crash of tactus is shown after the crash`() async throws {
    // Use a shell without job control, which does not notice that the program is stopped.
    let (stage, terminal) = try await startWaiting("sh -c '\(program) --wait; echo it ended'")
    // The message comes while the program is stopped, and the thread that would have read the message is the
    // one that crashes.
    let crash = """
      import ctypes, os, signal, subprocess, time
      pid = int(subprocess.check_output(["pgrep", "-x", "tactus"]))
      os.kill(pid, signal.SIGSTOP)
      def status(thread):
          with open(f"/proc/{pid}/task/{thread}/status") as lines:
              return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
      threads = os.listdir(f"/proc/{pid}/task")
      while not all(status(thread)["State"].startswith("T") for thread in threads):
          time.sleep(0.01)
      [view] = [t for t in threads if status(t)["Name"] == "view"]
      with open(f"/proc/{pid}/fd/2", "w") as errors:
          errors.write("a last word\\n")
      assert ctypes.CDLL(None).tgkill(pid, int(view), signal.SIGSEGV) == 0
      os.kill(pid, signal.SIGCONT)
      """
    let done = try await stage.run("python3", "-c", crash)
    #expect(done.status == 0, "\(done.errors)")
    try await terminal.see("a last word", "it ended")
    #expect(try await terminal.isSane())
  }

  @Test
  func `a library's message on standard error is shown in the view`() async throws {
    let stage = try await LabStage()
    let terminal = try await start(stage, 80, 24)
    func row(of words: String, in screen: String) -> Int? {
      screen.split(separator: "\n", omittingEmptySubsequences: false).lastIndex { $0.contains(words) }
    }
    let news = row(of: "timebase master: JACK", in: try await terminal.see("timebase master: JACK"))
    #expect(
      try await stage.run("sh", "-c", "echo a stray word >/proc/$(pgrep -x tactus)/fd/2").status == 0)
    #expect(row(of: "a stray word", in: try await terminal.see("a stray word")) == news)
    try await terminal.press("q")
    #expect(try await terminal.isSane())
  }

  @Test
  func `after SIGSTOP and SIGCONT the view is drawn again`()
    async throws
  {
    let (stage, terminal) = try await startWaiting("\(program) --wait")
    #expect(try await stage.run("pkill", "-STOP", "-x", "tactus").status == 0)
    try await Task.sleep(for: .milliseconds(500))
    try await terminal.enter("reset -Q; clear")
    try await terminal.prompt()
    try await terminal.enter("fg")
    try await terminal.see("Ableton Link", "no JACK server")
    try await terminal.press("C-c")
    #expect(try await terminal.isSane())
  }

  @Test
  func `the view outlives a crash of the JACK server, and reports it`() async throws {
    let stage = try await LabStage("--no-server")
    let start = stage.command(["jackd", "--no-realtime", "-n", "stage", "-d", "dummy"])
    let first = try ChildProcess(start)
    let terminal = try await Terminal(in: stage, columns: 80, rows: 24)
    try await terminal.enter("\(program) --wait --server=stage")
    try await terminal.see("JACK 48000 Hz", "stopped")
    #expect(try await stage.run("pkill", "-KILL", "-x", "jackd").status == 0)
    await first.status()
    try await terminal.see("no JACK server", "JACK server gone")
    // The session and the view continue: the line under the beats moves.
    let before = try await terminal.screen()
    try await terminal.look(for: "another picture") { $0 != before && $0.contains("no JACK server") }
    let second = try ChildProcess(start)
    try await terminal.see("JACK 48000 Hz", "stopped")
    try await terminal.press("q")
    #expect(try await terminal.isSane())
    second.signal(SIGTERM)
  }

  @Test
  func `with --wait the view waits for a server`() async throws {
    let (stage, terminal) = try await startWaiting("\(program) --wait --server=stage")
    let server = try ChildProcess(
      stage.command(["jackd", "--no-realtime", "-n", "stage", "-d", "dummy"]))
    try await terminal.see("JACK 48000 Hz", "stopped")
    try await terminal.press("q")
    #expect(try await terminal.isSane())
    server.signal(SIGTERM)
  }

  @Test
  func `without a usable terminal there are lines instead of a view`()
    async throws
  {
    let stage = try await LabStage()
    let terminal = try await Terminal(in: stage, columns: 80, rows: 24)
    for command in [
      "\(program) --no-tui", "TERM=dumb \(program)", "env -u TERM \(program)", "\(program) | cat",
    ] {
      // Clear the screen, so that the output of the last command does not count for this one.
      try await terminal.enter("clear")
      try await terminal.look(for: "an empty screen") { !$0.contains("JACK server") }
      try await terminal.enter(command)
      try await terminal.see("JACK server \"lab\"", "OSC: ", "timebase master")
      #expect(try await terminal.isTaken() == false)
      try await terminal.press("C-c")
      try await terminal.prompt()
    }
    try await terminal.enter("clear")
    try await terminal.look(for: "an empty screen") { !$0.contains("JACK server") }
    try await terminal.enter("\(program) &")
    try await terminal.see("JACK server \"lab\"", "OSC: ", "timebase master")
    try await Task.sleep(for: .milliseconds(500))
    #expect(try await terminal.isTaken() == false)
    try await terminal.enter("fg")
    try await terminal.see("Ableton Link", "Enabled")
    try await terminal.press("C-c")
    #expect(try await terminal.isSane())
  }

  @Test
  func `NO_COLOR removes the colours, a locale without UTF-8 the blocks`()
    async throws
  {
    let stage = try await LabStage()
    let colours = ["[93", ";93", "[36", ";36", "[32", ";32", "[90", ";90"]
    let plain = try await start(stage, 80, 24, environment: ["LC_ALL=C.UTF-8", "NO_COLOR=1"])
    let uncoloured = try await plain.screen(withStyles: true)
    #expect(!colours.contains { uncoloured.contains("\u{1B}" + $0) && uncoloured.contains($0 + "m") })
    let ascii = try await start(stage, 80, 24, options: "--name=other --no-osc", environment: ["LC_ALL=C"])
    let screen = try await ascii.see("####", "....")
    #expect(screen.utf8.allSatisfy { $0 < 0x80 })
    let coloured = try await ascii.screen(withStyles: true)
    #expect(colours.contains { coloured.contains($0) })
  }

  @Test
  func `closing the terminal ends tactus`() async throws {
    let stage = try await LabStage()
    var terminal: Terminal? = try await start(stage, 80, 24)
    _ = terminal
    terminal = nil
    for _ in 0..<100 {
      if try await stage.run("pgrep", "-x", "tactus").status == 1 { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    Issue.record("tactus is still there")
  }
}
