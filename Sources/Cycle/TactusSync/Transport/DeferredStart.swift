// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// A start that leaves JACK's transport stopped as long as possible. Programs that play as soon as they read
/// "starting" then play near the beat. JACK is asked late, and `Launch` holds the start for the remaining
/// time, as always.
struct DeferredStart: Sendable {
  private let launch: LaunchSettings
  /// The user's grid in beats: a bar, for instance. `step` is the grid that the start uses: single beats, if
  /// the next bar is too far away.
  private let wanted: Double
  private var step: Double
  /// The session's beat on which the transport is to start.
  private(set) var beat: Double

  /// nil: with these choices a start does not wait while the transport is stopped; JACK is asked for the
  /// start at once.
  init?(_ now: Report, _ choices: Settings) {
    guard let step = Self.step(choices, now), now.moment.cycleMicros > 0 else { return nil }
    launch = choices.launch
    wanted = step
    self.step = step
    beat = 0
    beat = soonest(now)
    if (beat - max(now.sessionBeat, earliest(now))) * now.moment.beatMicros > Double(launch.longestWait.count)
    {
      self.step = min(step, 1)
      beat = soonest(now)
    }
  }

  private static func step(_ choices: Settings, _ now: Report) -> Double? {
    guard choices.launch.wait == .stopped || now.launch.holdsBriefly, isPossible(choices) else { return nil }
    return choices.launchStep.value
  }

  /// Returns whether a start with these choices can wait while the transport is stopped: it needs a grid, and
  /// there must be no count-in and no leader.
  static func isPossible(_ choices: Settings) -> Bool {
    let launch = choices.launch
    return choices.lead == .link && launch.countIn == 0 && launch.othersCountIn == 0
      && choices.launchStep > .zero
  }

  /// Returns whether a start with these choices would still be this one.
  func isWanted(by choices: Settings, _ now: Report) -> Bool {
    Self.step(choices, now) == wanted && choices.launch.alignment == launch.alignment
  }

  /// The microseconds that `Launch` needs from the request of the start to its beat.
  private func lead(_ now: Report) -> Double {
    let cycle = now.moment.cycleMicros
    // If JACK cuts holds short, only the cycles that JACK itself needs count.
    if now.launch.holdsBriefly {
      // If JACK asks no client, the transport rolls in the cycle after the request.
      return
        (now.launch.startsSuddenly ? cycle / 2 : TransportLimits.askingMicros + Reposition.cycles * cycle)
        + now.outputsAhead
    }
    let needed =
      switch launch.alignment {
      case .nearest: (Reposition.cycles + 1) * cycle + now.launch.othersTake
      case .exact: 3 * cycle + Reposition.micros(cycle: cycle, othersTake: now.launch.othersTake)
      }
    return TransportLimits.askingMicros + max(needed, (Reposition.cycles + 1) * cycle + now.outputsAhead)
  }

  func askAt(_ now: Report) -> Double {
    now.moment.due + (beat - now.sessionBeat) * now.moment.beatMicros - lead(now)
  }

  /// The first beat of the session that the start can meet and that is in phase with the song's place.
  private func soonest(_ now: Report) -> Double {
    let soon = soon(now)
    let away = now.song.beat - soon
    return soon + away - Double(Int64(flooring: away / step)) * step
  }

  private func soon(_ now: Report) -> Double {
    max(earliest(now), now.sessionBeat + (lead(now) + now.moment.cycleMicros) / now.moment.beatMicros)
  }

  /// Returns whether the start's beat is still right. It is wrong if the transport was located, if the
  /// session has jumped, if a peer has set another time, or if this check comes too late.
  func isMet(_ now: Report, at time: Micros) -> Bool {
    let bars = (beat - now.song.beat) / step
    let isOnGrid = abs(bars - bars.rounded()) * step < 0.001
    let isNear = beat < soon(now) + step + 1
    let isInTime = Double(time.count) < askAt(now) + TransportLimits.askingMicros + now.moment.cycleMicros
    return isOnGrid && isNear && isInTime && beat >= earliest(now)
  }

  private func earliest(_ now: Report) -> Double { now.sessionBeat(at: now.notBefore) }
}
