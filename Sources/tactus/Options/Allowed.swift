// SPDX-License-Identifier: GPL-2.0-or-later
import Choices
import ControlSurface
import HostSync
import JACKHost
import JSON5
import MIDIControl
import OSC

/// What may be written for a value.
enum Allowed: Equatable, Sendable {
  /// Printable, not empty, at most so many bytes.
  case text(Int)
  /// The path of a file, absolute or from where the program was started.
  case file
  case number(ClosedRange<Double>)
  case integer(ClosedRange<Int>)
  case choice([String])
  /// Beats per bar and their unit: 7/8.
  case meter
  /// klick's letters.
  case pattern
  /// An IPv4 or IPv6 address; such an address or a network of them; an address with a port.
  case address, network, endpoint
  /// A key, knob or pedal and what it moves.
  case binding
  /// Two JACK ports, with an = between them.
  case connection
  /// A number from 1 to 65535, or one of these words.
  case port(orWords: [String])

  /// "a number from 20 to 999"
  var words: String {
    switch self {
    case .text(let limit): "1 to \(limit) bytes of printable text"
    case .file: "the path of a file"
    case .number(let range): "a number from \(range.lowerBound.short) to \(range.upperBound.short)"
    case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
    case .choice(let words): words.inWords
    case .meter: "1 to 64 beats and their unit, such as 4/4 or 7/8"
    case .pattern: "up to 64 letters: X accent, x beat, . silence"
    case .address: "an address such as 192.168.7.2 or ::1"
    case .network: "an address or a network such as 192.168.7.0/24"
    case .endpoint: "an address and a port such as 192.168.7.20:9000"
    case .binding: "an event and what it moves, such as \"note 36 ch 10 = tap\" or \"cc 7 = click/volume\""
    case .connection: "two JACK ports such as click_1=system:playback_1"
    case .port(let words): "a port from 1 to 65535, " + words.inWords
    }
  }

  /// The words to choose from, if there are some.
  var list: [String] {
    switch self {
    case .choice(let words), .port(let words): words
    case .text, .file, .number, .integer, .meter, .pattern, .address, .network, .endpoint, .binding,
      .connection:
      []
    }
  }

  var isNumber: Bool {
    switch self {
    case .number, .integer: true
    case .text, .file, .choice, .meter, .pattern, .address, .network, .endpoint, .binding, .connection, .port:
      false
    }
  }

  func accepts(_ text: String) -> Bool {
    switch self {
    case .text(let limit): return Self.isPrintable(text) && (1...limit).contains(text.utf8.count)
    case .file: return Self.isPrintable(text) && (1...4096).contains(text.utf8.count)
    case .number(let range):
      // "0x10", "nan" and "1e2" are numbers for Double(_:), and typing errors here.
      let plain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E].contains($0) }
      return plain && Double(text).map(range.contains) == true
    case .integer(let range): return Int(text).map(range.contains) == true
    case .choice(let words): return words.contains(text)
    case .meter: return Meter(text) != nil
    case .pattern: return Pattern(text.utf8)?.count ?? 0 > 0
    case .address: return Address(text) != nil
    case .network: return AddressRange(text) != nil
    case .endpoint: return Endpoint(text).map { $0.port > 0 } == true
    case .binding: return MIDIBinding(text).map { Table.objection(to: $0) == nil } == true
    case .connection: return StandingConnection(text) != nil
    case .port(let words): return words.contains(text) || Int(text).map((1...65_535).contains) == true
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
    case (.number(let range), .number(let number, _)):
      return range.contains(number) ? number.short : nil
    case (.integer(let range), .number(let number, _)):
      return Int(exactly: number).flatMap { range.contains($0) ? "\($0)" : nil }
    case (.port, .number(let number, _)):
      return Int(exactly: number).flatMap { accepts("\($0)") ? "\($0)" : nil }
    case (.choice(let words), .number(_, let written)):
      return words.contains(written) ? written : nil
    case (.port(let words), .string(let text)):
      return words.contains(text) ? text : nil
    case (.number, _), (.integer, _): return nil
    case (_, .string(let text)): return accepts(text) ? text : nil
    case (.text, _), (.file, _), (.choice, _), (.meter, _), (.pattern, _), (.address, _), (.network, _),
      (.endpoint, _), (.binding, _), (.connection, _), (.port, _):
      return nil
    }
  }

  /// How a file says what one would type.
  func value(of text: String) -> JSON5 {
    switch self {
    case .number, .integer: Double(text).map { .number($0, written: text) } ?? .null
    case .port: Int(text).map { .of($0) } ?? .string(text)
    case .text, .file, .choice, .meter, .pattern, .address, .network, .endpoint, .binding, .connection:
      .string(text)
    }
  }
}

extension Double {
  /// 20 rather than 20.0.
  var short: String {
    let text = description
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
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
