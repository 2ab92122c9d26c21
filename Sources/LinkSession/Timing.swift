// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import LinkWire

/// A change that an app or the audio thread made to a captured state.
public struct Commit: Sendable, BitwiseCopyable {
  /// In host time; nil if it was not changed.
  public var timeline: Timeline?
  public var startStop: ClientStartStop?
  /// Host time of the commit.
  public var at: Micros
  /// The session whose state was captured. A change that was meant for a session which we have left since is
  /// dropped, so that joining never changes the joined session. Nil means the current one.
  public var session: SessionID?
  /// Counts the audio thread's commits; the snapshot says which was the last to be worked in.
  public var audioSequence: UInt64?

  public init(
    timeline: Timeline?, startStop: ClientStartStop?, at: Micros, session: SessionID? = nil,
    audioSequence: UInt64? = nil
  ) {
    self.timeline = timeline
    self.startStop = startStop
    self.at = at
    self.session = session
    self.audioSequence = audioSequence
  }

  /// What a captured state or `AudioSession` says was changed.
  public init(_ change: SessionChange) {
    self.init(
      timeline: change.timeline, startStop: change.startStop, at: change.at,
      session: change.session == 0 ? nil : SessionID(rawValue: change.session),
      audioSequence: change.sequence == 0 ? nil : change.sequence)
  }
}

extension LinkSession {
  /// Our session's timeline or clock is now this: the client's beat runs on unbroken (facts: link 7.5).
  mutating func apply(_ incoming: Timeline, _ map: GhostMap) {
    let incoming = incoming.clamped
    guard incoming != timeline || map != ghost else { return }
    timeline = incoming
    ghost = map
    client = client.following(session: incoming, at: now, by: map)
    // By another clock it may be stamped in the future.
    if !Belief.isPlausible(startStop, at: map.ghost(atHost: now)) { startStop = .unset }
    if isStartStopSyncEnabled && startStop != .unset { followStartStop() }
    revision += 1
    isPublishDue = true
  }

  /// A peer's start or stop counts if it is later than the one we know; it is passed on even if we do not follow
  /// it (facts: link 8.3).
  mutating func consider(_ incoming: SessionStartStop, of target: SessionID) {
    guard target == session, incoming.timestamp > startStop.timestamp else { return }
    startStop = incoming
    revision += 1
    isBroadcastDue = true
    guard isStartStopSyncEnabled else { return }
    followStartStop()
    isPublishDue = true
  }

  /// Whoever said it may be ahead of us by seconds. To our own users it was said now at the latest, so that what they do
  /// next is later.
  private mutating func followStartStop() {
    clientStartStop = startStop.client(on: timeline, by: ghost)
    clientStartStop.timestamp = min(clientStartStop.timestamp, now)
  }

  mutating func commit(_ commit: Commit) {
    if let sequence = commit.audioSequence {
      audioSequence = sequence
      isPublishDue = true
    }
    var changed = false
    if let timeline = commit.timeline { changed = commitTimeline(timeline, commit) }
    if let startStop = commit.startStop { changed = commitStartStop(startStop) || changed }
    if changed { isBroadcastDue = true }
  }

  private mutating func commitTimeline(_ edited: Timeline, _ commit: Commit) -> Bool {
    if let session = commit.session, session != self.session, !formerSessions.contains(session) {
      counters.staleCommits += 1
      return false
    }
    let edited = edited.clamped
    let changed = timeline.committing(client: edited, at: commit.at, by: ghost)
    guard Belief.isPlausible(changed, at: ghost.ghost(atHost: now)) else {
      counters.staleCommits += 1
      return false
    }
    client = edited
    isPublishDue = true
    peers.expect(changed, in: session)
    apply(changed, ghost)
    return true
  }

  private mutating func commitStartStop(_ edited: ClientStartStop) -> Bool {
    guard edited.timestamp > clientStartStop.timestamp else { return false }
    clientStartStop = edited
    isPublishDue = true
    guard isStartStopSyncEnabled else { return false }
    var shared = edited.session(on: timeline, by: ghost)
    // A stamp ahead of our clock would bar our users until then, and the later one wins (facts: link 8.3).
    if startStop.timestamp > ghost.ghost(atHost: now) {
      shared.timestamp = max(shared.timestamp, startStop.timestamp + Micros(1))
    }
    guard shared.timestamp > startStop.timestamp else { return false }
    startStop = shared
    revision += 1
    return true
  }
}
