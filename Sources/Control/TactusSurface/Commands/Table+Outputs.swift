// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusChoices

extension Table {
  private static let gain = Choice("click/gain", .level)
  private static let clickOffset = Choice.offset(
    "click/offset", .click1,
    "If you hear the click late (tactus check measures it): send it this much earlier, at both ports.")

  static let click: [Node] =
    Node.rows(
      of:
        Choice("click", \.click.isOn, "Play the click.", in: .outputs, isRemembered: true),
      Choice("click/when", .when),
      Choice(
        "click/sound", .sound, "The sound of the click, unless you replace it by files of your own."),
      gain,
      Choice("click/pattern", .pattern, isRemembered: true),
      Choice("click/subdivision", .subdivision),
      Choice("click/swing", .swing),
      clickOffset,
      .offset(
        "click/2/offset", .click2,
        "Sends the click at click_2 this much earlier. It equals the click's offset until you set it, and again after you "
          + "change the click's offset."
      ))
    + [
      .order(
        "click/offset/nudge", [.number(-100...100, unit: "ms")],
        "Moves the click earlier by this much; below 0 later."
      ) { values, it in
        let now = it.state.choices.offset(of: .click1).milliseconds
        let offset = ((now + values[0].number) * 1000).rounded() / 1000
        return .command(.choose(clickOffset, [.number(min(max(offset, -500), 500))]))
      },
      .face(
        of: gain, "click/volume", .number(0...1),
        "click/gain as the position of a fader; 0.794 is unity gain.",
        shows: Volume.position, means: Volume.gain(at:)),
      .face(
        of: gain, "click/volume/db", .number(-90...6.0206, unit: "dB"),
        "click/gain in decibels; -90 is silence.",
        shows: Volume.decibels, means: Volume.gain(decibels:)),
      .flag(
        "click/connected", "One of the click's ports is connected, so the click can be heard.",
        \.jack.isClickConnected),
      latency(.click1), latency(.click2),
    ]

  static let clock: [Node] =
    Node.rows(
      of:
        Choice("clock", \.clock.isOn, "Send MIDI clock.", in: .outputs, isRemembered: true),
      Choice(
        "clock/when", \.clock.when,
        "When MIDI clock is sent: always, or only while the transport rolls.", in: .outputs),
      Choice(
        "clock/settle", \.clock.settle, "The time that a receiver gets between a song position and Continue.",
        within: .number(1...2000, unit: "ms"), in: .outputs),
      Choice(
        "clock/swing", \.clock.swing, swingWords, in: .outputs, written: ("PERCENT", Swing.allowed)),
      .offset("clock/offset", .clock, "Send MIDI clock this much earlier."))
    + [jitter(.clock, "clock"), latency(.clock)]

  static let pulse: [Node] =
    Node.rows(
      of:
        Choice("pulse", \.pulse.isOn, "Send pulses for modular gear.", in: .outputs, isRemembered: true),
      Choice("pulse/rate", \.pulse.rate, "Pulses per beat, or one per bar.", in: .outputs),
      Choice(
        "pulse/swing", \.pulse.swing, swingWords, in: .outputs, written: ("PERCENT", Swing.allowed)),
      .offset("pulse/offset", .pulse, "Send the pulses and the run gate this much earlier."),
      .offset(
        "run/offset", .run,
        "Sends the run gate this much earlier. It equals the pulses' offset until you set it, and again after "
          + "you change the pulses' offset."
      ))
    + [jitter(.pulse, "pulse"), latency(.pulse), latency(.run)]

  private static func jitter(_ port: Port, _ what: String) -> Node {
    .measured(
      "\(port)/jitter", "us",
      "The largest timing error of a \(what) in the last ten to twenty seconds."
    ) { $0.state.readings.jitterMicros[port] }.restoring { $0.readings.jitterMicros[port] = $1[0].number }
  }

  /// The largest number of beat lights in a row.
  static let beatLights = 16

  static let feeds: [Node] =
    [
      .feed(
        "beat", [.whole(1...64), .whole(-1_000_000...1_000_000)], .beat,
        "The beat in the bar, and the bar; sent when you hear each beat, which is each note of the "
          + "meter: seven in 7/8. Bars before a launch are 0 and below."
      )
    ]
    + (1...beatLights).map { .feed("beat/\($0)", [.flag], .beat, "Lit during beat \($0) of the bar.") }
    + [
      .feed("downbeat", [.flag], .beat, "Lit during the first beat of the bar."),
      .feed(
        "phase", [.number(0...1)], .phase, "The position in the bar, from 0 to 1, at most 30 times a second."),
      .feed(
        "countin", [.number(0...320, unit: "beats")], .phase,
        "Beats until the launch, as notes of the meter; 0 without a launch."),
      .feed("countin/str", [.text(limit: 8)], .phase, "Beats until the launch, for a label: 4, 3, 2, 1."),
      .feed("position/bbt", [.text(limit: 32)], .position, "Bar|beat|tick, 1920 ticks a beat."),
      .feed(
        "position/time", [.text(limit: 32)], .position, "Song position as HH:MM:SS.mmm at the present tempo."),
      .feed(
        "position/bar", [.whole(-1_000_000...1_000_000)], .position, "The bar; the first is 1."),
      .feed("heartbeat", [.flag], .heartbeat, "1 and 0 in turn, each second."),
      .feed(
        "timeline",
        [
          .exact(unit: "BPM"), .exact(unit: "beats"), .exact(unit: "microseconds"), .exact(unit: "beats"),
        ], .exact,
        "The tempo, a session beat, the time of that beat, and the quantum; at each change and each bar. "
          + "The time is on CLOCK_MONOTONIC_RAW; the answer to ping has that clock's present value."),
      .feed(
        "song", [.word(["stopped", "waiting", "rolling"]), .exact(unit: "beats")], .exact,
        "The song's state, and where the song is. While the song plays or waits for its start, the number "
          + "is the session's beat at which the song's beat 0 lies. While the song is stopped, or JACK waits "
          + "for a program that missed the start, it is the song's beat at which the song stands. If the meter "
          + "has changed while the song plays, three numbers follow (d, i, i): the session's beat from which "
          + "the bars are counted, and the meter. If another meter waits for its bar line, three more follow: "
          + "the session's beat of that bar line, and the meter. tactus sends song whenever it sends timeline."
      ),
    ]

  static let conversation: [Node] = [
    .verb(.ping, [.text(limit: 255)], "tactus answers with pong."),
    .verb(.query, [.text(limit: 255)], "tactus sends you every value, or those that match the pattern."),
    .verb(
      .subscribe, [.number(0...65_535, unit: "port"), .text(limit: 255), .number(0...3600, unit: "s")],
      "Subscribes you to what changes: at this port (none: the port of this message), for these "
        + "groups (none: state), for this many seconds (0: until unsubscribe). Also as subscribe/9000 and "
        + "subscribe/9000/state/beat."),
    .verb(
      .proof, [.text(limit: 16)],
      "tactus sends this to subscribers that --osc-allow does not name. Send it back to show that you "
        + "hear tactus; then you get everything."),
    .verb(
      .unsubscribe, [.number(0...65_535, unit: "port")],
      "Ends the subscription. tactus first clears your lights and labels."),
    .answer(
      "pong",
      [
        .text(limit: 32), .text(limit: 32), .whole(0...65_535), .exact(unit: "microseconds"),
        .text(limit: 255),
      ],
      "Program, version, port, CLOCK_MONOTONIC_RAW in microseconds, and the text of the ping."),
    .answer(
      "subscribed", [.whole(0...65_535), .text(limit: 64), .whole(0...3600, unit: "s")],
      "Port, groups and seconds of your subscription."),
    .answer("update", [.flag], "1 before all values are sent, 0 after them."),
    .answer(
      "error", [.text(limit: 255), .text(limit: 255), .whole(1...7)],
      "What was wrong, the address that it was about, and a code: 1 address, 2 type or count, 3 "
        + "range, 4 not now, 5 refused, 6 malformed, 7 not paired."),
    .answer("bye", [], "tactus ends."),
  ]
}

/// The fader's position is the cube root of the amplitude, with 6 dB above unity at the top.
enum Volume {
  static let silence = -90.0

  static func gain(at position: Double) -> Double { 2 * position * position * position }

  static func position(of gain: Double) -> Double {
    guard gain > 0 else { return 0 }
    return min(1, cbrt(gain / 2))
  }

  static func gain(decibels: Double) -> Double {
    decibels <= silence ? 0 : pow(10, decibels / 20)
  }

  static func decibels(of gain: Double) -> Double {
    gain > 0 ? max(silence, 20 * log10(gain)) : silence
  }
}
