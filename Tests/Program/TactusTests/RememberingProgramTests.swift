// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

/// The program with a configuration and a state file. The lab has its own folders for both files.
@Suite("The program's configuration and memory", .serialized)
struct RememberingProgramTests {
  private func shell(_ stage: LabStage, _ script: String) async throws -> ChildProcess.Finished {
    try await ChildProcess.run(stage.command(["sh", "-c", script, "sh", program]))
  }

  private func ask(_ stage: LabStage, _ message: String) async throws {
    _ = try await stage.run("sh", "-c", "oscsend osc.udp://127.0.0.1:20809 /tactus/\(message)")
  }

  @Test
  func `choices come from the configuration, and changes survive a restart`()
    async throws
  {
    let stage = try await LabStage()
    let written = try await shell(
      stage,
      "mkdir -p $XDG_CONFIG_HOME/tactus && echo '{name: \"band\", tempo: 97}' > $XDG_CONFIG_HOME/tactus/config.json5"
    )
    #expect(written.status == 0)
    let first = try ChildProcess(stage.command([program]))
    #expect(try await first.line()?.hasSuffix("as \"band\"") == true)
    try await first.awaitLine(beginning: "OSC: ")
    try await ask(stage, "startstop i 1")
    try await ask(stage, "click/offset f -4.5")
    try await ask(stage, "tempo f 88")
    let transport = try LabPeer(.jack, in: stage)
    try await transport.wait("tempo", "88")
    first.signal(SIGTERM)
    #expect(await first.status() == 0)
    #expect(first.saidOnErrors == "")

    let shown = try await shell(stage, "$1 config")
    #expect(shown.errors == "")
    #expect(
      shown.output == """
        configuration: /dev/shm/config/tactus/config.json5, nothing wrong with it
        remembered: /dev/shm/state/tactus/state.json5
          tempo 88
          startstop true
          click-offset -4.5

        """)
    let again = try ChildProcess(stage.command([program]))
    try await again.awaitLine(beginning: "OSC: ")
    try await transport.wait("tempo", "88")
    again.signal(SIGTERM)
    #expect(await again.status() == 0)
    #expect(
      try await shell(stage, "$1 config --forget && $1 config").output.hasSuffix("state.json5 (none yet)\n"))
  }

  /// Starts tactus at 121 BPM, bends its tempo to 133.1 BPM, and starts a peer that reads JACK's transport.
  private func bent(_ stage: LabStage) async throws -> (ChildProcess, LabPeer) {
    let first = try ChildProcess(stage.command([program]))
    try await first.awaitLine(beginning: "OSC: ")
    let transport = try LabPeer(.jack, in: stage)
    try await ask(stage, "tempo f 121")
    try await transport.wait("tempo", "121")
    try await ask(stage, "bend f 10")
    try await transport.wait("tempo", "133.1")
    return (first, transport)
  }

  /// - Parameter signal: the signal that ends tactus; nil: a controller sends `quit`.
  @Test(arguments: [SIGTERM, SIGKILL, nil])
  func `a tempo bend held at the end of tactus is not its next tempo`(signal: Int32?) async throws {
    let stage = try await LabStage()
    let (first, transport) = try await bent(stage)
    // Wait longer than tactus waits before it writes the state file.
    try await Task.sleep(for: .seconds(3))
    if let signal { first.signal(signal) } else { try await ask(stage, "quit") }
    _ = await first.status()
    let next = try ChildProcess(stage.command([program]))
    try await next.awaitLine(beginning: "OSC: ")
    try await transport.wait("tempo", "121")
    next.signal(SIGTERM)
    #expect(await next.status() == 0)
  }

  @Test func `a tempo bend that is held while choices are saved is not saved`()
    async throws
  {
    let stage = try await LabStage()
    let (first, transport) = try await bent(stage)
    let state = try await shell(
      stage, "until grep tempo $XDG_STATE_HOME/tactus/state.json5; do sleep 0.1; done 2>/dev/null"
    ).output
    #expect(state.contains("121") && !state.contains("133"), "\(state)")
    let saved = try await shell(stage, "$1 save && cat $XDG_CONFIG_HOME/tactus/config.json5")
    #expect(saved.status == 0 && saved.output.contains("tempo: 121,"), "\(saved)")
    try await ask(stage, "bend f 0")
    try await transport.wait("tempo", "121")
    first.signal(SIGTERM)
    #expect(await first.status() == 0)
  }

  @Test(arguments: [SIGTERM, nil])
  func `at its end, tactus gives the session the tempo from before a bend`(signal: Int32?) async throws {
    let stage = try await LabStage()
    let peer = try LabPeer(.reference, in: stage)
    try await peer.found()
    let first = try ChildProcess(stage.command([program, "--lead-grid"]))
    try await first.awaitLine(beginning: "OSC: ")
    try await peer.wait("peers", "1")
    try await ask(stage, "tempo f 121")
    try await peer.wait("tempo", "121")
    try await ask(stage, "bend f 10")
    try await peer.wait("tempo", "133.1")
    if let signal { first.signal(signal) } else { try await ask(stage, "quit") }
    _ = await first.status()
    try await peer.wait("peers", "0")
    // The reference peer reports first that tactus has left, and only then the last tempo from tactus.
    try await peer.wait("tempo", "121")
  }

  @Test
  func `choices that config --forget dropped are not saved when tactus ends`() async throws {
    let stage = try await LabStage()
    let child = try ChildProcess(stage.command([program]))
    try await child.awaitLine(beginning: "OSC: ")
    let remembered = """
      $1 send startstop 1; $1 send click/offset 5
      for n in $(seq 200); do grep -q click-offset $XDG_STATE_HOME/tactus/state.json5 && exit; sleep 0.05; done; exit 1
      """
    #expect(try await shell(stage, remembered).status == 0)
    let forgotten = try await shell(stage, "$1 config --forget")
    #expect(
      forgotten.status == 0
        && forgotten.errors
          == "tactus: forgotten for the next start; the running tactus keeps its values until it ends\n"
    )
    // tactus still uses the forgotten value, but from now on remembers only new choices.
    #expect(
      try await shell(stage, "$1 send click/offset; $1 send clock/offset 2").output
        == "5\nclock/offset is 2 ms now\n")
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    let left = try await shell(stage, "$1 config")
    #expect(left.output.hasSuffix("state.json5\n  clock-offset 2\n"), "\(left)")
  }

  @Test
  func `a full disk gives one warning, and the old state file stays whole`() async throws {
    let stage = try await LabStage()
    let prepared = try await shell(
      stage,
      """
      mkdir -p /dev/shm/state && mount -t tmpfs -o size=64k none /dev/shm/state && mkdir /dev/shm/state/tactus &&
      echo '{"tempo": {"is": 99, "over": 120}}' > /dev/shm/state/tactus/state.json5 &&
      ! head -c 1000000 /dev/zero > /dev/shm/state/full 2>/dev/null
      """)
    #expect(prepared.status == 0, "\(prepared.errors)")
    let child = try ChildProcess(stage.command([program]))
    try await child.awaitLine(beginning: "OSC: ")
    try await ask(stage, "startstop i 1")
    for _ in 0..<400 where child.saidOnErrors.isEmpty { try await Task.sleep(for: .milliseconds(25)) }
    let warning = child.saidOnErrors
    #expect(warning.contains("can't be written") && warning.contains("No space left"), "\(warning)")
    child.signal(SIGTERM)
    #expect(await child.status() == 0)
    #expect(child.saidOnErrors == warning)
    let left = try await shell(stage, "cat $XDG_STATE_HOME/tactus/state.json5; ls $XDG_STATE_HOME/tactus")
    #expect(left.output == "{\"tempo\": {\"is\": 99, \"over\": 120}}\nstate.json5\n")
  }

  @Test
  func `a wrong configuration gives one line, status 2, and starts nothing`() async throws {
    let done = try await ChildProcess.run(
      ["sh", "-c", "printf '{\\n  tmepo: 120,\\n}' | \"$1\" --config /dev/stdin", "sh", program])
    #expect(done.status == 2 && done.output == "")
    #expect(done.errors == "tactus: /dev/stdin:2: unknown key \"tmepo\": do you mean \"tempo\"?\n")
    let missing = try await ChildProcess.run([program, "--config=/nowhere/config.json5"])
    #expect(missing.status == 2)
    #expect(missing.errors == "tactus: /nowhere/config.json5: No such file or directory\n")
    let endless = try await ChildProcess.run([program, "--config=/dev/zero"])
    #expect(endless.status == 2)
    #expect(endless.errors == "tactus: /dev/zero: a device, not a file\n")
  }

  @Test
  func `the program accepts the configuration that it prints`() async throws {
    let script = "\"$1\" config --print-default | \"$1\" config --config /dev/stdin --print"
    let environment = ["HOME": "/nowhere", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""]
    let done = try await ChildProcess.run(["sh", "-c", script, "sh", program], environment: environment)
    #expect(done.status == 0 && done.errors == "")
    let printed = try await ChildProcess.run([program, "config", "--print-default"])
    func keys(_ text: String) -> [Substring] { text.split(separator: "\n").filter { !$0.contains("// ") } }
    #expect(keys(done.output) == keys(printed.output) && keys(printed.output).count > 30)
  }
}
