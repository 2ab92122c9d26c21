// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkWire

/// Which session is ours.
extension LinkSession {
  /// Somebody announced a timeline that nobody in that session had announced before (facts: link 7.3).
  mutating func consider(_ incoming: Timeline, of target: SessionID, from host: Address) {
    if target == session {
      if Belief.overrides(incoming, timeline) { apply(incoming, ghost) }
    } else if peers.sessions[target]?.standing == nil {
      peers.sessions.enqueue(target, by: host, at: uptime.now)
    }
    isBroadcastDue = true
  }

  mutating func measurementSucceeded(_ done: Measurement, _ map: GhostMap) {
    counters.measurementsDone += 1
    peers.prove(done.source.node, on: done.gateway, at: done.endpoint)
    peers.sessions.noteSuccess(of: done.session)
    if done.session == session {
      follow(done.source, map)
    } else if peers.sessions[done.session]?.standing != nil {
      weigh(done.session, map, by: done.source)
    }
  }

  /// Somebody told us our own session's time.
  mutating func follow(_ told: Source, _ map: GhostMap) {
    // Meanwhile it is by our own that everybody goes.
    guard isClockDoubted || guide != nil else { return }
    let time = map.ghost(atHost: now)
    // A clock by which our timeline can't be brings a timeline of its own.
    let claims = [timeline] + (peers.nodes[told.node]?.first.map { [$0.claim] } ?? [])
    guard Belief.isPlausible(age: time),
      let fitting = claims.first(where: { Belief.isPlausible($0, at: time) })
    else {
      counters.implausible += 1
      avoid(told.node)
      measurementFailed(of: session, node: told.node)
      // Nobody tells a time that our timeline fits: it is we who are wrong.
      if hasAskedAll(session) { startOwnSession() }
      return
    }
    isClockDoubted = false
    source = told
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
  }

  /// Whether another session is better than ours, now that we know its time.
  mutating func weigh(_ target: SessionID, _ map: GhostMap, by told: Source) {
    let time = map.ghost(atHost: now)
    // Of what its members say, the latest that can be: one of them may say something else for good.
    let believed = peers.timelines(of: target).filter { Belief.isPlausible($0, at: time) }
    guard Belief.isPlausible(age: time), let latest = believed.max(by: { Belief.overrides($1, $0) }) else {
      counters.implausible += 1
      avoid(told.node)
      if hasAskedAll(target) {
        peers.sessions.keep(target, reconsiderAt: nextLook())
      } else {
        peers.sessions.enqueue(target, at: uptime.now)
      }
      return
    }
    let lead = time - ghost.ghost(atHost: now)
    let look = nextLook(isDoubtful: Belief.isAtTheBorder(lead))
    let looks = peers.sessions.looks(at: target)
    let isMixed = peers.haveReference(in: [session, target])
    guard Belief.isBetter(target, olderBy: lead, than: session, looks: looks, isMixed: isMixed) else {
      peers.sessions.keep(target, reconsiderAt: look)
      if isMixed, session < target, Belief.isStuck(olderBy: lead, afterLooks: looks) { startMeeting() }
      return
    }
    peers.sessions.change(from: session, to: target, reconsiderAt: look)
    join(target, timeline: latest, map, by: told)
  }

  mutating func measurementFailed(of target: SessionID, node: NodeID?) {
    counters.measurementsFailed += 1
    if target == session {
      // Next time somebody else is asked, if there is anybody. If there is not, our clock is as good as any.
      if let node, !isExcused(node) { avoid(node) }
      if hasAskedAll(target) { isClockDoubted = false }
      let retry = uptime.now + (isClockDoubted ? Rules.pingTimeout : Limits.remeasureRetry)
      nextRemeasurement = nextRemeasurement.map { $0 < retry ? $0 : retry }
    } else {
      peers.fail(target, at: uptime.now)
    }
  }

  /// Who told us the time may fail once, and as long as it says nothing at all: it is stalled, and an attacker who waits for that told
  /// another time. The reference never asks anybody else while the founder is there.
  private mutating func isExcused(_ node: NodeID) -> Bool {
    guard node == source?.node, !isClockDoubted else { return false }
    if peers.nodes[node]?.allSatisfy({ uptime.now - $0.heard > Limits.farewellGrace }) ?? true { return true }
    defer { hasSourceFailed = true }
    return !hasSourceFailed
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

  /// A peer that makes us start over all the time must not keep us from coming to an end.
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

  /// Whatever made our session's age or beat one that we would not believe of another (somebody's lie, a clock that
  /// stepped, three years): we leave it. All its members do, and find together again.
  mutating func leaveAbsurdSession() {
    let time = ghost.ghost(atHost: now)
    if time > Limits.farthestTime, Belief.isPlausible(age: time - Limits.yearsLeftBehind) {
      startNextSession()
    } else if !Belief.isPlausible(age: time) || !Belief.isPlausible(timeline, at: time) {
      startOwnSession()
    }
  }

  /// A new session of our own that goes on where we are, so that nothing is heard of it (facts: link 7.6).
  mutating func startOwnSession() {
    var beatsNow = timeline.exactBeats(at: ghost.ghost(atHost: now))
    if isFar(beatsNow) { beatsNow = Beats(micros: beatsNow.micros % Timeline.round.micros) }
    begin(
      nil, Timeline(tempo: timeline.tempo, beatOrigin: beatsNow, timeOrigin: .zero),
      GhostMap(startingAt: now), .unset)
  }

  /// A session that got too old goes on in one that all its members know: by the same clock, some years less, with the same
  /// timeline. They come there within milliseconds, and what one of them set or started meanwhile is everybody's there.
  private mutating func startNextSession() {
    let years = Limits.yearsLeftBehind
    let beat = timeline.exactBeats(at: Limits.farthestTime)
    let rounds = isFar(beat) ? beat - Beats(micros: beat.micros % Timeline.round.micros) : .zero
    let next = Timeline(
      tempo: timeline.tempo, beatOrigin: timeline.beatOrigin - rounds, timeOrigin: timeline.timeOrigin - years
    )
    // What was started long ago is not news for a peer that has joined since.
    var started = SessionStartStop.unset
    if startStop.timestamp > Limits.farthestTime - Limits.startStopLead {
      started = startStop
      started.beats = started.beats - rounds
      started.timestamp = started.timestamp - years
    }
    var dice = Dice(seed: session.rawValue)
    begin(NodeID(using: &dice), next, GhostMap(intercept: ghost.intercept - years), started)
  }

  /// Peers of the reference's look at another session once. Two sessions whose ages differ by just as much as it tolerates so stay side by side for good, some of
  /// its peers in either. A session that is older than both brings all together: it goes on where we are, and its name follows from ours, so that whoever of
  /// us begins it too is in the same.
  private mutating func startMeeting() {
    let lead = Limits.leadOfMeeting
    guard Belief.isPlausible(age: ghost.ghost(atHost: now) + lead) else { return }
    let next = Timeline(
      tempo: timeline.tempo, beatOrigin: timeline.beatOrigin, timeOrigin: timeline.timeOrigin + lead)
    var started = startStop
    if started != .unset { started.timestamp = started.timestamp + lead }
    var dice = Dice(seed: session.rawValue)
    begin(NodeID(using: &dice), next, GhostMap(intercept: ghost.intercept + lead), started)
  }

  private func isFar(_ beat: Beats) -> Bool { beat > Limits.beatsCarriedOn || beat < -Limits.beatsCarriedOn }

  /// Of our own, unless another is named; nobody that we know is in it.
  private mutating func begin(
    _ target: SessionID?, _ new: Timeline, _ map: GhostMap, _ started: SessionStartStop
  ) {
    counters.resets += 1
    // Whom we leave behind, and who may leave as we do, need not wait until we expire.
    if peers.members(of: session) > 0 { for place in gateways.indices { sayGoodbye(on: place) } }
    remember(node)
    node = isRelay ? NodeID(ofRelayUsing: &dice) : NodeID(using: &dice)
    if formerSessions.count == Limits.formerNodes { formerSessions.removeFirst() }
    formerSessions.append(session)
    session = target ?? node
    measurements.removeAll()
    awaited.removeAll()
    peers.clear()
    tellPeers(0)
    usher = nil
    guide = nil
    source = nil
    clock = ClockOrigin(root: node, steps: 0)
    isClockDoubted = false
    nextRemeasurement = nil
    startStop = started
    apply(new, map)
    revision += 1
    isBroadcastDue = true
    isPublishDue = true
  }

  private mutating func remember(_ node: NodeID) {
    if formerNodes.count == Limits.formerNodes { formerNodes.removeFirst() }
    formerNodes.append(node)
  }
}

extension Peers {
  /// Whether a peer of the reference's is in one of them: it says nothing of its clock (facts: link 1.1).
  func haveReference(in sessions: [SessionID]) -> Bool {
    nodes.values.lazy.joined().contains { $0.state.clock == nil && sessions.contains($0.state.session) }
  }
}
