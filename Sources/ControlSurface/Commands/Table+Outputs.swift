// SPDX-License-Identifier: GPL-2.0-or-later
import Choices

extension Table {
  private static let gain = Choice(
    "click/gain", \.click.gain, "The click's loudness as a factor; 1 is as the sound was made.",
    within: .number(0...8), in: .outputs)

  static let click: [Node] =
    Node.rows(
      of:
        Choice("click", \.click.isOn, "The click sounds.", in: .outputs),
      Choice(
        "click/when", \.click.when, "A click that is on sounds always, or only while the transport rolls.",
        in: .outputs),
      Choice(
        "click/sound", \.click.sound, "What the click sounds like, where no file takes its place.",
        in: .outputs),
      gain,
      Choice(
        "click/pattern", \.click.pattern,
        "One letter a click from each bar line on: X accent, x plain, . silent. Empty: accent on the bar's first beat.",
        in: .outputs, written: ("LETTERS", "up to 64 letters: X accent, x beat, . silence"),
        holding: { [.text($0.click.pattern.letters)] }),
      Choice(
        "click/subdivision", \.click.subdivision, "Clicks in a beat.", within: .whole(1...8), in: .outputs),
      Choice(
        "click/countin", \.click.countsIn, "Click while a start waits for its bar, too.", in: .outputs),
      .offset(
        "click/offset", .click1,
        "The click is heard this much later than its latency says, at both ports, so it is sent earlier."),
      .offset(
        "click/2/offset", .click2,
        "The same for click_2 alone, if it is heard elsewhere. Until it is set, and from when click/offset is moved, as that."
      ))
    + [
      .face(
        of: gain, "click/volume", .number(0...1),
        "click/gain as the position of a fader; 0.794 is unity gain.",
        shows: Volume.position, means: Volume.gain(at:)),
      .face(
        of: gain, "click/volume/db", .number(-90...6.0206, unit: "dB"),
        "The same in decibels; -90 is silence.",
        shows: Volume.decibels, means: Volume.gain(decibels:)),
      latency(.click1), latency(.click2),
    ]

  static let clock: [Node] =
    Node.rows(
      of:
        Choice("clock", \.clock.isOn, "MIDI clock is sent.", in: .outputs),
      Choice(
        "clock/when", \.clock.when,
        "MIDI clock that is on runs always, or only while the transport rolls.", in: .outputs),
      Choice(
        "clock/settle", \.clock.settle, "What a receiver gets between a song position and Continue.",
        within: .number(1...2000, unit: "ms"), in: .outputs),
      .offset("clock/offset", .clock, "The same for MIDI clock.")) + [latency(.clock)]

  static let pulse: [Node] =
    Node.rows(
      of:
        Choice("pulse", \.pulse.isOn, "Pulses for modular gear.", in: .outputs),
      Choice("pulse/rate", \.pulse.rate, "Pulses in a beat, or one in a bar.", in: .outputs),
      .offset("pulse/offset", .pulse, "The same for the pulses and the run gate."),
      .offset(
        "run/offset", .run,
        "The same for the run gate alone. Until it is set, and from when pulse/offset is moved, as that."))
    + [latency(.pulse), latency(.run)]

  /// Longest row of beat lights.
  static let beatLights = 16

  static let feeds: [Node] =
    [
      .feed(
        "beat", [.whole(1...64), .whole(-1_000_000...1_000_000)], .beat,
        "Beat in the bar and bar, at each beat as it is heard. Bars before a launch are 0 and below.")
    ]
    + (1...beatLights).map { .feed("beat/\($0)", [.flag], .beat, "Lit during beat \($0) of the bar.") }
    + [
      .feed("downbeat", [.flag], .beat, "Lit during the first beat of the bar."),
      .feed("phase", [.number(0...1)], .phase, "Where in the bar, at most 30 times a second."),
      .feed(
        "countin", [.number(0...64, unit: "beats")], .phase, "Beats until the launch; 0 when there is none."),
      .feed("countin/str", [.text(limit: 8)], .phase, "The same for a label: 4, 3, 2, 1."),
      .feed("position/bbt", [.text(limit: 32)], .position, "Bar|beat|tick, 1920 ticks a beat."),
      .feed(
        "position/time", [.text(limit: 32)], .position, "Song position as HH:MM:SS.mmm at the present tempo."),
      .feed(
        "position/bar", [.whole(-1_000_000...1_000_000)], .position, "The bar; the first is 1."),
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
      [.text(limit: 32), .text(limit: 32), .whole(0...65_535), .micros, .text(limit: 255)],
      "Program, version, port, CLOCK_MONOTONIC_RAW in microseconds, and what the ping said."),
    .answer(
      "subscribed", [.whole(0...65_535), .text(limit: 64), .whole(0...3600, unit: "s")],
      "Port, groups and lease of a subscription."),
    .answer("update", [.flag], "1 before, 0 after a dump of values."),
    .answer(
      "error", [.text(limit: 255), .text(limit: 255), .whole(1...6)],
      "What was wrong, with which address, and a code: 1 address, 2 type or count, 3 range, 4 not now, 5 refused, "
        + "6 malformed."),
    .answer("bye", [], "The program ends."),
  ]
}
