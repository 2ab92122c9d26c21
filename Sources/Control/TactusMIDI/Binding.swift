// SPDX-License-Identifier: GPL-2.0-or-later

/// Binds an event of a MIDI controller, or a key, to the addresses that it changes. Bindings of events are
/// `note 36 ch 10 = tempo/tap`, `cc 7 = click/volume`, `cc 1 = tempo 60..180`, `note 40 = tempo 128 bar` and
/// `note 41 = rewind, start`; a binding of the key x is `x = click/sound wood`.
public struct Binding<Event: LosslessStringConvertible & Hashable & Sendable>: Hashable, Sendable,
  LosslessStringConvertible
{
  public let event: Event
  public let targets: [Target]

  package init(_ event: Event, _ targets: [Target]) {
    self.event = event
    self.targets = targets
  }

  public init?(_ text: String) {
    guard let (event, parts) = Self.split(text), parts.count <= Target.limit else { return nil }
    let targets = parts.compactMap { Target($0) }
    guard targets.count == parts.count else { return nil }
    self.init(event, targets)
  }

  /// Splits a text into the event and the texts of its targets.
  package static func split(_ text: String) -> (event: Event, targets: [Substring])? {
    // Skip the first character: for the key `=` it is an equals sign, too, but not the equals sign between
    // event and targets.
    guard let first = text.firstIndex(where: { $0 != " " }),
      let sign = text[first...].dropFirst().firstIndex(of: "="), let event = Event(String(text[..<sign]))
    else { return nil }
    return (event, Target.split(text[sign...].dropFirst()))
  }

  public var description: String {
    "\(event) = " + targets.map(\.description).joined(separator: ", ")
  }
}

public typealias MIDIBinding = Binding<MIDIEventName>

/// An address of the control surface with fixed arguments, or with the range that a knob covers.
public struct Target: Hashable, Sendable, CustomStringConvertible {
  /// Length limit of a target's text in bytes. The text of a target that was read can always be written and
  /// read again.
  static let longest = 128
  /// The largest number of targets of one event.
  public static let limit = 8

  /// Address below the surface's root.
  public let path: String
  public let arguments: [String]
  public let range: ClosedRange<Double>?
  /// Whether the range's higher value is at the knob's left end.
  public let isReversed: Bool

  package init(
    path: String, arguments: [String] = [], range: ClosedRange<Double>? = nil, isReversed: Bool = false
  ) {
    self.path = path
    self.arguments = arguments
    self.range = range
    self.isReversed = isReversed
  }

  /// Short names for addresses that a user would have to look up.
  private static let short = [
    "tap": "tempo/tap", "nudge": "tempo/nudge", "volume": "click/volume",
  ]

  /// Reads an address, written in full or without `/tactus/`, and after it the arguments or `LOW..HIGH`.
  public init?(_ text: some StringProtocol) {
    let words = String(text).split { $0 == " " }.map(String.init)
    guard var path = words.first else { return nil }
    if path.hasPrefix("/tactus/") { path.removeFirst("/tactus/".count) }
    let allowed = path.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"#*,?[]{}\"=".utf8.contains($0) }
    guard !path.isEmpty, allowed, !path.hasPrefix("/") else { return nil }
    path = Self.short[path] ?? path
    // A click's pattern may contain points, too: `X..x` is no range.
    let isPattern = words.count == 2 && words[1].utf8.allSatisfy { "Xx.".utf8.contains($0) }
    guard words.count == 2, !isPattern, let dots = words[1].firstRange(of: "..") else {
      self.init(path: path, arguments: Array(words.dropFirst()))
      guard description.utf8.count <= Self.longest else { return nil }
      return
    }
    guard let low = Double(words[1][..<dots.lowerBound]), let high = Double(words[1][dots.upperBound...]),
      low.isFinite, high.isFinite
    else { return nil }
    self.init(path: path, range: min(low, high)...max(low, high), isReversed: low > high)
    guard description.utf8.count <= Self.longest else { return nil }
  }

  /// Splits a list of targets at its commas, except those in quotes.
  package static func split(_ text: Substring) -> [Substring] {
    var isQuoted = false
    return text.split(omittingEmptySubsequences: false) { character in
      if character == "\"" { isQuoted.toggle() }
      return character == "," && !isQuoted
    }
  }

  public var description: String {
    guard let range else { return ([path] + arguments).joined(separator: " ") }
    let (low, high) = isReversed ? (range.upperBound, range.lowerBound) : (range.lowerBound, range.upperBound)
    return "\(path) \(low)..\(high)"
  }

  /// The value in the range for a knob's level.
  public func value(at level: Double, in range: ClosedRange<Double>) -> Double {
    let place = isReversed ? 1 - level : level
    return range.lowerBound + place * (range.upperBound - range.lowerBound)
  }
}
