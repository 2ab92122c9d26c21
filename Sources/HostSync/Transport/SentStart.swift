// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Where the transport is sent for a start: to the place from which it meets its beat, and on to another beat.
extension Start {
  mutating func send(
    to frame: UInt32, _ now: borrowing Now, reach: UInt32 = 0, at moment: Double
  ) {
    let place = place.moved(to: frame, frameMicros: now.frameMicros, beatMicros: now.grid.beatMicros)
    wish = TransportWish(place, from: now.transport.frame, reach: reach, if: .starting, at: moment)
  }

  /// The frame to roll from in the last cycle that begins before the target, if cycles begin as the one at `moment`. nil:
  /// there is no room before the song's start.
  func preRoll(_ now: borrowing Now, from moment: Double) -> UInt32? {
    let micros = targetTime(now) - moment
    let whole = Double(Int64(flooring: micros / now.cycleMicros))
    let frames = Int64(rounding: (micros - whole * now.cycleMicros) / now.frameMicros)
    guard frames <= Int64(place.frame), frames >= 0 else { return nil }
    return place.frame &- UInt32(truncatingIfNeeded: frames)
  }

  /// Asks for the transport to be where the next cycle that begins before the beat needs it. [audio]
  mutating func prepare(_ now: borrowing Now, _ othersTake: Double) {
    guard step > .zero, now.frameMicros > 0 else { return }
    let left = targetTime(now) - now.rollsAt
    let lead = preparation(now, othersTake)
    guard left >= lead, now.rollsAt - (wish?.moment ?? -1e18) >= Self.shortestPause else { return }
    // How far from a cycle's start the transport would have to roll as it stands now.
    let present = left - ahead(now)
    let cycles = Double(Int64(rounding: present / now.cycleMicros))
    let miss = abs(present - cycles * now.cycleMicros) / now.frameMicros
    let isFinal = left - lead < Self.finalApproach
    guard miss > (isFinal ? Self.goodEnough : Self.plainlyWrong) else { return }
    guard let frame = preRoll(now, from: now.rollsAt) else { return }
    send(to: frame, now, at: now.rollsAt)
  }

  /// It was let go and does not roll: another client holds it, and out of phase is no place to start.
  func isLate(_ now: borrowing Now) -> Bool {
    guard moves < Self.mostMoves else { return false }
    return isMissed(now)
  }

  /// Moved on as often as it may, and held still: when it rolls is JACK's to say, and nothing plays before.
  func isGivenUp(_ now: borrowing Now) -> Bool {
    guard moves >= Self.mostMoves else { return false }
    return isMissed(now)
  }

  private func isMissed(_ now: borrowing Now) -> Bool {
    guard step > .zero else { return false }
    // A yes is a start one cycle later, so the first that can still roll is the next.
    return error(now) + now.cycleMicros >= Self.latest * now.cycleMicros
  }

  /// To the next boundary that leaves the others their time; JACK asks everybody after a relocation. They may be ready
  /// before the control thread has asked for it: then it is taken back from its first few cycles.
  mutating func moveOn(_ now: borrowing Now, _ othersTake: Double) {
    let needed = max(preparation(now, othersTake), isPeers ? 0 : now.outputsAhead)
    target = Beats(now.grid.beat(at: now.heard.start + needed))
      .nextMatchingPhase(of: songBeat, quantum: step)
    let frame = (isExact ? preRoll(now, from: now.heard.start) : nil) ?? place.frame
    let reach = (Reposition.controlMicros + 2 * now.cycleMicros) / now.frameMicros
    send(to: frame, now, reach: UInt32(clamping: Int64(reach)), at: now.heard.start)
    moves += 1
    move = Move(frame: frame, moment: now.heard.start, askedAt: askedAt)
  }

  /// It rolls, too late, and is about to be moved on.
  func isTakenBack(_ now: borrowing Now) -> Bool {
    guard let wish, wish.reach > 0 else { return false }
    let late = Double(now.transport.frame &- wish.from) - Double(wish.reach)
    return late * now.frameMicros <= (Reposition.cycles + 1) * now.cycleMicros
  }
}
