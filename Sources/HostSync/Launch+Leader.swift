// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// The song of a sequencer that leads, for a start that came with the sequencer's own.
///
/// Its Start is its first beat, and JACK's transport cannot roll on that any more: it would wait for the next bar and be a
/// bar behind the sequencer for the whole song. So it is sent to where the sequencer will be at its next beat, and rolls
/// there.
enum Leader: BitwiseCopyable {
  case none
  /// It was started, and the session's grid is about to become its own: what is a beat is not known yet.
  case unsettled
  /// Its song began on this beat of the session; JACK's transport counts so many frames a beat.
  case playing(origin: Beats, framesPerBeat: Double)
}

extension Launch {
  private static let beat: Beats = Beats(micros: 1_000_000)

  /// Chooses a beat of the leader's song; false: nobody leads.
  mutating func chase(_ question: Question) -> Bool {
    isChasing = false
    guard case .playing(let origin, let framesPerBeat) = question.leader else { return false }
    isChasing = true
    // Where the transport stands may be a place that the leader has not reached yet.
    let here = question.grid.time(of: (origin + question.songBeat).value)
    if question.rollsAt < here + question.period / 2, here - question.rollsAt < 2 * question.grid.period {
      target = origin + question.songBeat
      songBeat = question.songBeat
      anchor = question.frame
      return true
    }
    target = Beats(question.grid.beat(at: question.rollsAt + preparation(question.period)))
      .nextMatchingPhase(of: .zero, quantum: Self.beat)
    songBeat = target - origin
    anchor = UInt32(clamping: Int64(rounding: songBeat.value * framesPerBeat))
    let beat = question.grid.time(of: target.value) - question.rollsAt
    let exact = isExact ? place(beat, period: question.period, perFrame: question.perFrame) : nil
    preRoll.send(to: exact ?? anchor, at: question.rollsAt)
    ask(for: exact ?? anchor, from: question.frame, question.grid, perFrame: question.perFrame)
    return true
  }

  /// The transport stands where this start rolls from: at its place, or less than a cycle before it.
  func isThere(_ question: Question) -> Bool {
    let ahead = preRollMicros(at: question.frame, perFrame: question.perFrame)
    return ahead >= 0 && ahead <= question.period
  }

  /// It was asked for from here, and is on its way.
  func isSetOff(_ question: Question) -> Bool {
    guard isChasing, case .starting = wish.condition else { return false }
    return wish.from == question.frame
  }

  /// The leader's song is elsewhere than this start thinks, or there is one now, or none any more.
  func isBesideLeader(_ question: Question) -> Bool {
    switch question.leader {
    case .none, .unsettled: isChasing
    case .playing(let origin, _): !isChasing || target - songBeat != origin
    }
  }
}
