// SPDX-License-Identifier: GPL-2.0-or-later

/// A locate that JACK was asked for. It is kept until the transport rolls from its target.
///
/// JACK stops all clients during a locate, and this is heard as a silence. If the control thread's request
/// came too late, another locate replaces it within the same silence. The time that other clients need is
/// known only afterwards: if a silence ended late because of them, another locate, with a silence of its own,
/// corrects the delay.
struct RelocationRetry: Sendable {
  let relocation: Relocation
  /// The session's grid on which the relocation must land, in beats.
  private let step: Double
  /// The longest time that the other clients may need, in microseconds. JACK would not wait longer.
  private let limit: Double
  /// Whether JACK has stood at the relocation's place.
  private var hasStood = false
  /// The number of relocations in the present silence that were given up before this one. `firstHeardAt` is
  /// the time for which the first of them was planned.
  private var tries = 0
  private var firstHeardAt: Double
  /// The number of silences before this one that ended too late.
  private var silences = 0

  /// The microseconds by which a silence may become longer while the user drags the tempo.
  private static let longestSilence = 4e6

  init(_ relocation: Relocation, step: Double, limit: Double) {
    self.relocation = relocation
    self.step = step
    self.limit = limit
    firstHeardAt = relocation.heardAt
  }

  /// Returns a locate that replaces this one; nil: no replacement is needed, or none is worth another
  /// silence.
  mutating func next(_ now: Report) -> RelocationRetry? {
    hasStood = hasStood || relocation.stands(now)
    guard isWorthIt(now),
      let relocation = relocation.next(now, hasStood: hasStood, step: step, limit: limit)
    else { return nil }
    var next = RelocationRetry(relocation, step: step, limit: limit)
    if now.song.isRolling {
      next.silences = silences + 1
    } else {
      (next.tries, next.firstHeardAt, next.silences) = (tries + 1, firstHeardAt, silences)
    }
    return next
  }

  /// Whether a replacement is worth its cost: all clients must get ready again. So in a session that keeps
  /// moving, a replacement is planned only just before the present relocation would be heard.
  private func isWorthIt(_ now: Report) -> Bool {
    if now.song.isRolling { return silences < TransportLimits.mostRetries }
    return tries < TransportLimits.mostRetries
      || relocation.isImminent(now) && relocation.heardAt < firstHeardAt + Self.longestSilence
  }
}
