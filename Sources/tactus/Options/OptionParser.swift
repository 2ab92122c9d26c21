// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface

/// Reads a command line by GNU's rules: long options with `=` or a space, bundles of short ones, values
/// attached or apart, options after operands, `--` before operands that look like options. A negative number does not.
///
/// No abbreviations: a script that says `--wai` would break with the next option. The hint says the whole.
struct OptionParser<Settings> {
  let options: [Option<Settings>]
  /// Those that add up and were there already: the first takes the place of what a file says, the rest are added.
  private var lists: Set<String> = []
  /// `--help` or its like was among them.
  private(set) var isAnswered = false

  init(options: [Option<Settings>]) {
    self.options = options
  }

  /// Sets what the arguments say and returns the operands.
  func parse(_ arguments: some Sequence<String>, into settings: inout Settings) throws(Complaint) -> [String]
  {
    var reading = self
    return try reading.read(arguments, into: &settings)
  }

  /// The word with the option before it, if that takes only what is attached: `--click=rolling` for `--click rolling`.
  func attaching(_ word: String, in arguments: [String]) -> String? {
    guard let place = arguments.firstIndex(of: word), place > 0 else { return nil }
    let before = arguments[place - 1]
    let isShort = before.hasPrefix("-") && !before.hasPrefix("--")
    let option = options.first { isShort ? $0.short == before.last : "--\($0.long)" == before }
    guard let option else { return nil }
    if option.takes?.bare != nil { return "--\(option.long)=\(word.shortened)" }
    // "--click rolling": when it is heard is the choice beside it.
    let when = options.first { $0.long == option.long + "-when" }
    guard let when, when.takes?.allowed.list.contains(word) == true else { return nil }
    return "--\(option.long) --\(when.long)=\(word)"
  }

  mutating func read(
    _ arguments: some Sequence<String>, into settings: inout Settings
  ) throws(Complaint) -> [String] {
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

  /// No option has a digit for its letter, and "-inf" is a bundle.
  private static func isNumber(_ argument: String) -> Bool {
    argument.dropFirst().first.map { "0123456789.".contains($0) } == true && Double(argument) != nil
  }

  /// `--long`, `--long=value`, `--no-long`.
  private mutating func parseLong(
    _ argument: String, _ rest: inout ArraySlice<String>, _ settings: inout Settings
  ) throws(Complaint) {
    let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    let attached = parts.count > 1 ? String(parts[1]) : nil
    if let option = options.first(where: { $0.long == name }) {
      return try apply(option, spelt: "--" + name, attached: attached, &rest, &settings)
    }
    if name.hasPrefix("no-"), let option = options.first(where: { $0.long == name.dropFirst(3) }),
      let off = option.off
    {
      guard attached == nil else { throw Complaint("--\(name) takes no value", .mistyped) }
      return off(&settings)
    }
    throw Complaint("unknown option \"--\(name.shortened)\"" + hint(for: name), .mistyped)
  }

  /// `-a`, `-ab`, `-n NAME`, `-nNAME`, `-anNAME`.
  private mutating func parseBundle(
    _ argument: String, _ rest: inout ArraySlice<String>, _ settings: inout Settings
  ) throws(Complaint) {
    var letters = argument.dropFirst()
    while !isAnswered, let letter = letters.popFirst() {
      guard let option = options.first(where: { $0.short == letter }) else {
        // "-name" is a long option with a dash too few more often than five short ones.
        let whole = String(argument.dropFirst())
        let known = options.contains { $0.long == whole }
        throw Complaint(
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
  ) throws(Complaint) {
    if attached != nil, option.takes == nil { throw Complaint("\(name) takes no value", .mistyped) }
    switch option.form {
    case .flag(let place): settings[keyPath: place] = true
    case .answer(let ask):
      ask(&settings)
      isAnswered = true
    case .value(let value):
      guard let text = attached ?? value.takes.bare ?? rest.popFirst() else {
        throw Complaint("\(name) needs a value: \(name) \(value.takes.placeholder)", .mistyped)
      }
      try check(text, value.takes.allowed, spelt: name)
      if value.takes.repeats, lists.insert(option.long).inserted { value.clear(&settings) }
      value.store(&settings, text)
    }
  }

  private func check(_ text: String, _ allowed: Allowed, spelt name: String) throws(Complaint) {
    guard let why = allowed.objection(to: text) else { return }
    let comma = allowed.isNumber && text.contains(",") ? ", with a point instead of a comma" : ""
    throw Complaint(
      why.isEmpty
        ? "\(name) takes \(allowed.words)\(comma), not \"\(text.shortened)\""
        : "\(name) \"\(text.shortened)\": \(why)", .mistyped)
  }

  private func hint(for name: String) -> String {
    let known = options.flatMap { $0.off == nil ? [$0.long] : [$0.long, "no-" + $0.long] }
    return name.nearest(among: known).map { ": do you mean \"--\($0)\"?" } ?? ""
  }
}
