// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// A start of the transport while a sequencer that leads plays already.
extension Start {
  mutating func chase(
    _ now: borrowing CycleContext, _ question: Launch.Question, _ othersTake: Double, _ origin: Beats,
    _ framesPerBeat: Double
  ) {
    isChasing = true
    // The transport may stand at a place that the leading sequencer has not reached yet.
    let left = now.grid.time(of: (origin + question.songBeat).value) - now.rollsAt
    if left > -now.cycleMicros / 2, left < 2 * now.grid.beatMicros {
      target = origin + question.songBeat
      place = SongPlace(frame: now.transport.frame, beat: question.songBeat.value)
      return
    }
    target = Beats(now.grid.beat(at: now.rollsAt + preparation(now, othersTake)))
      .nextMatchingPhase(of: .zero, quantum: Self.beat)
    let beat = (target - origin).value
    place = SongPlace(frame: UInt32(clamping: Int64(rounding: beat * framesPerBeat)), beat: beat)
    let frame = (now.launchesExactly ? preRoll(now, from: now.rollsAt) : nil) ?? place.frame
    send(to: frame, now, at: now.rollsAt)
  }

  /// Whether the transport stands where this start rolls from: at the start's place, or less than a cycle
  /// before it.
  func isThere(_ now: borrowing CycleContext) -> Bool {
    let away = place.micros(from: now.transport.frame, frameMicros: now.frameMicros)
    return (0...now.cycleMicros).contains(away)
  }

  /// Whether the transport was sent from `frame` to the leader's place and has not arrived yet.
  func isOnItsWay(from frame: UInt32) -> Bool { isChasing && action?.from == frame }

  /// Whether the song of the leading sequencer has appeared, has ended, or is at another place than this
  /// start assumes.
  func hasLostLeader(_ question: Launch.Question) -> Bool {
    switch question.leader {
    case .none, .unsettled: isChasing
    case .playing(let origin, _): !isChasing || target - songBeat != origin
    }
  }
}
