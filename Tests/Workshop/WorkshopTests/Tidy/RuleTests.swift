// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

private func file(_ text: String, at path: String = "Sources/Cycle/TactusSync/Planted.swift") -> SourceText {
  SourceText(path: path, text: text)
}

@Test
func `comments and strings are not taken for code, and lines keep numbers`() {
  let text = """
    let a = "jack \\" x" // clock
    /* print( /* nested */ ( */ let b = #"raw "x" "#
    let c = \"\"\"
      Date()
      \"\"\"
    let d = 1
    """
  let words = file(text).words
  #expect(words.map(\.text) == ["let", "a", "let", "b", "let", "c", "let", "d", "1"])
  #expect(words.map(\.line) == [1, 1, 2, 2, 3, 3, 6, 6, 6])
}

@Test(arguments: [
  ("import Glibc", "Sources/Link/LinkBeatMath/A.swift"),
  ("public import TactusJACK", "Sources/Link/Link/A.swift"),
  ("@preconcurrency import Link", "Sources/Cycle/TactusJACK/A.swift"),
  ("import struct Foundation.Date", "Sources/Program/TactusApp/A.swift"),
  ("import Foundation", "Tests/Link/LinkTests/A.swift"),
  ("import FoundationEssentials", "Sources/Link/Link/A.swift"),
  ("import LinkBeatMath", "Sources/Nonsense/A.swift"),
])
func `an import that the table of modules forbids is found in every spelling`(text: String, path: String) {
  #expect(Rules.importsAreAllowed(file(text, at: path)).count == 1)
}

@Test
func `an allowed import passes, and so does the word import in a comment`() {
  #expect(Rules.importsAreAllowed(file("public import LinkBeatMath\n// import Foundation")).isEmpty)
  #expect(Rules.importsAreAllowed(file("import Glibc\nimport Testing", at: "Tests/A/A.swift")).isEmpty)
}

@Test
func `a source file of 301 lines is too long, one of 300 is not`() {
  #expect(Rules.fileIsShort(file(String(repeating: "\n", count: 300))).isEmpty)
  #expect(Rules.fileIsShort(file(String(repeating: "\n", count: 301))).count == 1)
}

@Test(arguments: [
  "jack_set_process_callback(client, { _, _ in 0 }, nil)",
  "jack_set_error_function { _ in }",
  "jack_on_shutdown(client,\n  {\n _ in }, nil)",
  "lo_server_thread_add_method(server, nil, nil, { _, _, _, _, _, _ in 0 }, nil)",
  "signal(SIGINT) { _ in }", "_ = Glibc.signal(SIGINT) { _ in }",
])
func `a closure that is passed to C is found, in or after the brackets`(text: String) {
  #expect(Rules.callbacksAreNamedFunctions(file(text)).count == 1)
}

@Test(arguments: [
  "jack_set_process_callback(client, runCycle, context)",
  "if jack_set_process_callback(client, runCycle, context) != 0 {\n}",
  "if jack_set_buffer_size(client, 64) {\n}", "switch port.signal {\n}",
  "func signal(_ number: Int32) {\n}",
  "jack_set_error_function(ignoreMessage)\n// { _ in }",
])
func `a named function that is passed to C is allowed`(text: String) {
  #expect(Rules.callbacksAreNamedFunctions(file(text)).isEmpty)
}

@Test(arguments: [
  "let now = clock_gettime(CLOCK_MONOTONIC, &t)", "let now = ContinuousClock.now",
  "let x = Int.random(in: 1...6)",
  "print(\"here\")", "var g = SystemRandomNumberGenerator()", "Task { }", "let started = Date()",
])
func `clocks, randomness and output are refused in a pure module`(text: String) {
  #expect(Rules.pureModulesStayPure(file(text)).count == 1)
  #expect(Rules.pureModulesStayPure(file(text, at: "Sources/Link/Link/A.swift")).isEmpty)
}

@Test
func `a pure module may use its own names clock, random and sleep`() {
  #expect(Rules.pureModulesStayPure(file("case sleep(until: Micros)\nreturn .sleep(until: next)")).isEmpty)
  #expect(Rules.pureModulesStayPure(file("let x = UInt64.random(in: 0...9, using: &generator)")).isEmpty)
  #expect(
    Rules.pureModulesStayPure(file("case clock\nlet x = outputs.clock\nfunc random(in a: Int) {}")).isEmpty)
}

@Test
func `a file's licence must be in the first or second line`() {
  let line = "// SPDX-License-Identifier: GPL-2.0-or-later\n"
  #expect(Rules.licenceComesFirst(file(line)).isEmpty)
  #expect(Rules.licenceComesFirst(file("#!/bin/bash\n" + line)).isEmpty)
  #expect(Rules.licenceComesFirst(file("import LinkBeatMath\n\n" + line)).count == 1)
  #expect(Rules.licenceComesFirst(file("// SPDX-License-Identifier: MIT\n")).count == 1)
}

@Test
func `words that mark unfinished work are found in any line`() {
  for note in ["TO" + "DO", "FIX" + "ME", "X" + "XX"] {
    #expect(Rules.nothingIsLeftForLater(file("let a = 1\n// \(note): later")).count == 1)
  }
  #expect(Rules.nothingIsLeftForLater(file("mktemp /tmp/a.X" + "XXXXX")).isEmpty)
}

@Test
func `an exemption from the real-time checks needs its reason beside it`() {
  let exemption = "@_semantics(\"no_performance_analysis\")\nfunc f() {}"
  #expect(Rules.exemptionsAreExplained(file(exemption)).count == 1)
  #expect(Rules.exemptionsAreExplained(file("// Only before the first cycle.\n" + exemption)).isEmpty)
}

@Test
func `@unchecked Sendable needs a comment with its reason`() {
  let promise = "final class A: @unchecked Sendable {}"
  #expect(Rules.promisesAreExplained(file(promise)).count == 1)
  #expect(Rules.promisesAreExplained(file("/// The network thread's alone.\n" + promise)).isEmpty)
}

@Test
func `a type's name with an empty word such as Manager or Utils is refused`() {
  #expect(Rules.namesSaySomething(file("final class SessionManager {}")).count == 1)
  #expect(Rules.namesSaySomething(file("enum TimeUtils {}\nstruct Peers {}")).count == 1)
}

@Test
func `a switch over our enum cases may not have a default`() {
  let own = "switch state {\ncase .held: switch x {\ncase 1: a()\ndefault: b()\n}\ndefault: c()\n}"
  #expect(Rules.switchesAreComplete(file(own)).count == 1)
  let inner = "switch count {\ncase 1: switch state {\ncase .a: x()\ncase .b: y()\n}\ndefault: c()\n}"
  #expect(Rules.switchesAreComplete(file(inner)).isEmpty)
  #expect(
    Rules.switchesAreComplete(file("switch s {\ncase JackTransportRolling: x()\ndefault: y()\n}")).isEmpty)
}

@Test
func `a module without a paragraph in docs/architecture.md is found`() {
  let page = "text\n**LinkBeatMath** (pure): which beat.\nLink is mentioned."
  #expect(Rules.modulesAreOnTheMap(["LinkBeatMath", "Link"], architecture: page).count == 1)
}

@Test
func `new files at the top level are found, dotfiles are not`() {
  #expect(Rules.topLevelIsKnown(["Sources", "scratch.txt", ".git", "README.md"]).count == 1)
}

@Test
func `the libraries' public declarations must be documented`() {
  let bare = "/// Good.\npublic struct A {\n  @inlinable\n  public var b: Int\n}"
  #expect(Rules.librariesAreDocumented(file(bare, at: "Sources/LinkAudio/LinkAudio/A.swift")).count == 1)
  #expect(Rules.librariesAreDocumented(file(bare)).isEmpty)
  let good = "public import Link\n/// Good.\n@_noLocks @_noAllocation\npublic func a() {}"
  #expect(Rules.librariesAreDocumented(file(good, at: "Sources/LinkAudio/LinkAudioLanes/A.swift")).isEmpty)
}

@Test
func `citations of facts are found at a sentence's end and across lines`() {
  let text = """
    /// The later wins (facts: link 7.3, 7.4). Others: facts: jack 3 and 4.
    let facts: Facts = 7
    /// On PipeWire it is another one (facts: jack
    /// 2). That is 7 more.
    """
  #expect(
    Citation.all(in: file(text)) == [
      Citation(page: "link", section: "7.3", line: 1), Citation(page: "link", section: "7.4", line: 1),
      Citation(page: "jack", section: "3", line: 1), Citation(page: "jack", section: "4", line: 1),
      Citation(page: "jack", section: "2", line: 4),
    ])
}

@Test
func `a citation of a missing section or page of docs/facts is found`() {
  let facts = ["link": Citation.sections(of: "# Facts\n## 7 Sessions\n### 7.3 Which wins\n")]
  #expect(facts["link"] == ["7", "7.3"])
  #expect(Rules.citedFactsExist(file("/// facts: link 7.3."), facts: facts).isEmpty)
  #expect(Rules.citedFactsExist(file("/// facts: link 7.4"), facts: facts).count == 1)
  #expect(Rules.citedFactsExist(file("/// facts: jack 7"), facts: facts).count == 1)
}

@Test func `a test with a title, or with a name without backticks, is refused`() {
  func complaints(_ text: String) -> Int {
    Rules.testsAreSentences(file(text, at: "Tests/Link/LinkTests/ATests.swift")).count
  }
  #expect(complaints("@Test(\"The click is on the beat\") func beat() {}") == 1)
  #expect(complaints("@Test(\n  \"The click\", arguments: [1]) func `on the beat`(number: Int) {}") == 1)
  #expect(complaints("@Test func theClickIsOnTheBeat() {}") == 1)
  #expect(complaints("@Test func `import outside the table, or a \"word\" // of it`() {}") == 0)
  #expect(
    complaints("@Test(arguments: [\"a\", \"b\"])\n  func `the click is on the beat`(text: String) {}") == 0)
  #expect(Rules.importsAreAllowed(file("@Test func `import outside`() {}", at: "Tests/A/A.swift")).isEmpty)
}
