// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

/// Song sync: the session's programs share where they are in the song. Only tactus programs do this.
///
/// A user's decision about the song line wins and is passed on like a start or stop, with three differences.
/// A peer that joins, or switches song sync on, obeys the newest decision that it hears of. Every Alive is
/// considered, not only changes, so that no lost datagram keeps two programs apart. And a peer that is left
/// alone keeps its song line: its beat continues, so the song line is still true, and the peer that returns
/// learns it.
extension LinkSession {
  mutating func enableSongSync(_ isOn: Bool) {
    guard isOn != isSongSyncEnabled else { return }
    isSongSyncEnabled = isOn
    song = nil
    revision += 1
    isPublishDue = true
    learnSong()
  }

  /// Takes the newest song line that a member of our session has announced.
  mutating func learnSong() {
    consider(peers.songs(of: session).filter(isPlausible).max { $1.overrides($0) }, of: session)
  }

  /// Takes a peer's song line if it is newer than ours, and passes it on.
  mutating func consider(_ incoming: SessionSong?, of target: SessionID) {
    guard isSongSyncEnabled, target == session, let incoming, isPlausible(incoming) else { return }
    if let song, !incoming.overrides(song) { return }
    adopt(incoming)
  }

  /// Applies a user's decision about the song line. It is stamped later than the session's last decision,
  /// even if that decision's stamp is ahead of our clock.
  mutating func commitSong(_ line: SongLine, _ change: SessionChange) {
    guard isSongSyncEnabled, isForThisSession(change) else { return }
    var decided = SessionSong(line: line, timestamp: ghost.ghost(atHost: change.at))
    decided.line.sessionBeat = line.sessionBeat + clientRounds
    decided.line.songBeat = max(line.songBeat, .zero)
    if let song { decided.timestamp = max(decided.timestamp, song.timestamp + Micros(1)) }
    guard PacketJudge.isPlausible(decided, beat: timeline.exactBeats(at: ghost.ghost(atHost: now))) else {
      counters.staleCommits += 1
      return
    }
    adopt(decided)
  }

  private mutating func adopt(_ decided: SessionSong) {
    song = decided
    songDecision += 1
    revision += 1
    isBroadcastDue = true
    isPublishDue = true
  }

  func isPlausible(_ song: SessionSong) -> Bool {
    let time = ghost.ghost(atHost: now)
    return song.timestamp <= time + Limits.startStopLead
      && PacketJudge.isPlausible(song, beat: timeline.exactBeats(at: time))
  }

  /// Expresses our song line in the beats and the time of a session in which our beat continues.
  mutating func carrySong(to new: Timeline, _ map: GhostMap) {
    guard var carried = song else { return }
    let beats =
      new.exactBeats(at: map.ghost(atHost: now)) - timeline.exactBeats(at: ghost.ghost(atHost: now))
    carried.line.sessionBeat = carried.line.sessionBeat + beats
    carried.timestamp = carried.timestamp + (map.intercept - ghost.intercept)
    song = carried
  }

  /// The song line for our client, counted from the grid of the client's timeline.
  var clientSong: SongLine? {
    guard var line = song?.line else { return nil }
    line.sessionBeat = line.sessionBeat - clientRounds
    return line
  }

  /// The session's beat at the origin of the client's timeline: zero, or whole rounds far from zero.
  private var clientRounds: Beats {
    timeline.exactBeats(at: ghost.ghost(atHost: client.timeOrigin)).wholeRounds
  }
}

extension Peers {
  /// The song lines that members of the session have announced.
  func songs(of session: SessionID) -> [SessionSong] {
    nodes.values.joined().compactMap { $0.state.session == session ? $0.state.song : nil }
  }
}
