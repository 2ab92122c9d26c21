// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
internal import LinkSystem
import TactusArithmetic
import TactusChoices
public import TactusOSC

/// An OSC message to another program, and its text: `192.168.7.9:10023 /fx/1/par/01 {60000 / bpm * 3/4}`.
public struct OutwardMessage: Hashable, Sendable {
  /// The length limit of the text in bytes.
  public static let longest = 255
  static let mostArguments = 8
  static let allowed =
    "ADDRESS:PORT /address and arguments: 3, 0.5, word, \"a text\", true, {60000 / bpm * 3/4}, or i{...} for a whole number"

  private enum Part: Hashable {
    case fixed(Argument)
    case formula(Formula, isWhole: Bool)
  }

  public let target: Endpoint
  public let address: String
  private let parts: [Part]

  /// Parses a message's text. A refusal names the part that is wrong.
  public init(_ text: some StringProtocol) throws(Refusal) {
    guard text.utf8.count <= Self.longest, text.isPrintable else {
      throw .range("at most \(Self.longest) bytes of printable text")
    }
    let words = try OutwardWords(text).all
    guard words.count >= 2, case .plain(let host) = words[0], case .plain(let address) = words[1] else {
      throw .range(Self.allowed)
    }
    guard let target = Endpoint(host), target.port > 0, !target.address.isEvery, !target.address.isOfMany,
      !target.address.isIPv6LinkLocal
    else {
      throw .range("the message begins with ADDRESS:PORT such as 192.168.7.9:10023, not \(shown(host))")
    }
    let letters = address.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"#*,?[]{}\"".utf8.contains($0) }
    guard address.hasPrefix("/"), letters else {
      throw .range("after the port comes an OSC address such as /fx/1/par/01, not \(shown(address))")
    }
    guard words.count - 2 <= Self.mostArguments else {
      throw .range("at most \(Self.mostArguments) arguments")
    }
    self.target = target
    self.address = address
    var parts: [Part] = []
    for word in words.dropFirst(2) { parts.append(try Self.part(word)) }
    self.parts = parts
  }

  private static func part(_ word: OutwardWords.Word) throws(Refusal) -> Part {
    switch word {
    case .quoted(let text): return .fixed(.string(text))
    case .plain("true"): return .fixed(.truth(true))
    case .plain("false"): return .fixed(.truth(false))
    case .plain(let text):
      if let whole = Int32(text) { return .fixed(.int32(whole)) }
      let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x2E }
      if isPlain, let number = Float(text), number.isFinite { return .fixed(.float32(number)) }
      return .fixed(.string(text))
    case .formula(let text, let isWhole):
      do throws(Formula.Fault) {
        return .formula(try Formula(text, names: Self.names), isWhole: isWhole)
      } catch {
        throw .range("{\(shown(text))}: \(error.text)")
      }
    }
  }

  /// The names that a formula can use.
  static let names = ["bpm", "beat", "bar", "beats", "quantum"]

  /// The message with the values of this moment. nil: a formula has no result now, or one that OSC cannot
  /// express.
  func message(_ state: SurfaceState, tempo: Double, at now: Micros) -> Message? {
    let values = state.outwardValues(tempo: tempo, at: now)
    var arguments: [Argument] = []
    for part in parts {
      switch part {
      case .fixed(let argument): arguments.append(argument)
      case .formula(let formula, let isWhole):
        guard let value = formula.value(values) else { return nil }
        if isWhole {
          guard let whole = Int32(exactly: value.rounded()) else { return nil }
          arguments.append(.int32(whole))
        } else {
          guard Float(value).isFinite else { return nil }
          arguments.append(.float32(Float(value)))
        }
      }
    }
    return Message(address, arguments: arguments)
  }
}

/// The musical moment at which a message is sent by itself.
public enum OutwardMoment: UInt8, Word {
  /// The session's tempo has changed; the message is also sent once at the start.
  case tempo
  case beat
  case bar
  /// The song starts to roll.
  case start
  case stop
}

/// A line of `--osc-tell`: a moment and the message that is sent then.
public struct OutwardLine: Hashable, Sendable {
  /// How many lines are allowed.
  public static let limit = 64
  public static let allowed =
    "\(OutwardMoment.allCases.map(\.word).joined(separator: ", ")), then \(OutwardMessage.allowed)"

  public let moment: OutwardMoment
  public let message: OutwardMessage

  public init(_ text: String) throws(Refusal) {
    let words = text.drop { $0 == " " }
    let first = words.prefix { $0 != " " }
    guard let moment = OutwardMoment.allCases.first(where: { $0.word == first }) else {
      let moments = OutwardMoment.allCases.map(\.word).joined(separator: ", ")
      throw .range("the text begins with one of \(moments), not \(shown(first))")
    }
    self.moment = moment
    message = try OutwardMessage(words.dropFirst(first.count))
  }
}

/// Splits a text at spaces, except within quotes and braces.
private struct OutwardWords {
  enum Word {
    case plain(String)
    case quoted(String)
    case formula(String, isWhole: Bool)
  }

  private(set) var all: [Word] = []

  init(_ text: some StringProtocol) throws(Refusal) {
    var rest = text.drop { $0 == " " }
    while let first = rest.first {
      if first == "\"" {
        all.append(.quoted(try Self.read(&rest, opening: 1, until: "\"")))
      } else if first == "{" {
        all.append(.formula(try Self.read(&rest, opening: 1, until: "}"), isWhole: false))
      } else if rest.hasPrefix("i{") {
        all.append(.formula(try Self.read(&rest, opening: 2, until: "}"), isWhole: true))
      } else {
        let word = rest.prefix { $0 != " " }
        all.append(.plain(String(word)))
        rest = rest[word.endIndex...]
      }
      guard rest.first.map({ $0 == " " }) != false else {
        throw .range("a space is missing before \(shown(rest))")
      }
      rest = rest.drop { $0 == " " }
    }
  }

  private static func read<Text: StringProtocol>(
    _ rest: inout Text, opening: Int, until end: Character
  ) throws(Refusal) -> String where Text.SubSequence == Text {
    let inner = rest.dropFirst(opening)
    guard let close = inner.firstIndex(of: end) else { throw .range("a \(end) is missing: \(shown(rest))") }
    let text = String(inner[..<close])
    rest = inner[inner.index(after: close)...]
    return text
  }
}

private func shown(_ text: some StringProtocol) -> String { printable(String(text), limit: 40) }

extension SurfaceState {
  /// The values of `OutwardMessage.names`, in the same order.
  fileprivate func outwardValues(tempo: Double, at now: Micros) -> [Double] {
    let bars = shownBars
    // Beats are whole millionths, so the beat of a bar line may be rounded down. Without this addition,
    // such a beat would count to the bar before.
    let beat = shownBeats(at: now).value + 1e-5
    let here = bars.place(at: beat)
    let meter = bars.meter(at: ThirtySeconds.before(beat))
    return [tempo, Double(here.note + 1), Double(here.bar + 1), Double(meter.beats), choices.quantum]
  }
}
