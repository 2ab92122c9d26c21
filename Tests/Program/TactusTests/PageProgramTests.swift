// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// The page as its user opens it, and a phone that pairs with the page's code.
@Suite("The page, opened and paired with", .serialized)
struct PageProgramTests {
  private let page = "http://10.77.0.1:20880/"

  private func start(_ stage: LabStage, _ options: String...) async throws -> ChildProcess {
    let tactus = try ChildProcess(stage.command([program] + options))
    try await tactus.awaitLine(beginning: options.isEmpty ? "OSC: " : "Page: ")
    return tactus
  }

  private func end(_ tactus: ChildProcess) async {
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
    #expect(tactus.saidOnErrors == "")
  }

  private func code(_ stage: LabStage) async throws -> String {
    let said = try await stage.run(program, "web").output
    let line = said.split(separator: "\n").first { $0.hasPrefix("Code  ") }
    return String(try #require(line, "\(said)").dropFirst(6))
  }

  @Test
  func `key o opens the page, w shows its QR code, and a phone can pair by it`()
    async throws
  {
    let stage = try await LabStage("--hosts", "2")
    let terminal = try await Terminal(in: stage, columns: 80, rows: 24)
    try await terminal.enter(program)
    try await terminal.see("Ableton Link", "Enabled")
    let phone = try Phone(in: stage, on: 2)
    #expect(try await phone.ask("session \(page)").hasPrefix("unreachable"))
    try await terminal.press("w")
    try await terminal.see("The page is closed.", "o: open it to this machine's networks.", "w or Esc: back.")
    try await terminal.press("o")
    let screen = try await terminal.see(page, "Code  ", "o: close the page", "█")
    let read = try Camera.read(screen: screen)
    let parts = try #require(read.first, "\(screen)").split(separator: "#").map(String.init)
    #expect(parts.first == page && parts.count == 2)

    #expect(try await phone.ask("session \(page)").contains("\"paired\":false"))
    #expect(try await phone.ask("pair \(page) \(parts[1])") == "204")
    #expect(try await phone.ask("session \(page)").contains("\"paired\":true"))
    #expect(try await phone.ask("connect \(page)") == "connected")
    phone.say("[\"/tactus/tempo\", 133]")
    try await terminal.see("133.00 BPM")
    // The pairing code to type is the same as the one in the QR code.
    #expect(try await code(stage).filter { $0 != "-" } == parts[1])

    try await terminal.press("o")
    _ = try await phone.receive("closed")
    #expect(try await phone.ask("session \(page)").hasPrefix("unreachable"))
    try await terminal.see("Page: closed")
    try await terminal.press("w")
    try await terminal.see("Page     off", "Page: closed")
    // The view shows a message with the next leader.
    try await terminal.press("l")
    try await terminal.see("Leads: host, the JACK program", "Link (host: none yet)")
    try await terminal.press("q")
    #expect(try await terminal.isSane())
  }

  @Test
  func `tactus web prints the page's address, or how to open the page`() async throws {
    let stage = try await LabStage("--hosts", "2")
    let nobody = try await stage.run(program, "web")
    #expect(nobody.status == 69 && nobody.output == "")
    let off = try await start(stage)
    let closed = try await stage.run(program, "web")
    #expect(closed.status == 1 && closed.errors.contains("tactus send web/open 1"), "\(closed)")
    #expect(try await stage.run(program, "status").output.contains("\nPage             off\n"))
    await end(off)

    let here = try await start(stage, "--web")
    let alone = try await stage.run(program, "web").output
    #expect(
      alone.contains("Page  http://127.0.0.1:20880/\n") && alone.contains("Only this machine can open it"))
    #expect(
      try await stage.run(program, "status").output.contains("http://127.0.0.1:20880/, this machine only"))
    #expect(try await stage.run(program, "send", "web/open", "1").status == 0)
    try await here.awaitLine(beginning: "Page: \(page)")
    let open = try await stage.run(program, "web").output
    #expect(open.contains("Page  \(page)\n") && open.contains("Both  \(page)#"), "\(open)")
    #expect(try await stage.run(program, "doctor").output.contains("Page: open at \(page)"))
    await end(here)
    // A page that a user opened by a key or command is closed at the next start.
    let again = try await start(stage, "--web")
    #expect(try await stage.run(program, "web").output.contains("Only this machine"))
    await end(again)
    // A page that an option opened is open at the next start, too.
    let always = try await start(stage, "--web-open")
    #expect(try await stage.run(program, "web").output.contains("Page  \(page)\n"))
    await end(always)
  }

  /// Starts a tactus whose web server handles a new connection as late as libmicrohttpd 1.0 (Debian 13) does.
  private func startLate(_ stage: LabStage, _ folder: ScratchFolder, _ words: String...) async throws
    -> ChildProcess
  {
    let library = try await folder.preload("late_connections")
    let tactus = try ChildProcess(
      stage.command(["env", "LD_PRELOAD=\(library)"] + words + [program, "--web"]))
    try await tactus.awaitLine(beginning: "Page: ")
    return tactus
  }

  @Test
  func `the page answers if libmicrohttpd handles a connection late`() async throws {
    let (stage, folder) = (try await LabStage(), try ScratchFolder())
    let tactus = try await startLate(stage, folder)
    let phone = try Phone(in: stage)
    #expect(try await phone.ask("session http://127.0.0.1:20880/").contains("\"paired\":false"))
    #expect(try await phone.ask("connect http://127.0.0.1:20880/") == "connected")
    #expect(
      try await stage.run(program, "doctor").output.contains("+  Page: open at http://127.0.0.1:20880/"))
    await end(tactus)
  }

  @Test
  func `the doctor fetches the page, and reports if it does not answer`() async throws {
    let (stage, folder) = (try await LabStage(), try ScratchFolder())
    let tactus = try await startLate(stage, folder, "REFUSE_CONNECTIONS=1")
    for _ in 0..<2 {
      let doctor = try await stage.run(program, "doctor")
      #expect(doctor.status == 1)
      let words = doctor.output.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
      #expect(words.contains("! Page: open at http://127.0.0.1:20880/, but it does not answer"), "\(words)")
    }
    await end(tactus)
  }

  @Test
  func `tactus web draws the QR code if the terminal has room for it`() async throws {
    let stage = try await LabStage("--hosts", "2")
    let tactus = try await start(stage, "--web-open")
    let terminal = try await Terminal(in: stage, columns: 80, rows: 30)
    try await terminal.enter("clear; \(program) web")
    let screen = try await terminal.see("Both  \(page)#")
    let code = try await code(stage).filter { $0 != "-" }
    #expect(try Camera.read(screen: screen) == ["\(page)#\(code)"])
    try await terminal.resize(40, 12)
    try await terminal.enter("clear; \(program) web")
    try await terminal.see("The QR code needs a terminal of 33x18")
    await end(tactus)
  }

  @Test
  func `tactus web --forget unpairs all browsers, whether tactus runs or not`()
    async throws
  {
    let stage = try await LabStage()
    let here = "http://127.0.0.1:20880/"
    let first = try await start(stage, "--web")
    let phone = try Phone(in: stage)
    let before = try await code(stage)
    #expect(try await phone.ask("pair \(here) \(before)") == "204")
    #expect(try await phone.ask("connect \(here)") == "connected")
    let watcher = try Phone(in: stage)
    #expect(try await watcher.ask("connect \(here)") == "connected")
    watcher.say("[\"/tactus/subscribe\"]")
    _ = try await watcher.receive("/tactus/update\",0")
    #expect(try await stage.run(program, "web", "--forget").status == 0)
    _ = try await phone.receive("closed")
    #expect(try await phone.ask("session \(here)").contains("\"paired\":false"))
    #expect(try await phone.ask("pair \(here) \(before)") == "403")
    // A browser that may only watch stays connected.
    #expect(try await stage.run(program, "send", "tempo", "97").status == 0)
    _ = try await watcher.receive("[\"/tactus/tempo\",97]")
    let after = try await code(stage)
    #expect(after != before)
    #expect(try await phone.ask("pair \(here) \(after)") == "204")
    await end(first)

    let second = try await start(stage, "--web")
    #expect(try await phone.ask("session \(here)").contains("\"paired\":true"))
    await end(second)
    #expect(try await stage.run(program, "web", "--forget").status == 0)
    let third = try await start(stage, "--web")
    #expect(try await phone.ask("session \(here)").contains("\"paired\":false"))
    await end(third)
  }

  @Test
  func `the code in a WebSocket address pairs a program or a foreign page`()
    async throws
  {
    let stage = try await LabStage()
    let here = "http://127.0.0.1:20880/"
    let tactus = try await start(stage, "--web")
    let code = try await code(stage)
    let program = try Phone(in: stage)
    #expect(try await program.ask("connect \(here) \(code)") == "connected")
    program.say("[\"/tactus/tempo\", 111]")
    program.say("[\"/tactus/tempo\"]")
    _ = try await program.receive("[\"/tactus/tempo\",111]")
    let watcher = try Phone(in: stage)
    #expect(try await watcher.ask("connect \(here)") == "connected")
    watcher.say("[\"/tactus/tempo\", 99]")
    #expect(try await watcher.receive("/tactus/error").contains("not paired"))
    let site = try Phone(in: stage)
    #expect(try await site.ask("connect \(here) \(code) https://strudel.cc") == "connected")
    // Six wrong codes from a page of another site do not lock out the programs of this machine.
    for number in 0..<6 {
      let answer = try await site.ask("connect \(here) AAAA-BBBB-CCCC-DDD\(number) https://evil.example")
      #expect(answer == (number < 5 ? "refused 403" : "refused 429"))
    }
    #expect(try await program.ask("pair \(here) \(code)") == "204")
    await end(tactus)
  }

  @Test
  func `a page's secret that is damaged or readable by others is replaced`() async throws {
    let stage = try await LabStage()
    let file = "$XDG_STATE_HOME/tactus/pairing.json5"
    let written = try await stage.run(
      "sh", "-c", "mkdir -p $XDG_STATE_HOME/tactus && echo '{code: 7' > \(file) && chmod 600 \(file)")
    #expect(written.status == 0)
    let tactus = try await start(stage, "--web")
    #expect(try await code(stage).count == 19)
    #expect(try await stage.run("sh", "-c", "stat -c %a \(file)").output == "600\n")
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
    #expect(
      tactus.saidOnErrors.hasSuffix(
        "pairing.json5 is damaged or was changed: all browsers have to pair again\n"))
  }

  @Test(arguments: ["python"])
  func `the Python example of the documentation works`(language: String) async throws {
    let stage = try await LabStage()
    let tactus = try await start(stage, "--web")
    let page = try String(contentsOf: "\(Lab.top)/docs/page.md")
    let example = try #require(page.split(separator: "```\(language)\n").last?.split(separator: "```").first)
    let scratch = try ScratchFolder()
    let script = try scratch.write(
      String(example).replacing("K7QM-3XPA-9BCD-EFGH", with: try await code(stage)), to: "example.py")
    let child = try ChildProcess(stage.command([Lab.python, script]))
    // The lines may come in any order: a beat may begin before the answer about the tempo.
    var said: [String] = []
    func hasSaid(_ isIt: (String) -> Bool) -> Bool { said.contains(where: isIt) }
    var isDone: Bool {
      hasSaid { $0.hasPrefix("128.00 BPM, session beat ") } && hasSaid { $0.hasSuffix("beat 2") }
    }
    while !isDone, said.count < 100, let line = try await child.line(within: .seconds(30)) {
      said.append(line)
    }
    #expect(isDone, "\(said) \(child.saidOnErrors)")
    child.signal(SIGTERM)
    await end(tactus)
  }
}

extension String {
  /// A page of the documentation.
  fileprivate init(contentsOf path: String) throws {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 131_072)
    let count = fread(&bytes, 1, bytes.count, file)
    self.init(decoding: bytes.prefix(count), as: UTF8.self)
  }
}
