// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

/// The choice of our session.
extension LinkSession {
  /// Handles a timeline that no known peer of the session `target` has announced so far (facts: link 7.3).
  mutating func consider(_ incoming: Timeline, of target: SessionID, from host: Address) {
    if target == session {
      if PacketJudge.overrides(incoming, timeline) { apply(incoming, ghost) }
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

  /// Adopts our own session's time, which the peer `told` has just given us in a measurement.
  mutating func follow(_ told: Source, _ map: GhostMap) {
    // If we have changed to our own clock since the measurement began, the measurement is of no use.
    guard isClockDoubted || guide != nil else { return }
    let time = map.ghost(atHost: now)
    // If the measured clock makes our timeline implausible, the measured peer's own timeline may fit.
    let claims = [timeline] + (peers.nodes[told.node]?.first.map { [$0.claim] } ?? [])
    guard PacketJudge.isPlausible(age: time),
      let fitting = claims.first(where: { PacketJudge.isPlausible($0, at: time) })
    else {
      counters.implausible += 1
      avoid(told.node)
      measurementFailed(of: session, node: told.node)
      // If no peer's time fits our timeline, our timeline is wrong.
      if hasAskedAll(session) { startOwnSession() }
      return
    }
    isClockDoubted = false
    source = told
    if abs((time - ghost.ghost(atHost: now)).count) > Limits.clockTolerance.count {
      // One of the two clocks is or was wrong, perhaps the new clock.
      remeasureSoon()
      clock.jumps &+= 1
    }
    // If another peer became the best peer to ask during the measurement, we measure that peer soon.
    if guide != nil && guide != source { remeasureSoon() }
    if fitting != timeline { peers.expect(fitting, in: session) }
    apply(fitting, map)
    isBroadcastDue = true
  }

  /// Joins another session, whose time was just measured, if that session is better than ours.
  mutating func weigh(_ target: SessionID, _ map: GhostMap, by told: Source) {
    let time = map.ghost(atHost: now)
    // We take the latest plausible timeline of its members, because a single member may announce an absurd
    // timeline for ever.
    let believed = peers.timelines(of: target).filter { PacketJudge.isPlausible($0, at: time) }
    guard PacketJudge.isPlausible(age: time), let latest = believed.max(by: { PacketJudge.overrides($1, $0) })
    else {
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
    let look = nextLook(isDoubtful: PacketJudge.isAtTheBorder(lead))
    let looks = peers.sessions.looks(at: target)
    let isMixed = peers.haveReference(in: [session, target])
    guard PacketJudge.isBetter(target, olderBy: lead, than: session, looks: looks, isMixed: isMixed) else {
      peers.sessions.keep(target, reconsiderAt: look)
      if isMixed, session < target, PacketJudge.isStuck(olderBy: lead, afterLooks: looks) { startMeeting() }
      return
    }
    peers.sessions.change(from: session, to: target, reconsiderAt: look)
    join(target, timeline: latest, map, by: told)
  }

  mutating func measurementFailed(of target: SessionID, node: NodeID?) {
    counters.measurementsFailed += 1
    if target == session {
      // Next time we ask another peer, if there is another. If there is no other peer, our own clock is as
      // good as any.
      if let node, !isExcused(node) { avoid(node) }
      if hasAskedAll(target) { isClockDoubted = false }
      let retry = uptime.now + (isClockDoubted ? Rules.pingTimeout : Limits.remeasureRetry)
      nextRemeasurement = nextRemeasurement.map { $0 < retry ? $0 : retry }
    } else {
      peers.fail(target, at: uptime.now)
    }
  }

  /// A peer that gave us the time before may fail once, and again while it is completely silent: such a peer
  /// has stalled, and an attacker who waits for a stall would offer another time. Ableton's library never
  /// asks another peer while the founder is there.
  private mutating func isExcused(_ node: NodeID) -> Bool {
    guard node == source?.node, !isClockDoubted else { return false }
    if peers.nodes[node]?.allSatisfy({ uptime.now - $0.heard > Limits.farewellGrace }) ?? true { return true }
    defer { hasSourceFailed = true }
    return !hasSourceFailed
  }

  /// Joins a session. The old session's start or stop is dropped. In the new session we follow starts and
  /// stops from the next change on (facts: link 8.3).
  private mutating func join(
    _ target: SessionID, timeline new: Timeline, _ map: GhostMap, by source: Source
  ) {
    counters.joins += 1
    session = target
    formerSessions.removeAll()
    startStop = .unset
    song = nil
    // The joined session may have timelines that we did not believe so far. They must count as new as soon as
    // they are plausible.
    peers.expect(new, in: target)
    usher = source.node
    self.source = source
    clock.jumps &+= 1
    scheduleRemeasurement()
    chooseGuide()
    apply(new, map)
    learnSong()
    revision += 1
    isBroadcastDue = true
    isPublishDue = true
    isClockDoubted = false
  }

  /// The uptime of the next measurement of another session. It is random, so that we and a peer in the other
  /// session don't measure at the same moment and swap sessions for ever.
  private mutating func nextLook(isDoubtful: Bool = false) -> Micros {
    let period = isDoubtful ? Limits.doubtfulPeriod : Limits.reconsiderPeriod
    return uptime.now + period + Micros(Int64.random(in: 0...period.count, using: &dice))
  }

  mutating func remeasure() {
    guard let due = nextRemeasurement, due <= uptime.now else { return }
    scheduleRemeasurement()
    // If there are no other members, there is no other clock to ask for.
    if peers.members(of: session) == 0 { isClockDoubted = false }
    guard isClockDoubted || guide != nil, !isAskingGuide else { return }
    measure(session)
  }

  /// Whether we are measuring the chosen peer already. A running measurement is not restarted: otherwise a
  /// peer that keeps causing new measurements would keep it from ending.
  private var isAskingGuide: Bool {
    guard let guide else { return false }
    return measurements.contains { $0.session == session && $0.source.node == guide.node }
  }

  private mutating func avoid(_ node: NodeID) {
    peers.avoid(node, until: uptime.now + Limits.remeasureRetry)
  }

  /// Plans the next measurement of our own session, up to five seconds earlier than Ableton's library, which
  /// measures every 30 seconds. Two peers that measure each other at the same moment would swap their clocks,
  /// and with equal periods they would do so every time.
  mutating func scheduleRemeasurement() {
    nextRemeasurement =
      uptime.now + Rules.remeasurePeriod
      - Micros(Int64.random(in: 0...Limits.remeasureSpread.count, using: &dice))
  }

  /// Plans the next measurement of our own session early: after all members know the clock origin, and at a
  /// random time, so that they do not all measure at once.
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

  /// Whether every peer that could give us this session's time has failed lately.
  private func hasAskedAll(_ target: SessionID) -> Bool { guide(to: target)?.isAvoided ?? true }

  /// Leaves our session if we would not believe its age or beat of another session. A lie, a step of a clock,
  /// or three years may cause that. All members leave the session and find each other again.
  mutating func leaveAbsurdSession() {
    let time = ghost.ghost(atHost: now)
    if time > Limits.farthestTime, PacketJudge.isPlausible(age: time - Limits.yearsLeftBehind) {
      startNextSession()
    } else if !PacketJudge.isPlausible(age: time) || !PacketJudge.isPlausible(timeline, at: time) {
      startOwnSession()
    }
  }

  /// Founds a session in which our beat continues without a jump (facts: link 7.6).
  mutating func startOwnSession() {
    var beatsNow = timeline.exactBeats(at: ghost.ghost(atHost: now))
    if isFar(beatsNow) { beatsNow = Beats(millionths: beatsNow.millionths % Timeline.round.millionths) }
    begin(
      nil, Timeline(tempo: timeline.tempo, beatOrigin: beatsNow, timeOrigin: .zero),
      GhostMap(startingAt: now), .unset)
  }

  /// Continues a session that got too old in a new session that every member computes alike: with the same
  /// timeline, and the same clock less some years. The members arrive within milliseconds, and changes that
  /// they make meanwhile are valid for all.
  private mutating func startNextSession() {
    let years = Limits.yearsLeftBehind
    let beat = timeline.exactBeats(at: Limits.farthestTime)
    let rounds = isFar(beat) ? beat - Beats(millionths: beat.millionths % Timeline.round.millionths) : .zero
    let next = Timeline(
      tempo: timeline.tempo, beatOrigin: timeline.beatOrigin - rounds, timeOrigin: timeline.timeOrigin - years
    )
    // An old start must not start a peer that has joined since.
    var started = SessionStartStop.unset
    if startStop.timestamp > Limits.farthestTime - Limits.startStopLead {
      started = startStop
      started.beats = started.beats - rounds
      started.timestamp = started.timestamp - years
    }
    var dice = Dice(seed: session.rawValue)
    begin(NodeID(using: &dice), next, GhostMap(intercept: ghost.intercept - years), started)
  }

  /// Unites two sessions that peers of Ableton's library keep apart: Ableton's library measures a foreign
  /// session only once, so if the ages differ by almost exactly its tolerance, its peers stay split for ever.
  /// We continue in a third session that is older than both. Its id follows from ours, so that all tactus
  /// peers of our session meet there.
  private mutating func startMeeting() {
    let lead = Limits.leadOfMeeting
    guard PacketJudge.isPlausible(age: ghost.ghost(atHost: now) + lead) else { return }
    let next = Timeline(
      tempo: timeline.tempo, beatOrigin: timeline.beatOrigin, timeOrigin: timeline.timeOrigin + lead)
    var started = startStop
    if started != .unset { started.timestamp = started.timestamp + lead }
    var dice = Dice(seed: session.rawValue)
    begin(NodeID(using: &dice), next, GhostMap(intercept: ghost.intercept + lead), started)
  }

  private func isFar(_ beat: Beats) -> Bool { beat > Limits.beatsCarriedOn || beat < -Limits.beatsCarriedOn }

  /// Begins the session `target`, or a session of our own, in which we know no other peer yet.
  private mutating func begin(
    _ target: SessionID?, _ new: Timeline, _ map: GhostMap, _ started: SessionStartStop
  ) {
    counters.resets += 1
    // After a goodbye, the peers that stay need not wait until our entry in their tables expires.
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
    carrySong(to: new, map)
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
  /// Whether a peer of Ableton's library is in one of the sessions. Such a peer announces no clock (facts:
  /// link 1.1).
  func haveReference(in sessions: [SessionID]) -> Bool {
    nodes.values.lazy.joined().contains { $0.state.clock == nil && sessions.contains($0.state.session) }
  }
}
