// SPDX-License-Identifier: GPL-2.0-or-later

/// What JACK was asked for, perhaps too late, until the transport is there.
///
/// We may have been stopped between the look at the clock and the question: another one then, in the same silence. And what others need
/// is known only when they have taken it: a silence that ended late is made up for by another.
struct Landing: Sendable {
  let relocation: Relocation
  /// The grid of the session's that it keeps to.
  private let step: Double
  /// The others may take so long, in microseconds: JACK would not wait for more.
  private let limit: Double
  /// JACK has come to its place.
  private var hasStood = false
  /// So many were asked for before it in this silence that came to nothing, and when the first was to be heard.
  private var tries = 0
  private var firstHeardAt: Double
  /// So many silences before this one ended late.
  private var silences = 0

  /// A tempo that is drawn in the silence of a locate prolongs it by so much at most.
  private static let longestSilence = 4e6

  init(_ relocation: Relocation, step: Double, limit: Double) {
    self.relocation = relocation
    self.step = step
    self.limit = limit
    firstHeardAt = relocation.heardAt
  }

  /// What it takes another to be. nil: nothing, or it is not worth it.
  mutating func next(_ now: Report) -> Landing? {
    hasStood = hasStood || relocation.stands(now)
    guard isWorthIt(now),
      let relocation = relocation.next(now, hasStood: hasStood, step: step, limit: limit)
    else { return nil }
    var next = Landing(relocation, step: step, limit: limit)
    if now.isRolling {
      next.silences = silences + 1
    } else {
      (next.tries, next.firstHeardAt, next.silences) = (tries + 1, firstHeardAt, silences)
    }
    return next
  }

  /// Each time everybody gets ready anew: in a session that goes on moving only when this one would be heard.
  private func isWorthIt(_ now: Report) -> Bool {
    if now.isRolling { return silences < Relocator.mostTries }
    return tries < Relocator.mostTries
      || relocation.isImminent(now) && relocation.heardAt < firstHeardAt + Self.longestSilence
  }
}
