// SPDX-License-Identifier: GPL-2.0-or-later
import Choices
import ControlSurface

/// One option: how it is spelt, what it takes, where that goes, and the words for it.
///
/// All that has to know the options reads the same list of these (parser, help, man page, completions,
/// configuration), so that nothing can know an option that the others don't. Generic over what is set: every
/// sub-command has options of its own.
struct Option<Settings>: Sendable {
  /// What a file that is read again can still say.
  enum Reach {
    case now
    /// About the start: what is open already stays open, and a session keeps its tempo.
    case start
    /// About this start alone, and no key of a file.
    case typed
  }

  let long: String
  let short: Character?
  let section: Section
  let form: Form<Settings>
  let reach: Reach
  /// What was chosen while it played holds the next time, too.
  let isRemembered: Bool
  let help: String

  init(
    _ long: String, _ short: Character? = nil, in section: Section, _ form: Form<Settings>,
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

  /// What `--no-` before its name does; nil if there is nothing to take back.
  var off: (@Sendable (inout Settings) -> Void)? {
    switch form {
    case .flag(let place): { $0[keyPath: place] = false }
    case .value(let value) where value.takes.bare != nil && value.takes.allowed.list.contains("off"):
      { value.store(&$0, "off") }
    case .value, .answer: nil
    }
  }

  /// What this option says in one, into the other.
  func copy(from source: Settings, to target: inout Settings) {
    switch form {
    case .flag(let place): target[keyPath: place] = source[keyPath: place]
    case .value(let value): value.copy(source, &target)
    case .answer: break
    }
  }
}

/// What the man page and the completions have to know of an option, whosever it is.
protocol OptionOutline: Sendable {
  var long: String { get }
  var short: Character? { get }
  var section: Section { get }
  var help: String { get }
  var canBeTakenBack: Bool { get }
  /// nil: no value.
  var takes: Takes? { get }
}

extension Option: OptionOutline {
  var canBeTakenBack: Bool { off != nil }
  var takes: Takes? { if case .value(let value) = form { value.takes } else { nil } }
}

enum Form<Settings>: Sendable {
  /// `--wait`, and `--no-wait` to take it back.
  case flag(WritableKeyPath<Settings, Bool> & Sendable)
  /// `--name NAME`, `--name=NAME`, `-nNAME`, `-n NAME`.
  case value(OptionValue<Settings>)
  /// `--help`: nothing after it is read.
  case answer(@Sendable (inout Settings) -> Void)

  static func value<T: Typed>(
    _ placeholder: String, _ allowed: Allowed, _ place: WritableKeyPath<Settings, T> & Sendable,
    bare: String? = nil
  ) -> Form {
    .value(
      OptionValue(
        takes: Takes(placeholder: placeholder, allowed: allowed, bare: bare, repeats: T.repeats),
        store: { $0[keyPath: place].take($1) }, read: { $0[keyPath: place].texts },
        copy: { $1[keyPath: place] = $0[keyPath: place] }, clear: { $0[keyPath: place].clear() }))
  }
}

/// What is written for a value.
struct Takes: Sendable {
  let placeholder: String
  let allowed: Allowed
  /// What the option means without a value. Where words of their own have a meaning, a value then counts only if it is attached:
  /// `--osc[=PORT]`. If it can be `off`, `--no-osc` is that.
  var bare: String?
  /// May be given several times, and the values add up.
  var repeats = false
}

/// A value of an option: what is allowed, in a form that can be listed, how it is put in its place, and how it is
/// read there again.
struct OptionValue<Settings>: Sendable {
  let takes: Takes
  /// The text was already found to be allowed.
  let store: @Sendable (inout Settings, String) -> Void
  /// What somebody would have to write to get what is there now; nothing, if that is what nobody has chosen.
  let read: @Sendable (Settings) -> [String]
  let copy: @Sendable (_ from: Settings, _ to: inout Settings) -> Void
  /// Of one that repeats: takes all values away.
  var clear: @Sendable (inout Settings) -> Void = { _ in }
}

/// A type that an option's value can have.
protocol Typed: Sendable {
  static var repeats: Bool { get }
  /// What is written to get it.
  var texts: [String] { get }
  /// Of a text that is allowed.
  mutating func take(_ text: String)
  mutating func clear()
}

extension Typed {
  static var repeats: Bool { false }
  mutating func clear() {}
}

extension Typed where Self: RawRepresentable<String> {
  var texts: [String] { [rawValue] }
  mutating func take(_ text: String) { self = Self(rawValue: text) ?? self }
}

extension String: Typed {
  var texts: [String] { [self] }
  mutating func take(_ text: String) { self = text }
}

extension Int: Typed {
  var texts: [String] { ["\(self)"] }
  mutating func take(_ text: String) { self = Int(text) ?? self }
}

extension Double: Typed {
  var texts: [String] { [shortest(self)] }
  mutating func take(_ text: String) { self = Double(text) ?? self }
}

extension String?: Typed {
  var texts: [String] { map { [$0] } ?? [] }
  mutating func take(_ text: String) { self = text }
}

extension [String]: Typed {
  static var repeats: Bool { true }
  var texts: [String] { self }
  mutating func take(_ text: String) { append(text) }
  mutating func clear() { self = [] }
}

// A choice as an option and as a key of the files.
extension Option<Configuration> {
  init(_ choice: Choice) {
    self.init(
      choice.name, choice.letter, in: choice.section, Self.form(of: choice),
      isRemembered: choice.isRemembered, help: choice.help)
  }

  private static func form(of choice: Choice) -> Form<Configuration> {
    if choice.isFlag { return .flag(\.choices[isOn: choice]) }
    return .value(
      OptionValue(
        takes: Takes(placeholder: choice.placeholder, allowed: Allowed(choice)),
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

  /// The words with what holds without it.
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
