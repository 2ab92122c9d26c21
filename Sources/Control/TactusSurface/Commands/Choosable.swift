// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusChoices

/// A type whose values a choice can have.
public protocol Choosable: Sendable {
  /// The types of the values in messages and in text, if `Self` alone determines them.
  static var parameters: [Parameter] { get }
  /// The choice's values; nil: it has none of its own, so another setting's value holds.
  var values: [Value]? { get }
  /// Makes a value of this type from values that fit `parameters`.
  init(_ values: [Value]) throws(Refusal)
}

extension Choosable {
  public static var parameters: [Parameter] { [] }
}

/// A choice from a list of words. A word is the same in an address, an option and a file.
public protocol Word: Choosable, RawRepresentable, CaseIterable, Hashable where RawValue == UInt8 {
  var word: String { get }
}

extension Word {
  public var word: String { "\(self)" }
  public static var allCases: [Self] {
    (0..<UInt8.max).lazy.map(Self.init(rawValue:)).prefix { $0 != nil }.compactMap { $0 }
  }
  public static var parameters: [Parameter] { [.word(allCases.map(\.word))] }
  public var values: [Value]? { [.word(Int(rawValue))] }
  public init(_ values: [Value]) {
    self = Self(rawValue: UInt8(clamping: values[0].whole)) ?? Self.allCases[0]
  }
}

extension Lead: Word {}
extension LaunchMoment: Word {}
extension Alignment: Word {}
extension LaunchWait: Word {}
extension StopPlace: Word {}
extension Correction: Word {}
extension RunsWhen: Word {}
extension ClickSound: Word {}
extension PulseRate: Word {
  public var word: String { perBeat.map { "\($0)" } ?? "bar" }
}

extension Bool: Choosable {
  public static var parameters: [Parameter] { [.flag] }
  public var values: [Value]? { [.flag(self)] }
  public init(_ values: [Value]) { self = values[0].isOn }
}

extension Int32: Choosable {
  public var values: [Value]? { [.whole(Int(self))] }
  public init(_ values: [Value]) { self.init(clamping: values[0].whole) }
}

extension Double: Choosable {
  public var values: [Value]? { [.number(self)] }
  public init(_ values: [Value]) { self = values[0].number }
}

extension Float: Choosable {
  /// The shortest decimal that gives the same float32, such as 0.1 and not 0.10000000149011612.
  public var values: [Value]? { [.number(Double(description) ?? 0)] }
  public init(_ values: [Value]) { self.init(values[0].number) }
}

extension Micros: Choosable {
  public var milliseconds: Double { Double(count) / 1000 }
  public static func milliseconds(_ milliseconds: Double) -> Micros { Micros(rounding: milliseconds * 1000) }
  public var values: [Value]? { [.number(milliseconds)] }
  public init(_ values: [Value]) { self = .milliseconds(values[0].number) }
}

extension Optional: Choosable where Wrapped: Choosable {
  public static var parameters: [Parameter] { Wrapped.parameters }
  public var values: [Value]? { self?.values }
  public init(_ values: [Value]) throws(Refusal) { self = try Wrapped(values) }
}

extension Meter: Choosable {
  public static var parameters: [Parameter] { [.whole(1...64, unit: "notes"), .whole(1...32)] }
  public var values: [Value]? { [.whole(Int(beatsPerBar)), .whole(Int(beatType))] }
  public init(_ values: [Value]) throws(Refusal) {
    let unit = values[1].whole
    guard unit & (unit - 1) == 0 else {
      throw .range("the meter's notes are 1, 2, 4, 8, 16 or 32, not \(unit)")
    }
    self.init(beatsPerBar: Int32(clamping: values[0].whole), beatType: Int32(clamping: unit))
  }
}

extension Quantum: Choosable {
  public static var parameters: [Parameter] { [.beats(0...most, or: "bar")] }
  public var values: [Value]? {
    switch self {
    case .bar: [.word(0)]
    case .beats(let beats): [.number(beats)]
    }
  }
  public init(_ values: [Value]) {
    if case .word = values[0] { self = .bar } else { self = .beats(values[0].number) }
  }
}

extension Pattern: Choosable {
  public static var parameters: [Parameter] { [.text(limit: longest)] }
  public var values: [Value]? { count == 0 ? nil : [.text(letters)] }
  public init(_ values: [Value]) throws(Refusal) {
    guard let pattern = Pattern(values[0].text.utf8) else {
      throw .range("only the letters X (accent), x (beat) and . (silence)")
    }
    self = pattern
  }

  public var letters: String {
    (0..<count).map { place in
      switch self[Int64(place)] {
      case .accent: "X"
      case .beat, .subdivision: "x"
      case .silent: "."
      }
    }.joined()
  }
}

extension ChosenName: Choosable {
  package static let allowed = "auto, or a name of at most \(longest) bytes"

  public var values: [Value]? { [.text(word)] }

  public init(_ values: [Value]) throws(Refusal) {
    let text = values[0].text
    guard text != "auto" else {
      self.init()
      return
    }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), let name = ChosenName(text.utf8) else {
      throw .range(Self.allowed)
    }
    self = name
  }

  public var word: String {
    isEmpty ? "auto" : String(decoding: (0..<count).map { self[$0] }, as: UTF8.self)
  }
}
