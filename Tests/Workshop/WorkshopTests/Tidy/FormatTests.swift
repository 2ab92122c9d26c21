// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// The time limit is long, because the checkers run beside all other tests.
private let patience = Duration.seconds(900)

@Test
func `swift format accepts every file`() throws {
  let paths = ["Sources", "Tests", "Package.swift"].map { "\(Lab.top)/\($0)" }
  let done = try ChildProcess.run(
    ["swift", "format", "lint", "--strict", "--recursive", "--parallel"] + paths,
    within: patience)
  #expect(done.status == 0, "swift format -i -r Sources Tests Package.swift\n\(done.errors)")
}

@Test
func `shellcheck accepts the scripts`() throws {
  let scripts = Repository.code().filter {
    let first = $0.lines[0]
    return first.hasPrefix("#!") && (first.hasSuffix("bash") || first.hasSuffix("/sh"))
      || $0.path.hasSuffix(".sh")
  }
  #expect(scripts.count > 15, "the scripts were not found")
  try hasNothingToSay("shellcheck", scripts.map { "\(Lab.top)/\($0.path)" })
}

@Test
func `ruff and mypy accept the Python code in tools/lib`() throws {
  let workshop = "\(Lab.top)/tools/lib"
  try hasNothingToSay("ruff", ["check", "--quiet", "--output-format", "concise", workshop])
  try hasNothingToSay("mypy", ["--config-file", "\(workshop)/pyproject.toml", "\(workshop)/workshop"])
}

/// Runs a checker from tools/.venv. If the checker is missing, reports that as not judged.
private func hasNothingToSay(_ checker: String, _ words: [String]) throws {
  let program = "\(Lab.top)/tools/.venv/bin/\(checker)"
  try #require(access(program, X_OK) == 0, "\(checker) is not in tools/.venv: run tools/lab prepare")
  // Don't run mypy's own script: its first line names the folder where it was installed, which may have
  // moved.
  let command = checker == "mypy" ? ["\(Lab.python)", "-m", checker] : [program]
  let done = try ChildProcess.run(command + words, within: patience)
  #expect(done.status == 0, "\(checker):\n\(done.output)\(done.errors)")
}

/// Only tools/bench fuzz and tools/prove-realtime compile these harnesses (programs that call our modules
/// with test input). Without this test, a change of the modules could break a harness unnoticed.
@Test(arguments: [
  ["fuzz/fuzz"], ["fuzz/audio"], ["fuzz/far"], ["fuzz/json5"], ["fuzz/midi", "fuzz/cycles"],
  ["fuzz/bbt", "fuzz/cycles"],
  ["play", "channel", "fuzz/cycles"],
  ["fuzz/web"]
    + ["JSONLine", "Request", "Handshake", "Secret"].map { "../../Sources/Control/TactusWeb/\($0)" },
])
func `the harnesses in Swift compile with the current modules`(harness: [String]) async throws {
  let sources = harness.map { "\(Lab.top)/tools/native/\($0).swift" }
  // SwiftPM names the package after its folder.
  let package = try #require(Lab.top.split(separator: "/").last).lowercased()
  let command = [
    "swiftc", "-swift-version", "6", "-typecheck", "-parse-as-library", "-I", "\(Lab.products)/Modules",
    "-I", "\(Lab.top)/Sources/C/CTactusLiblo", "-package-name", package,
  ]
  let done = try await ChildProcess.run(command + sources, within: patience)
  #expect(done.status == 0, "\(done.errors)")
}
