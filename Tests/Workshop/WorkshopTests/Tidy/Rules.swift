// SPDX-License-Identifier: GPL-2.0-or-later

/// The rules of style. Each rule is a function that takes a file's text and returns its complaints; it reads
/// nothing from the disk.
enum Rules {
  /// A folder of `Sources`. `pure`: the modules that use no clock, no randomness, no threads, and nothing of
  /// the system.
  struct Room {
    let name: String
    let pure: Set<String>
    let others: Set<String>
    var modules: Set<String> { pure.union(others) }
  }

  /// All rooms (folders of `Sources`) with their modules. A module uses only modules of its own room and of
  /// the rooms before it. A module that is not pure may also use C libraries. Package.swift lists the modules
  /// that each module uses, and tools/test refuses an import that is not listed there.
  static let rooms = [
    Room(
      name: "C", pure: [],
      others: [
        "CTactusJACK", "CTactusLiblo", "CTactusMicrohttpd", "CTactusPage", "CTactusQRencode",
        "CTactusSndfile",
        "CTactusSodium", "CTactusWslay",
      ]),
    Room(
      name: "Link",
      pure: ["LinkBeatMath", "LinkAddresses", "LinkWire", "LinkSession", "FarLink", "LinkHandoff"],
      others: ["LinkSystem", "LinkSodium", "Link"]),
    Room(
      name: "LinkAudio", pure: ["LinkAudioPath", "LinkAudioSession"], others: ["LinkAudioLanes", "LinkAudio"]),
    Room(name: "Cycle", pure: ["TactusChoices", "TactusSync"], others: ["TactusClickSounds", "TactusJACK"]),
    Room(
      name: "Control", pure: ["TactusArithmetic", "TactusJSON5", "TactusMIDI"],
      others: ["TactusOSC", "TactusSurface", "TactusWeb", "TactusNSM"]),
    Room(name: "Program", pure: ["TactusTerminal"], others: ["TactusQRCode", "TactusApp", "tactus"]),
    Room(name: "Simulation", pure: ["LinkWorld", "LinkCore", "TactusStudioDay"], others: ["LinkSimulator"]),
  ]

  /// Modules that no other module may import, except the ones listed for it.
  static let meetings: [String: Set<String>] = [
    "Link": ["LinkAudio", "TactusApp"], "LinkAudio": ["TactusApp"], "TactusJACK": ["TactusApp"],
  ]

  static let pureModules = rooms.reduce(into: Set<String>()) { $0.formUnion($1.pure) }

  /// The system's modules that a module may import if it is not pure. A pure module may use only atomics.
  static let system: Set = ["Glibc", "Synchronization"]
  static let systemOfPureModules = ["LinkHandoff": ["Synchronization"]]

  static let topLevel: Set = [
    "Package.swift", "Sources", "Tests", "README.md", "sessions", "tools", "docs", "LICENSE",
  ]

  static let fileLineLimit = 300

  /// The modules whose public names are visible to programs that use the products `Link` and `LinkAudio`.
  static let libraries: Set = ["Link", "LinkAudio", "LinkAudioLanes", "LinkAudioPath", "LinkAudioSession"]

  static func librariesAreDocumented(_ file: SourceText) -> [String] {
    guard let module = file.module, libraries.contains(module), file.path.hasSuffix(".swift") else {
      return []
    }
    let lines = file.lines.map { $0.drop { $0 == " " } }
    return lines.indices.compactMap { place in
      guard lines[place].hasPrefix("public "), !lines[place].hasPrefix("public import") else { return nil }
      let before = lines[..<place].last { !$0.hasPrefix("@") }
      return before?.hasPrefix("///") == true
        ? nil : file.complaint(place + 1, "is public, and nothing says what it is")
    }
  }

  static func importsAreAllowed(_ file: SourceText) -> [String] {
    guard file.path.hasSuffix(".swift") else { return [] }
    return imported(by: file).compactMap { name, line in
      if name == "Foundation" {
        return file.complaint(
          line, "Foundation makes a static program ten times as large and formats by locale")
      }
      guard let module = file.module else { return nil }
      guard let place = rooms.firstIndex(where: { $0.name == file.room && $0.modules.contains(module) })
      else {
        return file.complaint(
          line,
          "no room has a module \(module): the table is in Tests/Workshop/WorkshopTests/Tidy/Rules.swift")
      }
      let isPure = rooms[place].pure.contains(module)
      if let friends = meetings[name], name != module, !friends.contains(module) {
        return file.complaint(
          line, "\(module) must not know \(name); docs/architecture.md says where they meet")
      }
      let isAllowed =
        rooms[...place].contains { $0.modules.contains(name) && !(isPure && $0.name == "C") }
        || (isPure ? systemOfPureModules[module]?.contains(name) ?? false : system.contains(name))
        || (module == "TactusApp" && name == "FoundationEssentials")
      return isAllowed
        ? nil : file.complaint(line, "\(module) must not import \(name); docs/architecture.md says why")
    }
  }

  /// Finds `import A`, `public import A`, `@testable import A`, `import struct A.B`.
  static func imported(by file: SourceText) -> [(name: String, line: Int)] {
    let kinds: Set = ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"]
    var found: [(String, Int)] = []
    for (index, word) in file.words.enumerated() where word.text == "import" {
      let rest = file.words[(index + 1)...].prefix { $0.line == word.line }.drop { kinds.contains($0.text) }
      if let name = rest.first { found.append((name.text, word.line)) }
    }
    return found
  }

  static func fileIsShort(_ file: SourceText) -> [String] {
    let count = file.lines.count - (file.lines.last == "" ? 1 : 0)
    guard file.module != nil, count > fileLineLimit else { return [] }
    return [
      file.complaint(count, "\(count) lines; a file is one concept, \(fileLineLimit) lines are the ceiling")
    ]
  }

  /// Finds closure literals that are passed to C. Such a closure inherits the actor isolation of its
  /// surroundings, and aborts the program when a thread of JACK or liblo calls it. Neither the compiler nor a
  /// test on the main thread notices that.
  static func callbacksAreNamedFunctions(_ file: SourceText) -> [String] {
    guard file.path.hasSuffix(".swift") else { return [] }
    return file.words.compactMap { word in
      guard takesCallback(word.text), !file.isMember(word), !file.isNamedHere(word),
        let opening = file.solid(from: word.range.upperBound)
      else {
        return nil
      }
      let brace = UInt8(ascii: "{")
      var closure = file.code[opening] == brace
      if file.code[opening] == UInt8(ascii: "(") {
        let end = file.end(ofBracketAt: opening)
        closure = file.code[opening..<end].contains(brace)
        // On the same line, a brace after a condition begins a body and not a closure.
        if !closure, end < file.code.count, let next = file.solid(from: end), file.code[next] == brace {
          closure = !isCondition(file, before: word)
        }
      }
      return closure
        ? file.complaint(word.line, "\(word.text) is given a closure; a C callback is a named function") : nil
    }
  }

  private static func takesCallback(_ name: String) -> Bool {
    let names: Set = [
      "jack_on_shutdown", "jack_on_info_shutdown", "pthread_create", "sigaction", "signal", "atexit",
      "lo_server_new", "lo_server_thread_new", "lo_server_thread_new_multicast", "qsort", "timer_create",
    ]
    return names.contains(name) || (name.hasPrefix("jack_set_") && !name.hasSuffix("_size"))
      || (name.hasPrefix("lo_") && name.contains("_add_") && name.contains("method"))
  }

  private static func isCondition(_ file: SourceText, before word: SourceText.Word) -> Bool {
    let conditions: Set = ["if", "guard", "while", "switch", "for", "else"]
    return file.words.contains { $0.line == word.line && conditions.contains($0.text) }
  }

  /// Pure modules get time and randomness as arguments, and return text as values.
  static func pureModulesStayPure(_ file: SourceText) -> [String] {
    guard let module = file.module, pureModules.contains(module) else { return [] }
    let forbidden: Set = [
      "clock_gettime", "ContinuousClock", "SuspendingClock", "Date", "DispatchTime",
      "SystemRandomNumberGenerator", "random", "randomElement", "shuffled", "print", "debugPrint", "Task",
    ]
    return file.words.compactMap { word in
      guard forbidden.contains(word.text) else { return nil }
      // Complain only about uses such as `Int.random(in:)`, `Task {` or `Date.now`. A case or function of
      // ours called `clock` is a name, and randomness `using:` a generator comes from a seed.
      let next = file.solid(from: word.range.upperBound) ?? 0
      let isCall = next == word.range.upperBound && file.code[next] == UInt8(ascii: "(")
      guard word.text.first?.isUppercase == true || isCall, !file.isNamedHere(word),
        !file.isImplicitMember(word)
      else { return nil }
      if isCall, file.words(in: next..<file.end(ofBracketAt: next)).contains("using") { return nil }
      return file.complaint(word.line, "\(word.text) in \(module), which is pure: it comes in as an argument")
    }
  }

  static func licenceComesFirst(_ file: SourceText) -> [String] {
    // The first line may be a `#!` line, or the line with which Package.swift must begin.
    file.lines.prefix(2).contains { $0.contains("SPDX-License-Identifier: GPL-2.0-or-later") }
      ? [] : [file.complaint(1, "the first line is: SPDX-License-Identifier: GPL-2.0-or-later")]
  }

  static func nothingIsLeftForLater(_ file: SourceText) -> [String] {
    let notes = ["TO" + "DO", "FIX" + "ME", "X" + "XX"]
    return file.lines.enumerated().flatMap { index, line in
      notes.filter { note in
        line.contains(note)
          && line.split { !($0.isLetter || $0.isNumber || $0 == "_") }.contains { $0 == note }
      }.map { file.complaint(index + 1, "\($0): do it or leave it, notes to oneself are not for here") }
    }
  }

  static func exemptionsAreExplained(_ file: SourceText) -> [String] {
    file.lines.indices.compactMap { index in
      guard file.lines[index].contains("@_semantics(\"no_performance_analysis\")") else { return nil }
      let explained = file.lines[index].contains("//") || (index > 0 && file.lines[index - 1].contains("//"))
      return explained
        ? nil : file.complaint(index + 1, "an exemption from the real-time checks says why, in a comment")
    }
  }

  /// A promise that the compiler can't check needs a comment with its reason.
  static func promisesAreExplained(_ file: SourceText) -> [String] {
    file.words.compactMap { word in
      guard file.module != nil, word.text == "unchecked" else { return nil }
      let above = word.line > 1 && file.lines[word.line - 2].contains("//")
      return above || file.lines[word.line - 1].contains("//")
        ? nil : file.complaint(word.line, "@unchecked Sendable says above it which thread owns what")
    }
  }

  static func namesSaySomething(_ file: SourceText) -> [String] {
    let kinds: Set = ["struct", "class", "enum", "actor", "protocol"]
    let empty = ["Manager", "Helper", "Helpers", "Util", "Utils", "Utilities", "Impl"]
    return zip(file.words, file.words.dropFirst()).compactMap { kind, name in
      kinds.contains(kind.text) && empty.contains { name.text.hasSuffix($0) }
        ? file.complaint(name.line, "\(name.text): a name in the words of the domain says what it is") : nil
    }
  }

  /// Finds a `switch` with cases of an enum and a `default`, which would hide a new case. Texts, numbers and
  /// tuples need a `default`; C's enum cases are written without a dot.
  static func switchesAreComplete(_ file: SourceText) -> [String] {
    file.words.enumerated().compactMap { index, word in
      guard file.module != nil, word.text == "switch",
        let brace = file.code[word.range.upperBound...].firstIndex(of: UInt8(ascii: "{"))
      else { return nil }
      let end = file.end(ofBracketAt: brace)
      var depth = 0
      var place = brace
      var hasDefault = false
      var hasCase = false
      for label in file.words[index...] where label.range.lowerBound > brace && label.range.upperBound < end {
        while place < label.range.lowerBound {
          if file.code[place] == UInt8(ascii: "{") { depth += 1 }
          if file.code[place] == UInt8(ascii: "}") { depth -= 1 }
          place += 1
        }
        guard depth == 1 else { continue }
        let next = file.solid(from: label.range.upperBound).map { file.code[$0] }
        if label.text == "default", next == UInt8(ascii: ":") { hasDefault = true }
        if label.text == "case", next == UInt8(ascii: ".") { hasCase = true }
      }
      return hasDefault && hasCase
        ? file.complaint(word.line, "a switch over an enum names every case instead of default") : nil
    }
  }

  /// A test's name is a sentence in backticks, without a second title.
  static func testsAreSentences(_ file: SourceText) -> [String] {
    guard file.path.hasPrefix("Tests/") else { return [] }
    return file.words.indices.compactMap { index in
      let word = file.words[index]
      guard word.text == "Test", word.range.lowerBound > 0,
        file.code[word.range.lowerBound - 1] == UInt8(ascii: "@")
      else { return nil }
      let rest = file.lines[word.line - 1].split(
        separator: "@Test", maxSplits: 1, omittingEmptySubsequences: false)[1]
      let first = rest == "(" ? file.lines[word.line].drop { $0 == " " } : rest.dropFirst()
      let name = file.words[index...].first { $0.text == "func" }.flatMap {
        file.solid(from: $0.range.upperBound)
      }
      return first.hasPrefix("\"") || name.map { file.code[$0] } != UInt8(ascii: "`")
        ? file.complaint(
          word.line, "a test is a sentence in backticks: @Test func `the click is on the beat`()") : nil
    }
  }

  static func modulesAreOnTheMap(_ modules: some Sequence<String>, architecture: String) -> [String] {
    modules.filter { module in !architecture.split(separator: "\n").contains { $0.hasPrefix("**\(module)**") }
    }
    .map { "docs/architecture.md: no paragraph for the module \($0): begin one with **\($0)**" }
  }

  static func topLevelIsKnown(_ entries: some Sequence<String>) -> [String] {
    entries.filter { !$0.hasPrefix(".") && !topLevel.contains($0) }
      .map { "\($0): what is this at the top level? The house has Sources, Tests, docs, tools and sessions" }
  }

  /// The rules that look at one file at a time.
  static let ofFiles: [@Sendable (SourceText) -> [String]] =
    [
      importsAreAllowed, fileIsShort, callbacksAreNamedFunctions, pureModulesStayPure, licenceComesFirst,
      nothingIsLeftForLater, exemptionsAreExplained, promisesAreExplained, namesSaySomething,
      switchesAreComplete, librariesAreDocumented, testsAreSentences,
    ] + ofLanguage
}
