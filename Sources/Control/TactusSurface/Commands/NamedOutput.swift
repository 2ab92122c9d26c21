// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
public import TactusChoices
import TactusOSC

/// An output that the user has added. Its text is like `drums=clock offset=4 rate=2`.
public struct NamedOutput: Hashable, Sendable {
  /// The name of the output's port; also a part of the output's addresses.
  public let name: String
  public var settings: OutputSettings
  /// The offset in microseconds; a positive value makes the output earlier, as in `Settings.offsets`.
  public var offset = Micros(0)

  public init(name: String, settings: OutputSettings) {
    self.name = name
    self.settings = settings
  }

  public static let longest = 255
  public static let allowed =
    "NAME=KIND, where KIND is \(OutputKind.allCases.map(\.word).joined(separator: ", ")), then its settings, as in "
    + "drums=clock offset=4 rate=2"

  /// Parses an output's text. A refusal names the part that is wrong.
  public init(_ text: String) throws(Refusal) {
    let words = text.split(separator: " ").map(String.init)
    let ends = (words.first ?? "").split(separator: "=", omittingEmptySubsequences: false).map(String.init)
    guard ends.count == 2, !ends[1].isEmpty, text.utf8.count <= Self.longest else {
      throw .range(Self.allowed)
    }
    try Self.check(name: ends[0])
    guard let kind = OutputKind.allCases.first(where: { $0.word == ends[1] }) else {
      throw .range(
        "an output's kind is \(OutputKind.allCases.map(\.word).joined(separator: ", ")), not \(printable(ends[1], limit: 40))"
      )
    }
    name = ends[0]
    settings = OutputSettings(kind)
    var given: Set<String> = []
    for word in words.dropFirst() {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let choice = OutputChoice.all(of: kind).first(where: { $0.path == parts[0] })
      else {
        let known = OutputChoice.all(of: kind).filter(\.isWritten).map(\.path).joined(separator: ", ")
        throw .range(
          "the settings of a \(kind.word) are \(known), each with = and a value, not \(printable(word, limit: 40))"
        )
      }
      guard given.insert(choice.path).inserted else {
        throw .range("\(choice.path) is given twice")
      }
      try choice.set(&self, text: parts[1])
    }
    try check()
  }

  /// The output's kind and settings as text, without settings that have their default values.
  public var text: String {
    let plain = NamedOutput(name: name, settings: OutputSettings(settings.kind))
    let words = OutputChoice.all(of: settings.kind).filter { choice in
      choice.isWritten && choice.value(self) != choice.value(plain)
    }
    return (["\(name)=\(settings.kind.word)"] + words.map { "\($0.path)=\($0.text(self))" })
      .joined(separator: " ")
  }

  /// Checks a name. It becomes a part of an address, a word of a configuration and a JACK port, and must not
  /// be the name of a standard port or of a port that Link Audio makes.
  static func check(name: String) throws(Refusal) {
    let isPlain = name.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
    guard isPlain, (1...32).contains(name.utf8.count) else {
      throw .range("a name has 1 to 32 letters, digits, - and _, not \(printable(name, limit: 40))")
    }
    guard !taken.contains(name), !ChannelPortName.isOne(name.utf8) else {
      throw .range("\(name) is taken by a port or an address of tactus; choose another name")
    }
  }

  /// Whether an output can have this name.
  public static func isName(_ text: String) -> Bool { (try? check(name: text)) != nil }

  private static let taken: Set<String> = [
    "click_1", "click_2", "clock", "pulse", "run", "control", "jack", "add", "remove", "list",
    "changes",
  ]
}

extension OutputKind: Word {}

extension NamedOutput {
  /// Checks whether settings that are each valid fit together.
  func check() throws(Refusal) {
    if let timecode = settings.timecode, !timecode.start.exists(at: timecode.rate) {
      let why =
        timecode.rate.isDrop
        ? "skips frames 00 and 01 of each minute, except of every tenth minute"
        : "has frames 00 to \(timecode.rate.numbers - 1)"
      throw .range(
        "there is no timecode \(timecode.start.word) to start at: fps \(timecode.rate.word) \(why)")
    }
    if case .pulse(let gate) = settings, gate.rate.count == 0 {
      throw .range("a pulse's rate is \(Rate.often); start is for a reset")
    }
  }

  /// Takes over from `present` whether the clock plays, so that new settings do not start a stopped clock.
  public mutating func keepPlaying(as present: NamedOutput) {
    if let plays = present.settings.clock?.plays { settings.clock?.plays = plays }
  }
}
