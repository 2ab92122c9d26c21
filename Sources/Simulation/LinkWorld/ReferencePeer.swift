// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import LinkWire

/// A peer that follows the rules of Ableton's library, as the protocol's fact sheet describes them. So the
/// peer believes everything: a timeline that begins later by any amount, a session that is older by any
/// amount, and a time to live of minutes.
///
/// The peer is simplified: ten pongs make a measurement, its clock is the world's clock, and it has no app.
/// The tests do not test this peer, but our peers beside it.
final class ReferencePeer: Guest {
  private var dice: Dice
  private var interface = 0
  private var node: NodeID
  private(set) var session: SessionID
  private(set) var timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: .zero)
  private var startStop = SessionStartStop.unset
  private var ghost = GhostMap(intercept: .zero)
  private var peers: [NodeID: (state: PeerState, expiry: Micros)] = [:]
  /// The other sessions that the peer knows, with their latest timelines.
  private var others: [SessionID: Timeline] = [:]
  private var measurement:
    (session: SessionID, endpoint: Endpoint, points: [Double], tries: Int, asked: Micros)?
  private var nextRemeasurement: Micros?
  private var count = 0
  /// Whether the peer announces changes at once; otherwise it announces them with its next Alive.
  private let isPrompt: Bool

  init(seed: UInt64, isPrompt: Bool = false) {
    self.isPrompt = isPrompt
    dice = Dice(seed: seed)
    node = NodeID(using: &dice)
    session = node
  }

  func start(in world: LinkWorld, onWire wire: Int, within arrival: Micros) {
    interface = world.plug(self, intoSegment: wire)
    world.plan(at: world.now + dice.duration(upTo: arrival)) { [self] world in
      reset(in: world)
      tick(world)
    }
  }

  func time(at now: Micros) -> Micros { ghost.ghost(atHost: now) }

  /// The phase of the present beat in a bar of four.
  func phase(at now: Micros) -> Double {
    let beat = timeline.beats(at: ghost.ghost(atHost: now)).value
    return beat - (beat / 4).rounded(.down) * 4
  }

  /// Sets another tempo from now on, as the peer's user does.
  func set(tempo: Double, in world: LinkWorld) {
    let time = ghost.ghost(atHost: world.now)
    let beat = max(timeline.beats(at: time), timeline.beatOrigin + Beats(millionths: 1))
    timeline = Timeline(tempo: Tempo(tempo), beatOrigin: beat, timeOrigin: time).clamped
    say(in: world)
  }

  private func say(in world: LinkWorld) {
    world.send(encodeAlive(state(world)), from: interface, to: .group, via: .discovery)
  }

  private func reset(in world: LinkWorld) {
    let beat = timeline.beats(at: ghost.ghost(atHost: world.now))
    node = NodeID(using: &dice)
    session = node
    ghost = GhostMap(startingAt: world.now)
    timeline = Timeline(tempo: timeline.tempo.clamped, beatOrigin: beat, timeOrigin: .zero)
    startStop = .unset
    peers = [:]
    others = [:]
    measurement = nil
    nextRemeasurement = nil
    count = 0
  }

  private func state(_ world: LinkWorld) -> PeerState {
    PeerState(
      node: node, session: session, timeline: timeline, startStop: startStop,
      measurement: world.interfaces[interface].measurement)
  }

  /// Runs four times a second: removes expired peers, repeats pings, begins new measurements, and sends
  /// Alives.
  private func tick(_ world: LinkWorld) {
    peers = peers.filter { $0.value.expiry + Micros(1_000_000) > world.now }
    recount(world)
    if let running = measurement, world.now - running.asked > Micros(50_000) { askAgain(world) }
    if let due = nextRemeasurement, due <= world.now {
      nextRemeasurement = world.now + Micros(30_000_000)
      measure(session, in: world)
    }
    say(in: world)
    world.plan(at: world.now + Micros(250_000)) { [self] in tick($0) }
  }

  private func recount(_ world: LinkWorld) {
    let now = peers.values.count { $0.state.session == session }
    defer { count = now }
    if now == 0 && count > 0 { reset(in: world) }
  }

  func receive(
    _ packet: Packet, from source: Endpoint, on interface: Int, via channel: Channel, in world: LinkWorld
  ) {
    packet.withUnsafeBytes { bytes in
      if channel == .measurement { return receiveMeasurement(bytes, from: source, in: world) }
      switch try? decodeDiscovery(bytes) {
      case .alive(let state, let ttl):
        guard state.node != node else { return }
        world.send(encodeResponse(self.state(world)), from: interface, to: .endpoint(source), via: .discovery)
        see(state, ttl, in: world)
      case .response(let state, let ttl): if state.node != node { see(state, ttl, in: world) }
      case .byeBye(let gone):
        peers[gone] = nil
        recount(world)
      case nil: return
      }
    }
  }

  private func see(_ state: PeerState, _ ttl: UInt8, in world: LinkWorld) {
    peers[state.node] = (state, world.now + Micros(Int64(ttl) * 1_000_000))
    if state.session == session {
      if state.timeline.beatOrigin > timeline.beatOrigin {
        timeline = state.timeline.clamped
        if isPrompt { say(in: world) }
      }
      if state.startStop.timestamp > startStop.timestamp { startStop = state.startStop }
    } else if let known = others[state.session] {
      if state.timeline.beatOrigin > known.beatOrigin { others[state.session] = state.timeline }
    } else {
      others[state.session] = state.timeline
      measure(state.session, in: world)
    }
    recount(world)
  }

  private func measure(_ target: SessionID, in world: LinkWorld) {
    let members = peers.values.map(\.state).filter { $0.session == target && $0.measurement != nil }
    let founder = members.first { $0.node == target }
    guard let asked = founder ?? members.min(by: { $0.node < $1.node }) else { return }
    // Only one measurement runs at a time. A session whose measurement is interrupted is forgotten, and is
    // measured when the peer hears of it again.
    if let interrupted = measurement?.session, interrupted != session, interrupted != target {
      others[interrupted] = nil
    }
    measurement = (target, asked.measurement!, [], 0, world.now)
    askAgain(world)
  }

  private func askAgain(_ world: LinkWorld) {
    guard var running = measurement else { return }
    guard running.tries < 6 else {
      measurement = nil
      guard running.session != session else { return }
      others[running.session] = nil
      peers = peers.filter { $0.value.state.session != running.session }
      return
    }
    running.tries += 1
    running.asked = world.now
    measurement = running
    let ping = encodePing(host: world.now, previousGhost: nil)
    world.send(ping, from: interface, to: .endpoint(running.endpoint), via: .measurement)
  }

  private func receiveMeasurement(_ bytes: UnsafeRawBufferPointer, from source: Endpoint, in world: LinkWorld)
  {
    switch try? decodeMeasurement(bytes) {
    case .ping(let echo):
      let pong = encodePong(session: session, ghost: ghost.ghost(atHost: world.now), echoing: echo)
      world.send(pong, from: interface, to: .endpoint(source), via: .measurement)
    case .pong(let pong):
      guard var running = measurement, pong.session == running.session else { return }
      running.points.append(Double(pong.ghost.count) - Double(pong.host.count + world.now.count) / 2)
      running.asked = world.now
      measurement = running
      if running.points.count >= 10 { return finish(running.session, running.points, in: world) }
      let ping = encodePing(host: world.now, previousGhost: pong.ghost)
      world.send(ping, from: interface, to: .endpoint(source), via: .measurement)
    case nil: return
    }
  }

  private func finish(_ target: SessionID, _ points: [Double], in world: LinkWorld) {
    measurement = nil
    let map = GhostMap(intercept: Micros(rounding: points.sorted()[points.count / 2]))
    if target == session {
      ghost = map
      return
    }
    let lead = map.ghost(atHost: world.now) - ghost.ghost(atHost: world.now)
    let isTie = lead < Micros(500_000) && lead > Micros(-500_000)
    guard lead > Micros(500_000) || isTie && target < session, let joined = others[target] else { return }
    others[session] = timeline
    others[target] = nil
    session = target
    timeline = joined.clamped
    ghost = map
    startStop = .unset
    nextRemeasurement = world.now + Micros(30_000_000)
    recount(world)
  }
}
