// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices

// Bending the beat by hand: push and pull, a jog wheel, and a drummer's taps.
extension Table {
  private static let most = BendSettings.most

  static let bend: [Node] = [
    .value(
      "bend", [.number(-most...most, unit: "%")],
      "Faster by so much for as long as it is held, slower below 0; 0 lets go, and the tempo is exactly what it was. Alone in "
        + "the session, or with lead/grid, it moves the session; among others only what leaves our own outputs.",
      read: { [.number($0.own.bentPercent)] }, write: { values, _ in .bend(values[0].number) }),
    held("bend/push", "Faster by bend/step while it is held.", 1),
    held("bend/pull", "Slower by bend/step while it is held.", -1),
    .value(
      "bend/step", [.number(0.1...most, unit: "%")], "How much bend/push and bend/pull bend.",
      read: { [.number($0.own.bendStep)] }, write: { values, _ in .bendStep(values[0].number) }),
    .order(
      "bend/jog", [.number(-1000...1000, unit: "ms")],
      "Moves the beat forward by so much, back below 0, by a tenth of the time that passes: for a jog wheel."
    ) { values, _ in .jog(values[0].number) },
    .trigger("bend/home", "Takes our outputs back to the session's beat, by a tenth of the time that passes.")
    {
      _, _ in .bendHome
    },
    .measured(
      "bend/ahead", "ms", "How far our outputs are ahead of the session, by hand; below 0 behind it.",
      \.aheadMilliseconds),
    .value(
      "tempo/follow", [.flag],
      "Taps are a drummer's: as long as this is on, tempo and beat follow them over bars. A tap that is missing, or beside the "
        + "beat, changes nothing.",
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
