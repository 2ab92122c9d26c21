// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// Finds out that the jumps of a rolling song are the turns of a DAW's loop, and how long it is.
struct LoopWatch: Sendable {
  /// Loops of fewer bars are left alone: other machines join on a bar, and would hardly play.
  private static let fewestBars = 2.0

  /// The last jump back: by how many beats, and at which beat of the session.
  private var last: (length: Double, sessionBeat: Double)?
  /// Whether the song turns in a loop that is too short to be followed.
  private(set) var isLeftAlone = false

  /// Notes a jump of the song's beginning in the session. Returns whether it is a turn of a short loop. The
  /// first turn looks like a locate.
  mutating func turns(from before: Double, to origin: Double, _ now: Report) -> Bool {
    let length = origin - before
    defer { last = length > 0 ? (length, now.sessionBeat) : nil }
    // Each turn comes as many beats after the last one as it goes back. The silence of a locate, which other
    // clients prolong, may count as a beat.
    guard let last, abs(length - last.length) <= 1, abs(now.sessionBeat - last.sessionBeat - length) <= 1.5
    else {
      isLeftAlone = false
      return false
    }
    isLeftAlone = length < Self.fewestBars * now.bars.meter.length.value
    return isLeftAlone
  }

  /// Whether the song has left a loop that was left alone: it rolls on where the loop would have turned.
  mutating func isOver(_ now: Report) -> Bool {
    guard isLeftAlone, let last, now.sessionBeat > last.sessionBeat + last.length + 2 else { return false }
    isLeftAlone = false
    return true
  }
}
