// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@Test
func `every source file keeps the project's rules of style`() {
  let files = Repository.code()
  #expect(files.count > 50, "the repository was not found at \(Lab.top)")
  for file in files {
    for rule in Rules.ofFiles {
      for complaint in rule(file) { Issue.record("\(complaint)") }
    }
  }
}

@Test
func `every module is in the right folder and in docs/architecture.md`() throws {
  let architecture = try #require(Repository.text("docs/architecture.md"))
  let folders = Repository.entries(of: "Sources")
  #expect(folders == Rules.rooms.map(\.name).sorted())
  for room in Rules.rooms {
    #expect(Repository.entries(of: "Sources/\(room.name)") == room.modules.sorted(), "\(room.name)")
    // The module tactus consists only of main.swift; the paragraph about TactusApp covers it, too.
    for complaint in Rules.modulesAreOnTheMap(
      room.modules.subtracting(["tactus"]), architecture: architecture)
    {
      Issue.record("\(complaint)")
    }
  }
}

@Test
func `the tests have the folders of Sources and at most 12 targets`() {
  let rooms = Set(Rules.rooms.map(\.name)).subtracting(["C", "Simulation"])
  let folders = Repository.entries(of: "Tests")
  #expect(Set(folders) == rooms.union(["Support", "Workshop"]))
  let targets = folders.filter { $0 != "Support" }.flatMap { Repository.entries(of: "Tests/\($0)") }
  #expect(!targets.isEmpty && targets.count <= 12, "\(targets)")
}

@Test
func `the repository's top level has known entries only`() {
  for complaint in Rules.topLevelIsKnown(Repository.entries(of: "")) { Issue.record("\(complaint)") }
}

@Test
func `no script names a package mirror`() throws {
  // Write each name in two halves, so that this file does not contain the name.
  let names = ["debian.o" + "rg/debian", "ubuntu.c" + "om", "pypi.o" + "rg", "pythonhosted.o" + "rg"]
  let paths = ["tools", ".ci", "sessions"].flatMap(Repository.files).filter { !$0.hasPrefix("tools/.") }
  #expect(paths.contains("tools/package.d/try"))
  for path in paths {
    let text = Repository.text(path) ?? ""
    for name in names where text.contains(name) { Issue.record("\(path) names \(name)") }
  }
}

@Test
func `documents have no words that mark unfinished work`() {
  let paths = ["README.md"] + ["docs", "sessions"].flatMap(Repository.files).filter { $0.hasSuffix(".md") }
  for path in paths {
    guard let text = Repository.text(path) else { continue }
    for complaint in Rules.nothingIsLeftForLater(SourceText(path: path, text: text)) {
      Issue.record("\(complaint)")
    }
  }
}

@Test
func `each cited fact has its section, and each page of facts is cited`() throws {
  let pages = Repository.files(below: "docs/facts").filter { $0.hasSuffix(".md") }
  var facts: [String: Set<String>] = [:]
  for path in pages {
    let name = String(path.dropFirst("docs/facts/".count).dropLast(".md".count))
    facts[name] = Citation.sections(of: try #require(Repository.text(path)))
  }
  let files = Repository.code().filter {
    $0.module != nil
      || $0.path.hasPrefix("Tests/") && !$0.path.hasPrefix("Tests/Workshop/WorkshopTests/Tidy/")
  }
  for file in files {
    for complaint in Rules.citedFactsExist(file, facts: facts) { Issue.record("\(complaint)") }
  }
  #expect(Set(files.flatMap { Citation.all(in: $0).map(\.page) }) == Set(facts.keys))
}
