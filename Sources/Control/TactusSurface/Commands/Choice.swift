// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
public import TactusChoices

/// A choice of the user, described in one place.
///
/// A choice's address, option, key in the files, help, man page, completions, OSCQuery entry and layout are
/// made from it. To add a choice, add a field of `Settings`, the choice's effect, and a line in one of the
/// `Table+` files.
public struct Choice: Sendable {
  /// The address below `/tactus`. The option and the key in the files are the same text with - instead of /.
  public let path: String
  public let words: String
  /// The types of the choice's values, in messages and in text. In text, a / separates several values.
  public let parameters: [Parameter]
  /// The placeholder for a value in options and files, and the allowed values if `parameters` do not
  /// describe them.
  public let written: (placeholder: String, allowed: String)?
  public let section: Section
  /// The short option, such as `-q`.
  public let letter: Character?
  /// Whether tactus remembers the value for its next start, if it was set by hand or by a controller that the
  /// user named.
  public let isRemembered: Bool
  /// Whether the choice holds for this run only, and so is neither an option nor a key.
  public let isMomentary: Bool
  /// The senders whose changes of this choice are accepted.
  let reach: Node.Reach
  /// Reads the value from the settings. nil: this choice has no value of its own, so it follows another
  /// setting.
  public let read: @Sendable (Settings) -> [Value]?
  /// Sets the choice as a file or an option does, and leaves settings that follow this choice unchanged.
  public let write: @Sendable (inout Settings, [Value]) -> Void
  /// Sets the choice while the program runs. If other settings follow this choice, their own values are
  /// removed.
  public let choose: @Sendable (inout Settings, [Value]) -> Void
  /// Copies the choice's value from one set of settings to another. If the first set has no value,
  /// the second set loses its value.
  public let copy: @Sendable (_ from: Settings, _ to: inout Settings) -> Void
  /// The value in effect: the choice's own, or that of the setting that it follows.
  public let holding: @Sendable (Settings) -> [Value]
  /// Checks values that fit the types and ranges of `parameters`.
  let check: @Sendable ([Value]) throws(Refusal) -> Void

  public var name: String { String(path.map { $0 == "/" ? "-" : $0 }) }

  public var isFlag: Bool {
    if case .flag = parameters[0] { true } else { false }
  }

  /// - Parameter parameter: the type and range of the value, if `T` alone does not determine them.
  init<T: Choosable>(
    _ path: String, _ place: WritableKeyPath<Settings, T> & Sendable, _ words: String,
    within parameter: Parameter? = nil, in section: Section, letter: Character? = nil,
    written: (placeholder: String, allowed: String)? = nil, isRemembered: Bool = false,
    isMomentary: Bool = false, from reach: Node.Reach = .anyone,
    holding: (@Sendable (Settings) -> [Value])? = nil,
    taking: @escaping @Sendable (inout Settings) -> Void = { _ in }
  ) {
    self.init(
      path, words, parameter.map { [$0] } ?? T.parameters, in: section, letter: letter, written: written,
      isRemembered: isRemembered, isMomentary: isMomentary, from: reach,
      reading: { $0[keyPath: place].values },
      writing: { settings, values throws(Refusal) in settings[keyPath: place] = try T(values) },
      copying: { $1[keyPath: place] = $0[keyPath: place] }, holding: holding, taking: taking)
  }

  /// Makes a choice from a setting that the standard click and the user's own clicks have in common.
  init(
    _ path: String, _ shared: OutputChoice<ClickSettings>, _ words: String? = nil,
    isRemembered: Bool = false
  ) {
    self.init(
      path, words ?? shared.words, [shared.parameter], in: .outputs, written: shared.written,
      isRemembered: isRemembered,
      reading: { shared.read($0.click) },
      writing: { settings, values throws(Refusal) in try shared.write(&settings.click, values) },
      copying: { shared.copy($0.click, &$1.click) }, holding: { [shared.value($0.click)] })
  }

  private init(
    _ path: String, _ words: String, _ parameters: [Parameter], in section: Section,
    letter: Character? = nil, written: (placeholder: String, allowed: String)?, isRemembered: Bool = false,
    isMomentary: Bool = false, from reach: Node.Reach = .anyone,
    reading: @escaping @Sendable (Settings) -> [Value]?,
    writing: @escaping @Sendable (inout Settings, [Value]) throws(Refusal) -> Void,
    copying: @escaping @Sendable (Settings, inout Settings) -> Void,
    holding: (@Sendable (Settings) -> [Value])?,
    taking: @escaping @Sendable (inout Settings) -> Void = { _ in }
  ) {
    self.path = path
    self.parameters = parameters
    self.words = words
    self.section = section
    self.letter = letter
    self.written = written
    self.isRemembered = isRemembered
    self.isMomentary = isMomentary
    self.reach = reach
    read = reading
    write = { try? writing(&$0, $1) }
    choose = {
      try? writing(&$0, $1)
      taking(&$0)
    }
    copy = copying
    self.holding = holding ?? { reading($0) ?? [] }
    check = { values throws(Refusal) in
      var settings = Settings()
      try writing(&settings, values)
    }
  }

  /// The value as text. A switch has no text: its options are `--NAME` and `--no-NAME`.
  public func text(_ values: [Value]) -> String {
    zip(parameters, values).map { $0.text($1) }.joined(separator: "/")
  }

  /// Reads values from text; nil: the text is not allowed.
  public func values(of text: String) -> [Value]? {
    // The text of a single value may contain a /.
    let parts = text.split(
      separator: "/", maxSplits: parameters.count - 1, omittingEmptySubsequences: false)
    guard parts.count == parameters.count else { return nil }
    let values = zip(parameters, parts).compactMap { $0.value(of: String($1)) }
    return values.count == parts.count && (try? check(values)) != nil ? values : nil
  }
}

extension Choice: Hashable {
  public static func == (left: Choice, right: Choice) -> Bool { left.path == right.path }
  public func hash(into hasher: inout Hasher) { hasher.combine(path) }
}

/// The headings for choices and options, in the order of the help.
public enum Section: String, CaseIterable, Sendable {
  case jack = "JACK"
  case session = "Session and transport"
  case far = "Other rooms"
  case audio = "Link Audio"
  case outputs = "Click, clock and pulses"
  case midi = "Control by MIDI"
  case surface = "Control by OSC"
  case page = "The page in browsers"
  case other = "Other"

  /// All sections that have members, each with its members, in the order of the help.
  package static func groups<Member>(
    _ members: [Member], by section: (Member) -> Section
  ) -> [(Section, [Member])] {
    allCases.map { one in (one, members.filter { section($0) == one }) }.filter { !$0.1.isEmpty }
  }
}

extension Choice {
  static func offset(_ path: String, _ port: Port, _ words: String) -> Choice {
    Choice(
      path, \.offsets[port], words, within: .number(-500...500, unit: "ms"), in: .outputs, isRemembered: true,
      holding: { [.number($0.offset(of: port).milliseconds)] },
      taking: { settings in
        var number = 0
        while let other = Port.number(number) {
          if other.follows == port { settings.offsets[other] = nil }
          number += 1
        }
      })
  }

  static let quantum = Choice(
    "quantum", \.ownQuantum,
    "The shared grid: a start waits for a multiple of this many beats; 0 is no grid. bar sets it to "
      + "one bar of the meter, such as 3.5 beats in 7/8.",
    in: .session, letter: "q", holding: { [.number($0.quantum)] })
}

/// The number with as few digits as it needs: 20 rather than 20.0.
public func shortest(_ number: Double) -> String {
  let text = number.description
  return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
}
