// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface

/// One option: how it is spelt, what it takes, where that goes, and the words for it.
///
/// All that has to know the options reads the same list of these (parser, help, man page, completions,
/// configuration), so that nothing can know an option that the others don't. Generic over what is set: every
/// sub-command has options of its own.
struct Option<Settings>: Sendable {
  let long: String
  let short: Character?
  let section: Section
  let form: Form<Settings>
  /// Not in a file: about this start alone.
  let isTypedOnly: Bool
  let help: String

  init(
    _ long: String, _ short: Character? = nil, in section: Section, _ form: Form<Settings>,
    isTypedOnly: Bool = false, help: String
  ) {
    self.long = long
    self.short = short
    self.section = section
    self.form = form
    self.isTypedOnly = isTypedOnly
    self.help = help
  }
}

extension Option {
  /// What `--no-` before its name does; nil if there is nothing to take back.
  var off: (@Sendable (inout Settings) -> Void)? {
    switch form {
    case .flag(let place): { $0[keyPath: place] = false }
    case .optionalValue(let value, _) where value.allowed.list.contains("off"): { value.store(&$0, "off") }
    case .value, .optionalValue, .answer: nil
    }
  }
}

extension Option {
  /// What this option says in one, into the other.
  func copy(from source: Settings, to target: inout Settings) {
    switch form {
    case .flag(let place): target[keyPath: place] = source[keyPath: place]
    case .value(let value), .optionalValue(let value, _): value.copy(from: source, to: &target)
    case .answer: break
    }
  }
}

/// The headings of the help text, in their order.
enum Section: String, CaseIterable, Sendable {
  case jack = "JACK"
  case session = "Session and transport"
  case outputs = "Click, clock and pulses"
  case midi = "Control by MIDI"
  case surface = "Control by OSC"
  case other = "Other"
}

enum Form<Settings>: Sendable {
  /// `--wait`, and `--no-wait` to take it back.
  case flag(WritableKeyPath<Settings, Bool> & Sendable)
  /// `--name NAME`, `--name=NAME`, `-nNAME`, `-n NAME`.
  case value(Value<Settings>)
  /// `--click[=WHEN]`: a value only if it is attached; `bare` is what the option means without. If it can be `off`,
  /// `--no-click` is that.
  case optionalValue(Value<Settings>, bare: String)
  /// `--help`: nothing after it is read.
  case answer(@Sendable (inout Settings) -> Void)
}

/// A value of an option: what is allowed, in a form that can be listed, how it is put in its place, and how it is
/// read there again.
struct Value<Settings>: Sendable {
  let placeholder: String
  let allowed: Allowed
  /// The text was already found to be allowed.
  let store: @Sendable (inout Settings, String) -> Void
  /// What somebody would have to write to get what is there now; nothing, if that is what nobody has chosen.
  let read: @Sendable (Settings) -> [String]
  /// May be given several times, and the values add up; this takes them all away.
  var clear: (@Sendable (inout Settings) -> Void)?
  /// Back to what nobody has chosen, where that can't be written.
  let forget: (@Sendable (inout Settings) -> Void)?

  init(
    placeholder: String, allowed: Allowed, forget: (@Sendable (inout Settings) -> Void)? = nil,
    store: @escaping @Sendable (inout Settings, String) -> Void,
    read: @escaping @Sendable (Settings) -> [String]
  ) {
    self.placeholder = placeholder
    self.allowed = allowed
    self.forget = forget
    self.store = store
    self.read = read
  }

  func copy(from source: Settings, to target: inout Settings) {
    (clear ?? forget)?(&target)
    for text in read(source) { store(&target, text) }
  }

  static func text(
    _ placeholder: String, upTo limit: Int, _ place: WritableKeyPath<Settings, String> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: .text(limit)) {
      $0[keyPath: place] = $1
    } read: {
      [$0[keyPath: place]]
    }
  }

  static func text(
    _ placeholder: String, upTo limit: Int, _ place: WritableKeyPath<Settings, String?> & Sendable
  ) -> Value {
    optional(placeholder, .text(limit), place)
  }

  static func file(_ placeholder: String, _ place: WritableKeyPath<Settings, String?> & Sendable) -> Value {
    optional(placeholder, .file, place)
  }

  private static func optional(
    _ placeholder: String, _ allowed: Allowed, _ place: WritableKeyPath<Settings, String?> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: allowed, forget: { $0[keyPath: place] = nil }) {
      $0[keyPath: place] = $1
    } read: {
      $0[keyPath: place].map { [$0] } ?? []
    }
  }

  /// May be given several times; the values add up.
  static func list(
    _ placeholder: String, _ allowed: Allowed, _ place: WritableKeyPath<Settings, [String]> & Sendable
  ) -> Value {
    var value = Value(placeholder: placeholder, allowed: allowed) {
      $0[keyPath: place].append($1)
    } read: {
      $0[keyPath: place]
    }
    value.clear = { $0[keyPath: place] = [] }
    return value
  }

  static func number(
    _ placeholder: String, _ range: ClosedRange<Double>,
    _ place: WritableKeyPath<Settings, Double> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: .number(range)) {
      if let number = Double($1) { $0[keyPath: place] = number }
    } read: {
      [$0[keyPath: place].short]
    }
  }

  static func number(
    _ placeholder: String, _ range: ClosedRange<Double>,
    _ place: WritableKeyPath<Settings, Double?> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: .number(range), forget: { $0[keyPath: place] = nil }) {
      $0[keyPath: place] = Double($1)
    } read: {
      $0[keyPath: place].map { [$0.short] } ?? []
    }
  }

  /// What it is decides how fine it is.
  static func number(
    _ placeholder: String, _ range: ClosedRange<Double>, _ place: WritableKeyPath<Settings, Float> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: .number(range)) {
      if let number = Float($1) { $0[keyPath: place] = number }
    } read: {
      [(Double($0[keyPath: place].description) ?? 0).short]
    }
  }

  static func milliseconds(
    _ placeholder: String, _ range: ClosedRange<Double>, _ place: WritableKeyPath<Settings, Micros> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: .number(range)) {
      if let number = Double($1) { $0[keyPath: place] = .milliseconds(number) }
    } read: {
      [$0[keyPath: place].milliseconds.short]
    }
  }

  static func integer<Number: FixedWidthInteger & Sendable>(
    _ placeholder: String, _ range: ClosedRange<Int>, _ place: WritableKeyPath<Settings, Number> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: .integer(range)) {
      if let number = Number($1) { $0[keyPath: place] = number }
    } read: {
      ["\($0[keyPath: place])"]
    }
  }

  static func choice<Choice: Word>(
    _ placeholder: String, _ place: WritableKeyPath<Settings, Choice> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: .choice(Choice.all.map(\.word))) {
      if let choice = Choice($1) { $0[keyPath: place] = choice }
    } read: {
      [$0[keyPath: place].word]
    }
  }

  /// Off, or on and how.
  static func switched(
    _ placeholder: String, _ words: [String],
    store: @escaping @Sendable (inout Settings, String?) -> Void,
    read: @escaping @Sendable (Settings) -> String?
  ) -> Value {
    Value(placeholder: placeholder, allowed: .choice(["off"] + words)) {
      store(&$0, $1 == "off" ? nil : $1)
    } read: {
      [read($0) ?? "off"]
    }
  }

  static func choice<Choice: CaseIterable & RawRepresentable & Sendable>(
    _ placeholder: String, _ place: WritableKeyPath<Settings, Choice> & Sendable
  ) -> Value where Choice.RawValue == String {
    Value(placeholder: placeholder, allowed: .choice(Choice.allCases.map(\.rawValue))) {
      if let choice = Choice(rawValue: $1) { $0[keyPath: place] = choice }
    } read: {
      [$0[keyPath: place].rawValue]
    }
  }
}
