// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC
import TactusSurface

/// `tactus save`: makes the present choices the configuration.
struct SaveCommand: Conversing {
  static let name = "save"
  static let summary = "Keep the present settings as the configuration"
  static let description = """
    The running tactus writes its configuration file: everything that it was started with and
    that you have chosen since. What was there before is kept beside it as FILE.before. A file
    that you have written or changed by hand is left alone, unless you say --replace; so is
    yours while a second tactus runs. In a session manager's session it saves that session.
    Ends with status 69 if none runs.

      tactus --click rolling --autoconnect --meter=7/8
      tactus save
    """
  static let options: [Option<SaveCommand>] =
    [
      Option(
        "replace", in: .other, .flag(\.replaces),
        help: "Replace even a file that was written by hand; it is kept as FILE.before.")
    ] + whereaboutsOptions

  /// How long the save may take: a disk can be slow.
  private static let saveTimeout = Duration.seconds(10)

  var replaces = false
  var whereabouts = Whereabouts()

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    var running = try RunningTactus(whereabouts)
    let before = try Self.outcome(&running)
    let order = Message(Table.address(replaces ? "save/replace" : "save"))
    if case .refused(let text) = try running.ask(order) { throw UserError(text) }
    let deadline = ContinuousClock.now + Self.saveTimeout
    while ContinuousClock.now < deadline {
      let now = try Self.outcome(&running)
      guard now.number == before.number else { return try answer(now) }
      _ = try running.receive(withinMilliseconds: 50)
    }
    throw UserError("tactus has not saved: its disk, or JACK, does not answer")
  }

  private typealias Outcome = (number: Double, word: String, text: String)

  /// The last outcome. Its number distinguishes two outcomes with the same text.
  private static func outcome(_ running: inout RunningTactus) throws(UserError) -> Outcome {
    let address = Table.address("save/outcome")
    guard case .accepted(let told) = try running.ask(Message(address)),
      let arguments = told.last(where: { $0.address == address })?.arguments, arguments.count == 3,
      let number = arguments[0].number, case .string(let word) = arguments[1],
      case .string(let text) = arguments[2]
    else {
      throw UserError(
        "the tactus at OSC port \(running.port) cannot save: it is another version than this command")
    }
    return (number, word, text)
  }

  private func answer(_ outcome: Outcome) throws(UserError) -> Tactus.Status {
    guard outcome.word == "saved" else { throw UserError(outcome.text) }
    return Console.answer(outcome.text)
  }
}
