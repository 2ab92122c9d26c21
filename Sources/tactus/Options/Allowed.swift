// SPDX-License-Identifier: GPL-2.0-or-later
import Choices
import ControlSurface
import HostSync
import JACKHost
import JSON5
import MIDIControl
import OSC
import TerminalView

/// What may be written for a value.
enum Allowed: Equatable, Sendable {
  /// What a choice can be.
  case domain(Domain)
  /// Printable, not empty, at most so many bytes.
  case text(Int)
  /// The path of a file, absolute or from where the program was started.
  case file
  /// An IPv4 or IPv6 address; such an address or a network of them; an address with a port.
  case address, network, endpoint
  /// A key, knob or pedal and what it moves.
  case binding
  /// A key of the terminal view and what it does.
  case key
  /// Two JACK ports, with an = between them.
  case connection
  /// A number from 1 to 65535, or one of these words.
  case port(orWords: [String])

  static func number(_ range: ClosedRange<Double>) -> Allowed { .domain(.number(range, unit: "")) }
  static func integer(_ range: ClosedRange<Int>) -> Allowed { .domain(.whole(range, unit: "")) }
  static func choice(_ words: [String]) -> Allowed { .domain(.word(words)) }

  /// "a number from 20 to 999"
  var words: String {
    switch self {
    case .domain(.flag): "true or false"
    case .domain(.number(let range, _)):
      "a number from \(shortest(range.lowerBound)) to \(shortest(range.upperBound))"
    case .domain(.whole(let range, _)): "a whole number from \(range.lowerBound) to \(range.upperBound)"
    case .domain(.word(let words)): words.inWords
    case .domain(.meter): "1 to 64 beats and their unit, such as 4/4 or 7/8"
    case .domain(.pattern): "up to 64 letters: X accent, x beat, . silence"
    case .text(let limit): "1 to \(limit) bytes of printable text"
    case .file: "the path of a file"
    case .address: "an address such as 192.168.7.2 or ::1"
    case .network: "an address or a network such as 192.168.7.0/24"
    case .endpoint: "an address and a port such as 192.168.7.20:9000"
    case .key:
      "a key (a character, \(Key.names.inWords)) and what it does, such as \"x = start bar\""
    case .binding: "an event and what it moves, such as \"note 36 ch 10 = tap\" or \"cc 7 = click/volume\""
    case .connection: "two JACK ports such as click_1=system:playback_1"
    case .port(let words): "a port from 1 to 65535, " + words.inWords
    }
  }

  /// The words to choose from, if there are some.
  var list: [String] {
    switch self {
    case .domain(.word(let words)), .port(let words): words
    case .domain, .text, .file, .address, .network, .endpoint, .binding, .key, .connection: []
    }
  }

  var isNumber: Bool {
    switch self {
    case .domain(.number), .domain(.whole): true
    case .domain, .text, .file, .address, .network, .endpoint, .binding, .key, .connection, .port: false
    }
  }

  func accepts(_ text: String) -> Bool {
    switch self {
    case .domain(let domain):
      // "0x10", "nan" and "1e2" are numbers for Double(_:), and typing errors here.
      let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E].contains($0) }
      return (isPlain || !isNumber) && domain.values(of: text) != nil
    case .text(let limit): return Self.isPrintable(text) && (1...limit).contains(text.utf8.count)
    case .file: return Self.isPrintable(text) && (1...4096).contains(text.utf8.count)
    case .address: return Address(text) != nil
    case .network: return AddressRange(text) != nil
    case .endpoint: return Endpoint(text).map { $0.port > 0 } == true
    case .binding, .key: return targets(of: text) != nil && because(text).isEmpty
    case .connection: return StandingConnection(text) != nil
    case .port(let words): return words.contains(text) || Int(text).map((1...65_535).contains) == true
    }
  }

  /// Why what is written well can't be: the rest of a line that refuses it.
  func because(_ text: String) -> String {
    targets(of: text).flatMap { Table.standard.objection(to: $0, ofKey: self == .key) }.map { ": \($0)" }
      ?? ""
  }

  private func targets(of text: String) -> [Target]? {
    switch self {
    case .binding: MIDIBinding(text)?.targets
    case .key: KeyBinding(text)?.targets
    case .domain, .text, .file, .address, .network, .endpoint, .connection, .port: nil
    }
  }

  private static func isPrintable(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
  }
}

// In a file, a number is a number and not its digits in quotes.
extension Allowed {
  /// What one would type for this value; nil if it can't be had.
  func text(from value: JSON5) -> String? {
    switch (self, value) {
    case (.domain(.number), .number(let number, _)):
      return accepted(shortest(number))
    case (.domain(.whole), .number(let number, _)), (.port, .number(let number, _)):
      return Int(exactly: number).flatMap { accepted("\($0)") }
    case (.domain(.word), .number(_, let written)): return accepted(written)
    case (.port(let words), .string(let text)): return words.contains(text) ? text : nil
    case (.domain(.number), _), (.domain(.whole), _): return nil
    case (_, .string(let text)): return accepts(text) ? text : nil
    case (.domain, _), (.text, _), (.file, _), (.address, _), (.network, _), (.endpoint, _), (.binding, _),
      (.key, _),
      (.connection, _), (.port, _):
      return nil
    }
  }

  private func accepted(_ text: String) -> String? {
    if case .domain(let domain) = self { return domain.values(of: text) == nil ? nil : text }
    return accepts(text) ? text : nil
  }

  /// How a file says what one would type.
  func value(of text: String) -> JSON5 {
    switch self {
    case .domain(.number), .domain(.whole): Double(text).map { .number($0, written: text) } ?? .null
    case .port: Int(text).map { .of($0) } ?? .string(text)
    case .domain, .text, .file, .address, .network, .endpoint, .binding, .key, .connection: .string(text)
    }
  }
}

extension [String] {
  /// "link, host or auto"
  var inWords: String {
    count < 2 ? joined() : dropLast().joined(separator: ", ") + " or " + self[count - 1]
  }
}

extension StandingConnection {
  /// `click_1=system:playback_1`, `tactus:clock=system:midi_playback_*`
  init?(_ text: String) {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.count <= 320 }),
      text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else { return nil }
    self = .ports(String(parts[0]), String(parts[1]))
  }
}
