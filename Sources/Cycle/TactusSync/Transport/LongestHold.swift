// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusChoices

extension Report {
  /// The time for which JACK must let slow clients hold a start with these choices; nil: the usual limit is
  /// enough. The time has steps of five seconds; otherwise it would change all the time while the user drags
  /// the tempo. `beatMicros` is the present length of the session's beat, which may be longer than in the
  /// last cycle.
  public func syncLimit(for choices: Settings, beatMicros: Double = 0, usual: Micros) -> Micros? {
    let step = 5e6
    var report = self
    report.moment.beatMicros = max(moment.beatMicros, beatMicros)
    // The other clients may need the longest time that we ever estimate. Add one second in reserve.
    let longest = report.longestHold(by: choices) + ReadinessEstimate.longest + 1e6
    guard longest > Double(usual.count) else { return nil }
    return Micros(rounding: (longest / step).rounded(.up) * step)
  }

  /// The microseconds for which we may hold a start that comes now, with these choices. A start waits until
  /// the next beat of its grid, or a later beat if it misses that one. The count-in, a peer's time, and the
  /// time by which early outputs must know of the start are added.
  func longestHold(by choices: Settings) -> Double {
    let countIn = choices.launchStep > .zero ? choices.countIn.value * moment.beatMicros : 0
    let limit = choices.launch.longestWait(behind: countIn)
    // The time of a sequencer's next clock message is unknown, so take the longest wait.
    if case .midi = choices.lead { return limit }
    let step = choices.launchStep > .zero ? choices.launchStep.value * moment.beatMicros + outputsAhead : 0
    let steps = Double(1 + TransportLimits.mostRetries) * step
    let peers = max(0, min(notBefore - moment.heard.start, LaunchSettings.longestPeersWait))
    return peers + min(limit, steps + countIn)
  }
}
