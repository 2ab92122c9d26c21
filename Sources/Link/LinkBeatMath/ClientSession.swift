// SPDX-License-Identifier: GPL-2.0-or-later

// Mappings between a client's own timeline (in host time, with beat numbers of its own) and the session's
// timeline (in ghost time, shared by all peers): facts: link 7.5 and 7.7.

extension Timeline {
  /// This client timeline after the session's timeline or clock changed: the beat at `now` stays, while the
  /// tempo and the grid become the session's.
  public func following(session: Timeline, at now: Micros, by map: GhostMap) -> Timeline {
    let session = session.near(map.ghost(atHost: now))
    let running = Timeline(tempo: session.tempo, beatOrigin: beats(at: now), timeOrigin: now)
    let sessionStart = map.host(atGhost: session.time(at: .zero))
    return Timeline(
      tempo: session.tempo, beatOrigin: running.beats(at: sessionStart), timeOrigin: sessionStart)
  }

  /// This session timeline after a client committed `client` at host time `now`.
  ///
  /// The new beat origin is the old timeline's beat at the commit, but never less than the old origin plus
  /// one microbeat, so that the later of two changes wins everywhere. If the client changed nothing, the beat
  /// origin and the time origin stay.
  public func committing(client: Timeline, at now: Micros, by map: GhostMap) -> Timeline {
    let sessionStart = map.ghost(atHost: client.timeOrigin)
    let time = map.ghost(atHost: now)
    let current = exactBeats(at: time)
    var changed = Timeline(tempo: client.tempo, beatOrigin: .zero, timeOrigin: sessionStart)
    // If `time` is far from the origins, the client's timeline was computed without whole rounds
    // (`Timeline.round`). Add these rounds again.
    if !isNear(time) { changed.beatOrigin = (current - changed.exactBeats(at: time)).wholeRounds }
    if exactBeats(at: sessionStart) == changed.beatOrigin && client.tempo == tempo { return self }
    let lowest = beatOrigin + Beats(millionths: 1)
    let origin = current > lowest ? current : lowest
    return Timeline(tempo: client.tempo, beatOrigin: origin, timeOrigin: changed.exactTime(at: origin))
  }

  /// Moves every beat by `amount`: changes the time origin, and keeps the beat origin. A commit of the moved
  /// timeline moves the session's grid.
  @_noLocks @_noAllocation
  public mutating func shift(by amount: Beats) {
    timeOrigin = timeOrigin - (time(at: amount) - time(at: .zero))
  }
}
