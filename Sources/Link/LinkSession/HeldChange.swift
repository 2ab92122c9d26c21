// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// A user's change that waits while the session's clock is in doubt, as after a laptop's sleep.
///
/// If we computed the change by the doubted clock, it could be seconds away from the peers' beat, and would
/// move the beat of the whole session.
struct HeldChange {
  /// The user's newest change. The timeline and the start or stop may come from two commits.
  private var change: SessionChange
  /// The beats by which the new timeline is ahead of the timeline that it replaces, at the time of the
  /// commit.
  private var shift = Beats.zero
  /// The time of the newest decision about the song, and the client's beat then, counted from its grid.
  private var decided = (at: Micros.zero, beat: Beats.zero)

  init(_ change: SessionChange, to client: Timeline) {
    self.change = change
    keepShift(of: change, to: client)
  }

  /// Merges a later change: it replaces only the parts that it sets.
  mutating func add(_ later: SessionChange, to client: Timeline) {
    change.timeline = later.timeline ?? change.timeline
    change.startStop = later.startStop ?? change.startStop
    change.song = later.song ?? change.song
    (change.at, change.session) = (later.at, later.session)
    keepShift(of: later, to: client)
  }

  private mutating func keepShift(of change: SessionChange, to client: Timeline) {
    if change.song != nil { decided = (change.at, client.beats(at: change.at) - client.beatOrigin) }
    guard let edited = change.timeline else { return }
    shift = edited.clamped.beats(at: change.at) - client.beats(at: change.at)
  }

  /// The change as the user would make it now, by the clock that has been measured meanwhile.
  func made(to state: SessionState, at now: Micros) -> SessionChange {
    var made = change
    made.at = now
    if let line = change.song {
      // The song stays at its time, but is counted in the bars of the measured clock.
      let moved = state.timeline.beats(at: decided.at) - state.timeline.beatOrigin - decided.beat
      let bar = Double(max(1, line.beatsPerBar)) * 4 / Double(max(1, line.beatType))
      made.song?.sessionBeat = line.sessionBeat + Beats((moved.value / bar).rounded() * bar)
    }
    guard let edited = change.timeline else { return made }
    var state = state
    state.setTempo(edited.clamped.tempo.beatsPerMinute, at: now)
    state.timeline.shift(by: shift)
    made.timeline = state.timeline
    return made
  }
}
