// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import tactus

@Test("Options have names of their own, and none begins with no-")
func optionNamesAreUnique() {
  let options = Settings.options
  #expect(Set(options.map(\.long)).count == options.count)
  let letters = options.compactMap(\.short)
  #expect(Set(letters).count == letters.count)
  #expect(!options.contains { $0.long.hasPrefix("no-") })
}

@Test("The help text names every option and fits in 80 columns")
func helpIsComplete() {
  let text = Settings.helpText
  for option in Settings.options {
    #expect(text.contains("--" + option.long))
    if let short = option.short { #expect(text.contains("-\(short), --\(option.long)")) }
  }
  for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
}

@Test("The defaults are JACK's default server and the name tactus")
func defaults() throws {
  let settings = try Settings(arguments: [])
  #expect(settings.name == "tactus" && settings.server == nil && !settings.wait && settings.answer == .run)
}

@Test("Words that are no options are refused, unless only help is asked for")
func strayOperands() throws {
  #expect(throws: UsageError(message: "don't know what to do with \"play\"")) {
    try Settings(arguments: ["play"])
  }
  #expect(try Settings(arguments: ["play", "--help"]).answer == .help)
}
