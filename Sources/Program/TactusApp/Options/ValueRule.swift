// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import TactusChoices
import TactusJACK
import TactusJSON5
import TactusMIDI
import TactusOSC
import TactusSurface
import TactusSync
import TactusTerminal

/// Which texts are allowed for a value, and the words that describe them.
struct ValueRule: Sendable {
  /// Decides how a file writes the value, and what a shell completes.
  enum Kind {
    case text, number, whole, file
    /// A word of the list; a number or a word of the list; a number or any text.
    case word, numberOrWord, numberOrText
    /// A connection of two JACK ports, as text.
    case connection
  }

  /// The allowed values in words, such as "a number from 20 to 999".
  let words: String
  let kind: Kind
  /// The words to choose from, if any.
  let list: [String]
  /// Why a text is not allowed. nil: it is allowed. Empty: `words` say all that there is to say.
  let judge: @Sendable (String) -> String?
  /// Why a text may not join the others of its list; nil: it may.
  private(set) var objectionBeside: @Sendable (_ text: String, _ others: [String]) -> String? = { _, _ in nil
  }

  init(
    _ words: String, _ kind: Kind = .text, list: [String] = [],
    accepts: @escaping @Sendable (String) -> Bool
  ) {
    self.init(words, kind, list: list, judge: { accepts($0) ? nil : "" })
  }

  init(
    _ words: String, _ kind: Kind = .text, list: [String] = [],
    judge: @escaping @Sendable (String) -> String?
  ) {
    self.words = words
    self.kind = kind
    self.list = list
    self.judge = judge
  }

  init(_ parameter: Parameter) {
    let accepts: @Sendable (String) -> Bool = { parameter.value(of: $0) != nil }
    switch parameter {
    case .number(let range, _):
      let ends = "\(shortest(range.lowerBound)) to \(shortest(range.upperBound))"
      self.init("a number from \(ends)", .number, accepts: accepts)
    case .whole(let range, _):
      self.init("a whole number from \(range.lowerBound) to \(range.upperBound)", .whole, accepts: accepts)
    case .beats(_, let word): self.init(parameter.allowed, .numberOrWord, list: [word], accepts: accepts)
    case .word(let words): self.init(words.inWords, .word, list: words, accepts: accepts)
    case .flag, .fader, .text, .exact: self.init(parameter.allowed, accepts: accepts)
    }
  }

  init(_ choice: Choice) {
    if let written = choice.written {
      self.init(written.allowed) { choice.values(of: $0) != nil }
    } else {
      self.init(choice.parameters[0])
    }
  }

  /// A list with at most `limit` texts whose names are all different. A text without a name (nil) is never a
  /// duplicate.
  func listed(atMost limit: Int, name: @escaping @Sendable (String) -> String? = { _ in nil }) -> ValueRule {
    var listed = self
    listed.objectionBeside = { text, others in
      if others.count >= limit { return "at most \(limit) are possible" }
      guard let own = name(text), others.contains(where: { name($0) == own }) else { return nil }
      return "\(printable(own, limit: 64)) is there already"
    }
    return listed
  }

  /// Why a text on the command line is not allowed; nil: it is allowed.
  func objection(to text: String) -> String? {
    isNumber && !Parameter.isPlain(text) ? "" : judge(text)
  }

  var isNumber: Bool { kind == .number || kind == .whole }

  /// The text to store; a path becomes absolute. `document`: the file with the text; nil: a command line.
  func kept(_ text: String, in document: String? = nil) -> String {
    kind == .file && !list.contains(text) ? Places.absolute(text, beside: document) : text
  }
}

extension ValueRule {
  static func number(_ range: ClosedRange<Double>) -> ValueRule { ValueRule(.number(range)) }
  static func whole(_ range: ClosedRange<Int>) -> ValueRule { ValueRule(.whole(range)) }
  static func word(_ words: [String]) -> ValueRule { ValueRule(.word(words)) }

  /// Printable text of 1 to `limit` bytes.
  static func text(_ limit: Int) -> ValueRule {
    ValueRule("1 to \(limit) bytes of printable text") {
      $0.isPrintable && (1...limit).contains($0.utf8.count)
    }
  }

  static let file = ValueRule("the path of a file", .file, accepts: isPath)
  /// The path of a file, or the word `none`.
  static let keyFile = ValueRule("the path of a file, or none", .file, list: ["none"], accepts: isPath)

  private static func isPath(_ text: String) -> Bool {
    text.isPrintable && (1...4096).contains(text.utf8.count)
  }
  static let network = ValueRule("an address or a network such as 192.168.7.0/24") { AddressRange($0) != nil }
  static let interface = ValueRule("the name of a network interface such as eth0") {
    Link.Configuration.isInterfaceName($0)
  }
  static let connection = ValueRule(
    "two JACK ports such as click_1=system:playback_1", .connection,
    judge: { text in
      guard case .ports(let one, let other)? = StandingConnection(text) else { return "" }
      func isNone(_ name: String) -> Bool {
        if let own = StandingConnection.ownOutput(name) {
          return !NamedOutput.isName(own.map { $0 == "*" ? "x" : String($0) }.joined())
        }
        return !name.contains(":") && !Port.isOurs(name)
      }
      guard let wrong = [one, other].first(where: isNone) else { return nil }
      return "\"\(wrong.shortened)\" is no port of tactus (\(Port.registered.map(\.name).inWords)); "
        + "write another program's as PROGRAM:PORT, an output of your own as out/NAME"
    })
  static let port = ValueRule("a port from 1 to 65535, on or off", .numberOrWord, list: ["on", "off"]) {
    ["on", "off"].contains($0) || Int($0).map((1...65_535).contains) == true
  }
  /// A binding of a key, knob or pedal at the port `control`.
  static let binding = ValueRule(
    "an event and its command, such as \"note 36 ch 10 = tap\" or \"cc 7 = click/volume\"",
    judge: { judge($0, as: MIDIBinding.self, ofKey: false) })
  /// A binding of a key of the terminal view.
  static let key = ValueRule(
    "a key (an ASCII character, \(Key.names.inWords)) and its command, such as \"x = start bar\"",
    judge: { judge($0, as: KeyBinding.self, ofKey: true) })

  private static func judge<Event>(
    _ text: String, as _: Binding<Event>.Type, ofKey isKey: Bool
  ) -> String? {
    guard let (_, targets) = Binding<Event>.split(text) else {
      return isKey ? "" : text.split(separator: "=").first.flatMap { MIDIEventName.objection(to: $0) } ?? ""
    }
    guard let binding = Binding<Event>(text) else {
      guard let wrong = targets.first(where: { Target($0) == nil }) else {
        return "at most \(Target.limit) addresses"
      }
      return "\"\(String(wrong).shortened)\" is not an address followed by its arguments"
    }
    if let event = binding.event as? MIDIEventName, event.isJog,
      let still = binding.targets.first(where: { $0.arguments.count != 1 || Double($0.arguments[0]) == nil })
    {
      return "\(still.path) needs the size of one step of the wheel, as in bend/jog 2 and tempo/nudge 0.1"
    }
    return Table.standard.objection(to: binding.targets, ofKey: isKey)
  }
}

// Values in files: there a number is a JSON5 number, not a string of digits.
extension ValueRule {
  /// The command line's text for a value that stands in a file; nil: the value is not allowed.
  func text(from value: JSON5) -> String? {
    let text: String?
    switch value {
    case .number(let number, let written):
      switch kind {
      case .number, .numberOrWord, .numberOrText: text = shortest(number)
      case .whole: text = Int(exactly: number).map { "\($0)" }
      case .word: text = written
      case .text, .file, .connection: text = nil
      }
    case .string(let string) where kind == .numberOrText: text = Double(string) == nil ? string : nil
    case .string(let string):
      text = isNumber || (kind == .numberOrWord && !list.contains(string)) ? nil : string
    case .null, .boolean, .array, .object: text = nil
    }
    return text.flatMap { judge($0) == nil ? $0 : nil }
  }

  /// The value in a file for a command line's text.
  func value(of text: String) -> JSON5 {
    switch kind {
    case .number, .whole: Double(text).map { .number($0, written: text) } ?? .null
    case .numberOrWord, .numberOrText: Double(text).map { .number($0, written: text) } ?? .string(text)
    case .text, .word, .file, .connection: .string(text)
    }
  }
}

extension MIDIEventName {
  private static let names = ["note", "cc", "jog", "program", "bend", "start", "continue", "stop", "mmc"]

  /// If the text is an event with a wrong letter or two, names the event that is probably meant; nil: none is
  /// close enough.
  fileprivate static func objection(to text: Substring) -> String? {
    var words = text.lowercased().split { $0 == " " }.map(String.init)
    guard let first = words.first, let name = first.nearest(among: names) else { return nil }
    words[0] = name
    if let place = words.firstIndex(where: { ["ch", "channel"].contains($0) }), place + 1 < words.count,
      let channel = Int(words[place + 1]), !(1...16).contains(channel)
    {
      return "a channel is 1 to 16, not \(channel)"
    }
    if name == "mmc" {
      let command = words.dropFirst().joined(separator: " ")
      words[1...] = [command.nearest(among: MIDIMachineCommand.allCases.map(\.rawValue)) ?? command]
    }
    guard let meant = MIDIEventName(words.joined(separator: " ")) else { return nil }
    if MIDIEventName(String(text)) != nil { return "say what this message does: \"\(meant) = start\"" }
    return "no such event: do you mean \"\(meant)\"?"
  }
}

extension [String] {
  /// The words as one phrase, such as "link, host or auto".
  var inWords: String {
    count < 2 ? joined() : dropLast().joined(separator: ", ") + " or " + self[count - 1]
  }
}

extension StandingConnection {
  /// Parses `click_1=system:playback_1` or `tactus:clock=system:midi_playback_*`.
  init?(_ text: String) {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.count <= 320 }),
      text.isPrintable
    else { return nil }
    self = .ports(String(parts[0]), String(parts[1]))
  }
}

/// An address as written in an option. Its network interface may appear only later.
private struct WrittenAddress {
  let address: Address
  /// The name of the interface, if no interface has that name now.
  var interface: String?

  init?(_ text: String) {
    if let known = Address(text) {
      address = known
      return
    }
    let parts = text.split(separator: "%", omittingEmptySubsequences: false)
    // On Linux an interface's name has at most 15 bytes, without slash or space.
    guard parts.count == 2, let bare = Address(parts[0]), bare.isIPv6LinkLocal,
      (1...15).contains(parts[1].utf8.count),
      parts[1].utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }),
      UInt32(parts[1]) == nil
    else { return nil }
    address = bare
    interface = String(parts[1])
  }

  var objection: String? {
    guard address.isIPv6LinkLocal, address.scope == 0, interface == nil else { return nil }
    return "the interface is missing: \(address)%eth0"
  }
}

extension SurfaceSettings {
  /// Parses an address. If its interface does not exist yet, the address gets a substitute number, and
  /// `awaited` remembers the number with the interface's name.
  mutating func address(_ text: String) -> Address? {
    guard let written = WrittenAddress(text) else { return nil }
    guard let name = written.interface else { return written.address }
    let known = awaited.first { $0.value == name }?.key
    let number = known ?? UInt32.max - UInt32(awaited.count)
    awaited[number] = name
    return written.address.scoped(number)
  }
}

extension ValueRule {
  /// An address of this machine to listen at.
  static let address = ValueRule(
    "an address such as 192.168.7.2 or ::1",
    judge: { text in
      guard let written = WrittenAddress(text) else { return "" }
      return written.objection ?? (written.address.isOfMany ? "it is not the address of one machine" : nil)
    })

  /// The address and port of a receiver.
  static let endpoint = ValueRule(
    "an address and a port such as 192.168.7.20:9000",
    judge: { text in
      guard let (host, port) = Endpoint.split(text), port > 0, let written = WrittenAddress(host) else {
        return ""
      }
      return written.objection
    })
}
