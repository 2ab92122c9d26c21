// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import Link
import Synchronization

/// The session's tempo as a hand bends it, and the one below: that is remembered, saved, and left to the session when tactus ends. [any]
final class HeldBend: Sendable {
  private let held = Mutex<(tempo: Tempo, below: Tempo)?>(nil)

  /// A tempo was ordered. `below`: the tempo that it bends; nil: it is no bend.
  func ordered(_ tempo: Tempo, below: Tempo?) {
    held.withLock { $0 = below.map { (tempo.clamped, $0.clamped) } }
  }

  /// The tempo below this one of the session; nil: this one is no bend of ours, or not any more.
  func below(_ tempo: Tempo) -> Tempo? {
    held.withLock { held in
      if held?.tempo != tempo { held = nil }
      return held?.below
    }
  }

  /// Before tactus leaves: peers would keep the bent tempo for good.
  func release(in link: Link, at time: Micros) {
    guard let held = held.withLock({ $0 }) else { return }
    link.updateAppState {
      if $0.timeline.tempo == held.tempo { $0.setTempo(held.below.beatsPerMinute, at: time) }
    }
  }
}

extension ControlDesk {
  /// `below`: the tempo that this one bends; nil: it is no bend. [any]
  func setTempo(_ tempo: Tempo, bentFrom below: Tempo?, at time: Micros) -> Verdict {
    if let leader = state.leading.leader { return .notNow("\(leader) leads the tempo") }
    bend.ordered(tempo, below: below)
    link.updateAppState { $0.setTempo(tempo.beatsPerMinute, at: time) }
    return .accepted
  }
}
