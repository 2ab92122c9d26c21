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
  public let domain: Domain
  public let section: Section
  /// `-q`
  public let letter: Character?
  /// From one run to the next, if it was made by hand or by a controller that the user has named.
  public let isRemembered: Bool
  /// For this run alone: neither an option nor a key.
  public let isMomentary: Bool
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

  public var name: String { String(path.map { $0 == "/" ? "-" : $0 }) }

  init<T>(
    _ path: String, _ domain: Domain, _ place: WritableKeyPath<Settings, T> & Sendable, _ words: String,
    in section: Section, letter: Character?, isRemembered: Bool = false,
    isMomentary: Bool = false, values: @escaping @Sendable (T) -> [Value]?,
    from value: @escaping @Sendable ([Value]) -> T,
    holding: (@Sendable (Settings) -> [Value])? = nil,
    taking: @escaping @Sendable (inout Settings) -> Void = { _ in }
  ) {
    self.path = path
    self.domain = domain
    self.words = words
    self.section = section
    self.letter = letter
    self.isRemembered = isRemembered
    self.isMomentary = isMomentary
    read = { values($0[keyPath: place]) }
    write = { $0[keyPath: place] = value($1) }
    choose = {
      $0[keyPath: place] = value($1)
      taking(&$0)
    }
    copy = { $1[keyPath: place] = $0[keyPath: place] }
    self.holding = holding ?? { values($0[keyPath: place]) ?? [] }
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
  case outputs = "Click, clock and pulses"
  case midi = "Control by MIDI"
  case surface = "Control by OSC"
  case other = "Other"
}

// The types that a choice can have.
extension Choice {
  public static func flag(
    _ path: String, _ place: WritableKeyPath<Settings, Bool> & Sendable, _ words: String, in section: Section,
    isRemembered: Bool = false, isMomentary: Bool = false
  ) -> Choice {
    Choice(
      path, .flag, place, words, in: section, letter: nil, isRemembered: isRemembered,
      isMomentary: isMomentary,
      values: { [.flag($0)] }, from: { $0[0].isOn })
  }

  public static func word<W: Word>(
    _ path: String, _ place: WritableKeyPath<Settings, W> & Sendable, _ words: String, in section: Section,
    letter: Character? = nil
  ) -> Choice {
    Choice(
      path, .word(W.allCases.map(\.word)), place, words, in: section, letter: letter,
      values: { [.word(Int($0.rawValue))] }, from: { W(rawValue: UInt8(clamping: $0[0].whole)) ?? W.first })
  }

  public static func whole(
    _ path: String, _ range: ClosedRange<Int>, _ place: WritableKeyPath<Settings, Int32> & Sendable,
    _ words: String, in section: Section
  ) -> Choice {
    Choice(
      path, .whole(range, unit: ""), place, words, in: section, letter: nil,
      values: { [.whole(Int($0))] }, from: { Int32(clamping: $0[0].whole) })
  }

  /// Whole numbers that are counted with others.
  public static func whole(
    _ path: String, _ range: ClosedRange<Int>, _ unit: String,
    _ place: WritableKeyPath<Settings, Double> & Sendable, _ words: String, in section: Section,
    letter: Character? = nil
  ) -> Choice {
    Choice(
      path, .whole(range, unit: unit), place, words, in: section, letter: letter,
      values: { [.whole(Int(Int64(saturating: $0)))] }, from: { $0[0].number })
  }

  public static func factor(
    _ path: String, _ range: ClosedRange<Double>, _ place: WritableKeyPath<Settings, Float> & Sendable,
    _ words: String, in section: Section
  ) -> Choice {
    Choice(
      path, .number(range, unit: ""), place, words, in: section, letter: nil,
      // What a float32 is said to be, not its last digits as a double.
      values: { [.number(Double($0.description) ?? 0)] }, from: { Float($0[0].number) })
  }

  public static func milliseconds(
    _ path: String, _ range: ClosedRange<Double>, _ place: WritableKeyPath<Settings, Micros> & Sendable,
    _ words: String, in section: Section, isRemembered: Bool = false
  ) -> Choice {
    Choice(
      path, .number(range, unit: "ms"), place, words, in: section, letter: nil, isRemembered: isRemembered,
      values: { [.number($0.milliseconds)] }, from: { .milliseconds($0[0].number) })
  }

  static func offset(_ path: String, _ port: Port, _ words: String) -> Choice {
    Choice(
      path, .number(-500...500, unit: "ms"), \.offsets[port], words, in: .outputs, letter: nil,
      isRemembered: true,
      values: { $0.map { [.number($0.milliseconds)] } }, from: { .milliseconds($0[0].number) },
      holding: { [.number($0.offset(of: port).milliseconds)] },
      taking: { settings in
        var number = 0
        while let other = Port.number(number) {
          if other.follows == port { settings.offsets[other] = nil }
          number += 1
        }
      })
  }

  static let quantum = whole(
    "quantum", 0...64, "beats", \.quantum,
    "Length of the grid that peers share: a start waits for it. 0: none.", in: .session, letter: "q")

  static let meter = Choice(
    "meter", .meter, \.meter, "Beats in a bar, and the note that is a beat (1, 2, 4, 8, 16, 32).",
    in: .session, letter: "m", values: { [.whole(Int($0.beatsPerBar)), .whole(Int($0.beatType))] },
    from: { Meter(beatsPerBar: Int32(clamping: $0[0].whole), beatType: Int32(clamping: $0[1].whole)) })

  static let pattern = Choice(
    "click/pattern", .pattern, \.click.pattern,
    "One letter a click from each bar line on: X accent, x plain, . silent. Empty: accent on the bar's first beat.",
    in: .outputs, letter: nil, values: { $0.count == 0 ? nil : [.text($0.letters)] },
    from: { Pattern($0[0].text.utf8) ?? Pattern() }, holding: { [.text($0.click.pattern.letters)] })
}

/// What a choice can be: how it is told and taken, and how it is written.
public enum Domain: Hashable, Sendable {
  case flag
  case number(ClosedRange<Double>, unit: String)
  case whole(ClosedRange<Int>, unit: String)
  case word([String])
  case meter
  case pattern

  var parameters: [Parameter] {
    switch self {
    case .flag: [.flag]
    case .number(let range, let unit): [.number(range, unit: unit)]
    case .whole(let range, let unit): [.whole(range, unit: unit)]
    case .word(let words): [.word(words)]
    case .meter: [.whole(1...64, unit: "beats"), .whole(1...32, unit: "")]
    case .pattern: [.text(limit: Pattern.longest)]
    }
  }

  /// Of values that their parameters took.
  func check(_ values: [Value]) throws(Refusal) {
    switch self {
    case .flag, .number, .whole, .word: break
    case .meter:
      let unit = values[1].whole
      guard unit & (unit - 1) == 0 else { throw .range("the note is 1, 2, 4, 8, 16 or 32, not \(unit)") }
    case .pattern:
      guard Pattern(values[0].text.utf8) != nil else { throw .range("only the letters X, x and .") }
    }
  }

  /// As somebody types it: `on` and `off` have no text, they are options with and without no-.
  public func text(_ values: [Value]) -> String {
    switch self {
    case .flag: "\(values[0].isOn)"
    case .number: shortest(values[0].number)
    case .whole: "\(values[0].whole)"
    case .word(let words): words[values[0].whole]
    case .meter: "\(values[0].whole)/\(values[1].whole)"
    case .pattern: values[0].text
    }
  }

  /// nil: that is not allowed.
  public func values(of text: String) -> [Value]? {
    let values: [Value]
    switch self {
    case .flag: return nil
    case .number(let range, _):
      guard let number = Double(text), range.contains(number) else { return nil }
      values = [.number(number)]
    case .whole(let range, _):
      guard let number = Int(text), range.contains(number) else { return nil }
      values = [.whole(number)]
    case .word(let words):
      guard let place = words.firstIndex(of: text) else { return nil }
      values = [.word(place)]
    case .meter:
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 2, let beats = Int(parts[0]), let unit = Int(parts[1]), (1...64).contains(beats),
        (1...32).contains(unit)
      else { return nil }
      values = [.whole(beats), .whole(unit)]
    case .pattern:
      guard !text.isEmpty else { return nil }
      values = [.text(text)]
    }
    return (try? check(values)) == nil ? nil : values
  }
}

/// 20 rather than 20.0.
public func shortest(_ number: Double) -> String {
  let text = number.description
  return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
}
