// SPDX-License-Identifier: GPL-2.0-or-later
import TactusSurface

/// Reads a command line by GNU's rules. Long options have `=` or a space before the value, short options can
/// be bundled, and options may follow operands. After `--`, operands may look like options. A negative number
/// is an operand.
///
/// Abbreviations are refused: a script that says `--wai` would break when a new option begins with the same
/// letters. The error names the whole option.
struct OptionParser<Settings> {
  let options: [Option<Settings>]
  /// Whether the command takes operands. A word without a dash is then an operand, and an option whose value
  /// may be left out never takes the next word.
  private let takesOperands: Bool
  /// The repeatable options that this command line has given so far. An option's first value replaces the
  /// list from the file; further values are added.
  private var lists: Set<String> = []
  /// Whether `--help` or a similar option was among the arguments.
  private(set) var isAnswered = false

  init(options: [Option<Settings>], takesOperands: Bool = true) {
    self.options = options
    self.takesOperands = takesOperands
  }

  /// Stores the values of all options in `settings`, and returns the operands.
  func parse(_ arguments: some Sequence<String>, into settings: inout Settings) throws(UserError) -> [String]
  {
    var reading = self
    return try reading.read(arguments, into: &settings)
  }

  mutating func read(
    _ arguments: some Sequence<String>, into settings: inout Settings
  ) throws(UserError) -> [String] {
    var rest = Array(arguments)[...]
    var operands: [String] = []
    while !isAnswered, let argument = rest.popFirst() {
      if argument == "--" {
        operands += rest
        break
      } else if argument.hasPrefix("--") {
        try parseLong(argument, &rest, &settings)
      } else if argument.hasPrefix("-"), argument != "-", !Self.isNumber(argument) {
        try parseBundle(argument, &rest, &settings)
      } else {
        operands.append(argument)
      }
    }
    return operands
  }

  /// An argument that begins with "-" and is a number: no short option is a digit. "-inf" is a bundle of
  /// letters.
  private static func isNumber(_ argument: String) -> Bool {
    argument.dropFirst().first.map { "0123456789.".contains($0) } == true && Double(argument) != nil
  }

  /// Parses `--long`, `--long=value` or `--no-long`.
  private mutating func parseLong(
    _ argument: String, _ rest: inout ArraySlice<String>, _ settings: inout Settings
  ) throws(UserError) {
    let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    let attached = parts.count > 1 ? String(parts[1]) : nil
    if let option = options.first(where: { $0.long == name }) {
      return try apply(option, spelt: "--" + name, attached: attached, &rest, &settings)
    }
    if name.hasPrefix("no-"), let option = options.first(where: { $0.long == name.dropFirst(3) }),
      let off = option.off
    {
      guard attached == nil else { throw UserError("--\(name) takes no value", .mistyped) }
      return off(&settings)
    }
    throw UserError("unknown option \"--\(name.shortened)\"" + hint(for: name), .mistyped)
  }

  /// Parses `-a`, `-ab`, `-n NAME`, `-nNAME` or `-anNAME`.
  private mutating func parseBundle(
    _ argument: String, _ rest: inout ArraySlice<String>, _ settings: inout Settings
  ) throws(UserError) {
    var letters = argument.dropFirst()
    while !isAnswered, let letter = letters.popFirst() {
      guard let option = options.first(where: { $0.short == letter }) else {
        // "-name" is more often a long option with one dash too few than a bundle of short options.
        let whole = String(argument.dropFirst())
        let known = options.contains { $0.long == whole }
        throw UserError(
          "unknown option \"-\(String(letter).shortened)\"" + (known ? ": do you mean \"--\(whole)\"?" : ""),
          .mistyped)
      }
      var attached: String?
      if option.takes != nil, !letters.isEmpty {
        attached = String(letters)
        letters = ""
      }
      try apply(option, spelt: "-\(letter)", attached: attached, &rest, &settings)
    }
  }

  private mutating func apply(
    _ option: Option<Settings>, spelt name: String, attached: String?, _ rest: inout ArraySlice<String>,
    _ settings: inout Settings
  ) throws(UserError) {
    switch option.form {
    case .flag(let place):
      guard let word = attached ?? loose(rest, for: option) else {
        settings[keyPath: place] = true
        return
      }
      if attached == nil { rest.removeFirst() }
      try choose(word, besides: option, at: place, spelt: name, &settings)
    case .answer(let ask):
      if attached != nil { throw UserError("\(name) takes no value", .mistyped) }
      ask(&settings)
      isAnswered = true
    case .value(let value):
      let apart = attached == nil && (value.takes.bare == nil || isWord(rest.first)) ? rest.popFirst() : nil
      guard let text = attached ?? apart ?? value.takes.bare else {
        throw UserError("\(name) needs a value: \(name) \(value.takes.placeholder)", .mistyped)
      }
      try check(text, value.takes.allowed, spelt: name)
      if value.takes.repeats, lists.insert(option.long).inserted { value.clear(&settings) }
      if value.takes.repeats, let why = value.takes.allowed.objectionBeside(text, value.read(settings)) {
        throw UserError("\(name) \"\(text.shortened)\": \(why)", .mistyped)
      }
      value.store(&settings, value.takes.allowed.kept(text))
    }
  }

  /// Whether the argument can only be a value of the option before it, because the command takes no operands.
  private func isWord(_ argument: String?) -> Bool {
    guard !takesOperands, let argument else { return false }
    return !argument.hasPrefix("-")
  }

  /// The word after a flag, if it is `on`, `off`, or a word of a choice that belongs to the flag.
  private func loose(_ rest: ArraySlice<String>, for option: Option<Settings>) -> String? {
    guard isWord(rest.first), let word = rest.first else { return nil }
    return Self.switches.contains(word) || choice(of: word, beside: option) != nil ? word : nil
  }

  private static var switches: [String] { ["on", "off"] }

  /// The choice of the flag that has this word: `--click rolling` means `--click --click-when=rolling`, and
  /// in `--pulse 24` the number means the rate.
  private func choice(of word: String, beside option: Option<Settings>) -> OptionValue<Settings>? {
    let name = option.wordChoices(among: options).first { $0.words.contains(word) }?.option
    guard let other = options.first(where: { $0.long == name }), case .value(let value) = other.form else {
      return nil
    }
    return value
  }

  private func choose(
    _ word: String, besides option: Option<Settings>, at place: WritableKeyPath<Settings, Bool> & Sendable,
    spelt name: String, _ settings: inout Settings
  ) throws(UserError) {
    settings[keyPath: place] = word != "off"
    if Self.switches.contains(word) { return }
    guard let choice = choice(of: word, beside: option) else {
      let words = Self.switches + option.wordChoices(among: options).flatMap(\.words) + ["no value"]
      throw UserError("\(name) takes \(words.inWords), not \"\(word.shortened)\"", .mistyped)
    }
    choice.store(&settings, word)
  }

  private func check(_ text: String, _ allowed: ValueRule, spelt name: String) throws(UserError) {
    guard let why = allowed.objection(to: text) else { return }
    let comma = allowed.isNumber && text.contains(",") ? ", with a point instead of a comma" : ""
    throw UserError(
      why.isEmpty
        ? "\(name) takes \(allowed.words)\(comma), not \"\(text.shortened)\""
        : "\(name) \"\(text.shortened)\": \(why)", .mistyped)
  }

  private func hint(for name: String) -> String {
    let known = options.flatMap { $0.off == nil ? [$0.long] : [$0.long, "no-" + $0.long] }
    return name.nearest(among: known).map { ": do you mean \"--\($0)\"?" } ?? ""
  }
}
