// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkWire

/// The sessions around us that are not ours, and how far we are with measuring them.
struct OtherSessions {
  enum Standing: Equatable {
    /// In the queue to be measured.
    case waiting
    case measuring
    /// Measured, and we stayed where we were. In uptime, when to look again.
    case known(reconsiderAt: Micros)
  }

  private(set) var table: [SessionID: Standing] = [:]
  /// First come, first measured. May name sessions that are gone; they are skipped.
  private var queue: [SessionID] = []
  private var queueHead = 0
  /// No known session is due for another look before this.
  private(set) var nextReconsideration: Micros?

  subscript(session: SessionID) -> Standing? { table[session] }

  /// Sessions that come and go while nothing is measured must not make the queue grow.
  mutating func enqueue(_ session: SessionID) {
    table[session] = .waiting
    queue.append(session)
    guard queue.count > 4 * Limits.sessions else { return }
    var seen: Set<SessionID> = []
    queue = queue[queueHead...].filter { table[$0] == .waiting && seen.insert($0).inserted }
    queueHead = 0
  }

  mutating func nextWaiting() -> SessionID? {
    while queueHead < queue.count {
      let session = queue[queueHead]
      queueHead += 1
      if table[session] == .waiting { return session }
    }
    queue.removeAll(keepingCapacity: true)
    queueHead = 0
    return nil
  }

  mutating func began(_ session: SessionID) { table[session] = .measuring }

  mutating func keep(_ session: SessionID, reconsiderAt: Micros) {
    table[session] = .known(reconsiderAt: reconsiderAt)
    nextReconsideration = min(reconsiderAt, nextReconsideration ?? reconsiderAt)
  }

  mutating func remove(_ session: SessionID) { table[session] = nil }

  /// Puts every known session whose time has come in line again.
  mutating func reconsider(at now: Micros) {
    guard let due = nextReconsideration, due <= now else { return }
    nextReconsideration = nil
    var again: [SessionID] = []
    for (session, standing) in table {
      guard case .known(let time) = standing else { continue }
      if time <= now {
        again.append(session)
      } else {
        nextReconsideration = min(time, nextReconsideration ?? time)
      }
    }
    for session in again.sorted() { enqueue(session) }
  }
}

extension LinkSession {
  /// Somebody announced a timeline that nobody in that session had announced before (facts: link 7.3).
  mutating func consider(_ incoming: Timeline, of target: SessionID) {
    if target == session {
      if Belief.overrides(incoming, timeline) { apply(incoming, ghost) }
    } else if others[target] == nil {
      others.enqueue(target)
    }
    isBroadcastDue = true
  }

  mutating func measurementSucceeded(_ done: Measurement, _ map: GhostMap) {
    let (target, node) = (done.session, done.node)
    counters.measurementsDone += 1
    let time = map.ghost(atHost: now)
    if target == session {
      if let said = done.disputed, time < ghost.ghost(atHost: now) || !Belief.isPlausible(said, at: time) {
        counters.implausible += 1
        peers.avoid(node, until: uptime.now + Rules.remeasurePeriod)
        return
      }
      guard Belief.isPlausible(age: time), Belief.isPlausible(timeline, at: time) else {
        counters.implausible += 1
        measurementFailed(of: target, node: node)
        // Nobody tells a time that our timeline fits: it is we who are wrong.
        if hasAskedAll(target) { startOwnSession() }
        return
      }
      peers.forgive(session)
      isClockDoubted = false
      source = node
      isSourceLost = false
      // One of the two is wrong, or was. It may be the new one.
      if abs((time - ghost.ghost(atHost: now)).count) > Limits.clockTolerance.count { remeasureSoon() }
      apply(timeline, map)
      isBroadcastDue = true
    } else if others[target] != nil {
      // Of what its members say, the latest that can be: one of them may say something else for good.
      let believed = peers.timelines(of: target).filter { Belief.isPlausible($0, at: time) }
      guard Belief.isPlausible(age: time), let latest = believed.max(by: { Belief.overrides($1, $0) }) else {
        counters.implausible += 1
        peers.avoid(node)
        if hasAskedAll(target) {
          others.keep(target, reconsiderAt: nextLook())
        } else {
          others.enqueue(target)
        }
        return
      }
      if Belief.isBetter(target, olderBy: time - ghost.ghost(atHost: now), than: session) {
        join(target, timeline: latest, map, by: node)
      } else {
        others.keep(target, reconsiderAt: nextLook())
      }
    }
  }

  mutating func measurementFailed(of target: SessionID, node: NodeID?) {
    counters.measurementsFailed += 1
    if target == session {
      // Next time somebody else is asked, if there is anybody. If there is not, our clock is as good as any.
      if let node { peers.avoid(node) }
      if hasAskedAll(target) { (isClockDoubted, isSourceLost) = (false, false) }
      let retry = uptime.now + (isClockDoubted ? Rules.pingTimeout : Limits.remeasureRetry)
      nextRemeasurement = nextRemeasurement.map { $0 < retry ? $0 : retry }
    } else {
      others.remove(target)
      peers.forget(target)
      dropEmptySessions()
    }
  }

  /// The old session's start/stop is not carried over and the new one's is not taken until it changes (8.3).
  private mutating func join(
    _ target: SessionID, timeline new: Timeline, _ map: GhostMap, by node: NodeID
  ) {
    counters.joins += 1
    let left = session
    others.remove(target)
    if peers.members(of: left) > 0 {
      others.keep(left, reconsiderAt: nextLook())
    }
    session = target
    formerSessions.removeAll()
    startStop = .unset
    peers.forgive(target)
    // What was not believed of another session is news in ours as soon as it can be.
    peers.expect(new, in: target)
    guide = node
    source = node
    isSourceLost = false
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
    if let gone = source, !peers.announces(gone, session) {
      source = nil
      isSourceLost = true
      remeasureSoon()
    }
    guard let due = nextRemeasurement, due <= uptime.now else { return }
    scheduleRemeasurement()
    if let gone = guide, !peers.announces(gone, session) { guide = nil }
    // Alone there is nobody to doubt by.
    if peers.members(of: session) == 0 { isClockDoubted = false }
    if isClockDoubted || isSourceLost || !isReference { measure(session) }
  }

  /// A member of our session says what can't be by our clock. Either its clock is ahead of ours, because one of us was lied
  /// to, and then the two of us would not agree until it is: the session is where it is farthest on. Or what it says can't
  /// be by its own clock either: then it is lost, and its clock says nothing.
  mutating func compareClocks(with member: PeerState) {
    guard nextComparison <= uptime.now, !peers.isLost(member.node, at: uptime.now),
      !measurements.contains(where: { $0.session == session })
    else { return }
    nextComparison = uptime.now + Limits.comparisonSpacing
    measure(session, inDisputeWith: member)
  }

  /// The reference measures every 30 seconds. Two peers that ask each other, at one moment and for a second on a poor
  /// network, would swap their clocks and go on swapping them, so ours do not keep step: a little sooner.
  mutating func scheduleRemeasurement() {
    nextRemeasurement =
      uptime.now + Rules.remeasurePeriod
      - Micros(Int64.random(in: 0...Limits.remeasureSpread.count, using: &dice))
  }

  /// Not all at the same moment, lest they swap clocks.
  private mutating func remeasureSoon() {
    let soon = uptime.now + Micros(Int64.random(in: 0...Limits.remeasureRetry.count, using: &dice))
    nextRemeasurement = min(soon, nextRemeasurement ?? soon)
  }

  mutating func doubtClock() {
    isClockDoubted = true
    nextRemeasurement = uptime.now
  }

  /// Whether there is nothing to measure the session's clock by, because it is ours: we founded the session, or the
  /// founder is gone, and we are the one whom all the others ask. A founder that we do not see may be there all the
  /// same, on a wire that we are not on; then somebody on ours asks it, and not us.
  private var isReference: Bool {
    if session == node { return true }
    guard let next = spokesman(of: session, isForgiving: true) else { return true }
    return next.state.node != session && next.state.node != bridgeGuide && node < next.state.node
      && !peers.isIndependent(next, at: uptime.now)
  }

  /// Between two wires the lowest id may be of one who asks us.
  private var bridgeGuide: NodeID? { peers.gateways(to: session) > 1 ? guide : nil }

  /// Whom to measure for `session`.
  func spokesman(of target: SessionID, isForgiving: Bool = false) -> Sighting? {
    peers.spokesman(
      of: target, preferring: target == session ? bridgeGuide : nil, isForgiving: isForgiving,
      overlooking: target == session && peers.isLowest(node, in: session), at: uptime.now
    ) { index(of: $0) }
  }

  /// Whether nobody is left to ask who was not asked in vain.
  private func hasAskedAll(_ target: SessionID) -> Bool { spokesman(of: target)?.isAvoided ?? true }

  /// A session that nobody announces any more is none, unless it is ours.
  mutating func dropEmptySessions() {
    for empty in peers.takeEmptied() where empty != session {
      others.remove(empty)
      measurements.removeAll { $0.session == empty }
    }
  }

  /// Whatever made our session's age or beat one that we would not believe of another (somebody's lie, a clock that
  /// stepped, three years): we leave it. All its members do, and find together again.
  mutating func leaveAbsurdSession() {
    let time = ghost.ghost(atHost: now)
    guard !Belief.isPlausible(age: time) || !Belief.isPlausible(timeline, at: time) else { return }
    startOwnSession()
  }

  /// A new session of our own that goes on where we are, so that nothing is heard of it (facts: link 7.6).
  mutating func startOwnSession() {
    counters.resets += 1
    remember(node)
    node = NodeID(using: &dice)
    var beatsNow = timeline.exactBeats(at: ghost.ghost(atHost: now))
    if beatsNow > Limits.beatsCarriedOn || beatsNow < -Limits.beatsCarriedOn {
      beatsNow = Beats(micros: beatsNow.micros % Timeline.round.micros)
    }
    if formerSessions.count == Limits.formerNodes { formerSessions.removeFirst() }
    formerSessions.append(session)
    session = node
    others = OtherSessions()
    measurements.removeAll()
    peers.clear()
    guide = nil
    source = nil
    isSourceLost = false
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
