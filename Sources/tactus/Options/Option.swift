// SPDX-License-Identifier: GPL-2.0-or-later
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

enum Form<Settings>: Sendable {
  /// `--wait`, and `--no-wait` to take it back.
  case flag(WritableKeyPath<Settings, Bool> & Sendable)
  /// `--name NAME`, `--name=NAME`, `-nNAME`, `-n NAME`.
  case value(OptionValue<Settings>)
  /// `--click[=WHEN]`: a value only if it is attached; `bare` is what the option means without. If it can be `off`,
  /// `--no-click` is that.
  case optionalValue(OptionValue<Settings>, bare: String)
  /// `--help`: nothing after it is read.
  case answer(@Sendable (inout Settings) -> Void)
}

/// A value of an option: what is allowed, in a form that can be listed, how it is put in its place, and how it is
/// read there again.
struct OptionValue<Settings>: Sendable {
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
  ) -> OptionValue {
    OptionValue(placeholder: placeholder, allowed: .text(limit)) {
      $0[keyPath: place] = $1
    } read: {
      [$0[keyPath: place]]
    }
  }

  static func text(
    _ placeholder: String, upTo limit: Int, _ place: WritableKeyPath<Settings, String?> & Sendable
  ) -> OptionValue {
    optional(placeholder, .text(limit), place)
  }

  static func file(_ placeholder: String, _ place: WritableKeyPath<Settings, String?> & Sendable)
    -> OptionValue
  {
    optional(placeholder, .file, place)
  }

  private static func optional(
    _ placeholder: String, _ allowed: Allowed, _ place: WritableKeyPath<Settings, String?> & Sendable
  ) -> OptionValue {
    OptionValue(placeholder: placeholder, allowed: allowed, forget: { $0[keyPath: place] = nil }) {
      $0[keyPath: place] = $1
    } read: {
      $0[keyPath: place].map { [$0] } ?? []
    }
  }

  /// May be given several times; the values add up.
  static func list(
    _ placeholder: String, _ allowed: Allowed, _ place: WritableKeyPath<Settings, [String]> & Sendable
  ) -> OptionValue {
    var value = OptionValue(placeholder: placeholder, allowed: allowed) {
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
  ) -> OptionValue {
    OptionValue(placeholder: placeholder, allowed: .number(range)) {
      if let number = Double($1) { $0[keyPath: place] = number }
    } read: {
      [shortest($0[keyPath: place])]
    }
  }

  static func integer<Number: FixedWidthInteger & Sendable>(
    _ placeholder: String, _ range: ClosedRange<Int>, _ place: WritableKeyPath<Settings, Number> & Sendable
  ) -> OptionValue {
    OptionValue(placeholder: placeholder, allowed: .integer(range)) {
      if let number = Number($1) { $0[keyPath: place] = number }
    } read: {
      ["\($0[keyPath: place])"]
    }
  }

  static func choice<Choice: CaseIterable & RawRepresentable & Sendable>(
    _ placeholder: String, _ place: WritableKeyPath<Settings, Choice> & Sendable
  ) -> OptionValue where Choice.RawValue == String {
    OptionValue(placeholder: placeholder, allowed: .choice(Choice.allCases.map(\.rawValue))) {
      if let choice = Choice(rawValue: $1) { $0[keyPath: place] = choice }
    } read: {
      [$0[keyPath: place].rawValue]
    }
  }
}
