// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC

/// The type, range and unit of one argument. It also turns a sender's argument into a value.
public enum Parameter: Sendable {
  /// A number that is sent as float32.
  case number(ClosedRange<Double>, unit: String = "")
  /// Like `number`, but a value out of range becomes the nearest end of the range, as with a real fader.
  case fader
  /// A whole number that is sent as int32; a received fraction is rounded.
  case whole(ClosedRange<Int>, unit: String = "")
  /// Beats, sent as float32. A multiple of a 32nd note is accepted, since the bars of every meter consist
  /// of 32nds. Any other number is rounded to whole beats, because a finger on a fader hits no exact 32nds.
  /// The word in `or` means "no value of its own".
  case beats(ClosedRange<Double>, or: String)
  /// A switch, sent as float32 0 or 1, so that buttons light up.
  case flag
  /// A word, sent as a string; a sender may send the word or its index in the list.
  case word([String])
  case text(limit: Int)
  /// A number that is sent as float64, for programs; its range is not checked.
  case exact(unit: String)

  public var tag: Character {
    switch self {
    case .number, .fader, .beats, .flag: "f"
    case .whole: "i"
    case .word, .text: "s"
    case .exact: "d"
    }
  }

  public var unit: String {
    switch self {
    case .number(_, let unit), .whole(_, let unit), .exact(let unit): unit
    case .beats: "beats"
    case .fader, .flag, .word, .text: ""
    }
  }

  /// The allowed values in words, for help texts and error messages.
  public var allowed: String {
    switch self {
    case .number(let range, _):
      "\(brief(range.lowerBound)) to \(brief(range.upperBound))" + (unit.isEmpty ? "" : " \(unit)")
    case .fader: "0 to 1"
    case .beats(let range, let word):
      "\(brief(range.lowerBound)) to \(brief(range.upperBound)) beats (3.5 are seven eighths), or \(word)"
    case .whole(let range, _): "\(range.lowerBound) to \(range.upperBound)" + (unit.isEmpty ? "" : " \(unit)")
    case .flag: "0 or 1"
    case .word(let words): words.joined(separator: ", ")
    case .text(let limit): "text, at most \(limit) bytes"
    case .exact: unit
    }
  }

  /// The value as an argument to send.
  func argument(_ value: Value) -> Argument {
    switch self {
    case .number, .fader, .beats, .flag: .float32(Float(finite: value.number))
    case .whole: .int32(Int32(clamping: value.whole))
    case .word(let words):
      .string(words.indices.contains(value.whole) ? words[value.whole] : SurfaceState.unknown)
    case .text: .string(value.text)
    case .exact: .float64(value.number)
    }
  }

  /// The value as text.
  func text(_ value: Value) -> String {
    switch self {
    case .flag: "\(value.isOn)"
    case .whole: "\(value.whole)"
    case .word(let words): words[value.whole]
    case .text: value.text
    case .beats(_, let word): if case .word = value { word } else { shortest(value.number) }
    case .number, .fader, .exact: shortest(value.number)
    }
  }

  /// Reads the text of an option or of `tactus send`. nil: the text is not allowed, or the type has no text
  /// form.
  public func value(of text: String) -> Value? {
    switch self {
    case .number(let range, _): Double(text).flatMap { range.contains($0) ? .number($0) : nil }
    case .whole(let range, _):
      Int(text.hasSuffix(".0") ? text.dropLast(2) : text[...]).flatMap {
        range.contains($0) ? .whole($0) : nil
      }
    case .beats(let range, let word):
      text == word
        ? .word(0) : Self.isPlain(text) ? Double(text).flatMap { Self.notes($0, within: range) } : nil
    case .word(let words): words.firstIndex(of: text).map { .word($0) }
    case .text: .text(text)
    case .flag, .fader, .exact: nil
    }
  }

  /// Double(_:) also reads "0x10", "nan" and "1e2", but a user who types these has made an error.
  public static func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E].contains($0) }
  }

  /// The beats as a value; nil: they are out of range, or no multiple of a 32nd note.
  private static func notes(_ beats: Double, within range: ClosedRange<Double>) -> Value? {
    guard range.contains(beats), (8 * beats).rounded() == 8 * beats else { return nil }
    return beats.rounded() == beats ? .whole(Int(beats)) : .number(beats)
  }

  /// The value that another tactus sent. A word that is not in the list gets the index after the last word.
  func heard(_ argument: Argument) -> Value? {
    if case .word(let words) = self {
      guard case .string(let word) = argument else { return nil }
      return .word(words.firstIndex(of: word) ?? words.count)
    }
    guard argument.number?.isFinite ?? true else { return nil }
    return try? accept(argument)
  }

  func accept(_ argument: Argument) throws(Refusal) -> Value {
    switch self {
    case .number(let range, _):
      let number = try number(argument)
      // A float32 from a controller that means an end of the range may lie just outside the range.
      for end in [range.lowerBound, range.upperBound] where Float(number) == Float(end) {
        return .number(end)
      }
      guard range.contains(number) else { throw .range("\(allowed), not \(brief(number))") }
      return .number(number)
    case .fader:
      return .number(min(max(try number(argument), 0), 1))
    case .whole(let range, _):
      let number = try number(argument).rounded()
      guard number >= Double(range.lowerBound), number <= Double(range.upperBound) else {
        throw .range("\(allowed), not \(brief(number))")
      }
      return .whole(Int(number))
    case .beats(let range, let word):
      if case .string(let text) = argument, text.lowercased() == word { return .word(0) }
      let number = try number(argument)
      guard let value = Self.notes(number, within: range) ?? Self.notes(number.rounded(), within: range)
      else {
        throw .range("\(allowed), not \(brief(number))")
      }
      return value
    case .flag:
      return .flag(try flag(argument))
    case .word(let words):
      return .word(try index(of: argument, in: words))
    case .text(let limit):
      guard case .string(let text) = argument else { throw .type("text, not \(argument.words)") }
      guard text.utf8.count <= limit else { throw .range("at most \(limit) bytes of text") }
      return .text(text)
    case .exact:
      return .number(try number(argument))
    }
  }

  /// The index of a word in the list; the sender gave the word or its number.
  private func index(of argument: Argument, in words: [String]) throws(Refusal) -> Int {
    if case .string(let text) = argument, let index = words.firstIndex(of: text.lowercased()) {
      return index
    }
    guard let number = argument.number?.rounded() else {
      throw .type("one of \(allowed), not \(argument.words)")
    }
    guard number >= 0, number < Double(words.count) else {
      throw .range("one of \(allowed), not \(brief(number))")
    }
    return Int(number)
  }

  private func number(_ argument: Argument) throws(Refusal) -> Double {
    guard let number = argument.number else {
      throw .type("a number, \(allowed), not \(argument.words)" + pointed(argument))
    }
    return number
  }

  /// A hint for senders that write a decimal comma, as half of Europe does; otherwise empty.
  private func pointed(_ argument: Argument) -> String {
    guard case .string(let text) = argument, text.contains(",") else { return "" }
    let pointed = String(text.map { $0 == "," ? "." : $0 })
    return Double(pointed)?.isFinite == true ? ": write \(printable(pointed, limit: 40))" : ""
  }

  private func flag(_ argument: Argument) throws(Refusal) -> Bool {
    switch argument {
    case .impulse: return true
    case .null: return false
    case .string("on"), .string("true"), .string("yes"): return true
    case .string("off"), .string("false"), .string("no"): return false
    case .int32, .int64, .float32, .float64, .string, .truth, .other:
      let number = try number(argument)
      guard number >= 0, number <= 1 else { throw .range("\(allowed), not \(brief(number))") }
      return number >= 0.5
    }
  }
}

/// An argument that was checked and accepted.
public enum Value: Hashable, Sendable {
  case number(Double)
  case whole(Int)
  case flag(Bool)
  case word(Int)
  case text(String)

  var number: Double {
    switch self {
    case .number(let value): value
    case .whole(let value), .word(let value): Double(value)
    case .flag(let value): value ? 1 : 0
    case .text: 0
    }
  }

  var whole: Int { Int(Int64(saturating: number)) }
  public var isOn: Bool { number >= 0.5 }

  var text: String {
    guard case .text(let text) = self else { return "" }
    return text
  }
}

/// Why a message was not obeyed. The text fits a label on a tablet: it is short and says what would be right.
public struct Refusal: Error, Hashable, Sendable {
  public enum Code: Int32, Sendable {
    case unknownAddress = 1
    case type, range, notNow, refused, malformed, notPaired
  }

  public let code: Code
  public let text: String

  public init(_ code: Code, _ text: String) {
    self.code = code
    self.text = text
  }

  static let unknown = Refusal(.unknownAddress, "no such address")
  static let notPaired = Refusal(.notPaired, "not paired: scan the code, then this browser may change things")
  static func type(_ text: String) -> Refusal { Refusal(.type, text) }
  static func range(_ text: String) -> Refusal { Refusal(.range, text) }
  static func refused(_ text: String) -> Refusal { Refusal(.refused, text) }
  static let tooMuch = Refusal(.refused, "too much for one packet: send the rest in the next")
}

/// The number with as few digits as it needs: 20 rather than 20.0, and 0.25 rather than 0.2500.
func brief(_ number: Double) -> String {
  if number.isFinite, number.magnitude >= 1e12 { return "\(number)" }
  var text = fixed(number, 4)
  guard text.contains(".") else { return text }
  while text.hasSuffix("0") { text.removeLast() }
  if text.hasSuffix(".") { text.removeLast() }
  return text
}
