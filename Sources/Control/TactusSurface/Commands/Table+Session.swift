// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

extension Table {
  static let when = Parameter.word(LaunchMoment.allCases.map(\.word))
  static let tempoRange = Tempo.lowest...Tempo.highest

  static let tempo: [Node] = [
    .value(
      "tempo", [.number(tempoRange, unit: "BPM")],
      "The session's tempo. With beat or bar as a second argument, the change waits for the next one.",
      optional: [when],
      read: { [.number($0.state.tempo.beatsPerMinute)] },
      write: { values, _ in
        .tempo(values[0].number, values.count > 1 ? LaunchMoment.allCases[values[1].whole] : .now)
      }),
    .value(
      "tempo/fader", [.fader], "The tempo as the position of a fader within tempo/range.",
      read: { [.number(position(of: $0.state.tempo.beatsPerMinute, in: $0.own.faderRange))] },
      write: { values, it in
        let range = it.own.faderRange
        return .tempo(range.lowerBound + values[0].number * (range.upperBound - range.lowerBound), .now)
      }),
    .value(
      "tempo/range", [.number(tempoRange, unit: "BPM"), .number(tempoRange, unit: "BPM")],
      "The tempos at the two ends of tempo/fader.",
      read: { [.number($0.own.faderRange.lowerBound), .number($0.own.faderRange.upperBound)] },
      write: { values, _ throws(Refusal) in
        guard values[0].number < values[1].number else { throw .range("the lower end first, then the upper") }
        return .faderRange(values[0].number...values[1].number)
      }),
    .measured("tempo/waits", "BPM", "The tempo that waits for its beat or bar; 0: none waits.") {
      $0.own.tempoWaiting
    }.restoring { $0.tempoWaiting = $1[0].number },
    .label("tempo/str", "The tempo as text, for a label.") { fixed($0.state.tempo.beatsPerMinute, 2) },
    .trigger(
      "tempo/tap",
      "Tap the tempo: from the second tap on, the median of your last taps. A program that knows our "
        + "clock by ping adds the time of the tap (CLOCK_MONOTONIC_RAW), so that the network's delay does "
        + "not count.",
      optional: [.exact(unit: "microseconds")]
    ) { values, _ in
      .tap(values.first.map { Micros(rounding: $0.number) })
    },
    .trigger("tempo/up", "Faster by tempo/step.") { _, it in moved(it, by: it.own.tempoStep) },
    .trigger("tempo/down", "Slower by tempo/step.") { _, it in moved(it, by: -it.own.tempoStep) },
    .value(
      "tempo/step", [.number(0.01...20, unit: "BPM")], "How much tempo/up and tempo/down change the tempo.",
      read: { [.number($0.own.tempoStep)] }, write: { values, _ in .tempoStep(values[0].number) }),
    .order("tempo/nudge", [.number(-200...200, unit: "BPM")], "Faster or slower by this much.") {
      values, it in
      moved(it, by: values[0].number)
    },
    .trigger("tempo/half", "Half the tempo.") { _, it throws(Refusal) in try scaled(it, by: 0.5) },
    .trigger("tempo/double", "Twice the tempo.") { _, it throws(Refusal) in try scaled(it, by: 2) },
  ]

  static let session: [Node] =
    Node.rows(
      of:
        Choice(
          "link", \.isLinkEnabled, "Ableton Link: play in one session with the Link apps on the network.",
          in: .session,
          isRemembered: true),
      Choice(
        "startstop", \.syncsStartStop,
        "Link's start/stop sync: JACK's transport and the session's peers start and stop together.",
        in: .session,
        isRemembered: true),
      .quantum,
      Choice(
        "meter", \.meter,
        "Notes in a bar, and their length (1, 2, 4, 8, 16 or 32, a whole to a 32nd). A beat is a quarter "
          + "for all of Link, and BPM counts quarters: a bar of 7/8 is 3.5 beats long, and clicks seven "
          + "times.",
        in: .session,
        letter: "m",
        written: ("N/UNIT", "a meter such as 4/4 or 7/8, up to 64 notes of length 1, 2, 4, 8, 16 or 32"),
        isRemembered: true),
      Choice(
        "lead", \.lead,
        "Where tempo and beat come from: the Link session (link), JACK's timebase master (host), that "
          + "master if there is one and otherwise the session (auto), or a sequencer's MIDI clock at the "
          + "port control (midi).",
        in: .session),
      Choice(
        "lead/grid", \.hostIsTheClock,
        "When a host or a MIDI clock leads, move the whole session's grid to its beat, not only the tempo.",
        in: .session),
      .offset(
        "lead/midi/offset", .control,
        "Follow the leading MIDI clock this much earlier, if the session sounds later than its "
          + "sequencer."))
    + [
      .readings(
        "quantum/kind", [.word(["bar", "beats"]), .number(0...256, unit: "beats")],
        "Whether the quantum is a bar of the meter or a number of beats, and how many beats it is."
      ) {
        let choices = $0.state.choices
        return [.word(choices.ownQuantum == .bar ? 0 : 1), .number(choices.quantum)]
      }.restoring { $0.choices.ownQuantum = $1[0].whole == 0 ? .bar : .beats($1[1].number) },
      .order(
        "quantum/nudge", [.whole(-64...64, unit: "beats")],
        "Lengthens or shortens the quantum; the shortest is one beat."
      ) { values, it in
        // From a quantum of 3.5 beats (a bar of 7/8), the next step goes to a whole number of beats.
        let now = it.state.choices.quantum
        let quantum =
          Int(values[0].whole < 0 ? -Int64(flooring: -now) : Int64(flooring: now))
          + values[0].whole
        return .command(.choose(.quantum, [.whole(min(max(quantum, 1), max(64, Int(now))))]))
      },
      .label("link/str", "Enabled or Disabled.") { $0.state.linkWord },
      .flag(
        "link/active",
        "tactus is on the network as a Link peer. 0: --life=auto has taken it off, so it has no peers.",
        \.link.isActive),
      .count("peers", "", "Other peers in the session.", \.link.peers),
      .label("peers/str", "Other peers in the session, as text: No Links, 1 Link, 2 Links.") {
        links($0.state.link.peers)
      },
      .privateLabel(
        "peers/list", "The peers' addresses; (2) after an address stands for two Link apps on that machine."
      ) {
        $0.state.link.peerList
      },
      .trigger("align", "Makes this moment beat 0, as far as the session allows.") { _, _ in .command(.align)
      },
      .readings(
        "lead/now", [SurfaceState.leaders.parameter],
        "The leader at this moment, as a fixed word for programs."
      ) { [SurfaceState.leaders.value($0.state.leading)] }
      .restoring { $0.leading = SurfaceState.leaders[$1.first] },
      .label("lead/str", "The leader at this moment.") { $0.state.leader },
      .label(
        "lead/midi/str", "The MIDI clock at the port control: off, silent, acquiring, locked, lost or echo."
      ) {
        $0.state.midiClock.word
      },
      .readings(
        "lead/midi/state", [SurfaceState.MIDIClockIn.words.parameter, .number(0...999, unit: "BPM")],
        "The MIDI clock for programs: a fixed word, and the clock's tempo while it is locked, else 0."
      ) { $0.state.midiClock.told }.restoring { $0.midiClock = .init(told: $1) },
    ]

  private static func position(of tempo: Double, in range: ClosedRange<Double>) -> Double {
    min(max((tempo - range.lowerBound) / (range.upperBound - range.lowerBound), 0), 1)
  }

  /// The tempo after a nudge. The nudged tempo stays within the range, as a knob does. The nudge starts
  /// from the decimal number that the user meant. Otherwise the session's rounding would add up over
  /// several nudges.
  private static func moved(_ reading: Reading, by amount: Double) -> Intent {
    let tempo = ((Tempo(reading.tempoBelowBend).clamped.shortest + amount) * 10_000).rounded() / 10_000
    return .tempo(Tempo(tempo).clamped.beatsPerMinute, .now)
  }

  /// The tempo after a multiplication. A result out of range is refused: half of 30 BPM is 15, and not the
  /// limit 20.
  private static func scaled(_ reading: Reading, by factor: Double) throws(Refusal) -> Intent {
    let tempo = reading.tempoBelowBend * factor
    guard tempoRange.contains(tempo) else {
      throw .range(
        "\(tempo < 20 ? "half" : "double") would be \(brief(tempo)) BPM; the tempo is 20 to 999 BPM")
    }
    return .tempo(tempo, .now)
  }
}

extension SurfaceState {
  package var linkWord: String { choices.isLinkEnabled ? "Enabled" : "Disabled" }

  package var leader: String {
    switch leading {
    case .link: Self.link
    case .auto: Self.unknown
    case .host: jack.timebase.name
    case .midi: Self.clock
    }
  }
}

extension SurfaceState {
  /// The leader in words, for example `Ableton Link (lead host: no host yet)`.
  package var leadNote: String {
    TactusSurface.leadNote(leader, self)
  }

  /// The leader in few words, for example `Link (host: none yet)`.
  package var shortLeadNote: String {
    TactusSurface.leadNote(leading == .link ? "Link" : leader, self, isShort: true)
  }

  static let link = "Ableton Link"
  static let clock = "MIDI clock"
}

extension SurfaceState {
  package var master: String {
    jack.timebase == .tactus && jack.leavesTimebase ? "tactus until it stops" : jack.timebase.name
  }
}

extension SurfaceState.Timebase {
  public var name: String {
    switch self {
    case .nobody: "nobody"
    case .tactus: "tactus"
    case .other(let name): name
    case .unknown: SurfaceState.unknown
    }
  }
}

extension SurfaceState.MIDIClockIn {
  public var word: String {
    switch self {
    case .off: "off"
    case .silent: "silent"
    case .acquiring: "acquiring"
    case .locked(let tempo): "locked, \(fixed(tempo.beatsPerMinute, 1)) BPM"
    case .lost: "lost"
    case .echo: "echo"
    case .unknown: SurfaceState.unknown
    }
  }
}
