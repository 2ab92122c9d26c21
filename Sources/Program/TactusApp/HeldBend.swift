// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import Synchronization
import TactusSurface

/// While the user holds a bend of the tempo: the tempos that the bend has set in the session, and the tempo
/// before the bend. tactus remembers and saves only the tempo before the bend. If tactus ends while a bend is
/// held, it sets the session to the tempo before the bend. [any]
final class HeldBend: Sendable {
  private struct State {
    var below: Tempo
    /// The tempos that the bend has requested, in microseconds per beat, the newest last. The session shows
    /// each of them only some time after the request, and in whole microseconds once a peer has passed it on
    /// (facts: link 5).
    var beats: [Int64]
    var isLatestShown = false
  }

  /// How many ordered tempos are remembered. A wheel can order more before the session shows the first of
  /// them. If the session then shows a forgotten tempo, that tempo counts as a peer's until the session shows
  /// the next one.
  private static let mostTempos = 64

  private let held = Mutex<State?>(nil)

  /// Notes an ordered tempo. `below`: the tempo from which the bend started; nil: the tempo was
  /// ordered without a bend.
  func ordered(_ tempo: Tempo, below: Tempo?) {
    held.withLock { held in
      guard let below else { return held = nil }
      let earlier = held?.beats.suffix(Self.mostTempos - 1) ?? []
      held = State(below: below.clamped, beats: earlier + [tempo.clamped.microsPerBeat])
    }
  }

  /// Call this when the session shows `tempo`. Returns the tempo from which the bend started; nil:
  /// `tempo` is no bent tempo of ours.
  func below(_ tempo: Tempo) -> Tempo? {
    held.withLock { held in
      guard let bend = held else { return nil }
      if bend.beats.last == tempo.microsPerBeat {
        held?.isLatestShown = true
      } else if !bend.beats.contains(tempo.microsPerBeat) {
        // If the session has already shown our latest tempo, a peer has set this new tempo. Otherwise this
        // tempo was already on its way when we ordered the bend.
        if bend.isLatestShown { held = nil }
        return nil
      }
      return bend.below
    }
  }

  /// Gives the tempo from before the bend back to the session before tactus leaves: peers would keep the bent
  /// tempo for good. Returns whether the session had a bent tempo.
  func release(in link: Link, at time: Micros) -> Bool {
    guard let held = held.withLock({ $0 }) else { return false }
    var wasBent = false
    link.updateAppState {
      wasBent = held.beats.contains($0.timeline.tempo.microsPerBeat)
      if wasBent { $0.setTempo(held.below.beatsPerMinute, at: time) }
    }
    return wasBent
  }
}
