// SPDX-License-Identifier: GPL-2.0-or-later
import TestSupport
import Testing

@Test("swift format has nothing to say")
func formatIsStrict() throws {
  let paths = ["Sources", "Tests", "Package.swift"].map { "\(Repository.root)/\($0)" }
  let done = try ChildProcess.run(
    ["swift", "format", "lint", "--strict", "--recursive", "--parallel"] + paths)
  #expect(done.status == 0, "swift format -i -r Sources Tests Package.swift\n\(done.errors)")
}

@Test("The scripts parse")
func scriptsParse() throws {
  for file in Repository.code() where file.lines[0].hasPrefix("#!") {
    let isBash = file.lines[0].hasSuffix("bash") || file.lines[0].hasSuffix("/sh")
    guard isBash else { continue }
    let done = try ChildProcess.run(["bash", "-n", "\(Repository.root)/\(file.path)"])
    #expect(done.status == 0, "\(done.errors)")
  }
}
