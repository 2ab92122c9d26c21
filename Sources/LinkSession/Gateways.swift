// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
public import LinkWire

/// Which of a gateway's sockets a datagram came in by, or goes out by.
public enum Channel: Hashable, Sendable, BitwiseCopyable {
  /// Who is there and what each has: Alives, Responses, ByeByes.
  case discovery
  /// Pings and pongs, by which a session's clock is measured.
  case measurement
}

/// A local address of this machine that Link is on.
public struct Gateway: Hashable, Sendable, BitwiseCopyable {
  /// Never one that an earlier gateway had.
  public var id: GatewayID
  /// With the interface's scope, if it is a link-local one.
  public var address: Address
  /// Where this gateway's measurement socket is reached: it answers pings there and sends ours.
  public var measurement: Endpoint
  /// A wire to another relay; only for a machine that is one.
  public var far: FarWire?

  /// With its sockets open already: the machine speaks as soon as it is told of it.
  public init(id: GatewayID, address: Address, measurement: Endpoint, far: FarWire? = nil) {
    self.id = id
    self.address = address
    self.measurement = measurement
    self.far = far
  }
}

/// A gateway and what it has sent.
struct OpenGateway {
  private(set) var gateway: Gateway
  /// Of a far one.
  var farClock: FarClock?
  /// Of what is wanted, what holds by now (`FarWire.correction`), and when it was moved there last, in uptime.
  private(set) var correction = Micros.zero
  private var corrected: Micros
  /// Where our audio socket on this address is reached, while we take part in Link Audio.
  var audio: Endpoint?
  /// In uptime; of the last Alive or Response.
  var lastState: Micros?
  private var lastAlive: Micros?
  private(set) var nextAlive: Micros
  var responses: Allowance
  var respondents: Respondents
  var pongs: Allowance
  /// Our state as it was last encoded, and which revision of it that was.
  var encoded: (revision: UInt64, alive: Packet, response: Packet)?
  /// What the last Alive said.
  var announced: (revision: UInt64, session: SessionID)?

  init(_ gateway: Gateway, at now: Micros) {
    self.gateway = gateway
    farClock = gateway.far.map { _ in FarClock(at: now) }
    correction = gateway.far?.correction ?? .zero
    corrected = now
    nextAlive = now
    responses = Allowance(perSecond: Limits.responsesPerSecond, at: now)
    respondents = Respondents(at: now)
    pongs = Allowance(perSecond: Limits.pongsPerSecond, at: now)
  }

  mutating func setFarWire(correction: Micros, distance: Beats) {
    gateway.far?.correction = correction
    gateway.far?.distance = distance
  }

  /// Towards what is wanted, so slowly that anyone who goes by it can follow as slowly as ever, even if the other side does the same. Only while
  /// the other relay is heard: nobody could follow through a cut.
  mutating func moveCorrection(at now: Micros) {
    guard let wanted = gateway.far?.correction else { return }
    let most = min((now - corrected).count, Limits.farLook.count) / Limits.farCorrectionSlew
    guard most > 0 else { return }
    corrected = now
    correction = correction + Micros(max(-most, min((wanted - correction).count, most)))
  }

  /// Whether an Alive may go now; either way `nextAlive` says when to ask again (facts: link 3.2).
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

  /// With a hundred peers there is always a Response less than a spacing ago, and Alives would hardly ever go out.
  private func isOverdue(at now: Micros) -> Bool {
    guard let lastAlive else { return false }
    return now - lastAlive >= Limits.longestSilence
  }
}

extension LinkSession {
  func index(of gateway: GatewayID) -> Int? {
    gateways.firstIndex { $0.gateway.id == gateway }
  }

  /// Sorted by address, the far ones last: among several ways to one peer, the first is the one that is measured.
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

  /// After what the spacing still held back: a change that is made just before we leave holds for those who stay.
  ///
  /// Not where we were not yet heard as a member: gone on one way and new on another, we would be a peer for ever to a
  /// reference that starts a session of its own in between, since it then forgets us without counting (facts: link 7.6).
  mutating func sayGoodbye(on place: Int) {
    if let last = gateways[place].announced, last.session == session, last.revision != revision {
      sayState(on: place)
    }
    emit(.send(encodeByeBye(node), to: .group, on: gateways[place].gateway.id, via: .discovery))
  }

  /// Everybody hears our state now, or as soon as the spacing allows.
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

  /// A Response is due at once, whatever was sent before; it counts as a state sent.
  mutating func respond(to sender: Endpoint, on place: Int) {
    guard gateways[place].respondents.take(sender.address, at: uptime.now),
      gateways[place].responses.take(at: uptime.now)
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
    let state = PeerState(
      node: node, session: session, timeline: gateway.far?.there(timeline) ?? timeline, startStop: startStop,
      measurement: gateway.far == nil ? gateway.measurement : nil,
      clock: clock, audio: gateways[place].audio)
    let alive = encodeAlive(state)
    let response = encodeResponse(state)
    gateways[place].encoded = (revision, alive, response)
    return (alive, response)
  }
}
