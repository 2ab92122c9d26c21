// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkWire

/// Who is out there, and what they say (facts: link 7.2).
///
/// Every question asked for each packet is answered without walking the table: each session keeps count of
/// who announces it and of the distinct timelines and start/stop states they announce.
struct Peers: Sendable {
  enum Seen {
    case known
    case news(timeline: Bool, startStop: Bool)
    case refused
    /// Said in the name of a peer by another host. With the peer's own last state.
    case forged(known: PeerState)
  }

  private(set) var nodes: [NodeID: [Sighting]] = [:]
  private(set) var count = 0
  var sessions = SessionTable()
  private var hosts: [Address: Host] = [:]
  /// In uptime; no peer can be silent for too long before this.
  private(set) var nextPrune: Micros?
  private var nextClearance = Micros.zero
  /// Who takes part in Link Audio, or no more: what changed since it was taken.
  private var audioNews: [AudioSighting] = []

  /// How many different peers announce `session`, however many ways each is seen.
  func members(of session: SessionID) -> Int { sessions[session]?.members ?? 0 }

  /// The first `most` addresses of its members in their order, and how many members are at each; a member counts once, however
  /// many ways it is seen. Anybody can invent thousands of members: each costs a comparison, and only those of the answer more.
  func places(of session: SessionID, atMost most: Int) -> [(address: Address, count: Int)] {
    var places: [(address: Address, count: Int)] = []
    for sightings in nodes.values {
      guard let address = sightings.first(where: { $0.state.session == session })?.source else { continue }
      if places.count == most, let last = places.last, last.address < address { continue }
      let place = places.firstIndex { address <= $0.address } ?? places.count
      if place < places.count, places[place].address == address {
        places[place].count += 1
      } else {
        // An address that left for a smaller one stays behind: the smaller one is in its place.
        if places.count == most { places.removeLast() }
        places.insert((address, 1), at: place)
      }
    }
    return places
  }

  /// What its members say, each different one once.
  func timelines(of session: SessionID) -> [Timeline] { sessions[session]?.timelines.values ?? [] }

  /// News is what nobody in that session, as far as we remember, has said before.
  mutating func see(
    _ state: PeerState, claiming claim: Timeline, on gateway: GatewayID, from source: Address,
    arrived: Micros, at now: Micros, until expiry: Micros, in own: SessionID
  ) -> Seen {
    let prune = expiry + Rules.expiryGrace
    if let place = nodes[state.node]?.firstIndex(where: { $0.gateway == gateway }) {
      let known = nodes[state.node]![place]
      guard !Belief.isForged(from: source, of: known, at: now) else { return .forged(known: known.state) }
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
    let sighting = Sighting(
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

  /// Under a flood this walks the table; not more often than it walks it for expiry.
  private mutating func clearRoom(at now: Micros) -> Bool {
    guard now >= nextClearance else { return false }
    nextClearance = now + Limits.pruneSpacing
    removeAll { $0.heard + Limits.crowdedExpiry <= now }
    return true
  }

  func announces(_ node: NodeID, _ session: SessionID) -> Bool {
    nodes[node]?.contains { $0.state.session == session } ?? false
  }

  /// Its sighting says something else now, or is gone.
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

  /// In their order.
  func audioSightings(on gateway: GatewayID) -> [AudioSighting] {
    nodes.values.joined().filter { $0.gateway == gateway && $0.state.audio != nil }.map { AudioSighting($0) }
      .sorted { $0.node < $1.node }
  }

  private mutating func removeAll(where isGone: (Sighting) -> Bool) {
    let leaving = nodes.filter { $0.value.contains(where: isGone) }.keys
    for node in leaving {
      while let place = nodes[node]?.firstIndex(where: isGone) { remove(node, at: place) }
    }
  }

  enum Farewell { case gone, leaving, unknown, forged }

  /// A ByeBye counts only from where the peer last spoke: anybody can write another's name on one.
  ///
  /// In our own session it is believed after a moment, unless the peer speaks again. Versions before 3.1.2 say it four times a second on
  /// the loopback gateway, which they close and open again whenever they fail to answer another host through it
  /// (facts: link 3.6, 3.7). Who forgot them at once would lose a session that only the two of them are in, and
  /// whatever tempo it was given.
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

  /// The session could not be measured: all who announce it are forgotten, so that their next word is news
  /// again.
  mutating func fail(_ session: SessionID, at now: Micros) {
    guard sessions[session] != nil else { return }
    let hosts = nodes.values.joined().filter { $0.state.session == session }.map { $0.source }
    sessions.noteFailure(of: session, by: hosts, at: now)
    removeAll { $0.state.session == session }
  }

  /// It answered there.
  mutating func prove(_ node: NodeID, on gateway: GatewayID, at endpoint: Endpoint) {
    guard let place = nodes[node]?.firstIndex(where: { $0.gateway == gateway }) else { return }
    nodes[node]![place].proven = endpoint
  }

  /// Is not asked until then while there is anybody else to ask. Who did not answer where it used to, and says that it is elsewhere
  /// now, is asked there first.
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

  /// After a local change we expect everybody in our session to follow: a peer that says something else is news.
  mutating func expect(_ timeline: Timeline, in session: SessionID) {
    guard sessions[session] != nil else { return }
    sessions.expect(timeline, in: session)
    for index in nodes.values.indices {
      for place in nodes.values[index].indices where nodes.values[index][place].state.session == session {
        nodes.values[index][place].state.timeline = timeline
      }
    }
  }

  /// Somebody asked us for the time; what counts is who of those we know.
  mutating func noteQuestion(from source: Address, at now: Micros) { hosts[source]?.lastFollowed = now }

  /// Whether somebody who is there does not follow our clock, though everybody should.
  func isIndependent(_ peer: Sighting, at now: Micros) -> Bool {
    hosts[peer.source].map { now - $0.lastFollowed > Limits.independence } ?? false
  }

  func isLowest(_ node: NodeID, in session: SessionID, notCounting isFar: (GatewayID) -> Bool) -> Bool {
    nodes.allSatisfy { other, sightings in
      node < other || !sightings.contains { $0.state.session == session && !isFar($0.gateway) }
    }
  }

  /// Whether we see members of it through more than one gateway.
  func isBetweenWires(_ session: SessionID) -> Bool {
    let seen = nodes.values.lazy.joined().filter { $0.state.session == session }.map { $0.gateway }
    return seen.contains { $0 != seen.first }
  }
}

/// What we know of a machine, whatever peers it claims to be.
private struct Host: Sendable {
  var sightings = 0
  /// In uptime, when it last measured us, or was first seen.
  var lastFollowed: Micros
}
