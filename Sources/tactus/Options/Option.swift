// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import HostSync

/// One option: how it is spelt, what it takes, where that goes, and the words for it.
///
/// All that has to know the options reads the same list of these (the parser and the help text today), so
/// that nothing can know an option that the others don't. Generic over what is set, so that the parser can
/// be tested with options of every form.
struct Option<Settings>: Sendable {
  let long: String
  let short: Character?
  let section: Section
  let form: Form<Settings>
  let help: String

  init(
    _ long: String, _ short: Character? = nil, in section: Section, _ form: Form<Settings>, help: String
  ) {
    self.long = long
    self.short = short
    self.section = section
    self.form = form
    self.help = help
  }
}

/// The headings of the help text, in their order.
enum Section: String, CaseIterable, Sendable {
  case jack = "JACK"
  case session = "Session and transport"
  case outputs = "Click, clock and pulses"
  case surface = "Control by OSC"
  case other = "Other"
}

enum Form<Settings>: Sendable {
  /// `--wait`, and `--no-wait` to take it back.
  case flag(WritableKeyPath<Settings, Bool> & Sendable)
  /// `--name NAME`, `--name=NAME`, `-nNAME`, `-n NAME`.
  case value(Value<Settings>)
  /// `--click[=WHEN]`: a value only if it is attached; `bare` is what the option means without.
  case optionalValue(Value<Settings>, bare: String)
  /// `--help`: nothing after it is read.
  case answer(@Sendable (inout Settings) -> Void)
}

/// A value of an option: what is allowed, in a form that can be listed, and how it is put in its place.
struct Value<Settings>: Sendable {
  let placeholder: String
  let allowed: Allowed
  /// The text was already found to be allowed.
  let store: @Sendable (inout Settings, String) -> Void

  static func text(
    _ placeholder: String, upTo limit: Int, _ place: WritableKeyPath<Settings, String> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: .text(limit)) { $0[keyPath: place] = $1 }
  }

  static func text(
    _ placeholder: String, upTo limit: Int, _ place: WritableKeyPath<Settings, String?> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: .text(limit)) { $0[keyPath: place] = $1 }
  }

  /// May be given several times; the values add up.
  static func list(
    _ placeholder: String, upTo limit: Int, _ place: WritableKeyPath<Settings, [String]> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: .text(limit)) { $0[keyPath: place].append($1) }
  }

  static func number(
    _ placeholder: String, _ range: ClosedRange<Double>,
    _ place: WritableKeyPath<Settings, Double> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: .number(range)) {
      if let number = Double($1) { $0[keyPath: place] = number }
    }
  }

  static func integer(
    _ placeholder: String, _ range: ClosedRange<Int>, _ place: WritableKeyPath<Settings, Int> & Sendable
  ) -> Value {
    Value(placeholder: placeholder, allowed: .integer(range)) {
      if let number = Int($1) { $0[keyPath: place] = number }
    }
  }

  static func choice<Choice: CaseIterable & RawRepresentable & Sendable>(
    _ placeholder: String, _ place: WritableKeyPath<Settings, Choice> & Sendable
  ) -> Value where Choice.RawValue == String {
    Value(placeholder: placeholder, allowed: .choice(Choice.allCases.map(\.rawValue))) {
      if let choice = Choice(rawValue: $1) { $0[keyPath: place] = choice }
    }
  }
}

/// What may be written for a value.
enum Allowed: Equatable, Sendable {
  /// Printable, not empty, at most so many bytes.
  case text(Int)
  case number(ClosedRange<Double>)
  case integer(ClosedRange<Int>)
  case choice([String])
  /// Beats per bar and their unit: 7/8.
  case meter
  /// klick's letters.
  case pattern
  /// An IPv4 or IPv6 address; such an address or a network of them; an address with a port.
  case address, network, endpoint

  /// Why the text can't be had, or nil if it can.
  func objection(to text: String) -> String? {
    switch self {
    case .text(let limit):
      let printable = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
      return (1...limit).contains(text.utf8.count) && printable
        ? nil : "takes 1 to \(limit) bytes of printable text"
    case .number(let range):
      // "0x10", "nan" and "1e2" are numbers for Double(_:), and typing errors here.
      let plain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E].contains($0) }
      if plain, let number = Double(text), range.contains(number) { return nil }
      let comma = text.contains(",") ? ", with a point instead of a comma" : ""
      return "takes a number from \(range.lowerBound.short) to \(range.upperBound.short)\(comma)"
    case .integer(let range):
      if let number = Int(text), range.contains(number) { return nil }
      return "takes a whole number from \(range.lowerBound) to \(range.upperBound)"
    case .choice(let words):
      return words.contains(text) ? nil : "takes " + words.inWords
    case .meter:
      return Configuration.TimeSignature(text) == nil
        ? "takes 1 to 64 beats and their unit, such as 4/4 or 7/8" : nil
    case .pattern:
      return Pattern(text.utf8)?.count ?? 0 > 0
        ? nil : "takes up to 64 letters: X accent, x beat, . silence"
    case .address:
      return Host(text) != nil ? nil : "takes an address such as 192.168.7.2 or ::1"
    case .network:
      return HostRange(text) != nil ? nil : "takes an address or a network such as 192.168.7.0/24"
    case .endpoint:
      return Endpoint(text).map { $0.port > 0 } == true
        ? nil : "takes an address and a port such as 192.168.7.20:9000"
    }
  }
}

extension Double {
  /// 20 rather than 20.0.
  fileprivate var short: String {
    let text = description
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}

extension [String] {
  /// "link, host or auto"
  fileprivate var inWords: String {
    count < 2 ? joined() : dropLast().joined(separator: ", ") + " or " + self[count - 1]
  }
}
