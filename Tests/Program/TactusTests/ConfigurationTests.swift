// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import TactusSurface
import Testing

@testable import TactusApp

@Test
func `no two options share a name, and no name begins with no-`() {
  let options = Configuration.options
  #expect(Set(options.map(\.long)).count == options.count)
  let letters = options.compactMap(\.short)
  #expect(Set(letters).count == letters.count)
  #expect(!options.contains { $0.long.hasPrefix("no-") })
}

@Test
func `the help text names every option and fits in 80 columns`() {
  let text = Configuration.helpText
  for option in Configuration.options {
    #expect(text.contains("--" + option.long))
    if let short = option.short { #expect(text.contains("-\(short), --\(option.long)")) }
  }
  for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
}

@Test
func `the brief help fits on two screens, and all its options exist`() {
  let lines = Configuration.briefHelp.split(separator: "\n", omittingEmptySubsequences: false)
  #expect(lines.count <= 48 && lines.allSatisfy { $0.count <= 80 }, "\(Configuration.briefHelp)")
  for (name, words) in Configuration.daily {
    #expect(Configuration.options.contains { $0.long == name })
    #expect(lines.contains { $0.contains("--\(name)") && $0.hasSuffix("  \(words)") }, "\(name)")
  }
  for command in Subcommands.all { #expect(lines.contains { $0.hasPrefix("  \(command.name) ") }) }
}

@Test
func `in a UTF-8 terminal, microseconds are shown as µs, otherwise as us`() {
  for (text, shown) in [
    ("drums (clock plays, 12 us), gate", "drums (clock plays, 12 \u{B5}s), gate"), ("12 us", "12 \u{B5}s"),
    ("f: 0 to 5 us\nnext 3 use", "f: 0 to 5 \u{B5}s\nnext 3 use"), ("tell us", "tell us"), (" us", " us"),
    ("", ""),
  ] {
    #expect(text.withMicros(isUTF8: true) == shown)
    #expect(text.withMicros(isUTF8: false) == text)
  }
}

@Test
func `the help names the words that may follow a flag such as --click`() {
  let text = Configuration.helpText.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  #expect(text.contains("Play the click. It also takes a word: always, rolling, beep, wood, tick or bell."))
  #expect(text.contains("It also takes a word: always or rolling."))
  #expect(text.contains("It also takes a word: bar, 1, 2, 4, 24 or 48."))
  // A flag such as --link does not accept words that belong to the options of other sections.
  #expect(throws: UserError("there is no command \"none\"")) {
    try Configuration(arguments: ["--link", "none"])
  }
}

@Test(arguments: [
  (["--click", "bouncing"], "there is no command \"bouncing\""),
  (
    ["--no-tui", "--osc-query", "8o80"], "--osc-query takes a port from 1 to 65535, on or off, not \"8o80\""
  ),
  (["-o", "status"], "-o takes a port from 1 to 65535, on or off, not \"status\""),
  (
    ["--click=loud"],
    "--click takes on, off, always, rolling, beep, wood, tick, bell or no value, not \"loud\""
  ),
  (["--click", "status"], "\"status\" comes first: tactus status"),
  (["--wait", "rolling"], "there is no command \"rolling\""),
  (["stauts"], "there is no command \"stauts\": do you mean \"status\"?"),
  (["-t90", "9000"], "there is no command \"9000\""),
])
func `a stray word in the command line is refused, with a hint`(
  arguments: [String], words: String
) {
  #expect(throws: UserError(words)) { try Configuration(arguments: arguments) }
}

@Test(arguments: [
  (["-o", "9000"], ["--osc=9000"]), (["--web", "8080", "--wait"], ["--web=8080", "--wait"]),
  (["--osc", "off"], ["--no-osc"]), (["-P", "--osc", "--wait"], ["-P", "--osc=on", "--wait"]),
  (["--click", "rolling"], ["--click", "--click-when=rolling"]),
  (["--click=rolling"], ["--click", "--click-when=rolling"]),
  (["--click", "wood", "-P"], ["--click", "--click-sound=wood", "-P"]),
  (["--clock", "rolling"], ["--clock", "--clock-when=rolling"]),
  (["--pulse", "24"], ["--pulse", "--pulse-rate=24"]), (["--click", "off"], ["--no-click"]),
  (["--startstop", "on"], ["--startstop"]), (["--link=off"], ["--no-link"]),
])
func `an option's optional value may also follow as a separate word`(typed: [String], written: [String])
  throws
{
  #expect(try Configuration(arguments: typed) == Configuration(arguments: written))
}

@Test
func `the quantum is a number of beats or one bar, typed and in a file`()
  throws
{
  for (text, quantum) in [("4", .beats(4)), ("3.5", .beats(3.5)), ("0.125", .beats(0.125)), ("bar", .bar)]
    as [(String, Quantum)]
  {
    let typed = try Configuration(arguments: ["-q", "7", "--quantum", text])
    #expect(typed.choices.ownQuantum == quantum)
    let option = try #require(Configuration.options.first { $0.long == "quantum" })
    guard case .value(let value) = option.form else {
      Issue.record("--quantum takes no value")
      return
    }
    #expect(value.read(typed) == [text])
    var file = try Configuration(arguments: ["-q", "7"])
    try ConfigurationFile.apply(
      Array("{quantum: \(value.takes.allowed.value(of: text).text)}".utf8), from: "/a", to: &file)
    #expect(file == typed)
  }
}

@Test
func `the defaults are JACK's default server and the name tactus`() throws {
  let configuration = try Configuration(arguments: [])
  #expect(
    configuration.name == "tactus" && configuration.server == nil && !configuration.wait
      && configuration.answer == .run)
}

@Test(arguments: [
  (["play"], "there is no command \"play\""),
  (["tempo", "120"], "there is no command \"tempo\": do you mean \"send tempo\"?"),
  (["completoins"], "there is no command \"completoins\": do you mean \"completions\"?"),
  (["compl"], "there is no command \"compl\": do you mean \"completions\"?"),
  (["--wait", "completions"], "\"completions\" comes first: tactus completions"),
])
func `an unknown command is refused with the nearest known one`(
  arguments: [String], line: String
) {
  #expect(throws: UserError(line)) { try Configuration(arguments: arguments) }
}

@Test
func `--help wins over a stray word before it`() throws {
  #expect(try Configuration(arguments: ["play", "--help"]).answer == .help)
}

@Test
func `OSC is on at its usual port, and --osc and --no-osc change that`() throws {
  func settings(_ arguments: String...) throws -> SurfaceSettings {
    try Configuration(arguments: arguments).surfaceSettings
  }
  #expect(try settings().isPortFixed == false)
  #expect(try settings("--no-osc").listen.isEmpty)
  #expect(try settings("--osc=off").listen.isEmpty)
  #expect(try settings("--no-osc", "--osc").listen.first?.port == 20809)
  let fixed = try settings("-o9001")
  #expect(fixed.isPortFixed && fixed.listen.first?.port == 9001)
  #expect(try settings("--osc=9001", "--osc").isPortFixed == false)
  // tactus always listens at the loopback addresses, too, even if the machine does not have the other
  // address.
  let listen = try settings("--osc-listen=10.9.9.9").listen.map(\.address)
  #expect(
    listen.first == .v4(0x0a09_0909) && listen.dropFirst().allSatisfy(\.isLoopback) && listen.count == 3)
}

@Test
func `an option's value survives being written as text and read again`() throws {
  var changed = try Configuration(arguments: [
    "-nsolo", "-sstudio", "-t99.5", "-m7/8", "--click", "--pulse-rate=24", "--click-pattern=Xx.",
    "--osc=9001",
    "--osc-query", "--osc-allow=10.0.0.0/8", "--osc-allow=::1", "--accent-file=a.wav", "--clock-offset=-2.25",
    "--link-interface=wlan0", "--link-interface=lo",
  ])
  for start in [try Configuration(arguments: []), changed] {
    var copy = try Configuration(arguments: [])
    for option in Configuration.options {
      switch option.form {
      case .flag(let place): copy[keyPath: place] = start[keyPath: place]
      case .answer: break
      case .value(let value):
        for text in value.read(start) {
          #expect(value.takes.allowed.objection(to: text) == nil, "--\(option.long) \(text)")
          value.store(&copy, text)
        }
      }
    }
    #expect(copy == start)
  }
  for option in Configuration.options {
    guard case .value(let value) = option.form, value.takes.repeats else { continue }
    value.clear(&changed)
    #expect(value.read(changed) == [])
  }
}

@Test
func `Link uses the named interfaces, or all of them`() throws {
  #expect(try Configuration(arguments: []).link.interfaces == nil)
  #expect(
    try Configuration(arguments: ["--link-interface=wlan0", "--link-interface=lo"]).link.interfaces == [
      "wlan0", "lo",
    ])
}

@Test(arguments: [
  ("off", AcceptChoice.off), ("on", .at(nil, port: nil)), ("20900", .at(nil, port: 20_900)),
  ("10.8.0.1", .at(.v4(0x0a08_0001), port: nil)), ("10.8.0.1:20900", .at(.v4(0x0a08_0001), port: 20_900)),
  ("[fd00::1]:20900", .at(.v6(high: 0xfd00 << 48, low: 1, scope: 0), port: 20_900)),
  ("fd00::1", .at(.v6(high: 0xfd00 << 48, low: 1, scope: 0), port: nil)),
])
func `--link-accept takes a port, an address, or both`(text: String, choice: AcceptChoice) throws {
  #expect(try Configuration(arguments: ["--link-accept=\(text)"]).far.accept == choice)
  #expect(choice.texts == [text])
  let written = text == "20900" ? text : "'\(text)'"
  var file = Configuration()
  try ConfigurationFile.apply(Array("{'link-accept': \(written)}".utf8), from: "/dev/null", to: &file)
  #expect(file.far.accept == choice)
}

@Test(arguments: ["0", "65536", "10.8.0.1:0", "0.0.0.0", "::", "224.0.0.1:20819", "10.8.0.1:", "room:9", ""])
func `--link-accept refuses a text that is neither a port nor an address`(text: String) {
  #expect(throws: UserError.self) { try Configuration(arguments: ["--link-accept=\(text)"]) }
}

@Test func `without a key, --link-accept requires an address`() throws {
  for words in [["--link-accept"], ["--link-accept=20900"]] {
    let open = try Configuration(arguments: ["--link-key=none"] + words)
    let refusal = #expect(throws: UserError.self) { try open.farSettings() }
    #expect(refusal?.text.contains("--link-accept=ADDRESS") == true)
  }
  let closed = try Configuration(arguments: ["--link-key=none", "--link-accept=10.8.0.1:20900"])
  let settings = try closed.farSettings()
  #expect(settings?.door == .v4(0x0a08_0001) && settings?.port == 20_900)
  #expect(try Configuration(arguments: ["--link-key=none", "--link-to=10.8.0.2"]).farSettings()?.port == nil)
}
