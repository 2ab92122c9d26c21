// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices

// Bends of the beat by hand: push and pull, a jog wheel, and a drummer's taps.
extension Table {
  private static let most = BendSettings.most

  static let bend: [Node] = [
    .value(
      "bend", [.number(-most...most, unit: "%")],
      "Bends the tempo by this many per cent until you send 0: faster above 0, slower below. 0 "
        + "restores the tempo exactly. If tactus is alone in the session, or with lead/grid, the whole "
        + "session bends; otherwise only our own outputs do.",
      read: { [.number($0.own.bentPercent)] }, write: { values, _ in .bend(values[0].number) }),
    held("bend/push", "Faster by bend/step while it is held.", 1),
    held("bend/pull", "Slower by bend/step while it is held.", -1),
    .value(
      "bend/step", [.number(0.1...most, unit: "%")],
      "By how many per cent bend/push and bend/pull change the tempo.",
      read: { [.number($0.own.bendStep)] }, write: { values, _ in .bendStep(values[0].number) }),
    .order(
      "bend/jog", [.number(-1000...1000, unit: "ms")],
      "For a jog wheel: moves the beat forward by this much, or back if below 0. A move of 10 ms "
        + "takes 100 ms."
    ) { values, _ in .jog(values[0].number) },
    .trigger("bend/home", "Takes our outputs back to the session's beat. A move of 10 ms takes 100 ms.") {
      _, _ in .bendHome
    },
    .measured(
      "bend/ahead", "ms",
      "How far you have bent our outputs ahead of the session; below 0 they are behind it.",
      \.readings.aheadMilliseconds),
    .value(
      "tempo/follow", [.flag],
      "Follow a drummer: while this is on, tempo and beat follow your taps over several bars. A "
        + "missing tap, or one off the beat, changes nothing.",
      read: { [.flag($0.own.followsTaps)] }, write: { values, _ in .followTaps(values[0].isOn) }),
  ]

  private static func held(_ path: String, _ words: String, _ sign: Double) -> Node {
    .value(path, [.flag], words) {
      [.flag($0.own.bentPercent * sign > 0)]
    } write: { values, it in
      .bend(values[0].isOn ? sign * it.own.bendStep : 0)
    }
  }
}
