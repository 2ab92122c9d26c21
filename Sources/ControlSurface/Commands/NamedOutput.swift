// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
public import Choices
import OSC

/// An output that the user has added, and how it is written down: `drums=clock offset=4 rate=2`.
public struct NamedOutput: Hashable, Sendable {
  /// Its port's name, and the part of its addresses.
  public let name: String
  public var settings: OutputSettings

  public init(name: String, settings: OutputSettings) {
    self.name = name
    self.settings = settings
  }

  public static let longest = 255
  public static let allowed =
    "NAME=KIND, where KIND is \(OutputKind.allCases.map(\.word).joined(separator: ", ")), and its settings after it as in "
    + "drums=clock offset=4 rate=2"

  /// Why a text is none is told in the words of its part that is wrong.
  public init(_ text: String) throws(Refusal) {
    let words = text.split(separator: " ").map(String.init)
    let ends = (words.first ?? "").split(separator: "=", omittingEmptySubsequences: false).map(String.init)
    guard ends.count == 2, text.utf8.count <= Self.longest else { throw .range(Self.allowed) }
    try Self.check(name: ends[0])
    guard let kind = OutputKind.allCases.first(where: { $0.word == ends[1] }) else {
      throw .range(
        "an output is \(OutputKind.allCases.map(\.word).joined(separator: ", ")), not \(printable(ends[1], limit: 40))"
      )
    }
    name = ends[0]
    settings = OutputSettings(kind)
    for word in words.dropFirst() {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let choice = OutputChoice.all(of: kind).first(where: { $0.path == parts[0] })
      else {
        let known = OutputChoice.all(of: kind).filter(\.isWritten).map(\.path).joined(separator: ", ")
        throw .range(
          "the settings of a \(kind.word) are \(known), each with = and a value, not \(printable(word, limit: 40))"
        )
      }
      try choice.set(&settings, text: parts[1])
    }
  }

  /// With what is not as it is without saying it.
  public var text: String {
    let plain = OutputSettings(settings.kind)
    let words = OutputChoice.all(of: settings.kind).filter { choice in
      choice.isWritten && choice.get(settings) != choice.get(plain)
    }
    return (["\(name)=\(settings.kind.word)"] + words.map { "\($0.path)=\($0.text(settings))" })
      .joined(separator: " ")
  }

  /// A part of an address, a word of a configuration and a JACK port at once; and none of the ports that are there anyway, nor of
  /// those that Link Audio makes.
  static func check(name: String) throws(Refusal) {
    let isPlain = name.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
    guard isPlain, (1...32).contains(name.utf8.count) else {
      throw .range("a name has 1 to 32 letters, digits, - and _, unlike \(printable(name, limit: 40))")
    }
    guard !taken.contains(name), !name.hasPrefix("send_"), !name.hasSuffix("_l"), !name.hasSuffix("_r") else {
      throw .range("tactus has ports or addresses of its own like \(name); take another name")
    }
  }

  /// Whether an output can be called so.
  public static func isName(_ text: String) -> Bool { (try? check(name: text)) != nil }

  private static let taken: Set<String> = [
    "click_1", "click_2", "clock", "pulse", "run", "control", "jack", "add", "remove", "list",
  ]
}

/// One setting of an output: its address below the output's own, its word in a line, its value.
struct OutputChoice: Sendable {
  let path: String
  let kinds: Set<OutputKind>
  let words: String
  let parameter: Parameter
  /// Not from one run to the next.
  var isWritten = true
  let get: @Sendable (OutputSettings) -> Value
  let set: @Sendable (inout OutputSettings, Value) throws(Refusal) -> Void

  init<T: Choosable>(
    _ path: String, _ kinds: Set<OutputKind>, _ place: WritableKeyPath<OutputSettings, T> & Sendable,
    _ words: String, within parameter: Parameter? = nil, isWritten: Bool = true
  ) {
    self.path = path
    self.kinds = kinds
    self.words = words
    self.parameter = parameter ?? T.parameters[0]
    self.isWritten = isWritten
    get = { $0[keyPath: place].values?.first ?? .text("") }
    set = { settings, value throws(Refusal) in settings[keyPath: place] = try T([value]) }
  }

  static func all(of kind: OutputKind) -> [OutputChoice] { all.filter { $0.kinds.contains(kind) } }

  func text(_ settings: OutputSettings) -> String {
    if case .flag = parameter { return get(settings).isOn ? "yes" : "no" }
    return parameter.text(get(settings))
  }

  func set(_ settings: inout OutputSettings, text: String) throws(Refusal) {
    if case .flag = parameter {
      guard ["yes", "no"].contains(text) else {
        throw .range("\(path) is yes or no, not \(printable(text, limit: 40))")
      }
      return try set(&settings, .flag(text == "yes"))
    }
    guard let value = parameter.value(of: text) else {
      throw .range("\(path) is \(parameter.allowed), not \(printable(text, limit: 40))")
    }
    try set(&settings, value)
  }

  private static let gates: Set<OutputKind> = [.pulse, .run, .reset]

  private static let all: [OutputChoice] = [
    OutputChoice(
      "offset", [.clock, .pulse, .run, .reset], \.offset, "Send it this much earlier.",
      within: .number(-500...500, unit: "ms")),
    OutputChoice(
      "rate", [.clock], \.clock.rate,
      "The machine's tempo as a multiple of the session's: 1 is 24 clocks a beat, 2 is 48, 1/2 is 12; from 1/4 to 4."
    ),
    OutputChoice(
      "rate", [.pulse, .reset], \.gate.rate,
      "How often: 4 is four a beat, 3/2 three in two beats, 1/bar, 1/8bars; up to 96 a beat, down to 1/64bars. A reset's may be "
        + "start, too: then it comes at the song's start alone."),
    OutputChoice(
      "when", [.clock], \.clock.when, "When clocks are sent: always, or only while the transport rolls."),
    OutputChoice(
      "when", [.pulse], \.gate.when, "When pulses are sent: always, or only while the transport rolls."),
    OutputChoice(
      "transport", [.clock], \.clock.sendsTransport, "Send Start, Stop and Continue, not clocks alone."),
    OutputChoice(
      "position", [.clock], \.clock.sendsPosition,
      "Send song positions. Without them a start in the middle of the song is a Start on the song's next bar."
    ),
    OutputChoice(
      "settle", [.clock], \.clock.settle,
      "The time that the receiver gets between a song position and Continue.",
      within: .number(1...2000, unit: "ms")),
    OutputChoice(
      "play", [.clock], \.clock.plays,
      "0 stops this machine alone. 1 while the song rolls starts it, alone, on the song's next bar.",
      isWritten: false),
    OutputChoice(
      "width", gates.subtracting([.run]), \.gate.width,
      "How long a pulse is; where pulses come close, two fifths of the time between them.",
      within: .number(0.1...1000, unit: "ms")),
    OutputChoice(
      "level", gates, \.gate.level, "How high it goes; 1 is all that the sound card can do.",
      within: .number(0.01...1)),
    OutputChoice("invert", gates, \.gate.isInverted, "High at rest, low for the pulse."),
  ]
}

extension OutputKind: Word {}

/// A clock's rate, written as a part or a multiple of 24 clocks a beat.
private struct ClockRate: Choosable {
  let perBeat: Int32

  static let allowed = "1/4 to 4 times 24 clocks a beat, as in 2, 1/2 and 3/4"
  static var parameters: [Parameter] { [.text(limit: 8)] }

  init(perBeat: Int32) { self.perBeat = perBeat }

  var values: [Value]? {
    let parts: Int32 = (Int32(1)...24).first(where: { perBeat * $0 % 24 == 0 }) ?? 24
    return [.text(parts == 1 ? "\(perBeat / 24)" : "\(perBeat * parts / 24)/\(parts)")]
  }

  init(_ values: [Value]) throws(Refusal) {
    let parts = values[0].text.split(separator: "/", omittingEmptySubsequences: false).map {
      Int32(plain: String($0)) ?? 0
    }
    guard (1...2).contains(parts.count), parts.allSatisfy({ (1...96).contains($0) }) else {
      throw .range(Self.allowed)
    }
    let parted = parts.count == 2 ? parts[1] : 1
    guard parts[0] * 24 % parted == 0, (6...96).contains(parts[0] * 24 / parted) else {
      throw .range(Self.allowed)
    }
    perBeat = parts[0] * 24 / parted
  }
}

extension ClockSettings {
  fileprivate var rate: ClockRate {
    get { ClockRate(perBeat: perBeat) }
    set { perBeat = newValue.perBeat }
  }
}

extension Rate: Choosable {
  static let allowed =
    "up to 96 a beat as in 4 or 3/2, so many in 1 to 64 beats or bars as in 1/bar and 3/8bars, or start"

  public static var parameters: [Parameter] { [.text(limit: 16)] }
  public var values: [Value]? { [.text(word)] }

  private var word: String {
    if count == 0 { return "start" }
    if isInBars { return span == 1 ? "\(count)/bar" : "\(count)/\(span)bars" }
    return span == 1 ? "\(count)" : "\(count)/\(span)"
  }

  public init(_ values: [Value]) throws(Refusal) {
    let text = values[0].text
    if text == "start" {
      self.init(0)
      return
    }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard (1...2).contains(parts.count), let count = Int32(plain: parts[0]),
      (1...Rate.mostCount).contains(count)
    else { throw .range(Rate.allowed) }
    guard parts.count == 2 else {
      self.init(count)
      return
    }
    let unit = ["bars", "bar"].first { parts[1].hasSuffix($0) }
    let digits = String(parts[1].dropLast(unit.map(\.count) ?? 0))
    let written: Int32? = unit != nil && digits.isEmpty ? 1 : Int32(plain: digits)
    guard let span = written, (1...Rate.longestSpan).contains(span) else { throw .range(Rate.allowed) }
    self.init(count, in: span, isInBars: unit != nil)
  }
}

extension Int32 {
  /// Digits alone.
  fileprivate init?(plain text: String) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int32(text) else {
      return nil
    }
    self = value
  }
}
