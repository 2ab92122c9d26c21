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
  /// How often each was measured, and stayed beside ours; it may be gone in between.
  private var looks: [SessionID: Int] = [:]
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
    if looks.count >= Limits.sessions { looks.removeAll() }
    looks[session, default: 0] += 1
    nextReconsideration = min(reconsiderAt, nextReconsideration ?? reconsiderAt)
  }

  mutating func remove(_ session: SessionID) { table[session] = nil }

  /// `left` was ours, and `joined` is.
  mutating func change(from left: SessionID, to joined: SessionID, reconsiderAt: Micros) {
    remove(joined)
    looks[left] = looks[joined]
    keep(left, reconsiderAt: reconsiderAt)
  }

  func looks(at session: SessionID) -> Int { looks[session] ?? 0 }

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
    let (target, node) = (done.session, done.source.node)
    counters.measurementsDone += 1
    let time = map.ghost(atHost: now)
    if target == session {
      // Meanwhile it is by our own that everybody goes.
      guard isClockDoubted || guide != nil else { return }
      // A clock by which our timeline can't be brings a timeline of its own.
      let claims = [timeline] + (peers.nodes[node]?.first.map { [$0.claim] } ?? [])
      guard Belief.isPlausible(age: time),
        let fitting = claims.first(where: { Belief.isPlausible($0, at: time) })
      else {
        counters.implausible += 1
        measurementFailed(of: target, node: node)
        // Nobody tells a time that our timeline fits: it is we who are wrong.
        if hasAskedAll(target) { startOwnSession() }
        return
      }
      isClockDoubted = false
      source = done.source
      if abs((time - ghost.ghost(atHost: now)).count) > Limits.clockTolerance.count {
        // One of the two is wrong, or was. It may be the new one.
        remeasureSoon()
        clock.jumps &+= 1
      }
      // Somebody else was the best while it was asked.
      if guide != nil && guide != source { remeasureSoon() }
      if fitting != timeline { peers.expect(fitting, in: session) }
      apply(fitting, map)
      isBroadcastDue = true
    } else if others[target] != nil {
      // Of what its members say, the latest that can be: one of them may say something else for good.
      let believed = peers.timelines(of: target).filter { Belief.isPlausible($0, at: time) }
      guard Belief.isPlausible(age: time), let latest = believed.max(by: { Belief.overrides($1, $0) }) else {
        counters.implausible += 1
        avoid(node)
        if hasAskedAll(target) {
          others.keep(target, reconsiderAt: nextLook())
        } else {
          others.enqueue(target)
        }
        return
      }
      let lead = time - ghost.ghost(atHost: now)
      let look = nextLook(isDoubtful: Belief.isAtTheBorder(lead))
      if Belief.isBetter(target, olderBy: lead, than: session, looks: others.looks(at: target)) {
        if peers.members(of: session) > 0 {
          others.change(from: session, to: target, reconsiderAt: look)
        } else {
          others.remove(target)
        }
        join(target, timeline: latest, map, by: done.source)
      } else {
        others.keep(target, reconsiderAt: look)
      }
    }
  }

  mutating func measurementFailed(of target: SessionID, node: NodeID?) {
    counters.measurementsFailed += 1
    if target == session {
      // Next time somebody else is asked, if there is anybody. If there is not, our clock is as good as any.
      if let node { avoid(node) }
      if hasAskedAll(target) { isClockDoubted = false }
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
    _ target: SessionID, timeline new: Timeline, _ map: GhostMap, by source: Source
  ) {
    counters.joins += 1
    session = target
    formerSessions.removeAll()
    startStop = .unset
    // What was not believed of another session is news in ours as soon as it can be.
    peers.expect(new, in: target)
    usher = source.node
    self.source = source
    clock.jumps &+= 1
    scheduleRemeasurement()
    chooseGuide()
    apply(new, map)
    revision += 1
    isBroadcastDue = true
    isPublishDue = true
    isClockDoubted = false
  }

  /// Not at the same moment as the peer on the other side, lest we swap sessions for ever.
  private mutating func nextLook(isDoubtful: Bool = false) -> Micros {
    let period = isDoubtful ? Limits.doubtfulPeriod : Limits.reconsiderPeriod
    return uptime.now + period + Micros(Int64.random(in: 0...period.count, using: &dice))
  }

  mutating func remeasure() {
    guard let due = nextRemeasurement, due <= uptime.now else { return }
    scheduleRemeasurement()
    // Alone there is nobody to doubt by.
    if peers.members(of: session) == 0 { isClockDoubted = false }
    guard isClockDoubted || guide != nil, !isAskingGuide else { return }
    measure(session)
  }

  /// Whoever makes us begin anew all the time must not keep us from coming to an end.
  private var isAskingGuide: Bool {
    guard let guide else { return false }
    return measurements.contains { $0.session == session && $0.source.node == guide.node }
  }

  private mutating func avoid(_ node: NodeID) {
    peers.avoid(node, until: uptime.now + Limits.remeasureRetry)
  }

  /// The reference measures every 30 seconds. Two peers that ask each other, at one moment and for a second on a poor
  /// network, would swap their clocks and go on swapping them, so ours do not keep step: a little sooner.
  mutating func scheduleRemeasurement() {
    nextRemeasurement =
      uptime.now + Rules.remeasurePeriod
      - Micros(Int64.random(in: 0...Limits.remeasureSpread.count, using: &dice))
  }

  /// Not before everybody has heard whose clock everybody goes by, and not all at the same moment.
  mutating func remeasureSoon() {
    let members = Int64(peers.members(of: session))
    let spread = min(Limits.remeasureRetry, Micros(Limits.remeasureSpacing.count * members))
    let settled = uptime.now + Limits.guideSettles
    let soon = settled + Micros(Int64.random(in: 0...spread.count, using: &dice))
    if nextRemeasurement.map({ $0 > settled }) ?? true { nextRemeasurement = soon }
  }

  mutating func doubtClock() {
    isClockDoubted = true
    nextRemeasurement = uptime.now
  }

  /// Whether nobody is left to ask who was not asked in vain.
  private func hasAskedAll(_ target: SessionID) -> Bool { guide(to: target)?.isAvoided ?? true }

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
    // Whom we leave behind, and who may leave as we do, need not wait until we expire.
    if peers.members(of: session) > 0 { for place in gateways.indices { sayGoodbye(on: place) } }
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
    usher = nil
    guide = nil
    source = nil
    clock = ClockOrigin(root: node, steps: 0)
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
