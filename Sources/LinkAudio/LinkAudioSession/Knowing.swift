// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkAddresses
internal import LinkBeatMath
public import LinkWire

/// A gateway with our socket, and the limits of what we may send there to endpoints that have not answered.
struct OpenAudioGateway: Sendable {
  let id: GatewayID
  let address: Address
  /// First pings have a limit of their own, so that a new peer need not wait because many others do not
  /// answer.
  var firstPings: TokenBucket
  var pings: TokenBucket
  var pongs: TokenBucket

  init(_ id: GatewayID, at address: Address, now: Micros) {
    self.id = id
    self.address = address
    firstPings = TokenBucket(perSecond: AudioLimits.pingsToStrangersPerSecond, at: now)
    pings = TokenBucket(perSecond: AudioLimits.pingsToStrangersPerSecond, at: now)
    pongs = TokenBucket(perSecond: AudioLimits.pongsToStrangersPerSecond, at: now)
  }
}

/// A peer in our session that takes part in Link Audio, with or without channels of its own.
public struct AudioPeer: Hashable, Sendable {
  /// The peer's id in Link.
  public var id: NodeID
  /// The name that the peer announces; empty until its first announcement.
  public var name: String
  /// The endpoint to which we send, and our gateway for it.
  package var route: AudioRoute
  /// The round trip and the jitter of this route.
  public var metrics: AudioMetrics
}

extension LinkAudioSession {
  /// The peers that answer us, sorted by name.
  package var peers: [AudioPeer] {
    receivers.filter { $0.isChosen }
      .map { AudioPeer(id: $0.node, name: $0.name, route: $0.route, metrics: $0.roundTrips.metrics) }
      .sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }

  func index(of gateway: GatewayID) -> Int? {
    gateways.firstIndex { $0.id == gateway }
  }

  // MARK: Our gateways, id and name

  mutating func enable(_ isOn: Bool) {
    guard isOn != isEnabled else { return }
    if !isOn {
      for place in sources.indices { stop(place) }
      for gateway in gateways { close(gateway.id) }
      for place in sinks.indices { sinks[place].subscribers.removeAll() }
      areRoutesDue = true
    }
    isEnabled = isOn
  }

  mutating func open(_ id: GatewayID, at address: Address) {
    guard isEnabled, index(of: id) == nil, gateways.count < AudioLimits.gateways else {
      counters.crowdedOut &+= 1
      return
    }
    gateways.append(OpenAudioGateway(id, at: address, now: uptime.now))
  }

  /// Sends byes on this gateway to the peers that heard of our channels here; they may have another route to
  /// us. Sends stops for the sources that we requested here; we request them again over another route.
  mutating func close(_ id: GatewayID) {
    guard let place = index(of: id) else { return }
    for source in sources.indices where sources[source]?.asked?.gateway == id { stop(source) }
    for receiver in receivers where receiver.route.gateway == id {
      sayByes(channels(for: receiver).map(\.id), to: receiver)
    }
    gateways.remove(at: place)
    receivers.removeAll { $0.route.gateway == id }
    channels.remove { $0.gateway == id }
    noteChannels()
    areWaysDue = true
  }

  /// Announces a new id or session at once: peers that waited for us to join then accept our channels.
  mutating func become(_ node: NodeID, in session: SessionID) {
    guard node != self.node || session != self.session else { return }
    if node != self.node {
      // The peers whose channels we receive know us by the old id. If we sent no stop message, they would
      // send audio to the old id and to the new one.
      for place in sources.indices { stop(place) }
      receivers.removeAll { $0.node == node }
    }
    self.node = node
    self.session = session
    announceToAll()
    areWaysDue = true
    noteChannels()
  }

  mutating func rename(to name: String) {
    let name = name.cutToName
    guard name != self.name else { return }
    self.name = name
    announceToAll()
  }

  func isMember(_ receiver: Receiver) -> Bool { receiver.session == session }

  mutating func announceToAll() {
    for place in receivers.indices where receivers[place].isProven(at: uptime.now) {
      receivers[place].announceSoon(at: uptime.now)
    }
  }

  // MARK: Peers

  mutating func see(_ peer: NodeID, in session: SessionID, at audio: Endpoint?, on gateway: GatewayID) {
    guard isEnabled, peer != node, let place = index(of: gateway) else { return }
    guard let audio, audio.port != 0, audio.address.isIPv6 == gateways[place].address.isIPv6 else {
      return lose(peer, on: gateway)
    }
    let route = AudioRoute(
      gateway, Endpoint(audio.address.scoped(gateways[place].address.scope), port: audio.port))
    move(peer, to: session)
    var isKnown = false
    for place in receivers.indices
    where receivers[place].node == peer && receivers[place].route.gateway == gateway {
      let isThis = receivers[place].route == route
      isKnown = isKnown || isThis
      // A forged datagram must not cut us off from a peer that has not moved. Keep the old route until the
      // new one answers.
      if isThis {
        receivers[place].supersededUntil = nil
      } else if receivers[place].supersededUntil == nil {
        receivers[place].supersededUntil = uptime.now + AudioRules.lifetime
      }
    }
    guard !isKnown, makeRoom(for: route, of: peer) else { return }
    var fresh = Receiver(peer, in: session, at: route, now: uptime.now)
    fresh.placeholder = receivers.first { $0.node == peer }?.placeholder ?? .unknown
    receivers.append(fresh)
  }

  mutating func lose(_ peer: NodeID, on gateway: GatewayID) {
    forgetReceivers { $0.node == peer && $0.route.gateway == gateway }
  }

  /// Notes that a peer has changed its session. If the peer left our session, its channels are removed. If it
  /// joined our session, we announce our channels to it.
  mutating func move(_ peer: NodeID, to session: SessionID) {
    var hasLeft = false
    for place in receivers.indices where receivers[place].node == peer && receivers[place].session != session
    {
      hasLeft = hasLeft || isMember(receivers[place])
      receivers[place].session = session
      receivers[place].announceSoon(at: uptime.now)
      areWaysDue = true
    }
    if hasLeft {
      channels.remove(of: peer)
      noteChannels()
    }
  }

  /// Returns whether there is room for one more receiver. If the table is full, it removes a receiver that
  /// was added longer than `crowdedExpiry` ago and is not proven, preferably a receiver in another session.
  private mutating func makeRoom(for route: AudioRoute, of peer: NodeID) -> Bool {
    var ways = 0
    var neighbours = 0
    for receiver in receivers {
      if receiver.node == peer && receiver.route.gateway == route.gateway { ways += 1 }
      if receiver.route.endpoint.address == route.endpoint.address { neighbours += 1 }
    }
    guard ways < AudioLimits.waysPerPeer, neighbours < AudioLimits.receiversPerAddress else {
      counters.crowdedOut &+= 1
      return false
    }
    guard receivers.count >= AudioLimits.receivers else { return true }
    let now = uptime.now
    func mayGo(_ receiver: Receiver) -> Bool {
      !receiver.isProven(at: now) && receiver.added + AudioLimits.crowdedExpiry <= now
    }
    counters.crowdedOut &+= 1
    guard
      let victim = receivers.firstIndex(where: { mayGo($0) && !isMember($0) })
        ?? receivers.firstIndex(where: mayGo)
    else { return false }
    receivers.remove(at: victim)
    return true
  }

  /// Removes receivers, and the channels that were announced over no other routes than theirs.
  mutating func forgetReceivers(where isOver: (Receiver) -> Bool) {
    var gone: [(node: NodeID, route: AudioRoute)] = []
    receivers.removeAll { receiver in
      guard isOver(receiver) else { return false }
      gone.append((receiver.node, receiver.route))
      return true
    }
    guard !gone.isEmpty else { return }
    for (node, route) in gone { channels.remove(route, of: node) }
    noteChannels()
    areWaysDue = true
  }

  // MARK: Routes

  /// Chooses the best route to each peer. Another route replaces the chosen one only if it is clearly better
  /// (facts: link-audio 3.4).
  mutating func chooseWays() {
    for place in receivers.indices {
      let receiver = receivers[place]
      let isUsable = isMember(receiver) && receiver.isProven(at: uptime.now)
      if receiver.isChosen && !isUsable { receivers[place].isChosen = false }
      guard isUsable, !receiver.isChosen else { continue }
      guard let chosen = receivers.firstIndex(where: { $0.node == receiver.node && $0.isChosen }) else {
        receivers[place].isChosen = true
        continue
      }
      let other = receivers[chosen]
      let isBetter = receiver.roundTrips.metrics.isClearlyBetter(than: other.roundTrips.metrics)
      guard isBetter || !(isMember(other) && other.isProven(at: uptime.now)) else { continue }
      receivers[chosen].isChosen = false
      receivers[place].isChosen = true
    }
    areRoutesDue = true
    areSendersDue = true
  }

  func way(to peer: NodeID) -> Int? {
    receivers.firstIndex { $0.node == peer && $0.isChosen }
  }

  mutating func forgetWhatIsOver() {
    let now = uptime.now
    for place in receivers.indices where receivers[place].lapse(at: now) { areWaysDue = true }
    forgetReceivers { $0.supersededUntil.map { $0 <= now } ?? false }
    if channels.expire(at: now) { noteChannels() }
    for place in sinks.indices where sinks[place].expire(at: now) { areRoutesDue = true }
  }
}

extension String {
  /// The text, cut to the protocol's limit for names (facts: link-audio 2).
  var cutToName: String {
    var text = self
    return text.withUTF8 { utf8 in
      let bytes = UnsafeRawBufferPointer(utf8)
      return String(decoding: bytes[..<Wire.nameSize(bytes)], as: UTF8.self)
    }
  }
}
