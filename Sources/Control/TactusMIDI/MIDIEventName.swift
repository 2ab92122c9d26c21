// SPDX-License-Identifier: GPL-2.0-or-later

/// An event that a controller can send, as a user writes it: `note 36 ch 10`, `cc 64`, `mmc play`.
public struct MIDIEventName: Hashable, Sendable, BitwiseCopyable {
  public enum Kind: Hashable, Sendable, BitwiseCopyable {
    case note(UInt8)
    case controller(UInt8)
    /// The controller with this number, used as an endless wheel: it sends the steps by which it was turned.
    case jog(UInt8, JogCode)
    case program(UInt8)
    case bend
    case start, resume, stop
    case machine(MIDIMachineCommand)
  }

  public let kind: Kind
  /// The channel, 1 ... 16; nil: the name stands for all channels, or the event has no channel.
  public let channel: UInt8?

  init(_ kind: Kind, _ channel: UInt8? = nil) {
    self.kind = kind
    self.channel = channel
  }

  /// A name without a channel matches all channels.
  func matches(_ other: MIDIEventName) -> Bool {
    kind == other.kind && (channel == nil || channel == other.channel)
  }

  public var isJog: Bool { if case .jog = kind { true } else { false } }
}

/// How a wheel encodes its steps in seven bits.
public enum JogCode: String, CaseIterable, Hashable, Sendable, BitwiseCopyable {
  /// 1, 2 ... are steps forward; 127, 126 ... are steps back.
  case signed = ""
  /// 1, 2 ... are steps forward; 65, 66 ... are steps back, as Mackie's and most DAW controllers send them.
  case mackie
  /// 65, 66 ... are steps forward; 63, 62 ... are steps back.
  case offset

  /// The number of steps forward; a negative number means steps back.
  func steps(_ value: UInt8) -> Int {
    let value = Int(value & 0x7F)
    return switch self {
    case .signed: value < 64 ? value : value - 128
    case .mackie: value < 64 ? value : 64 - value
    case .offset: value - 64
    }
  }
}

extension MIDIEventName.Kind {
  /// Reads the words of an event up to its channel.
  fileprivate init?(_ words: inout ArraySlice<String>) {
    guard let first = words.popFirst() else { return nil }
    func number(_ range: ClosedRange<UInt8>) -> UInt8? {
      guard let word = words.popFirst(), let number = UInt8(word), range.contains(number) else { return nil }
      return number
    }
    switch first {
    case "note":
      guard let value = number(0...127) else { return nil }
      self = .note(value)
    case "cc":
      guard let value = number(0...119) else { return nil }
      self = .controller(value)
    case "jog":
      guard let value = number(0...119) else { return nil }
      let code = words.first.flatMap { $0.isEmpty ? nil : JogCode(rawValue: $0) }
      if code != nil { words.removeFirst() }
      self = .jog(value, code ?? .signed)
    case "program", "pc":
      guard let value = number(0...127) else { return nil }
      self = .program(value)
    case "bend": self = .bend
    case "start": self = .start
    case "continue": self = .resume
    case "stop": self = .stop
    case "mmc":
      let name = words.joined(separator: " ")
      guard let command = MIDIMachineCommand(rawValue: name) else { return nil }
      words = []
      self = .machine(command)
    default: return nil
    }
  }
}

extension MIDIEventName: LosslessStringConvertible {
  /// Reads a name. Case does not matter, and spaces are optional: "note36ch10" is allowed.
  public init?(_ text: String) {
    var words = Self.words(text)[...]
    guard let kind = Kind(&words) else { return nil }
    var channel: UInt8?
    if let word = words.popFirst() {
      guard word == "ch" || word == "channel", let word = words.popFirst(), let value = UInt8(word),
        (1...16).contains(value)
      else { return nil }
      channel = value
    }
    guard words.isEmpty else { return nil }
    switch kind {
    case .start, .resume, .stop, .machine: guard channel == nil else { return nil }
    case .note, .controller, .jog, .program, .bend: break
    }
    self.init(kind, channel)
  }

  public var description: String {
    let name =
      switch kind {
      case .note(let number): "note \(number)"
      case .controller(let number): "cc \(number)"
      case .jog(let number, let code): code == .signed ? "jog \(number)" : "jog \(number) \(code.rawValue)"
      case .program(let number): "program \(number)"
      case .bend: "bend"
      case .start: "start"
      case .resume: "continue"
      case .stop: "stop"
      case .machine(let command): "mmc \(command.rawValue)"
      }
    return channel.map { "\(name) ch \($0)" } ?? name
  }

  /// Splits a text into runs of letters and runs of digits; other characters separate the runs.
  private static func words(_ text: String) -> [String] {
    guard text.utf8.count <= 64 else { return [] }
    var words: [String] = []
    var wasDigit: Bool?
    for character in text.lowercased() {
      let isDigit = character.isASCII && character.isNumber
      guard isDigit || character.isLetter else {
        // Refuse other characters: a sign would change the meaning of the number.
        guard character == " " || character == "," || character == ":" else { return [] }
        wasDigit = nil
        continue
      }
      if wasDigit == isDigit {
        words[words.count - 1].append(character)
      } else {
        words.append(String(character))
      }
      wasDigit = isDigit
    }
    return words
  }
}

/// The commands of MIDI machine control that have an effect on tactus.
public enum MIDIMachineCommand: String, CaseIterable, Hashable, Sendable, BitwiseCopyable {
  case stop, play
  case deferredPlay = "deferred play"
  case rewind, record
  case recordEnd = "record exit"
  case pause, locate

  var code: UInt8 {
    switch self {
    case .stop: 0x01
    case .play: 0x02
    case .deferredPlay: 0x03
    case .rewind: 0x05
    case .record: 0x06
    case .recordEnd: 0x07
    case .pause: 0x09
    case .locate: 0x44
    }
  }
}
