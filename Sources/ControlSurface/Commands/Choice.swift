// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
public import Choices

/// One choice of the user's: all there is to say about it, said once.
///
/// Its address, its option, its key in the files, help, man page, completions, OSCQuery and the layouts are made from this.
/// To add one: a field of `Settings`, what it does, and a line in one of the `Table+` files.
public struct Choice: Sendable {
  /// Below the root. The option and the key in the files are the same with - for /.
  public let path: String
  public let words: String
  /// What it is told and taken as. Of several the values are written with a / between them.
  public let parameters: [Parameter]
  /// For who writes it down: what stands for a value, and what is allowed, where the parameters don't say it.
  public let written: (placeholder: String, allowed: String)?
  public let section: Section
  /// `-q`
  public let letter: Character?
  /// From one run to the next, if it was made by hand or by a controller that the user has named.
  public let isRemembered: Bool
  /// For this run alone: neither an option nor a key.
  public let isMomentary: Bool
  /// Of whom it is taken.
  let reach: Node.Reach
  /// In the settings. nil: it has no value of its own.
  public let read: @Sendable (Settings) -> [Value]?
  /// As a file or an option sets it.
  public let write: @Sendable (inout Settings, [Value]) -> Void
  /// As a hand does while it plays: what follows it comes along.
  public let choose: @Sendable (inout Settings, [Value]) -> Void
  /// Takes it from one to the other, even if there is no value.
  public let copy: @Sendable (_ from: Settings, _ to: inout Settings) -> Void
  /// What holds, its own or not.
  public let holding: @Sendable (Settings) -> [Value]
  /// Of values that their parameters took.
  let check: @Sendable ([Value]) throws(Refusal) -> Void

  public var name: String { String(path.map { $0 == "/" ? "-" : $0 }) }

  public var isFlag: Bool {
    if case .flag = parameters[0] { true } else { false }
  }

  /// - Parameter parameter: its range, where the type alone does not say it.
  init<T: Choosable>(
    _ path: String, _ place: WritableKeyPath<Settings, T> & Sendable, _ words: String,
    within parameter: Parameter? = nil, in section: Section, letter: Character? = nil,
    written: (placeholder: String, allowed: String)? = nil, isRemembered: Bool = false,
    isMomentary: Bool = false, from reach: Node.Reach = .anyone,
    holding: (@Sendable (Settings) -> [Value])? = nil,
    taking: @escaping @Sendable (inout Settings) -> Void = { _ in }
  ) {
    self.path = path
    parameters = parameter.map { [$0] } ?? T.parameters
    self.words = words
    self.section = section
    self.letter = letter
    self.written = written
    self.isRemembered = isRemembered
    self.isMomentary = isMomentary
    self.reach = reach
    let write: @Sendable (inout Settings, [Value]) -> Void = { settings, values in
      if let value = try? T(values) { settings[keyPath: place] = value }
    }
    read = { $0[keyPath: place].values }
    self.write = write
    choose = {
      write(&$0, $1)
      taking(&$0)
    }
    copy = { $1[keyPath: place] = $0[keyPath: place] }
    self.holding = holding ?? { $0[keyPath: place].values ?? [] }
    check = { values throws(Refusal) in _ = try T(values) }
  }

  /// As somebody types it: `on` and `off` have no text, they are options with and without no-.
  public func text(_ values: [Value]) -> String {
    zip(parameters, values).map { $0.text($1) }.joined(separator: "/")
  }

  /// nil: that is not allowed.
  public func values(of text: String) -> [Value]? {
    // Text of one value may have a / of its own.
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

/// The headings under which people read of choices and options, in their order.
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

  /// Those that have any, with what they have.
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
    "The grid that peers share: a start waits for a multiple of this many beats; 0 is no grid. With bar it is one bar of the meter, whatever "
      + "that is: 3.5 in 7/8.",
    in: .session, letter: "q", holding: { [.number($0.quantum)] })
}

/// 20 rather than 20.0.
public func shortest(_ number: Double) -> String {
  let text = number.description
  return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
}
