// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusChoices
import TactusOSC

/// One setting of an output: its address below the output's, which is its key in text too, and its value.
struct OutputChoice: Sendable {
  let path: String
  let kinds: Set<OutputKind>
  let words: String
  let parameter: Parameter
  /// Whether the output's text, in options and files, contains this setting.
  var isWritten = true
  let get: @Sendable (OutputSettings) -> Value
  let set: @Sendable (inout OutputSettings, Value) throws(Refusal) -> Void

  init<T: Choosable>(
    _ path: String, _ kinds: Set<OutputKind>, _ place: WritableKeyPath<OutputSettings, T> & Sendable,
    _ words: String, within parameter: Parameter? = nil, isWritten: Bool = true
  ) {
    self.path = path
    self.kinds = kinds
    self.words = words
    self.parameter = parameter ?? T.parameters[0]
    self.isWritten = isWritten
    get = { $0[keyPath: place].values?.first ?? .text("") }
    set = { settings, value throws(Refusal) in settings[keyPath: place] = try T([value]) }
  }

  /// Preset for a kind of device, in one word. It sets other settings, which are saved in its place.
  private static let box = OutputChoice(
    "for", [.pulse], \.gate.box,
    "The receiver of the pulses. korg: volca, SQ-1, electribe or Pocket Operator (2 a beat, 15 ms). "
      + "step: a sequencer that advances by a sixteenth with each pulse (4 a beat). din, din48: DIN sync "
      + "(24 or 48 a beat, as wide as the gaps allow). Each of these sets rate, width, when, level and "
      + "invert; own sets none.",
    isWritten: false)

  static func all(of kind: OutputKind) -> [OutputChoice] { all.filter { $0.kinds.contains(kind) } }

  func text(_ settings: OutputSettings) -> String {
    if case .flag = parameter { return get(settings).isOn ? "yes" : "no" }
    return parameter.text(get(settings))
  }

  func set(_ settings: inout OutputSettings, text: String) throws(Refusal) {
    if case .flag = parameter {
      guard ["yes", "no"].contains(text) else {
        throw .range("\(path) is yes or no, not \(printable(text, limit: 40))")
      }
      return try set(&settings, .flag(text == "yes"))
    }
    guard let value = parameter.value(of: text) else {
      throw .range("\(path) is \(parameter.allowed), not \(printable(text, limit: 40))")
    }
    try set(&settings, value)
  }

  private static let gates: Set<OutputKind> = [.pulse, .run, .reset]
  private static let timecodes: Set<OutputKind> = [.ltc, .mtc]

  private static let all: [OutputChoice] = [
    box,
    OutputChoice(
      "offset", Set(OutputKind.allCases), \.offset, "Send it this much earlier.",
      within: .number(-500...500, unit: "ms")),
    OutputChoice(
      "rate", [.clock], \.clock.rate,
      "The machine's tempo as a multiple of the session's: 1 is 24 clocks a beat, 2 is 48, 1/2 is 12; from 1/4 to 4."
    ),
    OutputChoice(
      "rate", [.pulse, .reset], \.gate.rate,
      "Pulses in a beat or bar: 4 is four a beat, 3/2 three in two beats, 1/bar one a bar, 1/8bars one "
        + "in eight bars; up to 96 a beat, down to 1/64bars. A reset's may also be start: one pulse at the "
        + "song's start, and no other."),
    OutputChoice(
      "when", [.clock], \.clock.when, "When clocks are sent: always, or only while the transport rolls."),
    OutputChoice(
      "when", [.pulse], \.gate.when, "When pulses are sent: always, or only while the transport rolls."),
    OutputChoice(
      "transport", [.clock], \.clock.sendsTransport, "Send Start, Stop and Continue, not clocks alone."),
    OutputChoice(
      "position", [.clock], \.clock.sendsPosition,
      "Send song positions. Without them a start in the middle of the song is a Start on the song's next bar."
    ),
    OutputChoice(
      "settle", [.clock], \.clock.settle,
      "The time that the receiver gets between a song position and Continue.",
      within: .number(1...2000, unit: "ms")),
    OutputChoice(
      "play", [.clock], \.clock.plays,
      "0 stops this machine, and no other. 1 starts this machine, and no other, on the song's next "
        + "bar; the song must roll.",
      isWritten: false),
    OutputChoice(
      "width", gates.subtracting([.run]), \.gate.width,
      "The length of a pulse. If pulses come too close for it, a pulse lasts two fifths of the time "
        + "between them.",
      within: .number(0.1...1000, unit: "ms")),
    OutputChoice(
      "level", gates, \.gate.level, "The level of the signal; 1 is the sound card's full scale.",
      within: .number(0.01...1)),
    OutputChoice(
      "fine", gates.subtracting([.run]), \.gate.isFine,
      "Place edges between two frames, where their time is, rather than at the nearest frame."),
    OutputChoice("invert", gates, \.gate.isInverted, "High at rest, low for the pulse."),
    OutputChoice(
      "when", [.click], \.click.when, "When it clicks: always, or only while the transport rolls."),
    OutputChoice("sound", [.click], \.click.sound, "The sound of this click."),
    OutputChoice(
      "level", [.click], \.click.gain, "The click's loudness as a factor; 1 leaves the sound as it is.",
      within: .number(0...8)),
    OutputChoice(
      "subdivision", [.click], \.click.subdivision, "Clicks for each note of the meter.",
      within: .whole(1...8)),
    OutputChoice(
      "pattern", [.click], \.click.pattern,
      "One letter for each click of the bar: X accent, x beat, . silence. Empty: accent on the bar's first beat."
    ),
    OutputChoice(
      "countin", [.click], \.countIn,
      "A count-in at this port alone: click this many whole bars before a start, which waits for them.",
      within: .whole(0...Int(LaunchSettings.mostCountIn), unit: "bars")),
    OutputChoice(
      "fps", timecodes, \.timecode.rate,
      "Frames of timecode a second. 29.97df is drop frame: it skips numbers, so that an hour of "
        + "timecode lasts an hour."),
    OutputChoice(
      "start", timecodes, \.timecode.start, "The timecode of the transport's start, as in 01:00:00:00."),
    OutputChoice(
      "level", [.ltc], \.timecode.level, "The level of the timecode; 1 is the sound card's full scale.",
      within: .number(0.01...1)),
  ]
}
