// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkWire

/// The sessions around us that are not ours, and how far we are with measuring them.
struct OtherSessions {
  enum Standing: Equatable {
    /// In line to be measured.
    case waiting
    case measuring
    /// Measured, and we stayed where we were. In uptime, when to look again.
    case known(reconsiderAt: Micros)
  }

  struct Other {
    /// The best-founded timeline its peers have announced.
    var timeline: Timeline
    var standing: Standing
  }

  private(set) var table: [SessionID: Other] = [:]
  /// First come, first measured. May name sessions that are gone; they are skipped.
  private var line: [SessionID] = []
  private var lineHead = 0
  /// No known session is due for another look before this.
  private(set) var nextReconsideration: Micros?

  subscript(session: SessionID) -> Other? { table[session] }

  mutating func enqueue(_ session: SessionID, timeline: Timeline) {
    table[session] = Other(timeline: timeline, standing: .waiting)
    stand(session)
  }

  /// Sessions that come and go while nothing is measured must not make the line grow.
  private mutating func stand(_ session: SessionID) {
    line.append(session)
    guard line.count > 4 * Limits.sessions else { return }
    var seen: Set<SessionID> = []
    line = line[lineHead...].filter { table[$0]?.standing == .waiting && seen.insert($0).inserted }
    lineHead = 0
  }

  mutating func nextWaiting() -> SessionID? {
    while lineHead < line.count {
      let session = line[lineHead]
      lineHead += 1
      if table[session]?.standing == .waiting { return session }
    }
    line.removeAll(keepingCapacity: true)
    lineHead = 0
    return nil
  }

  mutating func began(_ session: SessionID) { table[session]?.standing = .measuring }

  mutating func update(_ session: SessionID, timeline: Timeline) { table[session]?.timeline = timeline }

  mutating func keep(_ session: SessionID, timeline: Timeline, reconsiderAt: Micros) {
    table[session] = Other(timeline: timeline, standing: .known(reconsiderAt: reconsiderAt))
    nextReconsideration = min(reconsiderAt, nextReconsideration ?? reconsiderAt)
  }

  mutating func remove(_ session: SessionID) { table[session] = nil }

  /// Puts every known session whose time has come in line again.
  mutating func reconsider(at now: Micros) {
    guard let due = nextReconsideration, due <= now else { return }
    nextReconsideration = nil
    var again: [SessionID] = []
    for (session, other) in table {
      guard case .known(let time) = other.standing else { continue }
      if time <= now {
        again.append(session)
      } else {
        nextReconsideration = min(time, nextReconsideration ?? time)
      }
    }
    for session in again.sorted() {
      table[session]?.standing = .waiting
      stand(session)
    }
  }
}

extension Timeline {
  /// The one that begins later wins (link-protocol 7.3). Two that begin in the same microbeat, and both were set
  /// before their peers heard of the other, would divide the session for good: of these, any fixed order will do.
  fileprivate func overrides(_ current: Timeline) -> Bool {
    if beatOrigin != current.beatOrigin { return beatOrigin > current.beatOrigin }
    let (new, old) = (clamped.tempo.microsPerBeat, current.tempo.microsPerBeat)
    return new != old ? new > old : timeOrigin > current.timeOrigin
  }
}

extension LinkSession {
  /// Somebody announced a timeline that nobody in that session had announced before (link-protocol 7.3).
  mutating func consider(_ incoming: Timeline, of target: SessionID) {
    if target == session {
      if incoming.overrides(timeline) { apply(incoming, ghost) }
    } else if let other = others[target] {
      if incoming.overrides(other.timeline) { others.update(target, timeline: incoming) }
    } else {
      others.enqueue(target, timeline: incoming)
    }
    isBroadcastDue = true
  }

  mutating func measurementSucceeded(of target: SessionID, _ map: GhostMap) {
    counters.measurementsDone += 1
    let ghostNow = map.ghost(atHost: now)
    let measured = target == session ? timeline : others[target]?.timeline ?? timeline
    guard ghostNow <= Limits.farthestTime, ghostNow >= -Limits.timelineSlack,
      target == session || isPlausibleInTime(measured, by: map)
    else {
      counters.implausible += 1
      measurementFailed(of: target, node: nil)
      return
    }
    if target == session {
      unreachable = nil
      isClockDoubted = false
      apply(timeline, map)
      isBroadcastDue = true
    } else if let other = others[target] {
      if isBetter(target, map) {
        join(target, timeline: other.timeline, map)
      } else {
        others.keep(target, timeline: other.timeline, reconsiderAt: nextLook())
      }
    }
  }

  mutating func measurementFailed(of target: SessionID, node: NodeID?) {
    counters.measurementsFailed += 1
    if target == session {
      // Next time somebody else is asked, if there is anybody.
      unreachable = node
      let retry = uptime.now + Limits.remeasureRetry
      nextRemeasurement = nextRemeasurement.map { $0 < retry ? $0 : retry }
    } else {
      others.remove(target)
      peers.forget(target)
      dropEmptySessions()
    }
  }

  /// The older session wins; of two equally old ones, the one with the smaller id (link-protocol 7.4).
  private func isBetter(_ target: SessionID, _ map: GhostMap) -> Bool {
    let lead = map.ghost(atHost: now) - ghost.ghost(atHost: now)
    if lead > Rules.joinTolerance { return true }
    return lead < Rules.joinTolerance && lead > -Rules.joinTolerance && target < session
  }

  /// The old session's start/stop is not carried over and the new one's is not taken until it changes (8.3).
  private mutating func join(_ target: SessionID, timeline new: Timeline, _ map: GhostMap) {
    counters.joins += 1
    let left = session
    others.remove(target)
    if peers.members(of: left) > 0 {
      others.keep(left, timeline: timeline, reconsiderAt: nextLook())
    }
    session = target
    formerSessions.removeAll()
    startStop = .unset
    unreachable = nil
    apply(new, map)
    revision += 1
    isBroadcastDue = true
    isPublishDue = true
    isClockDoubted = false
    scheduleRemeasurement()
  }

  /// Not at the same moment as the peer on the other side, lest we swap sessions for ever.
  private mutating func nextLook() -> Micros {
    uptime.now + Limits.reconsiderPeriod
      + Micros(Int64.random(in: 0...Limits.reconsiderPeriod.count, using: &dice))
  }

  mutating func remeasure() {
    guard let due = nextRemeasurement, due <= uptime.now else { return }
    scheduleRemeasurement()
    if isClockDoubted || !isReference { measure(session, avoiding: unreachable) }
  }

  /// The reference measures every 30 seconds. Two peers that ask each other, at one moment and for a second on a poor
  /// network, would swap their clocks and go on swapping them, so ours do not keep step: a little sooner.
  mutating func scheduleRemeasurement() {
    nextRemeasurement =
      uptime.now + Rules.remeasurePeriod
      - Micros(Int64.random(in: 0...Limits.remeasureSpread.count, using: &dice))
  }

  mutating func doubtClock() {
    isClockDoubted = true
    nextRemeasurement = uptime.now
  }

  /// Whether everybody else measures us: we founded the session, or the founder is gone and our id is the lowest.
  /// The session's clock is ours then, and there is nothing to measure it by.
  private var isReference: Bool {
    if session == node { return true }
    guard let other = peers.spokesman(of: session, avoiding: nil, rank: { index(of: $0) }) else {
      return true
    }
    return other.state.node != session && node < other.state.node
  }

  /// A session that nobody announces any more is none, unless it is ours.
  mutating func dropEmptySessions() {
    for empty in peers.takeEmptied() where empty != session {
      others.remove(empty)
      measurements.removeAll { $0.session == empty }
    }
  }

  /// A new session of our own that goes on where we are, so that nothing is heard of it (link-protocol 7.6).
  mutating func found() {
    counters.resets += 1
    remember(node)
    node = NodeID(using: &dice)
    let beatsNow = timeline.beats(at: ghost.ghost(atHost: now))
    if formerSessions.count == Limits.formerNodes { formerSessions.removeFirst() }
    formerSessions.append(session)
    session = node
    others = OtherSessions()
    measurements.removeAll()
    peers.clear()
    unreachable = nil
    isClockDoubted = false
    nextRemeasurement = nil
    startStop = .unset
    apply(
      Timeline(tempo: timeline.tempo, beatOrigin: beatsNow, timeOrigin: .zero), GhostMap(startingAt: now))
    revision += 1
    isBroadcastDue = true
    isPublishDue = true
  }

  private mutating func remember(_ node: NodeID) {
    if formerNodes.count == Limits.formerNodes { formerNodes.removeFirst() }
    formerNodes.append(node)
  }
}
