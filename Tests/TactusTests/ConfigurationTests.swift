// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import tactus

@Test("Options have names of their own, and none begins with no-")
func optionNamesAreUnique() {
  let options = Configuration.options
  #expect(Set(options.map(\.long)).count == options.count)
  let letters = options.compactMap(\.short)
  #expect(Set(letters).count == letters.count)
  #expect(!options.contains { $0.long.hasPrefix("no-") })
}

@Test("The help text names every option and fits in 80 columns")
func helpIsComplete() {
  let text = Configuration.helpText
  for option in Configuration.options {
    #expect(text.contains("--" + option.long))
    if let short = option.short { #expect(text.contains("-\(short), --\(option.long)")) }
  }
  for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
}

@Test("The defaults are JACK's default server and the name tactus")
func defaults() throws {
  let configuration = try Configuration(arguments: [])
  #expect(
    configuration.name == "tactus" && configuration.server == nil && !configuration.wait
      && configuration.answer == .run)
}

@Test("Words that are no options are refused, unless only help is asked for")
func strayOperands() throws {
  #expect(throws: UsageError(message: "don't know what to do with \"play\"")) {
    try Configuration(arguments: ["play"])
  }
  #expect(try Configuration(arguments: ["play", "--help"]).answer == .help)
}
