// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

private func file(_ text: String, at path: String = "Sources/HostSync/Planted.swift") -> SourceText {
  SourceText(path: path, text: text)
}

@Test("Comments and strings are not code, and lines stay where they are")
func blanking() {
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

@Test(
  "An import outside the table is refused, however it is spelt",
  arguments: [
    ("import Glibc", "Sources/BeatMath/A.swift"),
    ("public import JACKHost", "Sources/Link/A.swift"),
    ("@preconcurrency import Link", "Sources/JACKHost/A.swift"),
    ("import struct Foundation.Date", "Sources/tactus/A.swift"),
    ("import Foundation", "Tests/LinkTests/A.swift"),
    ("import FoundationEssentials", "Sources/Link/A.swift"),
    ("import BeatMath", "Sources/Nonsense/A.swift"),
  ])
func forbiddenImports(text: String, path: String) {
  #expect(Rules.importsAreAllowed(file(text, at: path)).count == 1)
}

@Test("An import of the table passes, and so does the word in a comment")
func allowedImports() {
  #expect(Rules.importsAreAllowed(file("public import BeatMath\n// import Foundation")).isEmpty)
  #expect(Rules.importsAreAllowed(file("import Glibc\nimport Testing", at: "Tests/A/A.swift")).isEmpty)
}

@Test("A file of 301 lines is too long, one of 300 is not")
func lengths() {
  #expect(Rules.fileIsShort(file(String(repeating: "\n", count: 300))).isEmpty)
  #expect(Rules.fileIsShort(file(String(repeating: "\n", count: 301))).count == 1)
}

@Test(
  "A closure given to C is found, inside the brackets and behind them",
  arguments: [
    "jack_set_process_callback(client, { _, _ in 0 }, nil)",
    "jack_set_error_function { _ in }",
    "jack_on_shutdown(client,\n  {\n _ in }, nil)",
    "lo_server_thread_add_method(server, nil, nil, { _, _, _, _, _, _ in 0 }, nil)",
    "signal(SIGINT) { _ in }", "_ = Glibc.signal(SIGINT) { _ in }",
  ])
func closures(text: String) {
  #expect(Rules.callbacksAreNamedFunctions(file(text)).count == 1)
}

@Test(
  "A named function given to C passes",
  arguments: [
    "jack_set_process_callback(client, runCycle, context)",
    "if jack_set_process_callback(client, runCycle, context) != 0 {\n}",
    "if jack_set_buffer_size(client, 64) {\n}", "switch port.signal {\n}",
    "func signal(_ number: Int32) {\n}",
    "jack_set_error_function(ignoreMessage)\n// { _ in }",
  ])
func namedCallbacks(text: String) {
  #expect(Rules.callbacksAreNamedFunctions(file(text)).isEmpty)
}

@Test(
  "A pure module has no clock, no chance and nothing to say",
  arguments: [
    "let now = clock_gettime(CLOCK_MONOTONIC, &t)", "let now = ContinuousClock.now",
    "let x = Int.random(in: 1...6)",
    "print(\"here\")", "var g = SystemRandomNumberGenerator()", "Task { }", "let started = Date()",
  ])
func impurity(text: String) {
  #expect(Rules.pureModulesStayPure(file(text)).count == 1)
  #expect(Rules.pureModulesStayPure(file(text, at: "Sources/Link/A.swift")).isEmpty)
}

@Test("A pure module may have a clock of its own making")
func ownNames() {
  #expect(Rules.pureModulesStayPure(file("case sleep(until: Micros)\nreturn .sleep(until: next)")).isEmpty)
  #expect(Rules.pureModulesStayPure(file("let x = UInt64.random(in: 0...9, using: &generator)")).isEmpty)
  #expect(
    Rules.pureModulesStayPure(file("case clock\nlet x = outputs.clock\nfunc random(in a: Int) {}")).isEmpty)
}

@Test("The licence stands in the first line, or in the second if the first belongs to a tool")
func licences() {
  let line = "// SPDX-License-Identifier: GPL-2.0-or-later\n"
  #expect(Rules.licenceComesFirst(file(line)).isEmpty)
  #expect(Rules.licenceComesFirst(file("#!/bin/bash\n" + line)).isEmpty)
  #expect(Rules.licenceComesFirst(file("import BeatMath\n\n" + line)).count == 1)
  #expect(Rules.licenceComesFirst(file("// SPDX-License-Identifier: MIT\n")).count == 1)
}

@Test("Notes to oneself are found as words, in any kind of line")
func notes() {
  for note in ["TO" + "DO", "FIX" + "ME", "X" + "XX"] {
    #expect(Rules.nothingIsLeftForLater(file("let a = 1\n// \(note): later")).count == 1)
  }
  #expect(Rules.nothingIsLeftForLater(file("mktemp /tmp/a.X" + "XXXXX")).isEmpty)
}

@Test("An exemption from the real-time checks needs its reason beside it")
func exemptions() {
  let exemption = "@_semantics(\"no_performance_analysis\")\nfunc f() {}"
  #expect(Rules.exemptionsAreExplained(file(exemption)).count == 1)
  #expect(Rules.exemptionsAreExplained(file("// Only before the first cycle.\n" + exemption)).isEmpty)
}

@Test("What the compiler can't check is promised with its reason above")
func promises() {
  let promise = "final class A: @unchecked Sendable {}"
  #expect(Rules.promisesAreExplained(file(promise)).count == 1)
  #expect(Rules.promisesAreExplained(file("/// The network thread's alone.\n" + promise)).isEmpty)
}

@Test("A type is called by what it is")
func names() {
  #expect(Rules.namesSaySomething(file("final class SessionManager {}")).count == 1)
  #expect(Rules.namesSaySomething(file("enum TimeUtils {}\nstruct Peers {}")).count == 1)
}

@Test("A switch over an enum has no default; over text, numbers and C it may")
func switches() {
  let own = "switch state {\ncase .held: switch x {\ncase 1: a()\ndefault: b()\n}\ndefault: c()\n}"
  #expect(Rules.switchesAreComplete(file(own)).count == 1)
  let inner = "switch count {\ncase 1: switch state {\ncase .a: x()\ncase .b: y()\n}\ndefault: c()\n}"
  #expect(Rules.switchesAreComplete(file(inner)).isEmpty)
  #expect(
    Rules.switchesAreComplete(file("switch s {\ncase JackTransportRolling: x()\ndefault: y()\n}")).isEmpty)
}

@Test("A module without its paragraph is not on the map")
func map() {
  let page = "text\n**BeatMath** (pure): which beat.\nLink is mentioned."
  #expect(Rules.modulesAreOnTheMap(["BeatMath", "Link"], architecture: page).count == 1)
}

@Test("Something new at the top level is noticed, dotfiles are not")
func topLevel() {
  #expect(Rules.topLevelIsKnown(["Sources", "scratch.txt", ".git", "README.md"]).count == 1)
}

@Test("What the libraries show is documented")
func publicSymbols() {
  let bare = "/// Good.\npublic struct A {\n  @inlinable\n  public var b: Int\n}"
  #expect(Rules.librariesAreDocumented(file(bare, at: "Sources/LinkAudio/A.swift")).count == 1)
  #expect(Rules.librariesAreDocumented(file(bare)).isEmpty)
  let good = "public import Link\n/// Good.\n@_noLocks @_noAllocation\npublic func a() {}"
  #expect(Rules.librariesAreDocumented(file(good, at: "Sources/AudioLanes/A.swift")).isEmpty)
}

@Test("A citation is found in the middle, at the end of a sentence, and across two lines of a comment")
func citations() {
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

@Test("A citation of a section or page that is not there is noticed")
func wrongCitations() {
  let facts = ["link": Citation.sections(of: "# Facts\n## 7 Sessions\n### 7.3 Which wins\n")]
  #expect(facts["link"] == ["7", "7.3"])
  #expect(Rules.citedFactsExist(file("/// facts: link 7.3."), facts: facts).isEmpty)
  #expect(Rules.citedFactsExist(file("/// facts: link 7.4"), facts: facts).count == 1)
  #expect(Rules.citedFactsExist(file("/// facts: jack 7"), facts: facts).count == 1)
}
