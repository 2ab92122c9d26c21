// SPDX-License-Identifier: GPL-2.0-or-later
import Choices

extension Table {
  static let click: [Node] =
    [
      .flag(
        "click", "The click sounds.", read: { $0.state.choices.click.isOn }, write: { .click(.enabled($0)) }),
      .trigger("click/toggle", "Switches the click.", lit: { $0.state.choices.click.isOn }) { _, it in
        .command(.click(.enabled(!it.state.choices.click.isOn)))
      },
    ]
    + Node.choice(
      "click/when", "Click always, or only while the host rolls.",
      read: { $0.state.choices.click.when }, write: { .click(.when($0)) })
    + [
      .number(
        "click/volume", 0...1, "", "Loudness as the position of a fader; 0.794 is unity gain.",
        read: { Volume.position(of: $0.state.choices.click.gain) },
        write: { .click(.gain(Volume.gain(at: $0))) }),
      .number(
        "click/volume/db", -90...6.0206, "dB", "The same in decibels; -90 is silence.",
        read: { Volume.decibels(of: $0.state.choices.click.gain) },
        write: { .click(.gain(Volume.gain(decibels: $0))) }),
      Node(
        path: "click/sound", kind: .value, parameters: [.whole(0...63, unit: "")], optional: [],
        group: .state,
        words: "Which sound; click/sound/str has its name.",
        read: { [.int32(Int32(clamping: $0.state.sound))] },
        write: { values, it throws(Refusal) in
          let names = it.state.soundNames
          guard names.isEmpty || values[0].whole < names.count else {
            throw .range("0 to \(names.count - 1)")
          }
          return .command(.click(.sound(values[0].whole)))
        }),
      .label("click/sound/str", "The sound's name.") { it in
        let state = it.state
        return state.soundNames.indices.contains(state.sound)
          ? state.soundNames[state.sound] : "\(state.sound)"
      },
      Node(
        path: "click/pattern", kind: .value, parameters: [.text(limit: Pattern.longest)], optional: [],
        group: .state,
        words: "One letter a beat: X accent, x plain, . silent. Empty: accent on the first beat of each bar.",
        read: { [.string($0.state.choices.click.pattern.letters)] },
        write: { values, _ throws(Refusal) in
          guard let pattern = Pattern(values[0].text.utf8) else {
            throw .range("only the letters X, x and .")
          }
          return .command(.click(.pattern(pattern)))
        }),
      .whole(
        "click/subdivision", 1...8, "", "Clicks in a beat.",
        read: { Int($0.state.choices.click.subdivision) },
        write: { .click(.subdivision($0)) }),
      .flag(
        "click/countin", "The beats before a launch click too.", read: { $0.state.choices.click.countsIn },
        write: { .click(.countsIn($0)) }),
      .number(
        "click/offset", -500...500, "ms",
        "The click is heard this much later than its latency says, at both ports, so it is sent earlier.",
        read: { $0.state.offsetMilliseconds(.click1) }, write: { .click(.offset(milliseconds: $0)) }),
      offset(.click1), latency(.click1), offset(.click2), latency(.click2),
    ]

  static let clock: [Node] = [
    .flag(
      "clock", "MIDI clock is sent.", read: { $0.state.choices.clock.isOn }, write: { .clock(.enabled($0)) }),
    .trigger("clock/toggle", "Switches MIDI clock.", lit: { $0.state.choices.clock.isOn }) { _, it in
      .command(.clock(.enabled(!it.state.choices.clock.isOn)))
    },
    .flag(
      "clock/stopped", "MIDI clock runs on while stopped.", read: { $0.state.choices.clock.runsWhileStopped },
      write: { .clock(.whileStopped($0)) }),
    .number(
      "clock/settle", 1...2000, "ms", "What a receiver gets between a song position and Continue.",
      read: { $0.state.choices.clock.settle.milliseconds }, write: { .clock(.settle(milliseconds: $0)) }),
    offset(.clock), latency(.clock),
  ]

  static let pulse: [Node] =
    [
      .flag(
        "pulse", "Pulses for modular gear.", read: { $0.state.choices.pulse.isOn },
        write: { .pulse(.enabled($0)) }
      ),
      .trigger("pulse/toggle", "Switches the pulses.", lit: { $0.state.choices.pulse.isOn }) { _, it in
        .command(.pulse(.enabled(!it.state.choices.pulse.isOn)))
      },
    ]
    + Node.choice(
      "pulse/rate", "Pulses in a beat, or one in a bar.",
      read: { $0.state.choices.pulse.rate }, write: { .pulse(.rate($0)) })
    + [offset(.pulse), latency(.pulse), offset(.run), latency(.run)]

  /// Longest row of beat lights.
  static let beatLights = 16

  static let feeds: [Node] =
    [
      .feed(
        "beat", [.whole(1...64, unit: ""), .whole(-1_000_000...1_000_000, unit: "")], .beat,
        "Beat in the bar and bar, at each beat as it is heard. Bars before a launch are 0 and below.")
    ]
    + (1...beatLights).map { .feed("beat/\($0)", [.flag], .beat, "Lit during beat \($0) of the bar.") }
    + [
      .feed("downbeat", [.flag], .beat, "Lit during the first beat of the bar."),
      .feed("phase", [.number(0...1, unit: "")], .phase, "Where in the bar, at most 30 times a second."),
      .feed(
        "countin", [.number(0...64, unit: "beats")], .phase, "Beats until the launch; 0 when there is none."),
      .feed("countin/str", [.text(limit: 8)], .phase, "The same for a label: 4, 3, 2, 1."),
      .feed("position/bbt", [.text(limit: 32)], .position, "Bar|beat|tick, 1920 ticks a beat."),
      .feed(
        "position/time", [.text(limit: 32)], .position, "Song position as HH:MM:SS.mmm at the present tempo."),
      .feed(
        "position/bar", [.whole(-1_000_000...1_000_000, unit: "")], .position, "The bar; the first is 1."),
      .feed("heartbeat", [.flag], .heartbeat, "1 and 0 in turn, each second."),
      .feed(
        "timeline",
        [
          .exact(unit: "BPM"), .exact(unit: "beats"), .micros, .exact(unit: "beats"),
        ], .exact,
        "Tempo, session beat at a moment, that moment, quantum; at each change and each bar. "
          + "The moment is CLOCK_MONOTONIC_RAW; ping tells its present value."),
    ]

  static let conversation: [Node] = [
    .verb(.ping, [.text(limit: 255)], "Answered by pong."),
    .verb(.query, [.text(limit: 255)], "Tells the asker every value, or those that match the pattern."),
    .verb(
      .subscribe, [.number(0...65_535, unit: "port"), .text(limit: 255), .number(0...3600, unit: "s")],
      "Be told: port (none: where this came from), groups (none: state), lease in seconds (0: until unsubscribe). "
        + "Also as subscribe/9000 and subscribe/9000/state/beat."),
    .verb(
      .proof, [.text(limit: 16)],
      "Said to a subscriber that nobody named: send it back to show that you hear, and be told everything."),
    .verb(.unsubscribe, [.number(0...65_535, unit: "port")], "Be told no more; clears the controller first."),
    .answer(
      "pong",
      [.text(limit: 32), .text(limit: 32), .whole(0...65_535, unit: ""), .micros, .text(limit: 255)],
      "Program, version, port, CLOCK_MONOTONIC_RAW in microseconds, and what the ping said."),
    .answer(
      "subscribed", [.whole(0...65_535, unit: ""), .text(limit: 64), .whole(0...3600, unit: "s")],
      "Port, groups and lease of a subscription."),
    .answer("update", [.flag], "1 before, 0 after a dump of values."),
    .answer(
      "error", [.text(limit: 255), .text(limit: 255), .whole(1...6, unit: "")],
      "What was wrong, with which address, and a code: 1 address, 2 type or count, 3 range, 4 not now, 5 refused, "
        + "6 malformed."),
    .answer("bye", [], "The program ends."),
  ]
}
