// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// tactus with its page, and a browser in which tests touch, type and look. By default it is a real Chromium.
/// No test asserts a duration: a test waits for the expected state and judges the result.
final class Visit {
  static let program = Lab.products + "/tactus"

  let stage: LabStage
  let browser: LabPeer
  private let options: [String]
  private let isFar: Bool
  private(set) var tactus: ChildProcess
  /// The content of the QR code: the page's address, with the pairing code in the fragment.
  private(set) var invitation = ""
  var address: String { String(invitation.prefix { $0 != "#" }) }

  /// - Parameter isFar: whether the browser is on another machine, at the other end of the wire.
  init(_ options: String..., isFar: Bool = false, by kind: LabPeer.Kind = .browser) async throws {
    self.isFar = isFar
    self.options = options + (isFar ? ["--web-listen=10.77.0.1"] : [])
    stage = isFar ? try await LabStage("--hosts", "2") : try await LabStage()
    tactus = try await Self.start(self.options, in: stage)
    invitation = try await Self.invitation(in: stage)
    browser = try LabPeer(kind, in: stage, on: isFar ? 2 : 1)
    if case .browser = kind { try await browser.ask("calm", within: .seconds(60)) }
  }

  private static func start(_ options: [String], in stage: LabStage) async throws -> ChildProcess {
    let tactus = try ChildProcess(stage.command([program, "--web"] + options))
    while let line = try await tactus.line(within: .seconds(40)) {
      if line.hasPrefix("Page: ") { return tactus }
    }
    throw ChildProcess.Failure.ended(status: await tactus.status(), errors: tactus.saidOnErrors)
  }

  private static func invitation(in stage: LabStage) async throws -> String {
    let deadline = ContinuousClock.now + .seconds(40)
    while true {
      let said = try await stage.run(program, "web")
      let words = said.output.split { $0 == " " || $0 == "\n" }
      if let found = words.first(where: { $0.hasPrefix("http://") && $0.contains("#") }) {
        return String(found)
      }
      guard ContinuousClock.now < deadline else {
        throw ChildProcess.Failure.ended(status: said.status, errors: said.output + said.errors)
      }
    }
  }

  /// Ends tactus as a power cut does: it sends the page no goodbye.
  func kill() async {
    tactus.signal(SIGKILL)
    await tactus.status()
    // The signal kills the program that entered the lab, and the kernel then kills tactus.
    for _ in 0..<100 where (try? await stage.run(Self.program, "status").status) == 0 {
      try? await Task.sleep(for: .milliseconds(50))
    }
  }

  /// Starts tactus again, perhaps with further options, which override the options of the first start.
  func restart(_ others: String...) async throws {
    tactus = try await Self.start(options + others, in: stage)
    if !others.isEmpty { invitation = try await Self.invitation(in: stage) }
  }

  func end() async throws {
    if case .browser = browser.kind { try await isWithoutComplaints() }
    try await browser.quit()
    tactus.signal(SIGTERM)
    #expect(await tactus.status() == 0)
  }

  // The actions of a visitor to the page.

  /// Opens the address of the QR code.
  func arrive(unpaired: Bool = false) async throws {
    try await ask("open \(unpaired ? address : invitation)")
    try await until("document.body.dataset.connection === 'live'")
    try await until("document.body.dataset.paired === '\(!unpaired)'")
  }

  @discardableResult
  func ask(_ line: String) async throws -> LabPeer.Fields {
    try await browser.ask(line, within: .seconds(90))
  }

  /// Touches a control when the page shows that it is connected, and repeats the touch if the page refused
  /// it. A browser that has to wait for a processor may believe that tactus is gone.
  func touch(_ line: String) async throws {
    for _ in 1...10 {
      try await until("document.body.dataset.connection === 'live'", seconds: 60)
      try await ask("evaluate \"document.querySelector('#toasts').replaceChildren(), 0\"")
      try await ask(line)
      if try await evaluate("document.querySelector('#toasts').textContent.includes('Not connected')")
        == "false"
      {
        return
      }
    }
    Issue.record("\(line) was refused again and again")
  }

  func until(_ expression: String, seconds: Int = 30) async throws {
    try await browser.ask("until \"\(expression)\" \(seconds)", within: .seconds(seconds + 60))
  }

  func value(_ line: String) async throws -> String {
    switch try await ask(line)["value"] {
    case .text(let text)?: text
    case .number(let number)?: number == number.rounded() ? "\(Int(number))" : "\(number)"
    case .boolean(let flag)?: "\(flag)"
    case .null?, nil: ""
    }
  }

  func evaluate(_ expression: String) async throws -> String { try await value("evaluate \"\(expression)\"") }

  /// Waits until the page has this value as the first argument of an address.
  func until(_ path: String, is value: String, seconds: Int = 30) async throws {
    try await until("String(tactus.state.values['\(path)']?.[0]) === '\(value)'", seconds: seconds)
  }

  /// Selects a section by its tab; on a wide screen Play is always visible.
  func show(_ view: String) async throws {
    func showsPlay() async throws -> Bool {
      guard view == "play" else { return false }
      return try await evaluate("document.querySelector('#play').checkVisibility()") == "true"
    }
    if try await showsPlay() { return }
    do {
      try await ask("click #tab-\(view)")
    } catch {
      // A wide screen always shows Play. A browser whose window has just grown has the tab for a moment.
      guard try await showsPlay() else { throw error }
    }
    try await until("document.querySelector('#\(view)').checkVisibility()")
  }

  /// Expects that the browser's console has no failed scripts and no violations of the page's own policy.
  func isWithoutComplaints(_ location: SourceLocation = #_sourceLocation) async throws {
    let heard = try await ask("complaints")
    // While tactus is away, the browser itself logs failures.
    let lines = text(heard["value"]).split(separator: "\n").filter {
      !$0.contains("net::ERR_") && !$0.contains("WebSocket")
    }
    #expect(lines.isEmpty, "\(lines)", sourceLocation: location)
  }

  func text(_ field: FlatJSON?) -> String { if case .text(let text)? = field { text } else { "" } }

  // Values that come from tactus itself and from other peers.

  /// The value as `tactus send` prints it, not as the page shows it.
  func tells(_ path: String) async throws -> String {
    try await stage.run(Self.program, "send", path).output.trimmed
  }

  func send(_ words: String...) async throws {
    let done = try await ChildProcess.run(stage.command([Self.program, "send"] + words))
    #expect(done.status == 0, "\(words): \(done.errors)")
  }
}

extension String {
  var trimmed: String {
    var rest = self[...]
    while rest.last?.isWhitespace == true { rest.removeLast() }
    return String(rest.drop { $0.isWhitespace })
  }
}
