// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import Choices

extension Report {
  /// How long JACK has to let slow clients hold a start by these choices, in steps, since a tempo that is drawn moves it all the time.
  /// nil: the usual limit is enough. `beatMicros`: the session's beat, which may be longer now than in the last cycle.
  public func syncLimit(for choices: Settings, beatMicros: Double = 0, usual: Micros) -> Micros? {
    let step = 5e6
    var report = self
    report.moment.beatMicros = max(moment.beatMicros, beatMicros)
    // The others may need as long as we know of, and its beat may be missed.
    let longest = report.longestHold(by: choices) + OthersTake.longest + 1e6
    guard longest > Double(usual.count) else { return nil }
    return Micros(rounding: (longest / step).rounded(.up) * step)
  }

  /// For how long we may hold a start that comes now, by these choices, in microseconds: until the next beat of its grid, or a later
  /// one if that is missed, behind the count-in, a peer's time, and what machines that play early need to know before.
  func longestHold(by choices: Settings) -> Double {
    let countIn = choices.launchStep > .zero ? choices.countIn.value * moment.beatMicros : 0
    let limit = choices.launch.longestWait(behind: countIn)
    // Nobody knows when a sequencer's next clock comes.
    if case .midi = choices.lead { return limit }
    let step = choices.launchStep > .zero ? choices.launchStep.value * moment.beatMicros + outputsAhead : 0
    let steps = Double(1 + Start.mostRetries) * step
    let peers = max(0, min(notBefore - moment.heard.start, LaunchSettings.longestPeersWait))
    return peers + min(limit, steps + countIn)
  }
}
