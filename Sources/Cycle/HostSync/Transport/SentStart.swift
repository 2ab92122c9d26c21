// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// The places to which the transport is sent for a start: where it meets its beat, or on to another beat.
extension Start {
  mutating func send(
    to frame: UInt32, _ now: borrowing CycleContext, reach: UInt32 = 0, at moment: Double
  ) {
    let place = place.moved(to: frame, frameMicros: now.frameMicros, beatMicros: now.grid.beatMicros)
    action = LocateAction(place, from: now.transport.frame, reach: reach, if: .starting, at: moment)
  }

  /// The frame to roll from in the last cycle that begins before the target, if cycles begin like the one at
  /// `moment`. nil: there is no room before the song's start.
  func preRoll(_ now: borrowing CycleContext, from moment: Double) -> UInt32? {
    let micros = targetTime(now) - moment
    let whole = Double(Int64(flooring: micros / now.cycleMicros))
    let frames = Int64(rounding: (micros - whole * now.cycleMicros) / now.frameMicros)
    guard frames <= Int64(place.frame), frames >= 0 else { return nil }
    return place.frame &- UInt32(truncatingIfNeeded: frames)
  }

  /// Requests the place from which the next cycle before the beat meets it. [audio]
  mutating func prepare(_ now: borrowing CycleContext, _ othersTake: Double) {
    guard step > .zero, now.frameMicros > 0 else { return }
    let left = targetTime(now) - now.rollsAt
    let lead = preparation(now, othersTake)
    guard left >= lead, now.rollsAt - (action?.moment ?? -1e18) >= TransportLimits.pause else { return }
    // The time until the transport would have to roll from where it stands, and its distance from a cycle's
    // start.
    let present = left - ahead(now)
    let cycles = Double(Int64(rounding: present / now.cycleMicros))
    let miss = abs(present - cycles * now.cycleMicros) / now.frameMicros
    let isFinal = left - lead < Self.finalApproach
    guard miss > (isFinal ? Self.goodEnough : Self.plainlyWrong) else { return }
    guard let frame = preRoll(now, from: now.rollsAt) else { return }
    send(to: frame, now, at: now.rollsAt)
  }

  /// Whether the start was released and does not roll: another client holds the start, which would now be out
  /// of phase.
  func isLate(_ now: borrowing CycleContext) -> Bool {
    guard step > .zero else { return false }
    // A yes makes the transport roll one cycle later, so the next cycle is the first that can still roll.
    return error(now) + now.cycleMicros >= Self.latest * now.cycleMicros
  }

  /// Moves the start to the next boundary that leaves the other clients their time; JACK asks all clients
  /// after a relocation. They may get ready before the control thread has asked for it. Then the start is
  /// taken back from its first few cycles.
  mutating func moveOn(_ now: borrowing CycleContext, _ othersTake: Double) {
    let needed = max(preparation(now, othersTake), isPeers ? 0 : now.outputsAhead)
    target = Beats(now.grid.beat(at: now.heard.start + needed))
      .nextMatchingPhase(of: songBeat, quantum: step)
    let frame = (now.launchesExactly ? preRoll(now, from: now.heard.start) : nil) ?? place.frame
    let reach = (Reposition.controlMicros + 2 * now.cycleMicros) / now.frameMicros
    send(to: frame, now, reach: UInt32(clamping: Int64(reach)), at: now.heard.start)
    retries += 1
  }

  /// The last request moved the start on, to `frame`.
  func wasMoved(to frame: UInt32, _ now: borrowing CycleContext) -> Bool {
    guard let action, action.reach > 0, frame == action.place.frame else { return false }
    return now.rollsAt - action.moment < TransportLimits.answerMicros
  }

  /// The start rolls too late, and is about to be moved on.
  func isTakenBack(_ now: borrowing CycleContext) -> Bool {
    guard let action, action.reach > 0 else { return false }
    let late = Double(now.transport.frame &- action.from) - Double(action.reach)
    return late * now.frameMicros <= (Reposition.cycles + 1) * now.cycleMicros
  }
}
