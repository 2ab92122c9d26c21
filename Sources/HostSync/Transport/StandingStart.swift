// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// When JACK is asked for a start that leaves the transport standing as long as it can, so that programs which play as soon as
/// they read "starting" do so near the beat. What is left to wait then, `Launch` holds as always.
enum StandingStart {
  /// How late the control thread may be in asking; and its two looks may be this far apart.
  private static let asking = 4_000.0

  /// From the question to the beat: as long as `Launch` wants to have for it.
  static func lead(_ now: Report, _ alignment: Alignment) -> Double {
    let cycle = now.moment.cycleMicros
    return switch alignment {
    case .nearest: asking + (Reposition.cycles + 1) * cycle + now.othersTake
    case .exact: asking + 3 * cycle + Reposition.micros(cycle: cycle, othersTake: now.othersTake)
    }
  }

  static func askAt(_ now: Report, _ beat: Double, _ alignment: Alignment) -> Double {
    now.moment.due + (beat - now.sessionBeat) * now.moment.beatMicros - lead(now, alignment)
  }

  /// The session's first beat that can be met, where the song's place fits.
  static func beat(_ now: Report, step: Double, _ alignment: Alignment) -> Double {
    let moment = now.moment
    let soon = max(
      earliest(now), now.sessionBeat + (lead(now, alignment) + moment.cycleMicros) / moment.beatMicros)
    let away = now.songBeat - soon
    return soon + away - Double(Int64(flooring: away / step)) * step
  }

  /// Whether this beat is still the one: the transport may have been sent elsewhere, the session may have jumped, a peer may have
  /// set another time, and we may have looked too late.
  static func isMet(_ now: Report, _ beat: Double, step: Double, _ alignment: Alignment, at time: Micros)
    -> Bool
  {
    let bars = (beat - now.songBeat) / step
    let isOnGrid = abs(bars - bars.rounded()) * step < 0.001
    let isNear = beat < max(now.sessionBeat, earliest(now)) + step + 1
    let isInTime = Double(time.count) < askAt(now, beat, alignment) + asking + now.moment.cycleMicros
    return isOnGrid && isNear && isInTime && beat >= earliest(now)
  }

  /// A millisecond before the time that a peer has set: it is rounded.
  private static func earliest(_ now: Report) -> Double {
    now.sessionBeat + (now.notBefore - 1000 - now.moment.heard.start) / now.moment.beatMicros
  }
}
