// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// A start that leaves JACK's transport standing as long as it can, so that programs which play as soon as they read "starting" do
/// so near the beat. What is left to wait when JACK is asked, `Launch` holds as always.
struct StandingStart: Sendable {
  /// How late the control thread may be in asking; and its two looks may be this far apart.
  private static let asking = 4_000.0

  private let launch: LaunchSettings
  /// The grid that was wanted, and the one that it starts on: beats, where a bar is too far away.
  private let wanted: Double
  private var step: Double
  /// Of the session.
  private(set) var beat: Double

  /// nil: with these choices a start does not wait so, and is JACK's at once.
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
    guard choices.launch.wait == .stopped || now.holdsBriefly, isPossible(choices) else { return nil }
    return choices.launchStep.value
  }

  /// Whether a start by these choices has a beat of the session's to wait for, and nothing before it.
  static func isPossible(_ choices: Settings) -> Bool {
    let launch = choices.launch
    return choices.lead == .link && launch.countIn == 0 && launch.othersCountIn == 0
      && choices.launchStep > .zero
  }

  /// Whether these choices are those that it was made by.
  func isWanted(by choices: Settings, _ now: Report) -> Bool {
    Self.step(choices, now) == wanted && choices.launch.alignment == launch.alignment
  }

  /// From the question to the beat: as long as `Launch` wants to have for it.
  private func lead(_ now: Report) -> Double {
    let cycle = now.moment.cycleMicros
    // JACK would not wait for longer than its own cycles.
    if now.holdsBriefly {
      // If JACK asks no client, it rolls in the cycle after the request.
      return (now.startsSuddenly ? cycle / 2 : Self.asking + Reposition.cycles * cycle) + now.outputsAhead
    }
    let needed =
      switch launch.alignment {
      case .nearest: (Reposition.cycles + 1) * cycle + now.othersTake
      case .exact: 3 * cycle + Reposition.micros(cycle: cycle, othersTake: now.othersTake)
      }
    return Self.asking + max(needed, (Reposition.cycles + 1) * cycle + now.outputsAhead)
  }

  func askAt(_ now: Report) -> Double {
    now.moment.due + (beat - now.sessionBeat) * now.moment.beatMicros - lead(now)
  }

  /// The session's first beat that can be met, where the song's place fits.
  private func soonest(_ now: Report) -> Double {
    let soon = soon(now)
    let away = now.songBeat - soon
    return soon + away - Double(Int64(flooring: away / step)) * step
  }

  private func soon(_ now: Report) -> Double {
    max(earliest(now), now.sessionBeat + (lead(now) + now.moment.cycleMicros) / now.moment.beatMicros)
  }

  /// Whether its beat is still the one: the transport may have been sent elsewhere, the session may have jumped, a peer may have
  /// set another time, and we may have looked too late.
  func isMet(_ now: Report, at time: Micros) -> Bool {
    let bars = (beat - now.songBeat) / step
    let isOnGrid = abs(bars - bars.rounded()) * step < 0.001
    let isNear = beat < soon(now) + step + 1
    let isInTime = Double(time.count) < askAt(now) + Self.asking + now.moment.cycleMicros
    return isOnGrid && isNear && isInTime && beat >= earliest(now)
  }

  private func earliest(_ now: Report) -> Double { now.sessionBeat(at: now.notBefore) }
}
