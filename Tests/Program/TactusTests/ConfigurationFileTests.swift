// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5
import Testing

@testable import TactusApp

private func read(_ text: String) throws(UserError) -> Configuration {
  var configuration = Configuration()
  try ConfigurationFile.apply(Array(text.utf8), from: "/home/ada/config.json5", to: &configuration)
  return configuration
}

@Suite("The configuration file")
struct ConfigurationFileTests {
  @Test(arguments: [
    // These texts are not JSON5.
    ("// nothing\n{", "2: a } is missing at the end"),
    ("{tempo: 120", "1: a comma or } was expected before the end"),
    ("{\n  tempo: 120\n  quantum: 4\n}", "3: a comma is missing before quantum"),
    ("{\n  bpm = 120\n}", "2: a colon was expected after \"bpm\", not ="),
    ("tempo: 120", "1: a { is missing before \"tempo\""),
    ("{lead: host}", "1: host is no value; text needs quotes around it"),
    ("{start-server: true}", "1: \"start-server\" needs quotes, because of the dash in it"),
    ("{name: \"tac\ntus\"}", "1: text without its closing \""),
    ("{tempo: 120, tempo: 121}", "1: \"tempo\" is there twice, first in line 1"),
    ("{tempo: 120, 'tempo': 120}", "1: \"tempo\" is there twice, first in line 1"),
    ("{tempo: 120,50}", "1: a name or } was expected, not 5"),
    ("{} {}", "1: text after the end: {"),
    // These texts are JSON5, but not a configuration.
    ("[]", "1: holds a list instead of { key: value, ... }"),
    ("\n\"bpm\"", "2: holds text instead of { key: value, ... }"),
    ("null", "1: holds null instead of { key: value, ... }"),
    // These texts have an unknown key.
    ("{\n\ntmepo: 120}", "3: unknown key \"tmepo\": do you mean \"tempo\"?"),
    ("{startStop: true}", "1: unknown key \"startStop\": do you mean \"startstop\"?"),
    ("{\"osc-port\": 9000}", "1: unknown key \"osc-port\""),
    ("{\"no-link\": true}", "1: unknown key \"no-link\": say \"link\": false"),
    ("{n: 'solo'}", "1: unknown key \"n\""),
    ("{help: true}", "1: unknown key \"help\""),
    ("{config: 'other.json5'}", "1: unknown key \"config\""),
    ("{probe: true}", "1: unknown key \"probe\""),
    ("{\"\\u001b[31m\": 1}", "1: unknown key \"?[31m\""),
    ("{BPM: 120}", "1: unknown key \"BPM\""),
    // These texts have a wrong number.
    ("{tempo: 19.99}", "1: \"tempo\" takes a number from 20 to 999, not 19.99"),
    ("{tempo: 1000}", "1: \"tempo\" takes a number from 20 to 999, not 1000"),
    ("{tempo: NaN}", "1: \"tempo\" takes a number from 20 to 999, not NaN"),
    ("{tempo: -Infinity}", "1: \"tempo\" takes a number from 20 to 999, not -Infinity"),
    ("{tempo: '120'}", "1: \"tempo\" takes a number from 20 to 999, not \"120\""),
    ("{tempo: true}", "1: \"tempo\" takes a number from 20 to 999, not true"),
    ("{tempo: [120]}", "1: \"tempo\" takes a number from 20 to 999, not a list"),
    ("{tempo: {value: 120}}", "1: \"tempo\" takes a number from 20 to 999, not an object"),
    ("{quantum: 257}", "1: \"quantum\" takes 0 to 256 beats (3.5 are seven eighths), or bar, not 257"),
    ("{quantum: 3.3}", "1: \"quantum\" takes 0 to 256 beats (3.5 are seven eighths), or bar, not 3.3"),
    ("{'click-subdivision': 1.5}", "1: \"click-subdivision\" takes a whole number from 1 to 8, not 1.5"),
    ("{'click-subdivision': 0x9}", "1: \"click-subdivision\" takes a whole number from 1 to 8, not 0x9"),
    ("{'click-gain': 8.01}", "1: \"click-gain\" takes a number from 0 to 8, not 8.01"),
    ("{'click-offset': 501}", "1: \"click-offset\" takes a number from -500 to 500, not 501"),
    // These texts have a wrong binding of a key or MIDI message; the command table gives the reason.
    (
      "{key: ['x = tempo/tipp']}",
      "1: \"key\": \"x = tempo/tipp\": no such address: tempo/tipp; do you mean tempo/tap?"
    ),
    (
      "{midi: ['nte 36 ch 2 = tap']}",
      "1: \"midi\": \"nte 36 ch 2 = tap\": no such event: do you mean \"note 36 ch 2\"?"
    ),
    (
      "{midi: ['cc 7 ch 17 = tap']}", "1: \"midi\": \"cc 7 ch 17 = tap\": a channel is 1 to 16, not 17"
    ),
    ("{midi: ['cc 64']}", "1: \"midi\": \"cc 64\": say what this message does: \"cc 64 = start\""),
    (
      "{connect: ['ped*=control']}",
      "1: \"connect\": \"ped*=control\": \"ped*\" is no port of tactus (click_1, click_2, clock, pulse, run or control); "
        + "write another program's as PROGRAM:PORT, an output of your own as out/NAME"
    ),
    (
      "{connect: ['a:b=contrl']}",
      "1: \"connect\": \"a:b=contrl\": \"contrl\" is no port of tactus (click_1, click_2, clock, pulse, run or control); "
        + "write another program's as PROGRAM:PORT, an output of your own as out/NAME"
    ),
    (
      "{midi: ['mmc plya = start']}",
      "1: \"midi\": \"mmc plya = start\": no such event: do you mean \"mmc play\"?"
    ),
    (
      "{midi: ['cc 7 = volme']}",
      "1: \"midi\": \"cc 7 = volme\": no such address: volme; do you mean click/volume?"
    ),
    ("{midi: ['note 1 = tempo 5']}", "1: \"midi\": \"note 1 = tempo 5\": tempo: 20 to 999 BPM, not 5"),
    (
      "{key: ['f1 = tap']}",
      "1: \"key\" takes a list in which each entry is a key (an ASCII character, space, up, down, left, right, pageup, pagedown, home, "
        + "enter or backspace) and its command, such as \"x = start bar\", not \"f1 = tap\""
    ),
    // These texts have a wrong word where only some words are allowed.
    ("{lead: 'me'}", "1: \"lead\" takes link, host, auto or midi, not \"me\""),
    ("{lead: 'Host'}", "1: \"lead\" takes link, host, auto or midi, not \"Host\""),
    ("{launch: 1}", "1: \"launch\" takes now, beat or bar, not 1"),
    ("{'pulse-rate': 3}", "1: \"pulse-rate\" takes bar, 1, 2, 4, 24 or 48, not 3"),
    ("{'pulse-rate': false}", "1: \"pulse-rate\" takes bar, 1, 2, 4, 24 or 48, not false"),
    ("{click: 'sometimes'}", "1: \"click\" takes true or false, not \"sometimes\""),
    ("{'clock-when': 24}", "1: \"clock-when\" takes always or rolling, not 24"),
    // These texts have something other than true or false for a switch.
    ("{wait: 1}", "1: \"wait\" takes true or false, not 1"),
    (
      "{'start-server': '/usr/bin/jackd'}",
      "1: \"start-server\" takes true or false, not \"/usr/bin/jackd\""
    ),
    ("{startServer: true}", "1: unknown key \"startServer\": do you mean \"start-server\"?"),
    ("{link: 'yes'}", "1: \"link\" takes true or false, not \"yes\""),
    // These texts have a wrong string.
    ("{name: ''}", "1: \"name\" takes 1 to 63 bytes of printable text, not \"\""),
    ("{name: 'a\\tb'}", "1: \"name\" takes 1 to 63 bytes of printable text, not \"a?b\""),
    ("{name: 5}", "1: \"name\" takes 1 to 63 bytes of printable text, not 5"),
    (
      "{meter: '4'}",
      "1: \"meter\" takes a meter such as 4/4 or 7/8, up to 64 notes of length 1, 2, 4, 8, 16 or 32, not \"4\""
    ),
    (
      "{meter: [4, 4]}",
      "1: \"meter\" takes a meter such as 4/4 or 7/8, up to 64 notes of length 1, 2, 4, 8, 16 or 32, not a list"
    ),
    (
      "{'click-pattern': 'Xox'}",
      "1: \"click-pattern\" takes up to 64 letters: X accent, x beat, . silence, not \"Xox\""
    ),
    ("{'accent-file': false}", "1: \"accent-file\" takes the path of a file, not false"),
    // These texts have a wrong address or port, or a wrong list of addresses or ports.
    ("{osc: 0}", "1: \"osc\" takes a port from 1 to 65535, on or off, true or false, not 0"),
    ("{osc: 65536}", "1: \"osc\" takes a port from 1 to 65535, on or off, true or false, not 65536"),
    ("{osc: '9000'}", "1: \"osc\" takes a port from 1 to 65535, on or off, true or false, not \"9000\""),
    (
      "{'osc-listen': '10.0.0.1'}",
      "1: \"osc-listen\" takes a list [...] in which each entry is an address such as 192.168.7.2 or ::1, not \"10.0.0.1\""
    ),
    (
      "{'osc-listen': [\n'10.0.0.1',\n'stage'\n]}",
      "3: \"osc-listen\" takes a list in which each entry is an address such as 192.168.7.2 or ::1, not \"stage\""
    ),
    (
      "{'osc-allow': ['10.0.0.0/40']}",
      "1: \"osc-allow\" takes a list in which each entry is an address or a network such as 192.168.7.0/24, not \"10.0.0.0/40\""
    ),
    (
      "{'link-interface': ['a/b']}",
      "1: \"link-interface\" takes a list in which each entry is the name of a network interface such as eth0, not \"a/b\""
    ),
    (
      "{'osc-send': ['10.0.0.1']}",
      "1: \"osc-send\" takes a list in which each entry is an address and a port such as 192.168.7.20:9000, not \"10.0.0.1\""
    ),
    (
      "{'osc-send': [null]}",
      "1: \"osc-send\" takes a list in which each entry is an address and a port such as 192.168.7.20:9000, not null"
    ),
  ])
  func `a mistake in the file gives its file, line, key and allowed values`(
    text: String, line: String
  ) {
    do throws(UserError) {
      _ = try read(text)
      Issue.record("it was taken")
    } catch {
      #expect(error.text == "/home/ada/config.json5:" + line)
    }
  }

  @Test
  func `all mistakes of a file are reported at once, up to a limit`() {
    func complaint(_ text: String) -> String? {
      do throws(UserError) { _ = try read(text) } catch { return error.text }
      return nil
    }
    let file = "/home/ada/config.json5:"
    #expect(
      complaint(
        """
        {
          tmepo: 120,
          meter: '4',
          tempo: 130,
          click: 'sometimes',
          midi: ['nte 36 = tap', 'note 36 = tap', 'note 37 = tempo 5'],
          quantum: 257,
        }
        """) == """
          \(file)2: unknown key "tmepo": do you mean "tempo"?
          \(file)3: "meter" takes a meter such as 4/4 or 7/8, up to 64 notes of length 1, 2, 4, 8, 16 or 32, not "4"
          \(file)5: "click" takes true or false, not "sometimes"
          \(file)6: "midi": "nte 36 = tap": no such event: do you mean "note 36"?
          \(file)6: "midi": "note 37 = tempo 5": tempo: 20 to 999 BPM, not 5
          \(file)7: "quantum" takes 0 to 256 beats (3.5 are seven eighths), or bar, not 257
          """)
    let many = complaint("{" + (1...30).map { "k\($0): 1" }.joined(separator: ",") + "}")
    #expect(many?.split(separator: "\n").count == 21 && many?.hasSuffix("\nand 10 more") == true)
  }

  @Test
  func `the printed default has every key, and changes nothing`()
    throws
  {
    let text = ConfigurationFile.text(of: Configuration(), heading: "Heading.")
    #expect(try read(text) == Configuration())
    for option in ConfigurationFile.keys.options {
      #expect(
        text.contains("\n  \(option.long): ") || text.contains("\n  \"\(option.long)\": "), "\(option.long)")
    }
    for line in text.split(separator: "\n") where line.contains("//") { #expect(line.count <= 80, "\(line)") }
  }

  @Test
  func `a configuration with many options survives being printed and read`() throws {
    let configuration = try Configuration(arguments: [
      "-nsolo's \"own\"", "-sstudio", "-t99.5", "-m7/8", "--click", "--pulse-rate=24", "--click-pattern=Xx.",
      "--osc=9001",
      "--osc-query", "--osc-allow=10.0.0.0/8", "--osc-allow=::1", "--accent-file=a.wav",
      "--clock-offset=-2.25",
      "--no-link", "--run-offset=0", "--wait",
    ])
    #expect(try read(ConfigurationFile.text(of: configuration, heading: "")) == configuration)
  }

  @Test
  func `a relative path becomes absolute, so that it still holds when saved`() throws {
    let typed = try Configuration(arguments: ["--accent-file=a.wav", "--link-key=none", "--config=my.json5"])
    let here = try #require(typed.soundFiles.accent?.dropLast("/a.wav".count))
    #expect(here.hasPrefix("/") && typed.far.key == "none" && typed.file == "\(here)/my.json5")
    // A path in a file is relative to the file; a path from a pipe is relative to the working folder.
    let written = "{'accent-file': 'a.wav', 'link-key': 'keys/two', 'beat-file': '/b.wav'}"
    let file = try read(written)
    #expect(file.soundFiles.accent == "/home/ada/a.wav" && file.far.key == "/home/ada/keys/two")
    #expect(file.soundFiles.beat == "/b.wav")
    var piped = Configuration()
    try ConfigurationFile.apply(Array(written.utf8), from: "/dev/null", to: &piped)
    #expect(piped.soundFiles.accent == typed.soundFiles.accent)
  }

  @Test
  func `a pattern may be empty, on the command line and in a file`() throws {
    let plain = Configuration()
    #expect(try Configuration(arguments: ["--click-pattern=Xx.", "--click-pattern="]) == plain)
    #expect(try read("{'click-pattern': ''}") == plain)
    for (option, key) in [("--link-audio-delay=", "link-audio-delay"), ("--link-distance=", "link-distance")]
    {
      #expect(throws: UserError.self) { try Configuration(arguments: [option]) }
      #expect(throws: UserError.self) { try read("{'\(key)': ''}") }
    }
  }

  @Test
  func `a choice means the same as an option and as a key of a file`() throws {
    #expect(try read("{click: true}") == Configuration(arguments: ["--click"]))
    #expect(
      try read("{click: false, clock: false}") == Configuration(arguments: ["--no-click", "--no-clock"]))
    #expect(try read("{osc: false}") == Configuration(arguments: ["--no-osc"]))
    #expect(try read("{osc: 9001}") == Configuration(arguments: ["-o9001"]))
    #expect(try read("{'pulse-rate': 4}") == read("{'pulse-rate': '4'}"))
    #expect(try read("{tempo: 1.2e2, lead: null}") == Configuration())
    #expect(try read("{}") == Configuration())
  }

  @Test
  func `options of the command line, also lists, override the file`()
    throws
  {
    var configuration = try read("{tempo: 90, link: false, click: true, 'osc-allow': ['10.0.0.0/8', '::1']}")
    try configuration.read([
      "--tempo=91", "--link", "--no-click", "--osc-allow=192.168.1.0/24", "--osc-allow=::2",
    ])
    #expect(
      configuration.tempo == 91 && configuration.choices.isLinkEnabled && !configuration.choices.click.isOn)
    #expect(configuration.surface.allow == ["192.168.1.0/24", "::2"])
  }

  @Test
  func `configuration and state are where the XDG base directory rules say`() {
    func places(_ environment: [String: String]) -> Places { Places { environment[$0] } }
    let usual = places(["HOME": "/home/ada"])
    #expect(usual.configuration == "/home/ada/.config/tactus/config.json5")
    #expect(usual.state == "/home/ada/.local/state/tactus/state.json5")
    #expect(usual.defaults == ["/etc/xdg/tactus/config.json5"])
    let moved = places([
      "HOME": "/home/ada", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_CONFIG_DIRS": "/a:rel:/b",
    ])
    #expect(moved.configuration == "/c/tactus/config.json5" && moved.state == "/s/tactus/state.json5")
    #expect(moved.defaults == ["/a/tactus/config.json5", "/b/tactus/config.json5"])
    // A variable that is empty or relative counts as not set.
    let odd = places(["HOME": "/home/ada", "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "state"])
    #expect(odd.configuration == usual.configuration && odd.state == usual.state)
    #expect(places([:]).configuration == nil && places([:]).state == nil)
  }
}
