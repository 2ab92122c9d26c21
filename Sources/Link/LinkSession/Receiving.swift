// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

// Handles datagrams and deadlines (facts: link 3.3, 3.4, 4.2).
extension LinkSession {
  /// Handles a discovery datagram. `arrived`: the uptime at which the datagram reached the socket.
  mutating func receiveDiscovery(
    _ bytes: UnsafeRawBufferPointer, from source: Endpoint, on place: Int, arrived: Micros
  ) {
    do throws(DecodingFailure) {
      let header = try decodeDiscoveryHeader(bytes)
      guard header.node != node, !formerNodes.contains(header.node) else {
        counters.own += 1
        return
      }
      // We respond before the rest of the datagram is decoded: even if the rest is broken, the sender is
      // present.
      if header.kind == .alive { respond(to: source, on: place) }
      switch try decodeDiscovery(bytes) {
      case .alive(let state, let ttl), .response(let state, let ttl):
        see(state, ttl: ttl, from: source, on: place, arrived: arrived)
      case .byeBye(let gone):
        takeByeBye(gone, from: source, on: gateways[place].gateway.id, arrived: arrived)
      }
    } catch {
      counters.malformed += 1
    }
  }

  private mutating func see(
    _ state: PeerState, ttl: UInt8, from source: Endpoint, on place: Int, arrived: Micros
  ) {
    let gateway = gateways[place].gateway
    var state = state
    if let far = gateway.far {
      state.measurement = far.relay
      state.timeline = far.here(state.timeline)
      state.audio = nil
    } else {
      state.measurement = PacketJudge.measurable(state.measurement, from: source.address, on: gateway)
      // The audio socket, too, must be on the sender's address.
      state.audio = PacketJudge.measurable(state.audio, from: source.address, on: gateway)
    }
    let claim = state.timeline
    guard keepsPlausible(&state) else {
      counters.implausible += 1
      return
    }
    let isOurs = state.session == session
    let expiry = uptime.now + PacketJudge.lifetime(ttl)
    switch peers.see(
      state, claiming: claim, on: gateway.id, from: source.address, arrived: arrived, at: uptime.now,
      until: expiry, in: session)
    {
    case .known: consider(state.song, of: state.session)
    case .forged(let known):
      counters.forged += 1
      if isOurs { receiveElsewhere(state, since: known, from: source.address) }
      consider(state.song, of: state.session)
    case .refused:
      counters.crowdedOut += 1
    case .news(let isTimelineNews, let isStartStopNews):
      // The timeline is handled before the start, because it gives the time of the start's beat.
      if isTimelineNews { consider(state.timeline, of: state.session, from: source.address) }
      if isStartStopNews { consider(state.startStop, of: state.session) }
      consider(state.song, of: state.session)
    }
  }

  /// Replaces implausible parts of a peer's state. Returns false if the whole state is of no use.
  private mutating func keepsPlausible(_ state: inout PeerState) -> Bool {
    let isOurs = state.session == session
    let time = ghost.ghost(atHost: now)
    // We cannot join a session that we cannot measure.
    guard PacketJudge.isPossible(state.timeline), isOurs || state.measurement != nil else { return false }
    // An implausible timeline is not recorded as announced. As soon as it becomes plausible, it counts as
    // new.
    if isOurs && !PacketJudge.isPlausible(state.timeline, at: time) {
      counters.implausible += 1
      state.timeline = timeline
    }
    let isStartPlausible =
      isOurs ? PacketJudge.isPlausible(state.startStop, at: time) : PacketJudge.isPossible(state.startStop)
    if !isStartPlausible {
      counters.implausible += 1
      state.startStop = .unset
    }
    if let song = state.song, !(isOurs ? isPlausible(song) : PacketJudge.isPossible(song)) {
      counters.implausible += 1
      state.song = nil
    }
    return true
  }

  /// Handles a state with a known id from another address, while the known address has not expired: either
  /// the peer moved or another host uses its id. Any host may set a tempo or a start under an id of its own,
  /// so both are accepted at once. Everything else stays with the known address: whether the peer is there,
  /// its session, and the endpoint of its clock.
  private mutating func receiveElsewhere(_ state: PeerState, since known: PeerState, from host: Address) {
    if PacketJudge.overrides(state.timeline, timeline) { consider(state.timeline, of: session, from: host) }
    // As for every peer, only a change is followed: a start from before we joined starts nothing.
    if state.startStop != known.startStop { consider(state.startStop, of: session) }
  }

  private mutating func takeByeBye(
    _ node: NodeID, from source: Endpoint, on gateway: GatewayID, arrived: Micros
  ) {
    switch peers.takeByeBye(
      node, on: gateway, from: source.address, arrived: arrived, at: uptime.now, in: session)
    {
    case .gone, .leaving, .unknown: return
    case .forged: counters.forged += 1
    }
  }

  /// Answers a ping or handles a pong. A pong contains the time in the middle between the ping's arrival and
  /// our answer. That is also the middle of the other side's round trip, however long we kept the ping. A
  /// pong counts as arrived when it reaches our socket. Only a wait longer than `Limits.wakeUp` is
  /// subtracted: both sides need time to wake up, and these times cancel out.
  mutating func receiveMeasurement(
    _ bytes: UnsafeRawBufferPointer, from source: Endpoint, on place: Int, waited: Micros
  ) {
    let waited = waited < Limits.wakeUp ? .zero : waited
    do throws(DecodingFailure) {
      switch try decodeMeasurement(bytes) {
      case .ping(let echo):
        peers.noteQuestion(from: source.address, at: uptime.now)
        guard gateways[place].gateway.far == nil else { return answerRelay(echo, waited: waited, on: place) }
        guard !isClockDoubted else { return }
        guard gateways[place].pongs.trySpend(at: uptime.now) else {
          counters.unanswered += 1
          return
        }
        let middle = now - Micros(waited.count / 2)
        let pong = encodePong(session: session, ghost: ghost.ghost(atHost: middle), echoing: echo)
        emit(.send(pong, to: .endpoint(source), on: gateways[place].gateway.id, via: .measurement))
      case .pong(let pong):
        guard gateways[place].gateway.far == nil else { return receiveRelay(pong, waited: waited, on: place) }
        receive(pong, from: source, on: gateways[place].gateway.id, waited: waited)
      }
    } catch {
      counters.malformed += 1
    }
  }

  mutating func meetDeadlines() {
    if let prune = peers.nextPrune, prune <= uptime.now { peers.prune(at: uptime.now) }
    repeatUnansweredPings()
    pingRelays()
    peers.sessions.reconsider(at: uptime.now)
    remeasure()
    if gateways.contains(where: { $0.nextAlive <= uptime.now }) { chooseGuide() }
    for place in gateways.indices where gateways[place].nextAlive <= uptime.now { announce(on: place) }
  }

  /// The earliest of all deadlines, in uptime.
  var nextDeadline: Micros? {
    guard isEnabled else { return nil }
    var earliest: Micros?
    func consider(_ deadline: Micros?) {
      guard let deadline else { return }
      if earliest.map({ deadline < $0 }) ?? true { earliest = deadline }
    }
    for gateway in gateways {
      consider(gateway.nextAlive)
      consider(gateway.farClock?.nextPing)
    }
    for measurement in measurements { consider(measurement.deadline) }
    consider(peers.nextPrune)
    consider(peers.sessions.nextReconsideration)
    consider(nextRemeasurement)
    if heldChange != nil { consider(changesWaitUntil) }
    return earliest
  }
}
