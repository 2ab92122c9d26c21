// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
public import LinkWire

/// The socket of a gateway by which a datagram comes in or goes out.
public enum Channel: Hashable, Sendable, BitwiseCopyable {
  /// The socket for the presence and the state of peers: Alives, Responses, ByeByes.
  case discovery
  /// The socket for pings and pongs, by which a session's clock is measured.
  case measurement
}

/// A local address of this machine that Link uses.
public struct Gateway: Hashable, Sendable, BitwiseCopyable {
  /// Unique: no earlier gateway had this id.
  public var id: GatewayID
  /// The local address, with the interface's scope if it is link-local.
  public var address: Address
  /// The endpoint of this gateway's measurement socket, which answers pings and sends our own.
  public var measurement: Endpoint
  /// The connection to the relay of another room; nil for a gateway of this room. Only a relay may have such
  /// a connection.
  public var far: FarWire?

  /// Describes a gateway whose sockets are open already: the session sends as soon as it gets the gateway.
  public init(id: GatewayID, address: Address, measurement: Endpoint, far: FarWire? = nil) {
    self.id = id
    self.address = address
    self.measurement = measurement
    self.far = far
  }
}

/// A gateway, with the state that we sent last on it, and the time of that datagram.
struct OpenGateway {
  private(set) var gateway: Gateway
  /// The measurement of the other relay's clock; nil if this is no far gateway.
  var farClock: FarClock?
  /// `correction`: the part of `FarWire.correction` that is in effect. `corrected`: the uptime of its last
  /// move.
  private(set) var correction = Micros.zero
  private var corrected: Micros
  /// The endpoint of our audio socket on this address, while we take part in Link Audio.
  var audio: Endpoint?
  /// The uptime of our last Alive or Response on this gateway.
  var lastState: Micros?
  private var lastAlive: Micros?
  private(set) var nextAlive: Micros
  var responses: TokenBucket
  var respondents: Respondents
  var pongs: TokenBucket
  /// Our state as encoded packets, and the number (revision) of that state.
  var encoded: (revision: UInt64, alive: Packet, response: Packet)?
  /// The number (revision) of the state in the last Alive, and its session.
  var announced: (revision: UInt64, session: SessionID)?

  init(_ gateway: Gateway, at now: Micros) {
    self.gateway = gateway
    farClock = gateway.far.map { _ in FarClock(at: now) }
    correction = gateway.far?.correction ?? .zero
    corrected = now
    nextAlive = now
    responses = TokenBucket(perSecond: Limits.responsesPerSecond, at: now)
    respondents = Respondents(at: now)
    pongs = TokenBucket(perSecond: Limits.pongsPerSecond, at: now)
  }

  mutating func setFarWire(correction: Micros, distance: Beats) {
    gateway.far?.correction = correction
    gateway.far?.distance = distance
  }

  /// Moves the correction towards the wanted correction: so slowly that peers that follow our clock can
  /// follow the move, even if both sides move at once. The correction moves only while the other relay is
  /// heard, because no peer could follow it while the connection is cut.
  mutating func moveCorrection(at now: Micros) {
    guard let wanted = gateway.far?.correction else { return }
    let most = min((now - corrected).count, Limits.farLook.count) / Limits.farCorrectionSlew
    guard most > 0 else { return }
    corrected = now
    correction = correction + Micros(max(-most, min((wanted - correction).count, most)))
  }

  /// Returns whether an Alive may be sent now; in either case `nextAlive` becomes the time of the next try
  /// (facts: link 3.2).
  mutating func takeTurn(at now: Micros) -> Bool {
    if let wait = spacingLeft(at: now), wait > .zero, !isOverdue(at: now) {
      nextAlive = now + wait
      return false
    }
    nextAlive = now + Rules.alivePeriod
    lastState = now
    lastAlive = now
    return true
  }

  private func spacingLeft(at now: Micros) -> Micros? {
    guard let lastState else { return nil }
    let wholeMillis = (now - lastState).count / 1000 * 1000
    return Rules.stateSpacing - Micros(wholeMillis)
  }

  /// Whether the next Alive must be sent in spite of a recent Response. With a hundred peers there is always
  /// a recent Response, and without this rule Alives would hardly ever be sent.
  private func isOverdue(at now: Micros) -> Bool {
    guard let lastAlive else { return false }
    return now - lastAlive >= Limits.longestSilence
  }
}

extension LinkSession {
  func index(of gateway: GatewayID) -> Int? {
    gateways.firstIndex { $0.gateway.id == gateway }
  }

  /// Adds a gateway in the order of addresses, far gateways last. A peer that is seen through several
  /// gateways is measured through the first of them.
  mutating func open(_ gateway: Gateway) {
    guard isEnabled, index(of: gateway.id) == nil, gateways.count < Limits.gateways,
      gateway.far == nil || isRelay
    else {
      counters.crowdedOut += 1
      return
    }
    func rank(_ gateway: Gateway) -> (Int, Address) { (gateway.far == nil ? 0 : 1, gateway.address) }
    let place = gateways.firstIndex { rank(gateway) < rank($0.gateway) } ?? gateways.count
    gateways.insert(OpenGateway(gateway, at: uptime.now), at: place)
    announce(on: place)
  }

  mutating func close(_ id: GatewayID) {
    guard let place = index(of: id) else { return }
    sayGoodbye(on: place)
    gateways.remove(at: place)
    peers.removeAll(on: id)
    abandonMeasurements(on: id)
  }

  /// Says goodbye. If a changed state still waits for the least time between two datagrams, the state is sent
  /// before the goodbye, so that the peers that stay have our last change.
  ///
  /// The state is not sent to peers that never heard of us as a member. If we left on one gateway and
  /// appeared on another, a peer of Ableton's library that founds a session in between would count us for
  /// ever, since that peer then forgets peers without counting (facts: link 7.6).
  mutating func sayGoodbye(on place: Int) {
    if let last = gateways[place].announced, last.session == session, last.revision != revision {
      sayState(on: place)
    }
    emit(.send(encodeByeBye(node), to: .group, on: gateways[place].gateway.id, via: .discovery))
  }

  /// Sends our state on all gateways now, or as soon as the least time between two state datagrams allows.
  mutating func broadcast() {
    for place in gateways.indices { announce(on: place) }
  }

  mutating func announce(on place: Int) {
    if gateways[place].takeTurn(at: uptime.now) { sayState(on: place) }
  }

  private mutating func sayState(on place: Int) {
    gateways[place].announced = (revision, session)
    let packet = encodedState(on: place).alive
    emit(.send(packet, to: .group, on: gateways[place].gateway.id, via: .discovery))
  }

  /// Answers an Alive at once, even if a state was sent just before. The least time to the next state is
  /// counted from this Response.
  mutating func respond(to sender: Endpoint, on place: Int) {
    guard gateways[place].respondents.admit(sender.address, at: uptime.now),
      gateways[place].responses.trySpend(at: uptime.now)
    else {
      counters.unanswered += 1
      return
    }
    gateways[place].lastState = uptime.now
    let packet = encodedState(on: place).response
    emit(.send(packet, to: .endpoint(sender), on: gateways[place].gateway.id, via: .discovery))
  }

  private mutating func encodedState(on place: Int) -> (alive: Packet, response: Packet) {
    if let encoded = gateways[place].encoded, encoded.revision == revision {
      return (encoded.alive, encoded.response)
    }
    let gateway = gateways[place].gateway
    var state = PeerState(
      node: node, session: session, timeline: gateway.far?.there(timeline) ?? timeline, startStop: startStop,
      measurement: gateway.far == nil ? gateway.measurement : nil,
      clock: clock, audio: gateways[place].audio)
    state.song = song
    let alive = encodeAlive(state)
    let response = encodeResponse(state)
    gateways[place].encoded = (revision, alive, response)
    return (alive, response)
  }
}
