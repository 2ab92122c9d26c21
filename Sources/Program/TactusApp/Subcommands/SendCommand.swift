// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5
import TactusOSC
import TactusSurface

/// `tactus send tempo 131.5`: sends any command of the surface, for scripts and for users at a terminal.
struct SendCommand: Conversing {
  static let name = "send"
  static let summary = "Send the running tactus a command, or ask it for a value"
  static let operands = "COMMAND [VALUE]..."
  static let operandWords = Table.standard.rows.filter { row in
    if case .verb = row.kind { return row.parameters.isEmpty }
    return row.isWritable || row.isReadable
  }.map(\.path)
  static let description = """
    Sends one of the commands that tactus --help-osc lists, by its name or its address:
    tactus send tempo 131.5, tactus send start bar. The name of a value alone prints the
    value, and midi/list all keys, knobs and pedals. Ends with status 0 if tactus obeyed, 1
    if it refused, 69 if none runs.
    """
  static let options: [Option<SendCommand>] = whereaboutsOptions

  var whereabouts = Whereabouts()

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    guard !operands.isEmpty else { throw UserError("a command is missing", .mistyped) }
    let message: Message
    do throws(Refusal) {
      message = try Table.standard.message(operands)
    } catch {
      throw UserError(Self.objection(to: operands[0], error), .mistyped)
    }
    var running = try RunningTactus(whereabouts)
    if message.address == Table.address("quit") { return try quit(&running, message) }
    switch try running.ask(message) {
    case .refused(let text): throw UserError(text)
    case .accepted(let told):
      for message in told { tell(message) }
      if !message.arguments.isEmpty { try confirm(message, &running) }
      return .success
    }
  }

  /// Prints the value that now holds, if a setting has no immediate effect or is remembered.
  private func confirm(_ message: Message, _ running: inout RunningTactus) throws(UserError) {
    let address = message.address
    guard let row = Table.path(of: address).flatMap(Table.standard.row) else { return }
    if let line = Self.line(aboutList: row.path, JSON5(message.arguments, of: row).words) {
      Console.say(line)
      return
    }
    guard
      row.path == "midi/learn"
        || Table.standard.choices.contains(where: { $0.path == row.path && $0.isRemembered }),
      case .accepted(let told) = try running.ask(Message(address)),
      let arguments = told.first(where: { $0.address == address })?.arguments
    else { return }
    let words = RemoteValues([(row, arguments)]).words(row.path)
    if row.path == "midi/learn" {
      Console.say(
        words.isEmpty
          ? "tactus waits for no MIDI message now" : "touch the key, knob or pedal for \(words) now")
    } else {
      let unit = row.parameters.count == 1 ? row.parameters[0].unit : ""
      Console.say("\(row.path) is \(words)\(unit.isEmpty ? "" : " " + unit) now")
    }
  }

  /// The line about a command that has changed a list; nil: the command changes no list.
  private static func line(aboutList path: String, _ text: String) -> String? {
    switch path {
    case "midi/forget": text == "all" ? "all that was learned is forgotten" : "\(text) is forgotten"
    case "out/add": (try? NamedOutput(text)).map { "the output \($0.text) is there now" }
    case "out/remove": "the output \(text) is removed"
    case "set/add": (try? SetSong(text)).map { "the set list has the song \($0.text) now" }
    case "set/remove": "the song \(text) is removed from the set list"
    default: nil
    }
  }

  private static func objection(to name: String, _ refusal: Refusal) -> String {
    guard refusal.code != .unknownAddress else { return refusal.text }
    let row = Table.standard.row(Table.path(of: name) ?? name)
    switch row?.kind {
    // The text of this refusal has no subject, so put the name in front of it.
    case .reading, .answer: return "\(name.shortened) \(refusal.text)"
    case .feed:
      return
        "\(name.shortened) \(refusal.text): tactus monitor \(row.map { $0.group.words } ?? "all") prints it"
    case .value, .trigger, .order, .verb, nil: return "\(name.shortened) takes \(refusal.text)"
    }
  }

  /// tactus may be gone before it answers `quit`. So a ping is sent first; its answer proves that a tactus
  /// was running.
  private func quit(_ running: inout RunningTactus, _ message: Message) throws(UserError)
    -> Tactus.Status
  {
    _ = try running.ask(Message(Table.address("ping")))
    if case .refused(let text)? = try? running.ask(message) { throw UserError(text) }
    return .success
  }

  private func tell(_ message: Message) {
    let row = Table.path(of: message.address).flatMap(Table.standard.row)
    switch (row?.kind, message.arguments) {
    // An answer of several messages, as for midi/list, is printed with one message a line.
    case (.answer, let arguments) where arguments.count == 2:
      Console.say("\(JSON5([arguments[0]], of: nil).words) (\(JSON5([arguments[1]], of: nil).words))")
    case (.answer, _), (.verb, _): break
    case (_, let arguments) where arguments.count == 1:
      Console.say(JSON5(arguments, of: row).words.withMicros())
    case (_, let arguments): Console.say(JSON5(arguments, of: row).text)
    }
  }
}

extension JSON5 {
  /// Text for people, without quotes.
  fileprivate var words: String {
    if case .string(let words) = self { words } else { text }
  }
}
