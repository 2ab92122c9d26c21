// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import JSON5
import OSC

/// `tactus send tempo 131.5`: any command of the surface, for scripts and for hands that are at a terminal.
struct SendCommand: Conversing {
  static let name = "send"
  static let summary = "Send a command to the tactus that runs, or ask it a value"
  static let operands = "COMMAND [VALUE]..."
  static let operandWords = Table.standard.rows.filter { $0.isWritable || $0.isReadable }.map(\.path)
  static let description = """
    Sends a command of the OSC surface (tactus --help-osc lists them), by its name or its
    address: tactus send tempo 131.5, tactus send start bar. A value's name alone asks for
    it. Ends with 0 if it was obeyed, 1 if it was refused, 69 if no tactus runs.
    """
  static let options: [Option<SendCommand>] = whereaboutsOptions

  var asksForHelp = false
  var whereabouts = Whereabouts()

  func run(_ operands: [String]) throws(Complaint) -> Tactus.Status {
    guard !operands.isEmpty else { throw Complaint("a command is missing", .mistyped) }
    let message: Message
    do throws(Refusal) {
      message = try Table.standard.message(operands)
    } catch {
      let name = operands[0].shortened
      throw Complaint(
        error.code == .unknownAddress ? error.text : "\(name) takes \(error.text)", .mistyped)
    }
    var running = try RunningTactus(whereabouts)
    if message.address == Table.address("quit") { return try quit(&running, message) }
    switch try running.ask(message) {
    case .refused(let text): throw Complaint(text)
    case .accepted(let told):
      for message in told { tell(message) }
      return .success
    }
  }

  /// Who ends may be gone before it answers: that it was there is all that can be known.
  private func quit(_ running: inout RunningTactus, _ message: Message) throws(Complaint)
    -> Tactus.Status
  {
    _ = try running.ask(Message(Table.address("ping")))
    if case .refused(let text)? = try? running.ask(message) { throw Complaint(text) }
    return .success
  }

  private func tell(_ message: Message) {
    let row = Table.path(of: message.address).flatMap(Table.standard.row)
    switch (row?.kind, message.arguments) {
    // One of many, as midi/list is answered: a line each.
    case (.answer, let arguments) where arguments.count == 2:
      Console.say("\(JSON5([arguments[0]], of: nil).words) (\(JSON5([arguments[1]], of: nil).words))")
    case (.answer, _), (.verb, _): break
    case (_, let arguments) where arguments.count == 1:
      Console.say(JSON5(arguments, of: row).words)
    case (_, let arguments): Console.say(JSON5(arguments, of: row).text)
    }
  }
}

extension JSON5 {
  /// For people: text without its quotes.
  fileprivate var words: String {
    if case .string(let words) = self { words } else { text }
  }
}
