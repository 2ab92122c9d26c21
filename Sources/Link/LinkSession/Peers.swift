// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

/// The known peers and their announced states (facts: link 7.2).
///
/// No packet needs a search of the whole table: for each session, the table counts the members, and the
/// members' distinct timelines and start/stop states.
struct Peers: Sendable {
  enum Seen {
    case known
    case news(timeline: Bool, startStop: Bool)
    case refused
    /// Another host used the peer's id. `known` is the peer's own last state.
    case forged(known: PeerState)
  }

  private(set) var nodes: [NodeID: [PeerRecord]] = [:]
  private(set) var count = 0
  var sessions = SessionTable()
  private var hosts: [Address: Host] = [:]
  /// The uptime of the next search for expired peers; no peer expires earlier.
  private(set) var nextPrune: Micros?
  private var nextClearance = Micros.zero
  /// Changes of peers' audio endpoints since the last `takeAudioNews`.
  private var audioNews: [AudioSighting] = []

  /// The number of peers that announce `session`. A peer that is seen through several gateways counts once.
  func members(of session: SessionID) -> Int { sessions[session]?.members ?? 0 }

  /// The lowest `most` addresses of the session's members, in order, and the number of members at each; a
  /// member counts once. An attacker can invent thousands of members: each costs one comparison, and only
  /// members in the result cost more.
  func places(of session: SessionID, atMost most: Int) -> [(address: Address, count: Int)] {
    var places: [(address: Address, count: Int)] = []
    for sightings in nodes.values {
      guard let address = sightings.first(where: { $0.state.session == session })?.source else { continue }
      if places.count == most, let last = places.last, last.address < address { continue }
      let place = places.firstIndex { address <= $0.address } ?? places.count
      if place < places.count, places[place].address == address {
        places[place].count += 1
      } else {
        // An address that is dropped here is not needed later: `most` lower addresses are known.
        if places.count == most { places.removeLast() }
        places.insert((address, 1), at: place)
      }
    }
    return places
  }

  /// The timelines that the session's members announce, each only once.
  func timelines(of session: SessionID) -> [Timeline] { sessions[session]?.timelines.values ?? [] }

  /// Records a peer's state. The state is news if no remembered member of that session announced it before.
  mutating func see(
    _ state: PeerState, claiming claim: Timeline, on gateway: GatewayID, from source: Address,
    arrived: Micros, at now: Micros, until expiry: Micros, in own: SessionID
  ) -> Seen {
    let prune = expiry + Rules.expiryGrace
    if let place = nodes[state.node]?.firstIndex(where: { $0.gateway == gateway }) {
      let known = nodes[state.node]![place]
      guard !PacketJudge.isForged(from: source, of: known, at: now) else {
        return .forged(known: known.state)
      }
      if source != known.source {
        guard hasRoom(from: source) else { return .refused }
        leave(known.source)
        nodes[state.node]![place].avoidedUntil = .zero
        nodes[state.node]![place].proven = nil
        hosts[source, default: Host(lastFollowed: now)].sightings += 1
      }
      nextPrune = min(prune, nextPrune ?? prune)
      return renew(
        state, claiming: claim, at: place, from: source, arrived: arrived, at: now, until: expiry)
    }
    guard
      hasRoom(for: state.session, from: source, in: own)
        || (clearRoom(at: now) && hasRoom(for: state.session, from: source, in: own))
    else { return .refused }
    nextPrune = min(prune, nextPrune ?? prune)
    let news = newness(of: state)
    let sighting = PeerRecord(
      gateway: gateway, source: source, state: state, claim: claim, heard: now, expiry: expiry)
    let isNewMember = !announces(state.node, state.session)
    nodes[state.node, default: []].append(sighting)
    if state.audio != nil { audioNews.append(AudioSighting(sighting)) }
    count += 1
    hosts[source, default: Host(lastFollowed: now)].sightings += 1
    sessions.add(state, isNewMember: isNewMember)
    return news
  }

  private mutating func renew(
    _ state: PeerState, claiming claim: Timeline, at place: Int, from source: Address, arrived: Micros,
    at now: Micros, until expiry: Micros
  ) -> Seen {
    let old = nodes[state.node]![place].renew(
      claim, from: source, arrived: arrived, at: now, until: expiry)
    if old == state { return .known }
    let news = newness(of: state)
    let staysMember = announces(state.node, state.session)
    nodes[state.node]![place].state = state
    if old.audio != state.audio || (state.audio != nil && old.session != state.session) {
      audioNews.append(AudioSighting(nodes[state.node]![place]))
    }
    if old.session != state.session { nodes[state.node]![place].avoidedUntil = .zero }
    sessions.add(state, isNewMember: !staysMember)
    leave(old)
    return news
  }

  private func newness(of state: PeerState) -> Seen {
    guard let known = sessions[state.session] else { return .news(timeline: true, startStop: true) }
    return .news(
      timeline: !known.timelines.contains(state.timeline),
      startStop: !known.startStops.contains(state.startStop))
  }

  private func hasRoom(for session: SessionID, from source: Address, in own: SessionID) -> Bool {
    guard count < Limits.sightings, hasRoom(from: source) else { return false }
    if session == own { return true }
    return count - (sessions[own]?.sightings ?? 0) < Limits.foreignSightings
      && (sessions[session] != nil || sessions.count < Limits.sessions)
  }

  private func hasRoom(from source: Address) -> Bool {
    (hosts[source]?.sightings ?? 0) < Limits.sightingsPerAddress
  }

  /// Removes expired peers from a full table. This searches the whole table, so a flood may cause it no more
  /// often than expiry does.
  private mutating func clearRoom(at now: Micros) -> Bool {
    guard now >= nextClearance else { return false }
    nextClearance = now + Limits.pruneSpacing
    removeAll { $0.heard + Limits.crowdedExpiry <= now }
    return true
  }

  func announces(_ node: NodeID, _ session: SessionID) -> Bool {
    nodes[node]?.contains { $0.state.session == session } ?? false
  }

  /// Removes a peer's former state from the counts of that peer's session.
  private mutating func leave(_ old: PeerState) {
    sessions.remove(old, isLastOfNode: !announces(old.node, old.session))
  }

  private mutating func leave(_ source: Address) {
    hosts[source]!.sightings -= 1
    if hosts[source]!.sightings == 0 { hosts[source] = nil }
  }

  private mutating func remove(_ node: NodeID, at place: Int) {
    let gone = nodes[node]!.remove(at: place)
    if nodes[node]!.isEmpty { nodes[node] = nil }
    count -= 1
    leave(gone.source)
    leave(gone.state)
    if gone.state.audio != nil {
      var farewell = AudioSighting(gone)
      farewell.endpoint = nil
      audioNews.append(farewell)
    }
  }

  mutating func takeAudioNews() -> [AudioSighting] {
    guard !audioNews.isEmpty else { return [] }
    defer { audioNews = [] }
    return audioNews
  }

  /// The audio peers seen through this gateway, sorted by node id.
  func audioSightings(on gateway: GatewayID) -> [AudioSighting] {
    nodes.values.joined().filter { $0.gateway == gateway && $0.state.audio != nil }.map { AudioSighting($0) }
      .sorted { $0.node < $1.node }
  }

  private mutating func removeAll(where isGone: (PeerRecord) -> Bool) {
    let leaving = nodes.filter { $0.value.contains(where: isGone) }.keys
    for node in leaving {
      while let place = nodes[node]?.firstIndex(where: isGone) { remove(node, at: place) }
    }
  }

  enum Farewell { case gone, leaving, unknown, forged }

  /// Handles a ByeBye. It counts only if it comes from the address where the peer was last heard, because any
  /// host can send a ByeBye with another peer's id.
  ///
  /// In our own session a ByeBye takes effect after `Limits.farewellGrace`, unless the peer sends again.
  /// Versions of Link before 3.1.2 send a ByeBye four times a second on the loopback gateway, which they
  /// close and reopen whenever a reply to another host fails there (facts: link 3.6, 3.7). If we forgot such
  /// a peer at once, a session with only that peer would end, and its tempo would be lost.
  mutating func takeByeBye(
    _ node: NodeID, on gateway: GatewayID, from source: Address, arrived: Micros, at now: Micros,
    in own: SessionID
  ) -> Farewell {
    guard let place = nodes[node]?.firstIndex(where: { $0.gateway == gateway }) else { return .unknown }
    guard nodes[node]![place].source == source else { return .forged }
    guard nodes[node]![place].state.session == own else {
      remove(node, at: place)
      return .gone
    }
    nodes[node]![place].goodbye = arrived
    let leaves = now + Limits.farewellGrace
    nodes[node]![place].expiry = min(nodes[node]![place].expiry, leaves - Rules.expiryGrace)
    nextPrune = min(leaves, nextPrune ?? leaves)
    return .leaving
  }

  mutating func removeAll(on gateway: GatewayID) {
    removeAll { $0.gateway == gateway }
  }

  /// Forgets all peers that announce a session whose measurement failed, so that their next Alive counts as
  /// new.
  mutating func fail(_ session: SessionID, at now: Micros) {
    guard sessions[session] != nil else { return }
    let hosts = nodes.values.joined().filter { $0.state.session == session }.map { $0.source }
    sessions.noteFailure(of: session, by: hosts, at: now)
    removeAll { $0.state.session == session }
  }

  /// Remembers that the peer answered at `endpoint`.
  mutating func prove(_ node: NodeID, on gateway: GatewayID, at endpoint: Endpoint) {
    guard let place = nodes[node]?.firstIndex(where: { $0.gateway == gateway }) else { return }
    nodes[node]![place].proven = endpoint
  }

  /// Notes that other peers are asked in preference to this peer until `time`. A peer that announced a new
  /// endpoint and did not answer at its old endpoint is first asked at the new endpoint.
  mutating func avoid(_ node: NodeID, until time: Micros) {
    for place in nodes[node]?.indices ?? 0..<0 {
      let sighting = nodes[node]![place]
      let hasMoved = sighting.proven != nil && sighting.proven != sighting.state.measurement
      nodes[node]![place].proven = nil
      if !hasMoved { nodes[node]![place].avoidedUntil = time }
    }
  }

  mutating func clear() {
    self = Peers()
  }

  mutating func prune(at now: Micros) {
    removeAll { $0.expiry + Rules.expiryGrace <= now }
    let earliest = nodes.values.lazy.flatMap { $0 }.map { $0.expiry }.min()
    nextPrune = earliest.map { max($0 + Rules.expiryGrace, now + Limits.pruneSpacing) }
  }

  /// Notes our own change, which all members are expected to follow. If a member then announces another
  /// timeline, that timeline is news.
  mutating func expect(_ timeline: Timeline, in session: SessionID) {
    guard sessions[session] != nil else { return }
    sessions.expect(timeline, in: session)
    for index in nodes.values.indices {
      for place in nodes.values[index].indices where nodes.values[index][place].state.session == session {
        nodes.values[index][place].state.timeline = timeline
      }
    }
  }

  /// Notes a ping from a host, if we know a peer there.
  mutating func noteQuestion(from source: Address, at now: Micros) { hosts[source]?.lastFollowed = now }

  /// Whether the peer has not measured our clock for a long time, though every peer without a better clock
  /// should.
  func isIndependent(_ peer: PeerRecord, at now: Micros) -> Bool {
    hosts[peer.source].map { now - $0.lastFollowed > Limits.independence } ?? false
  }

  func isLowest(_ node: NodeID, in session: SessionID, notCounting isFar: (GatewayID) -> Bool) -> Bool {
    nodes.allSatisfy { other, sightings in
      node < other || !sightings.contains { $0.state.session == session && !isFar($0.gateway) }
    }
  }

  /// Whether we see members of the session through more than one gateway, and so connect two networks.
  func isBetweenWires(_ session: SessionID) -> Bool {
    let seen = nodes.values.lazy.joined().filter { $0.state.session == session }.map { $0.gateway }
    return seen.contains { $0 != seen.first }
  }
}

/// The state of one address, however many peers it claims to be.
private struct Host: Sendable {
  var sightings = 0
  /// The uptime at which this address last sent us a ping, or was first seen.
  var lastFollowed: Micros
}
