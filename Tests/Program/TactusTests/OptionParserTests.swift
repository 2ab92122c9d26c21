// SPDX-License-Identifier: GPL-2.0-or-later
import TactusSurface
import Testing

@testable import TactusApp

/// Settings with options of every form. The tests are about the parser's rules, not about the program's
/// options.
struct Sample: Equatable {
  var loud = false
  var verbose = false
  var name = ""
  var bpm = 0.0
  var port = 0
  var lead = Lead.link
  var click = "never"
  var connections: [String] = []
  var helped = false

  enum Lead: String, CaseIterable, OptionValueType { case link, host, auto }

  static let options: [Option<Sample>] = [
    Option("loud", "l", in: .other, .flag(\.loud), help: "Loud."),
    Option("verbose", "v", in: .other, .flag(\.verbose), help: "Verbose."),
    Option("name", "n", in: .other, .value("NAME", .text(8), \.name), help: "Name."),
    Option("bpm", "b", in: .other, .value("BPM", .number(20...999), \.bpm), help: "Tempo."),
    Option("port", "p", in: .other, .value("PORT", .whole(1...65535), \.port), help: "Port."),
    Option(
      "lead", in: .other, .value("WHO", .word(Lead.allCases.map(\.rawValue)), \.lead), help: "Who leads."),
    Option(
      "click", "k", in: .other, .value("WHEN", .text(9), \.click, bare: "rolling"),
      help: "Click."),
    Option("connect", "c", in: .other, .value("A=B", .text(9), \.connections), help: "Connect."),
    Option("help", "h", in: .other, .answer { $0.helped = true }, help: "Help."),
  ]

  static func parse(_ arguments: String...) throws -> (Sample, [String]) {
    var sample = Sample()
    let operands = try OptionParser(options: options).parse(arguments, into: &sample)
    return (sample, operands)
  }

}

@Test
func `an option's value may follow after a space, after =, or directly`() throws {
  for arguments in [["--bpm", "120.5"], ["--bpm=120.5"], ["-b", "120.5"], ["-b120.5"]] {
    var sample = Sample()
    let operands = try OptionParser(options: Sample.options).parse(arguments, into: &sample)
    #expect(sample.bpm == 120.5 && operands.isEmpty, "\(arguments)")
  }
}

@Test
func `short options may stand together; the last of them may take a value`() throws {
  #expect(try Sample.parse("-lv").0 == Sample(loud: true, verbose: true))
  #expect(try Sample.parse("-lvn", "solo").0 == Sample(loud: true, verbose: true, name: "solo"))
  #expect(try Sample.parse("-lnv").0 == Sample(loud: true, name: "v"))
}

@Test
func `flags can be switched off again, and the last option wins`() throws {
  #expect(try Sample.parse("--loud", "--no-loud").0.loud == false)
  #expect(try Sample.parse("--no-loud", "-l").0.loud)
  #expect(try Sample.parse("-b", "90", "--bpm=91").0.bpm == 91)
}

@Test
func `an optional value belongs to its option only if it is attached`() throws {
  #expect(try Sample.parse("--click").0.click == "rolling")
  #expect(try Sample.parse("--click=always").0.click == "always")
  #expect(try Sample.parse("-kalways").0.click == "always")
  let (sample, operands) = try Sample.parse("--click", "always")
  #expect(sample.click == "rolling" && operands == ["always"])
}

@Test
func `operands may be anywhere; all after -- are operands`() throws {
  let (sample, operands) = try Sample.parse("a", "-l", "-", "--", "--name", "-v")
  #expect(sample == Sample(loud: true) && operands == ["a", "-", "--name", "-v"])
}

@Test
func `a repeated option of a list collects its values in their order`() throws {
  #expect(try Sample.parse("-c", "a=b", "--connect=c=d").0.connections == ["a=b", "c=d"])
}

@Test
func `words after --help are ignored`() throws {
  #expect(try Sample.parse("--help", "--nonsense").0.helped)
  #expect(try Sample.parse("-hq").0.helped)
}

@Test
func `a negative number and a dash are values where a value is due`() throws {
  #expect(try Sample.parse("--name", "-x").0.name == "-x")
  #expect(
    try Sample.parse("click/offset", "-12", "-.5", "-1e-3").1 == ["click/offset", "-12", "-.5", "-1e-3"])
}

@Test(
  arguments: [
    (["--bmp", "120"], "unknown option \"--bmp\": do you mean \"--bpm\"?"),
    (["--conn=a"], "unknown option \"--conn\": do you mean \"--connect\"?"),
    (["--no-luod"], "unknown option \"--no-luod\": do you mean \"--no-loud\"?"),
    (["--zebra"], "unknown option \"--zebra\""),
    (["--no-name"], "unknown option \"--no-name\""),
    (["--="], "unknown option \"--\""),
    (["-x"], "unknown option \"-x\""),
    (["-lx"], "unknown option \"-x\""),
    (["-loud"], "unknown option \"-o\": do you mean \"--loud\"?"),
    (["-help"], "no complaint"),
    (["--name"], "--name needs a value: --name NAME"),
    (["-n"], "-n needs a value: -n NAME"),
    (["--name="], "--name takes 1 to 8 bytes of printable text, not \"\""),
    (["--name=123456789"], "--name takes 1 to 8 bytes of printable text, not \"123456789\""),
    (["--loud=yes"], "--loud takes on, off or no value, not \"yes\""),
    (["--no-loud=yes"], "--no-loud takes no value"),
    (["--help=all"], "--help takes no value"),
    (["-b", "120,5"], "-b takes a number from 20 to 999, with a point instead of a comma, not \"120,5\""),
    (["-b=120"], "-b takes a number from 20 to 999, not \"=120\""),
    (["-b", "1000"], "-b takes a number from 20 to 999, not \"1000\""),
    (["-b", "nan"], "-b takes a number from 20 to 999, not \"nan\""),
    (["-b", "0x20"], "-b takes a number from 20 to 999, not \"0x20\""),
    (["-b", ""], "-b takes a number from 20 to 999, not \"\""),
    (["--port", "-3"], "--port takes a whole number from 1 to 65535, not \"-3\""),
    (["--lead", "me"], "--lead takes link, host or auto, not \"me\""),
  ] as [([String], String)])
func `every wrong option or value gets a line that says what is allowed`(arguments: [String], line: String) {
  var sample = Sample()
  do throws(UserError) {
    _ = try OptionParser(options: Sample.options).parse(arguments, into: &sample)
    #expect(line == "no complaint")
  } catch {
    #expect(error.text == line)
  }
}

@Test
func `a typing error's size counts letters missing, added, wrong or swapped`() {
  #expect(slips(from: "bmp", to: "bpm") == 1)
  #expect(slips(from: "serer", to: "server") == 1)
  #expect(slips(from: "", to: "name") == 4)
  #expect(slips(from: "name", to: "name") == 0)
  #expect(String(repeating: "x", count: 5000).nearest(among: ["name"]) == nil)
}
