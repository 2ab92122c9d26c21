// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5
import TactusOSC
import TactusSurface

/// `tactus status`: prints the present state, once.
struct StatusCommand: Conversing {
  static let name = "status"
  static let summary = "Show how the running tactus is doing"
  static let description = """
    Asks the tactus that runs on this machine, over OSC, and shows offsets that are not 0
    beside their outputs. Ends with status 69 if none runs.
    """
  static let options: [Option<StatusCommand>] =
    [
      Option(
        "json", in: .other, .flag(\.json),
        help: "Print all values in one line of JSON, named as their OSC addresses."
      )
    ] + whereaboutsOptions

  var json = false
  var whereabouts = Whereabouts()

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    var running = try RunningTactus(whereabouts)
    let values = try running.values()
    if json { return Console.answer(Self.json(values)) }
    let isAudioOn = RemoteValues(values).isOn("link/audio")
    let text = Self.text(values, channels: isAudioOn ? try running.channels() : nil)
    return Console.answer(text.withMicros())
  }

  static func json(_ values: [(row: Node, arguments: [Argument])]) -> String {
    JSON5.fields(values.map { ($0.row.path, JSON5($0.arguments, of: $0.row)) }).text
  }

  /// - Parameter channels: the arguments of each `audio/channel`; nil: show the names from the values
  /// instead.
  static func text(_ values: [(row: Node, arguments: [Argument])], channels: [[Argument]]? = nil) -> String {
    let told = RemoteValues(values)
    func say(_ path: String) -> String { told.words(path) }
    let lines =
      session(told) + outputs(told) + audio(told, channels) + [
        ("Drift", "\(say("drift")) ppm"), ("OSC", say("osc/str")), ("Page", say("web/str")),
        ("Last message", say("message")),
      ]
    let width = (lines.map(\.0.count).max() ?? 0) + 2
    return lines.map { name, words in name.padded(to: width) + (words.isEmpty ? "-" : words) }
      .joined(separator: "\n")
  }

  private static func session(_ told: RemoteValues) -> [(String, String)] {
    func say(_ path: String) -> String { told.words(path) }
    let ahead = say("bend/ahead")
    let server =
      told.isOn("jack/connected")
      ? "client \"\(say("jack/name"))\", \(say("jack/rate")) Hz, \(say("jack/period")) frames, "
        + "xruns: \(say("jack/xruns"))" : "no server"
    return [
      (
        "Tempo",
        "\(say("tempo/str")) BPM, \(say("meter")), quantum \(say("quantum"))"
          + (["0", "?"].contains(ahead) ? "" : ", our outputs \(ahead) ms ahead")
      ),
      ("Ableton Link", "\(say("link/str")), \(say("peers/str"))"),
      ("Other rooms", say("far/str")),
      ("Start/stop sync", say("startstop")),
      ("Leads", told.state.leadNote + told.offset("lead/midi/offset")),
      ("Transport", say("status") + launch(told)),
      ("JACK", server),
      ("Timebase master", say("jack/timebase/str") + told.offset("jack/offset")),
    ]
  }

  private static func outputs(_ told: RemoteValues) -> [(String, String)] {
    func runs(_ path: String) -> String {
      guard told.isOn(path) else { return "off" }
      let when = told.words("\(path)/when")
      return when == "rolling" ? "while the transport rolls" : when
    }
    let isUnheard =
      told.isOn("jack/connected") && told.isOn("click") && told.flag("click/connected") == false
    return [
      (
        "Click",
        runs("click") + (isUnheard ? ", not connected" : "")
          + told.offset("click/offset", ("click/2/offset", "click_2"))
      ),
      ("MIDI clock", runs("clock") + told.offset("clock/offset")),
      (
        "Pulses",
        (told.isOn("pulse") ? "\(told.words("pulse/rate")) a beat" : "off")
          + told.offset("pulse/offset", ("run/offset", "run"))
      ),
      ("Own outputs", told.words("out/list")), ("Set list", songs(told)),
    ]
  }

  private static func songs(_ told: RemoteValues) -> String {
    let (song, coming) = (told.words("set/song"), told.words("set/coming"))
    guard !song.isEmpty || !coming.isEmpty else { return "none" }
    let next = coming.isEmpty ? "the last one" : "then \(coming)"
    return song.isEmpty ? next : "\(told.words("set/number")) \(song), \(next)"
  }

  private static func audio(_ told: RemoteValues, _ channels: [[Argument]]?) -> [(String, String)] {
    guard told.isOn("link/audio") else { return [("Link Audio", "off")] }
    let head = [
      ("Link Audio", "on, delay \(told.words("link/audio/delay")), thread: \(told.words("audio/thread"))"),
      ("Sent channels", told.words("audio/sent")),
    ]
    guard let channels else {
      return head + [
        ("Received channels", told.words("audio/received")),
        ("Offered channels", told.words("audio/offered")),
      ]
    }
    return head + list("Received channels", channels.compactMap { line($0, of: "received") })
      + list("Not received", channels.compactMap { line($0, of: "offered") })
  }

  private static func list(_ title: String, _ lines: [String]) -> [(String, String)] {
    guard let first = lines.first else { return [(title, "none")] }
    return [(title, first)] + lines.dropFirst().map { ("", $0) }
  }

  /// A channel with its health, delay and level.
  private static func line(_ channel: [Argument], of kind: String) -> String? {
    guard channel.count > 7, case .string(let name) = channel[0], channel[1] == .string(kind),
      case .string(let health) = channel[2]
    else { return nil }
    let shown = printable(name, limit: 255)
    guard kind == "received" else { return shown }
    return "\(shown): \(printable(health, limit: 64))"
      + figure(channel[3], above: 0, "ms") + figure(channel[7], above: -90, "dB")
  }

  /// The figure as text. It was sent in single precision, so the text is 22.1 and not 22.100000381469727.
  private static func figure(_ argument: Argument, above least: Double, _ unit: String) -> String {
    guard let number = argument.number, number > least else { return "" }
    return ", \(shortest(Double(Float(number).description) ?? number)) \(unit)"
  }

  /// When a start would happen, if the transport is stopped.
  private static func launch(_ told: RemoteValues) -> String {
    told.state.doing == .stopped ? "; a start comes \(told.state.startWords ?? "at once")" : ""
  }
}
