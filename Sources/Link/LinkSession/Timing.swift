// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

extension LinkSession {
  /// Adopts the session's timeline or clock; the client's beat continues without a jump (facts: link 7.5).
  mutating func apply(_ incoming: Timeline, _ map: GhostMap) {
    let incoming = incoming.clamped
    guard incoming != timeline || map != ghost else { return }
    timeline = incoming
    ghost = map
    client = client.following(session: incoming, at: now, by: map)
    // By the new clock, the time stamp of the start or stop may be in the future.
    if !PacketJudge.isPlausible(startStop, at: map.ghost(atHost: now)) { startStop = .unset }
    if isStartStopSyncEnabled && startStop != .unset { followStartStop() }
    if let song, !isPlausible(song) { self.song = nil }
    revision += 1
    isPublishDue = true
  }

  /// Takes a peer's start or stop if it is later than ours, and passes it on even if we do not follow it
  /// (facts: link 8.3).
  mutating func consider(_ incoming: SessionStartStop, of target: SessionID) {
    guard target == session, incoming.timestamp > startStop.timestamp else { return }
    startStop = incoming
    revision += 1
    isBroadcastDue = true
    isPublishDue = true
    if isStartStopSyncEnabled { followStartStop() }
  }

  /// Applies the session's start or stop to our client. The session's time stamp may be seconds ahead of our
  /// clock. In our client's copy, the stamp is at most the present time, so that the user's next action has a
  /// later stamp.
  private mutating func followStartStop() {
    clientStartStop = startStop.client(on: timeline, by: ghost)
    clientStartStop.timestamp = min(clientStartStop.timestamp, now)
  }

  mutating func commit(_ change: SessionChange) {
    guard holdsChanges else { return place(change) }
    if heldChange == nil {
      heldChange = HeldChange(change, to: client)
    } else {
      heldChange?.add(change, to: client)
    }
  }

  /// Whether the user's changes wait for a measurement. Without other members they need not wait, because the
  /// changes move no other peer's beat.
  private var holdsChanges: Bool {
    isClockDoubted && uptime.now < changesWaitUntil && peers.members(of: session) > 0
  }

  mutating func releaseHeldChange() {
    guard let held = heldChange, !holdsChanges else { return }
    heldChange = nil
    place(held.made(to: snapshot.state, at: now))
  }

  private mutating func place(_ change: SessionChange) {
    var changed = false
    if let timeline = change.timeline { changed = commitTimeline(timeline, change) }
    if let startStop = change.startStop { changed = commitStartStop(startStop) || changed }
    if let line = change.song { commitSong(line, change) }
    if changed { isBroadcastDue = true }
  }

  /// Applies a user's timeline to the session. A timeline that was made for a session that we have left is
  /// dropped, so that joining never changes the joined session.
  private mutating func commitTimeline(_ edited: Timeline, _ change: SessionChange) -> Bool {
    guard isForThisSession(change) else { return false }
    let edited = edited.clamped
    let changed = timeline.committing(client: edited, at: change.at, by: ghost)
    guard PacketJudge.isPlausible(changed, at: ghost.ghost(atHost: now)) else {
      counters.staleCommits += 1
      return false
    }
    client = edited
    isPublishDue = true
    peers.expect(changed, in: session)
    apply(changed, ghost)
    return true
  }

  mutating func isForThisSession(_ change: SessionChange) -> Bool {
    let meant = SessionID(rawValue: change.session)
    if change.session == 0 || meant == session || formerSessions.contains(meant) { return true }
    counters.staleCommits += 1
    return false
  }

  private mutating func commitStartStop(_ edited: ClientStartStop) -> Bool {
    guard edited.timestamp > clientStartStop.timestamp else { return false }
    clientStartStop = edited
    isPublishDue = true
    guard isStartStopSyncEnabled else { return false }
    var shared = edited.session(on: timeline, by: ghost)
    // A time stamp ahead of our clock would block our user until that time, because the later stamp wins
    // (facts: link 8.3).
    if startStop.timestamp > ghost.ghost(atHost: now) {
      shared.timestamp = max(shared.timestamp, startStop.timestamp + Micros(1))
    }
    guard shared.timestamp > startStop.timestamp else { return false }
    startStop = shared
    revision += 1
    return true
  }
}
