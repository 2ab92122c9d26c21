// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@testable import TactusJSON5

private func read(_ text: String) throws -> JSON5 { try JSON5.read(Array(text.utf8)).value }

@Test func `the JSON5 standard's example is read, with the line of every member`() throws {
  let text = """
    {
      // comments
      unquoted: 'and you can quote me on that',
      singleQuotes: 'I can use "double quotes" here',
      lineBreaks: "Look, Mom! \\
    No \\\\n's!",
      hexadecimal: 0xdecaf,
      leadingDecimalPoint: .8675309, andTrailing: 8675309.,
      positiveSign: +1,
      trailingComma: 'in objects', andIn: ['arrays',],
      "backwardsCompatible": "with JSON",
    }

    """
  let document = try JSON5.read(Array(text.utf8))
  guard case .object(let members) = document.value else {
    Issue.record("\(document)")
    return
  }
  #expect(
    members.map { "\($0.line) \($0.name) \($0.element.value.text)" } == [
      "3 unquoted \"and you can quote me on that\"",
      "4 singleQuotes \"I can use \\\"double quotes\\\" here\"",
      "5 lineBreaks \"Look, Mom! No \\\\n's!\"", "7 hexadecimal 912559", "8 leadingDecimalPoint 0.8675309",
      "8 andTrailing 8675309", "9 positiveSign 1", "10 trailingComma \"in objects\"", "10 andIn [\"arrays\"]",
      "11 backwardsCompatible \"with JSON\"",
    ])
}

@Test(
  arguments: [
    ("0", 0.0), ("-0.5", -0.5), (".5", 0.5), ("5.", 5), ("+7", 7), ("1e3", 1000), ("1.5E-2", 0.015),
    ("0xff", 255), ("-0X10", -16), ("Infinity", .infinity), ("-Infinity", -.infinity), ("1e999", .infinity),
    ("123456789012345678901234567890", 123456789012345678901234567890.0),
  ])
func `JSON5 numbers are read in every form that ECMAScript allows`(text: String, value: Double) throws {
  guard case .number(let number, let written) = try read(text) else {
    Issue.record("\(text) is no number")
    return
  }
  #expect(number == value && written == text)
}

@Test func `JSON5's NaN is read as a number`() throws {
  guard case .number(let number, _) = try read("-NaN") else {
    Issue.record("no number")
    return
  }
  #expect(number.isNaN)
}

@Test(
  arguments: [
    (#""\n\t\r\b\f\v\0\'\"\/\q""#, "\n\t\r\u{8}\u{c}\u{b}\0'\"/q"), (#"'\x41\u00e9'"#, "Aé"),
    (#""\ud83c\udfb5""#, "🎵"), ("'a\\\r\nb\\\nc'", "abc"), ("\"\u{2028}\"", "\u{2028}"), ("'\u{1}'", "\u{1}"),
  ])
func `JSON5 strings are read with all their escapes`(text: String, value: String) throws {
  #expect(try read(text) == .string(value))
}

@Test func `JSON5 member names need no quotes if they are identifiers`() throws {
  guard case .object(let members) = try read("{$_a1: 1, été: 2, \\u0061b: 3, 'a b': 4, '': 5, null: 6}")
  else {
    Issue.record("no object")
    return
  }
  #expect(members.map(\.name) == ["$_a1", "été", "ab", "a b", "", "null"])
}

@Test(
  arguments: [
    ("", 1, "a value is missing at the end"),
    ("\n// only a comment\n", 3, "a value is missing at the end"),
    ("{a: 1", 1, "a comma or } was expected before the end"),
    ("{\n", 2, "a } is missing at the end"),
    ("[1, 2", 1, "a comma or ] was expected before the end"),
    ("{a 1}", 1, "a colon was expected after \"a\", not 1"),
    ("{a: 1 b: 2}", 1, "a comma is missing before b"),
    ("{a: 1\n 'b-c': 2}", 2, "a comma is missing before 'b-c'"),
    ("{a: 1; b: 2}", 1, "a comma or } was expected, not ;"),
    ("{a: 1,\n\n a: 2}", 3, "\"a\" is there twice, first in line 1"),
    ("{'a': 1, \"a\": 2}", 1, "\"a\" is there twice, first in line 1"),
    ("{'a\\n\\x1b[31mb' 1}", 1, "a colon was expected after \"a??[31mb\", not 1"),
    ("{,}", 1, "a name or } was expected, not ,"),
    ("[,]", 1, "a value was expected, not ,"),
    ("[1,,2]", 1, "a value was expected, not ,"),
    ("{1a: 1}", 1, "a name or } was expected, not 1"),
    ("{a-b: 1}", 1, "\"a-b\" needs quotes, because of the dash in it"),
    ("{osc-listen-: 1}", 1, "\"osc-listen-\" needs quotes, because of the dash in it"),
    ("{a = 1}", 1, "a colon was expected after \"a\", not ="),
    ("{a: , b: 1}", 1, "the value of \"a\" is missing"),
    ("{\n a:\n}", 3, "the value of \"a\" is missing"),
    ("tempo: 120", 1, "a { is missing before \"tempo\""),
    ("// words\ntempo\n: 120", 2, "a { is missing before \"tempo\""),
    ("{meter: 7/8}", 1, "7/8 is no value; text needs quotes around it"),
    ("{f: /home/a.wav}", 1, "/home/a.wav is no value; text needs quotes around it"),
    ("{f: ~/a.wav,\n}", 1, "~/a.wav is no value; text needs quotes around it"),
    ("{a: yes}", 1, "yes is no value; text needs quotes around it"),
    ("{a: undefined}", 1, "undefined is no value; text needs quotes around it"),
    ("{a: True}", 1, "True is no value; text needs quotes around it"),
    ("{a: 1} {", 1, "text after the end: {"),
    ("1\n\n;", 3, "text after the end: ;"),
    ("'abc", 1, "text without its closing '"),
    ("{a: \"b\n}", 1, "text without its closing \""),
    ("/* never\nends", 1, "a comment without its closing */"),
    ("/ 1", 1, "a value was expected, not /"),
    ("012", 1, "012 is not a number"),
    ("1.2.3", 1, "1.2.3 is not a number"),
    ("1e", 1, "1e is not a number"),
    ("0x", 1, "0x is not a number"),
    ("0xg", 1, "0xg is not a number"),
    ("--1", 1, "--1 is not a number"),
    (".", 1, ". is not a number"),
    ("1_000", 1, "1_000 is not a number"),
    ("Infinit", 1, "Infinit is not a number"),
    ("١", 1, "a value was expected, not ١"),
    (#"'\01'"#, 1, "\\0 with another digit behind it"),
    (#"'\7'"#, 1, "\\7 means nothing"),
    (#"'\x4'"#, 1, "\\x needs two hexadecimal digits"),
    (#"'\u12'"#, 1, "\\u needs four hexadecimal digits"),
    (#"'\ud800'"#, 1, "half of a pair: codes from d800 to dfff are valid only in pairs"),
    (#"'\udc00'"#, 1, "half of a pair: codes from d800 to dfff are valid only in pairs"),
    (#"'\ud800\u0041'"#, 1, "half of a pair: codes from d800 to dfff are valid only in pairs"),
    (#"{\u0020a: 1}"#, 1, "U+20 in a name needs quotes around it"),
    (#"{\x41: 1}"#, 1, "in a name, \\ is valid only before u and four digits"),
    ("\u{7}", 1, "a value was expected, not U+7"),
    ("{a: '\u{1b}[31m', b: \u{1b}}", 1, "a value was expected, not U+1B"),
  ] as [(String, Int, String)])
func `each JSON5 error has one line of text and the line number`(text: String, line: Int, words: String) {
  #expect(throws: JSON5.Fault(line: line, text: words)) { try JSON5.read(Array(text.utf8)) }
}

@Test func `JSON5 bytes that are not UTF-8 are refused with their line number`() {
  #expect(throws: JSON5.Fault(line: 2, text: "not UTF-8")) { try JSON5.read([0x31, 0x0A, 0xFF]) }
  #expect(throws: JSON5.Fault(line: 1, text: "not UTF-8")) { try JSON5.read([0xC0, 0x80]) }
}

@Test func `a JSON5 document beyond a size limit is refused, one within it is read`() throws {
  var limits = JSON5.Limits()
  limits.bytes = 4
  limits.depth = 3
  limits.values = 5
  #expect(throws: JSON5.Fault(line: 1, text: "longer than 4 bytes")) {
    try JSON5.read(Array("12345".utf8), limits: limits)
  }
  limits.bytes = 100
  #expect(throws: JSON5.Fault(line: 1, text: "more than 3 nested brackets")) {
    try JSON5.read(Array("[[[[".utf8), limits: limits)
  }
  _ = try JSON5.read(Array("[[[1]]]".utf8), limits: limits)
  #expect(throws: JSON5.Fault(line: 2, text: "more than 5 values")) {
    try JSON5.read(Array("[1,2,3,4,\n5]".utf8), limits: limits)
  }
  // Nesting a thousand times too deep gives an error, not a stack overflow.
  #expect(throws: JSON5.Fault.self) { try JSON5.read(Array(repeating: UInt8(ascii: "["), count: 1 << 20)) }
}

@Test func `a JSON5 file with any line ends and a byte order mark is read`() throws {
  let document = try JSON5.read(Array("\u{feff}{\r\n a: 1,\r b: 2\u{2028}}".utf8))
  guard case .object(let members) = document.value else {
    Issue.record("no object")
    return
  }
  #expect(members.map(\.line) == [2, 3])
}

private func value(depth: Int, _ chance: inout Dice) -> JSON5 {
  switch Int.random(in: 0...(depth > 3 ? 3 : 5), using: &chance) {
  case 0: return .null
  case 1: return .boolean(Bool.random(using: &chance))
  case 2:
    return .of(Double(bitPattern: chance.next() & ~(0x7FF << 52) | UInt64(1023 + chance.next() % 60) << 52))
  case 3: return .string(text(&chance))
  case 4:
    return .list((0..<Int.random(in: 0...4, using: &chance)).map { _ in value(depth: depth + 1, &chance) })
  default:
    let names = Set((0..<Int.random(in: 0...4, using: &chance)).map { _ in text(&chance) })
    return .object(
      names.sorted().map {
        .init(name: $0, line: 0, element: .init(value: value(depth: depth + 1, &chance), line: 0))
      })
  }
}

private func text(_ chance: inout Dice) -> String {
  var text = String.UnicodeScalarView()
  for _ in 0..<Int.random(in: 0...8, using: &chance) {
    let code = UInt32.random(in: 0...(Bool.random(using: &chance) ? 0x7F : 0x10FFFF), using: &chance)
    if let scalar = Unicode.Scalar(code) { text.append(scalar) }
  }
  return String(text)
}

@Test func `written JSON5 documents read back equal`() throws {
  var chance = Dice(seed: 1)
  for _ in 0..<2000 {
    let value = value(depth: 0, &chance)
    #expect(try read(value.text).text == value.text)
  }
}

@Test func `20,000 damaged JSON5 documents give values, or errors with lines`() {
  let seed = """
    { // a
      a: [1, .5, 0xff, -Infinity, 1e3,], 'b': "\\u00e9\\ud83c\\udfb5\\\n", /* c */ "c": {d: null, $e: true},
    }
    """
  let snippets = Array("{}[],:\"'\\/*\n\rnulltrueNaN0x1e+-.u12\u{0}\u{ff}\u{2028}".utf8)
  var chance = Dice(seed: 2)
  for round in 0..<20_000 {
    var bytes = Array(seed.utf8)
    for _ in 0..<Int.random(in: 1...8, using: &chance) {
      let place = Int.random(in: 0..<bytes.count, using: &chance)
      switch Int.random(in: 0...3, using: &chance) {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &chance)
      case 1: bytes[place] = snippets.randomElement(using: &chance) ?? 0
      case 2: bytes.insert(snippets.randomElement(using: &chance) ?? 0, at: place)
      default:
        bytes.removeSubrange(place..<min(bytes.count - 1, place + Int.random(in: 0...5, using: &chance)))
      }
    }
    let lines = bytes.filter { $0 == 10 || $0 == 13 }.count + 1
    do throws(JSON5.Fault) {
      let document = try JSON5.read(bytes)
      #expect((1...lines).contains(document.line))
    } catch {
      // U+2028 ends a line in ECMAScript, but not in a text editor.
      #expect((1...lines).contains(error.line), "round \(round): \(error)")
      #expect(!error.text.isEmpty && !error.text.contains("\n"))
    }
  }
}
