// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

@testable import TactusApp

/// The real program, controlled by a real OSC client, with LinkHut in the same session.
@Suite("The program, controlled by OSC", .serialized)
struct ControlledProgramTests {
  @Test
  func `a tablet plays a set: LinkHut beside it follows tempo, start and stop`() async throws {
    let stage = try await LabStage()
    let program = try ChildProcess(stage.command([program]))
    try await program.awaitLine(beginning: "OSC: 127.0.0.1:20809")
    let linkhut = try LabPeer(.linkhut, in: stage)
    try await linkhut.ask("enable on")
    try await linkhut.ask("sync on")
    try await linkhut.wait("peers", "1")
    let tablet = try await Tablet(in: stage)
    tablet.send("subscribe f:\(tablet.port).0 s:state,beat i:60")
    try await tablet.receive("link/str s:Enabled")
    try await tablet.receive("peers/str s:1 Link")

    tablet.send("tempo f:131.0")
    try await linkhut.wait("tempo", "131")
    tablet.send("tempo/nudge f:-2.0")
    try await linkhut.wait("tempo", "129")
    try await tablet.receive("tempo/str s:129.00")
    tablet.send("tempo f:97.0 s:bar")
    try await linkhut.wait("tempo", "97")

    tablet.send("startstop T")
    try await tablet.receive("startstop f:1.0")
    tablet.send("start f:1.0 s:bar")
    tablet.send("start f:0.0")
    try await linkhut.wait("playing", "true")
    try await tablet.receive("jack/rolling f:1.0")
    #expect(try await tablet.receive(beginning: "beat i:") != "")
    tablet.send("launch/error")
    let error = try await tablet.receive(beginning: "launch/error f:")
    let milliseconds = Double(error.split(separator: ":").last ?? "") ?? .nan
    // A start is exact to half a period, which is 2.7 ms for 256 frames at 48 kHz. The limit is larger
    // because the machine may be busy.
    #expect(abs(milliseconds) < 60, "\(error)")

    tablet.press("click/toggle")
    try await tablet.receive("click f:1.0")
    tablet.send("locate/bar i:5")
    _ = try await tablet.receive(beginning: "beat i:")
    tablet.press("stop")
    try await linkhut.wait("playing", "false")
    try await tablet.receive("jack/rolling f:0.0")

    // The tablet also gets changes that another peer makes.
    try await linkhut.ask("tempo 111")
    try await tablet.receive("tempo/str s:111.00")
    try await linkhut.quit()
    try await tablet.receive("peers/str s:No Links")
    tablet.send("quit f:1.0")
    try await tablet.receive("bye")
    #expect(await program.status() == 0)
    #expect(program.saidOnErrors == "")
  }

  /// Starts a tactus whose JACK server then ends, and a tablet that tactus has told so.
  private func whoseServerEnded(on stage: LabStage, _ options: String...) async throws -> (
    ChildProcess, Tablet
  ) {
    let server = try ChildProcess(
      stage.command(["jackd", "--no-realtime", "-n", "stage", "-d", "dummy"]))
    let program = try ChildProcess(stage.command([program, "--wait", "--server=stage"] + options))
    try await program.awaitLine(beginning: "OSC: ")
    let tablet = try await Tablet(in: stage)
    tablet.send("subscribe i:\(tablet.port)")
    try await tablet.receive("jack/connected f:1.0")
    server.signal(SIGTERM)
    await server.status()
    try await tablet.receive("status s:no JACK server")
    return (program, tablet)
  }

  @Test
  func `without a JACK server, a start is refused, and the tempo can change`()
    async throws
  {
    let stage = try await LabStage("--no-server")
    let (program, tablet) = try await whoseServerEnded(on: stage)
    tablet.send("start")
    try await tablet.receive("error s:start: no JACK server s:/tactus/start i:4")
    tablet.send("tempo f:88.0")
    try await tablet.receive("tempo/str s:88.00")
    program.signal(SIGTERM)
    #expect(await program.status() == 0)
    try await tablet.receive("bye")
  }

  @Test
  func `without a JACK server, a tablet still starts and stops the session`()
    async throws
  {
    let stage = try await LabStage("--no-server")
    let (program, tablet) = try await whoseServerEnded(on: stage, "--startstop")
    for (command, playing) in [("start", 1), ("stop", 0), ("toggle", 1), ("toggle", 0)] {
      tablet.send(command)
      try await tablet.receive("playing f:\(playing).0")
    }
    program.signal(SIGTERM)
    #expect(await program.status() == 0)
  }

  @Test
  func `an unreachable controller is reported, and the other one is served`()
    async throws
  {
    let stage = try await LabStage("--hosts", "2")
    let ear = try ChildProcess(stage.command(on: 2, ["stdbuf", "-oL", "oscdump", "-L", "9000"]))
    try await Task.sleep(for: .milliseconds(300))
    let tactus = try ChildProcess(
      stage.command([program, "--osc-send=10.77.0.2:9000", "--osc-send=10.99.0.2:9000"]))
    try await tactus.awaitLine(beginning: "OSC: ")
    var told = ""
    while !told.contains("/tactus/tempo "), let line = try await ear.line(within: .seconds(20)) {
      told = line
    }
    #expect(told.contains("/tactus/tempo f 120"), "\(told)")
    let lacks = "no OSC can be sent to 10.99.0.2:9000: connect: Network is unreachable"
    #expect(try await stage.run(program, "status").output.contains("; " + lacks))
    let doctor = try await stage.run(program, "doctor").output.split { $0 == " " || $0 == "\n" }
    #expect(
      doctor.joined(separator: " ").contains("! tactus: can use OSC only in part: " + lacks), "\(doctor)")
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
    #expect(tactus.saidOnErrors == "tactus: \(lacks); trying again\n")
  }

  @Test
  func `a network interface that appears while tactus runs is used`() async throws {
    let stage = try await LabStage()
    let listen =
      "import socket as s; a = s.socket(s.AF_INET6, s.SOCK_DGRAM); a.bind(('::', 9009)); print('ready', flush=True); "
      + "a.recv(9999); print('told', flush=True)"
    let ear = try ChildProcess(stage.command(["python3", "-c", listen]))
    try await ear.awaitLine(beginning: "ready")
    let tactus = try ChildProcess(
      stage.command([program, "--osc-listen=fe80::7%late0", "--osc-send=[fe80::8%late0]:9009"]))
    try await tactus.awaitLine(beginning: "OSC: 127.0.0.1:20809")
    for words in [
      "link add late0 type veth peer name late1", "link set late1 up", "link set late0 up",
      "addr add fe80::8/64 dev late1 nodad", "addr add fe80::7/64 dev late0 nodad",
    ] {
      let done = try await ChildProcess.run(
        stage.command(["ip"] + words.split(separator: " ").map(String.init)))
      #expect(done.status == 0, "\(done)")
    }
    try await tactus.awaitLine(beginning: "OSC: [fe80::7%")
    try await ear.awaitLine(beginning: "told")
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
    for part in ["cannot listen at [fe80::7]:20809", "no OSC can be sent to [fe80::8]:9009"] {
      #expect(tactus.saidOnErrors.contains("\(part): interface late0: No such device; trying again\n"))
    }
  }

  @Test
  func `a tactus whose output is not read can still be controlled by OSC`() async throws {
    let stage = try await LabStage()
    let program = try ChildProcess(stage.command(["sh", "-c", "\"$0\" | sleep 60", program]))
    let tablet = try LabPeer(.controller, in: stage)
    for _ in 0..<100 where try await tablet.ask("ping", within: .seconds(20))["ms"] == .number(-1) {}
    // Each bad packet makes tactus print a line, and a pipe holds about eight hundred lines.
    try await tablet.ask("crowd 3000")
    for _ in 0..<5 {
      let answer = try await tablet.ask("ping", within: .seconds(20))["ms"]?.number ?? -1
      #expect(answer >= 0)
    }
    program.signal(SIGKILL)
  }

  @Test
  func `a wrong IP address on the command line is refused; nothing starts`() async throws {
    for (option, words) in [
      ("--osc-listen=stage", "address"), ("--osc-allow=10.0.0.0/40", "network"),
      ("--osc-send=10.0.0.1", "port"),
      ("--osc-listen=fe80::1", "the interface is missing: fe80::1%eth0"),
      ("--osc-send=[fe80::1]:9", "the interface is missing"), ("--osc-send=[fe80::1%a/b]:9", "port"),
      ("--osc-listen=224.0.0.1", "not the address of one machine"),
      ("--osc-listen=255.255.255.255", "not the address of one machine"),
      ("--osc-listen=ff02::1%lo", "not the address"),
      ("--osc=0", "1 to 65535"), ("--osc=99999", "1 to 65535"),
    ] {
      let done = try await ChildProcess.run([program, option])
      #expect(done.status == 2 && done.errors.contains(words), "\(option): \(done.errors)")
    }
  }

  @Test
  func `--help-osc prints every address and needs no server`() async throws {
    let done = try await ChildProcess.run([program, "--help-osc"])
    #expect(done.status == 0 && done.errors == "")
    #expect(done.output.contains("\n  tempo  f: 20 to 999 BPM; [s: now, beat, bar]\n"))
  }
}
