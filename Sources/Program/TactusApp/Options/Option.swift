// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import TactusSurface

/// One option: its spelling, its value, the setting that it changes, and its help.
///
/// Parser, help, man page, completions and configuration files all read one list of options, so none of them
/// can miss one. The type is generic over the settings because every subcommand has options of its own.
struct Option<Settings>: Sendable {
  /// Whether a changed key takes effect when tactus reads a configuration file again.
  enum Reach {
    case now
    /// The key takes effect at the next start: open ports and servers stay open, and a session keeps its
    /// tempo.
    case start
    /// Exists only on the command line, not as a key of a file.
    case typed
  }

  let long: String
  let short: Character?
  let section: Section
  let form: OptionForm<Settings>
  let reach: Reach
  /// Whether a value that was chosen while tactus played also holds at the next start.
  let isRemembered: Bool
  let help: String

  init(
    _ long: String, _ short: Character? = nil, in section: Section, _ form: OptionForm<Settings>,
    reach: Reach = .now, isRemembered: Bool = false, help: String
  ) {
    self.long = long
    self.short = short
    self.section = section
    self.form = form
    self.reach = reach
    self.isRemembered = isRemembered
    self.help = help
  }

  /// The effect of `--no-NAME`; nil: the option has no such form.
  var off: (@Sendable (inout Settings) -> Void)? {
    switch form {
    case .flag(let place): { $0[keyPath: place] = false }
    case .value(let value) where value.takes.bare != nil && value.takes.allowed.list.contains("off"):
      { value.store(&$0, "off") }
    case .value, .answer: nil
    }
  }

  /// Copies the value of this option.
  func copy(from source: Settings, to target: inout Settings) {
    switch form {
    case .flag(let place): target[keyPath: place] = source[keyPath: place]
    case .value(let value): value.copy(source, &target)
    case .answer: break
    }
  }
}

/// The part of an option that man page and completions need, whatever settings the option changes.
protocol OptionOutline: Sendable {
  var long: String { get }
  var short: Character? { get }
  var section: Section { get }
  var help: String { get }
  var canBeTakenBack: Bool { get }
  /// How the option's value is written; nil: the option takes no value.
  var takes: ValueSpec? { get }
}

extension OptionOutline {
  /// For a flag such as `--click`: the options of its section whose names begin with the flag's name and that
  /// choose among words. Each comes with its words, without those that another of these options has, too.
  func wordChoices(among options: [any OptionOutline]) -> [(option: String, words: [String])] {
    guard takes == nil else { return [] }
    let found = options.filter {
      $0.long.hasPrefix(long + "-") && $0.section == section && $0.takes?.allowed.kind == .word
    }
    return found.map { choice in
      let others = Set(found.filter { $0.long != choice.long }.flatMap { $0.takes?.allowed.list ?? [] })
      return (choice.long, choice.takes?.allowed.list.filter { !others.contains($0) } ?? [])
    }
  }
}

extension Option: OptionOutline {
  var canBeTakenBack: Bool { off != nil }
  var takes: ValueSpec? { if case .value(let value) = form { value.takes } else { nil } }
}

enum OptionForm<Settings>: Sendable {
  /// A flag such as `--wait`, which `--no-wait` switches off.
  case flag(WritableKeyPath<Settings, Bool> & Sendable)
  /// An option with a value: `--name NAME`, `--name=NAME`, `-nNAME`, `-n NAME`.
  case value(OptionValue<Settings>)
  /// An option such as `--help`, which prints an answer: later arguments are not read.
  case answer(@Sendable (inout Settings) -> Void)

  static func value<T: OptionValueType>(
    _ placeholder: String, _ allowed: ValueRule, _ place: WritableKeyPath<Settings, T> & Sendable,
    bare: String? = nil
  ) -> OptionForm {
    .value(
      OptionValue(
        takes: ValueSpec(placeholder: placeholder, allowed: allowed, bare: bare, repeats: T.repeats),
        store: { $0[keyPath: place].parse($1) }, read: { $0[keyPath: place].texts },
        copy: { $1[keyPath: place] = $0[keyPath: place] }, clear: { $0[keyPath: place].clear() }))
  }
}

/// How the value of an option is written on a command line.
struct ValueSpec: Sendable {
  let placeholder: String
  let allowed: ValueRule
  /// The value that holds if the user gives the option without a value. In a command that takes operands, a
  /// value counts only if it is attached: `--osc[=PORT]`. If the value can be `off`, `--no-osc` means `off`.
  var bare: String?
  /// Whether the option may be given several times; each time adds a value.
  var repeats = false
}

/// The value of an option: which texts are allowed, and how the value is stored and read back.
struct OptionValue<Settings>: Sendable {
  let takes: ValueSpec
  /// Stores a text that is allowed.
  let store: @Sendable (inout Settings, String) -> Void
  /// The texts that would set the present value again; empty: the user chose none.
  let read: @Sendable (Settings) -> [String]
  let copy: @Sendable (_ from: Settings, _ to: inout Settings) -> Void
  /// Removes all values of an option that can be repeated.
  var clear: @Sendable (inout Settings) -> Void = { _ in }
}

/// A type that an option's value can have.
protocol OptionValueType: Sendable {
  static var repeats: Bool { get }
  /// The texts that would set this value again.
  var texts: [String] { get }
  /// Sets the value from an allowed text; a list gets one more element.
  mutating func parse(_ text: String)
  mutating func clear()
}

extension OptionValueType {
  static var repeats: Bool { false }
  mutating func clear() {}
}

extension OptionValueType where Self: RawRepresentable<String> {
  var texts: [String] { [rawValue] }
  mutating func parse(_ text: String) { self = Self(rawValue: text) ?? self }
}

extension String: OptionValueType {
  var texts: [String] { [self] }
  mutating func parse(_ text: String) { self = text }
}

extension Int: OptionValueType {
  var texts: [String] { ["\(self)"] }
  mutating func parse(_ text: String) { self = Int(text) ?? self }
}

extension Double: OptionValueType {
  var texts: [String] { [shortest(self)] }
  mutating func parse(_ text: String) { self = Double(text) ?? self }
}

extension String?: OptionValueType {
  var texts: [String] { map { [$0] } ?? [] }
  mutating func parse(_ text: String) { self = text }
}

extension [String]: OptionValueType {
  static var repeats: Bool { true }
  var texts: [String] { self }
  mutating func parse(_ text: String) { append(text) }
  mutating func clear() { self = [] }
}

// A row's choice as an option of the command line and a key of the files.
extension Option<Configuration> {
  init(_ choice: Choice) {
    self.init(
      choice.name, choice.letter, in: choice.section, Self.form(of: choice),
      isRemembered: choice.isRemembered, help: choice.help)
  }

  private static func form(of choice: Choice) -> OptionForm<Configuration> {
    if choice.isFlag { return .flag(\.choices[isOn: choice]) }
    return .value(
      OptionValue(
        takes: ValueSpec(placeholder: choice.placeholder, allowed: ValueRule(choice)),
        store: { if let values = choice.values(of: $1) { choice.write(&$0.choices, values) } },
        read: { choice.read($0.choices).map { [choice.text($0)] } ?? [] },
        copy: { choice.copy($0.choices, &$1.choices) }))
  }
}

extension Settings {
  fileprivate subscript(isOn choice: Choice) -> Bool {
    get { choice.holding(self)[0].isOn }
    set { choice.write(&self, [.flag(newValue)]) }
  }
}

extension Choice {
  fileprivate var placeholder: String {
    if let written { return written.placeholder }
    return switch parameters[0] {
    case .number(_, let unit): unit.isEmpty ? "FACTOR" : unit.uppercased()
    case .whole(_, let unit): unit.isEmpty ? "N" : unit.uppercased()
    case .beats(_, let word): "BEATS|\(word)"
    case .word(let words): words.joined(separator: "|")
    case .flag, .fader, .text, .exact: ""
    }
  }

  /// The choice's description, its range and its default.
  fileprivate var help: String {
    let standard = read(Settings())
    var notes: [String] = []
    switch parameters[0] {
    case .flag where standard?[0].isOn == true: notes.append("default; --no-\(name) switches it off")
    case .number(let range, _): notes.append("\(shortest(range.lowerBound)) to \(shortest(range.upperBound))")
    case .whole(let range, _) where written == nil:
      notes.append("\(range.lowerBound) to \(range.upperBound)")
    case .beats(let range, _): notes.append("\(shortest(range.lowerBound)) to \(shortest(range.upperBound))")
    case .flag, .fader, .whole, .word, .text, .exact: break
    }
    if !isFlag, let standard { notes.append("default: \(text(standard))") }
    return notes.isEmpty ? words : "\(words.dropLast()) (\(notes.joined(separator: "; ")))."
  }
}
