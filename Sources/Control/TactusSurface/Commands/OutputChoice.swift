// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC

/// One setting of an output. `path` is the last part of its address, and its key in the output's text.
struct OutputChoice<Part: Sendable>: Sendable {
  let path: String
  let words: String
  let parameter: Parameter
  /// The placeholder and the allowed values for the options and files of the standard outputs; see
  /// `Choice.written`.
  let written: (placeholder: String, allowed: String)?
  /// Whether the output's text in options and files contains this setting.
  let isWritten: Bool
  /// Reads the values; nil: the setting has no value of its own, so another setting's value holds.
  let read: @Sendable (Part) -> [Value]?
  let write: @Sendable (inout Part, [Value]) throws(Refusal) -> Void
  let copy: @Sendable (_ from: Part, _ to: inout Part) -> Void

  init<T: Choosable>(
    _ path: String, _ place: WritableKeyPath<Part, T> & Sendable, _ words: String,
    within parameter: Parameter? = nil, written: (placeholder: String, allowed: String)? = nil,
    isWritten: Bool = true
  ) {
    self.path = path
    self.words = words
    self.parameter = parameter ?? T.parameters[0]
    self.written = written
    self.isWritten = isWritten
    read = { $0[keyPath: place].values }
    write = { part, values throws(Refusal) in part[keyPath: place] = try T(values) }
    copy = { $1[keyPath: place] = $0[keyPath: place] }
  }

  /// Turns a setting of a part (such as a pulse) into the same setting of all output settings,
  /// which have the part at `place`.
  init<Inner>(_ inner: OutputChoice<Inner>, at place: WritableKeyPath<Part, Inner?> & Sendable) {
    path = inner.path
    words = inner.words
    parameter = inner.parameter
    written = inner.written
    isWritten = inner.isWritten
    read = { $0[keyPath: place].flatMap(inner.read) }
    write = { whole, values throws(Refusal) in
      guard var part = whole[keyPath: place] else { return }
      try inner.write(&part, values)
      whole[keyPath: place] = part
    }
    copy = { from, to in
      guard let from = from[keyPath: place], var part = to[keyPath: place] else { return }
      inner.copy(from, &part)
      to[keyPath: place] = part
    }
  }

  func value(_ part: Part) -> Value { read(part)?.first ?? .text("") }

  func text(_ part: Part) -> String {
    if case .flag = parameter { return value(part).isOn ? "yes" : "no" }
    return parameter.text(value(part))
  }

  func set(_ part: inout Part, text: String) throws(Refusal) {
    if case .flag = parameter {
      guard ["yes", "no"].contains(text) else {
        throw .range("\(path) is yes or no, not \(printable(text, limit: 40))")
      }
      return try write(&part, [.flag(text == "yes")])
    }
    guard let value = parameter.value(of: text) else {
      throw .range("\(path) is \(parameter.allowed), not \(printable(text, limit: 40))")
    }
    try write(&part, [value])
  }
}

/// The words for the swing, for each kind of output that has a swing.
let swingWords =
  "The share of a pair of notes that the first note gets, from 50 (straight) to 75 percent, and "
  + "which notes swing: 58/8 for eighths, 58/16 for sixteenths. A change takes effect with the next "
  + "pair."

/// The settings of each kind of output.
private let choices = Dictionary(
  uniqueKeysWithValues: OutputKind.allCases.map { ($0, OutputChoice<NamedOutput>.table(of: $0)) })

extension OutputChoice<NamedOutput> {
  /// The settings of one kind of output, in the order of the table.
  static func all(of kind: OutputKind) -> [OutputChoice] { choices[kind] ?? [] }

  fileprivate static func table(of kind: OutputKind) -> [OutputChoice] {
    func gates(_ choices: OutputChoice<GateSettings>...) -> [OutputChoice] {
      choices.map { OutputChoice($0, at: \.settings.gate) }
    }
    func timecodes(_ choices: OutputChoice<TimecodeSettings>...) -> [OutputChoice] {
      choices.map { OutputChoice($0, at: \.settings.timecode) }
    }
    return switch kind {
    case .clock: [offset] + OutputChoice<ClockSettings>.all.map { OutputChoice($0, at: \.settings.clock) }
    case .pulse: gates(.box) + [offset] + gates(.rate, .when, .swing, .width, .level, .fine, .invert)
    case .run: [offset] + gates(.level, .invert)
    case .reset: [offset] + gates(.rate, .width, .level, .fine, .invert)
    case .click:
      [offset] + OutputChoice<ClickSettings>.all.map { OutputChoice($0, at: \.settings.click) } + [countIn]
    case .ltc: [offset] + timecodes(.rate, .start, .level)
    case .mtc: [offset] + timecodes(.rate, .start)
    }
  }

  private static var offset: OutputChoice {
    OutputChoice(
      "offset", \.offset, "Send this output this much earlier.", within: .number(-500...500, unit: "ms"))
  }
  private static var countIn: OutputChoice {
    OutputChoice(
      "countin", \.settings.countIn,
      "A count-in at this port alone: click this many whole bars before a start, which waits for them.",
      within: .whole(0...Int(LaunchSettings.mostCountIn), unit: "bars"))
  }
}

extension OutputChoice<ClockSettings> {
  fileprivate static var all: [OutputChoice] {
    [
      OutputChoice(
        "rate", \.rate,
        "The machine's tempo as a multiple of the session's: 1 is 24 clocks a beat, 2 is 48, 1/2 is 12; from 1/4 to 4."
      ),
      OutputChoice("when", \.when, "When clocks are sent: always, or only while the transport rolls."),
      OutputChoice("transport", \.sendsTransport, "Send Start, Stop and Continue, not clocks alone."),
      OutputChoice(
        "position", \.sendsPosition,
        "Send song positions. Without them, a start in the middle of the song sends Start on the song's "
          + "next bar."
      ),
      OutputChoice("swing", \.swing, swingWords),
      OutputChoice(
        "settle", \.settle, "The time that the receiver gets between a song position and Continue.",
        within: .number(1...2000, unit: "ms")),
      OutputChoice(
        "play", \.plays,
        "Starts (1) or stops (0) only the machine at this output. A start waits for the song's next "
          + "bar; the song must roll.",
        isWritten: false),
    ]
  }
}

extension OutputChoice<GateSettings> {
  /// A preset for a kind of device, chosen by one word. It sets other settings, and only these are saved.
  fileprivate static var box: OutputChoice {
    OutputChoice(
      "for", \.box,
      "The receiver of the pulses. korg: volca, SQ-1, electribe or Pocket Operator (2 a beat, 15 ms). "
        + "step: a sequencer that advances by a sixteenth with each pulse (4 a beat). din, din48: DIN sync "
        + "(24 or 48 a beat, as wide as the gaps allow). Each of these sets rate, width, when, level and "
        + "invert; own sets none.",
      isWritten: false)
  }
  fileprivate static var rate: OutputChoice {
    OutputChoice(
      "rate", \.rate,
      "Pulses in a beat or bar: 4 is four a beat, 3/2 three in two beats, 1/bar one a bar, 1/8bars "
        + "one in eight bars; up to 96 a beat, down to 1/64bars. For a reset also start: a single pulse, "
        + "at the song's start.")
  }
  fileprivate static var when: OutputChoice {
    OutputChoice(
      "when", \.when, "When pulses are sent: always, or only while the transport rolls.")
  }
  fileprivate static var swing: OutputChoice { OutputChoice("swing", \.swing, swingWords) }
  fileprivate static var width: OutputChoice {
    OutputChoice(
      "width", \.width,
      "The length of a pulse. If pulses come too close for it, a pulse lasts two fifths of the time "
        + "between them.",
      within: .number(0.1...1000, unit: "ms"))
  }
  fileprivate static var level: OutputChoice {
    OutputChoice(
      "level", \.level, "The level of the signal; 1 is the sound card's full scale.",
      within: .number(0.01...1))
  }
  fileprivate static var fine: OutputChoice {
    OutputChoice(
      "fine", \.isFine,
      "Place the edges of a pulse between two frames, exactly at their time, instead of at the nearest frame."
    )
  }
  fileprivate static var invert: OutputChoice {
    OutputChoice(
      "invert", \.isInverted, "High at rest, low for the pulse.")
  }
}

/// The settings that all clicks have: the standard click, and the clicks that users add.
extension OutputChoice<ClickSettings> {
  static var when: OutputChoice {
    OutputChoice(
      "when", \.when, "When the click plays: always, or only while the transport rolls.")
  }
  static var sound: OutputChoice { OutputChoice("sound", \.sound, "The sound of this click.") }
  static var level: OutputChoice {
    OutputChoice(
      "level", \.gain, "The click's loudness as a factor; 1 leaves the sound as it is.",
      within: .number(0...8))
  }
  static var subdivision: OutputChoice {
    OutputChoice(
      "subdivision", \.subdivision, "Clicks for each note of the meter.", within: .whole(1...8))
  }
  static var pattern: OutputChoice {
    OutputChoice(
      "pattern", \.pattern,
      "One letter for each click of the bar: X accent, x beat, . silence. A shorter pattern repeats "
        + "within the bar, and begins again with each bar. Empty: accent on the bar's first beat.",
      written: ("LETTERS", "up to 64 letters: X accent, x beat, . silence"))
  }
  static var swing: OutputChoice {
    OutputChoice("swing", \.swing, swingWords, written: ("PERCENT", Swing.allowed))
  }
  fileprivate static var all: [OutputChoice] { [when, sound, level, subdivision, pattern, swing] }
}

extension OutputChoice<TimecodeSettings> {
  fileprivate static var rate: OutputChoice {
    OutputChoice(
      "fps", \.rate,
      "Frames of timecode a second. 29.97df is drop frame: it skips numbers, so that an hour of "
        + "timecode lasts an hour.")
  }
  fileprivate static var start: OutputChoice {
    OutputChoice(
      "start", \.start, "The timecode of the transport's start, as in 01:00:00:00.")
  }
  fileprivate static var level: OutputChoice {
    OutputChoice(
      "level", \.level, "The level of the timecode; 1 is the sound card's full scale.",
      within: .number(0.01...1))
  }
}
