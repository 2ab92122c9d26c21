// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import JSON5
import OSC

/// `tactus status`: how things are, once.
struct StatusCommand: Conversing {
  static let name = "status"
  static let summary = "Say how the tactus that runs is doing"
  static let description = """
    Asks the tactus that runs on this machine, over OSC. Ends with 69 if none does.
    """
  static let options: [Option<StatusCommand>] =
    [
      Option(
        "json", in: .other, .flag(\.json),
        help: "All values in one line of JSON, named as their OSC addresses."
      )
    ] + whereaboutsOptions

  var asksForHelp = false
  var json = false
  var whereabouts = Whereabouts()

  func run(_ operands: [String]) throws(Complaint) -> Tactus.Status {
    var running = try RunningTactus(whereabouts)
    let values = try running.values()
    return Console.answer(json ? Self.json(values) : Self.text(values))
  }

  static func json(_ values: [(row: Node, arguments: [Argument])]) -> String {
    JSON5.fields(values.map { ($0.row.path, JSON5($0.arguments, of: $0.row)) }).text
  }

  static func text(_ values: [(row: Node, arguments: [Argument])]) -> String {
    let known = Dictionary(values.map { ($0.row.path, $0) }, uniquingKeysWith: { first, _ in first })
    /// As people read it: on and off, text without quotes.
    func say(_ path: String) -> String {
      guard let (row, arguments) = known[path] else { return "?" }
      switch JSON5(arguments, of: row) {
      case .boolean(let on): return on ? "on" : "off"
      case .string(let text): return text
      case .array(let elements): return elements.map(\.value.text).joined(separator: "/")
      case .null, .number, .object: return JSON5(arguments, of: row).text
      }
    }
    let isThere = say("jack/connected") == "on"
    let lines: [(String, String)] = [
      ("Tempo", "\(say("tempo/str")) BPM, \(say("meter")), quantum \(say("quantum"))"),
      ("Ableton Link", "\(say("link/str")), \(say("peers/str"))"),
      ("Start/stop sync", say("startstop")),
      ("Leads", say("lead/str") + (say("lead") == "link" ? "" : ", as --lead=\(say("lead")) says")),
      ("Transport", "\(say("status")); a start waits for the \(say("launch"))"),
      (
        "JACK",
        isThere
          ? "\(say("jack/rate")) Hz, \(say("jack/period")) frames, xruns: \(say("jack/xruns"))" : "no server"
      ),
      ("Timebase master", say("jack/timebase/str")),
      ("Click", say("click") == "on" ? say("click/when") : "off"),
      ("MIDI clock", say("clock")), ("Pulses", say("pulse") == "on" ? "\(say("pulse/rate")) a beat" : "off"),
      ("Drift", "\(say("drift")) ppm"), ("OSC", say("osc/str")),
      ("Last message", say("message")),
    ]
    let width = (lines.map(\.0.count).max() ?? 0) + 2
    return lines.map { name, words in name.padded(to: width) + (words.isEmpty ? "-" : words) }
      .joined(separator: "\n")
  }
}
