// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The locates of a waiting start: to the frame from which a cycle meets the beat exactly, or to a later
/// beat.
extension Start {
  mutating func send(
    to frame: UInt32, _ now: borrowing CycleContext, reach: UInt32 = 0, at moment: Double
  ) {
    let place = place.moved(to: frame, frameMicros: now.frameMicros, beatMicros: now.grid.beatMicros)
    action = LocateAction(place, from: now.transport.frame, reach: reach, if: .starting, at: moment)
  }

  /// The frame from which the last cycle before the target beat must roll, so that the start's place is heard
  /// on that beat. `moment`: the time at which the start of some cycle is heard. nil: the frame would be
  /// before the song's start.
  func preRoll(_ now: borrowing CycleContext, from moment: Double) -> UInt32? {
    let micros = targetTime(now) - moment
    let whole = Double(Int64(flooring: micros / now.cycleMicros))
    let frames = Int64(rounding: (micros - whole * now.cycleMicros) / now.frameMicros)
    guard frames <= Int64(place.frame), frames >= 0 else { return nil }
    return place.frame &- UInt32(truncatingIfNeeded: frames)
  }

  /// Plans a locate, if no cycle can meet the beat to the frame from where the transport stands. [audio]
  mutating func prepare(_ now: borrowing CycleContext, _ othersTake: Double) {
    guard step > .zero, now.frameMicros > 0 else { return }
    let left = targetTime(now) - now.rollsAt
    let lead = preparation(now, othersTake)
    guard left >= lead, now.rollsAt - (action?.moment ?? -1e18) >= TransportLimits.pause else { return }
    // The time until the transport would have to roll from where it stands, in microseconds. `cycles` is this
    // time in whole cycles. `miss` is the number of frames from this time to the nearest start of a cycle.
    let present = left - ahead(now)
    let cycles = Double(Int64(rounding: present / now.cycleMicros))
    let miss = abs(present - cycles * now.cycleMicros) / now.frameMicros
    let isFinal = left - lead < Self.finalApproach
    guard miss > (isFinal ? Self.goodEnough : Self.plainlyWrong) else { return }
    guard let frame = preRoll(now, from: now.rollsAt) else { return }
    send(to: frame, now, at: now.rollsAt)
  }

  /// Whether a released start can no longer meet its beat, because another client still holds it.
  func isLate(_ now: borrowing CycleContext) -> Bool {
    guard step > .zero else { return false }
    // A yes makes the transport roll one cycle later, so the next cycle is the earliest that can roll.
    return error(now) + now.cycleMicros >= Self.latest * now.cycleMicros
  }

  /// Moves the start to the next beat or bar that leaves the other clients enough time. The locate makes JACK
  /// ask all clients again. If they get ready before the control thread has asked for the locate, the
  /// transport rolls for a few cycles until the locate takes it back.
  mutating func moveOn(_ now: borrowing CycleContext, _ othersTake: Double) {
    let needed = max(preparation(now, othersTake), isPeers ? 0 : now.outputsAhead)
    target = Beats(now.grid.beat(at: now.heard.start + needed))
      .nextMatchingPhase(of: songBeat, quantum: step)
    let frame = (now.launchesExactly ? preRoll(now, from: now.heard.start) : nil) ?? place.frame
    let reach = (Reposition.controlMicros + 2 * now.cycleMicros) / now.frameMicros
    send(to: frame, now, reach: UInt32(clamping: Int64(reach)), at: now.heard.start)
    retries += 1
  }

  /// Returns whether the last locate moved the start to a later beat, and `frame` is the locate's target.
  func wasMoved(to frame: UInt32, _ now: borrowing CycleContext) -> Bool {
    guard let action, action.reach > 0, frame == action.place.frame else { return false }
    return now.rollsAt - action.moment < TransportLimits.answerMicros
  }

  /// Whether the transport rolls too late for the start's beat, and a locate is about to take it back.
  func isTakenBack(_ now: borrowing CycleContext) -> Bool {
    guard let action, action.reach > 0 else { return false }
    let late = Double(now.transport.frame &- action.from) - Double(action.reach)
    return late * now.frameMicros <= (Reposition.cycles + 1) * now.cycleMicros
  }
}
