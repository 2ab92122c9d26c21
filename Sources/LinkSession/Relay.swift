// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import LinkWire

/// What makes a gateway a far one: a wire to one other relay, in another room.
///
/// To the session such a wire is a wire like any other, with one peer on it: by the rules for chains of wires (`Guide`) both rooms find one
/// session, and each has its clock from the room that is nearer to the founder. Only three things are different. Its clock is measured by
/// `FarClock`. No endpoint of ours is told there, and none is taken from there, so that none ever gets from one room into the other. And
/// a relay is named so that it has the lowest id of its room: the reference's peers ask the founder, or the lowest id that they
/// see (facts: link 4.5), and the founder may be in the other room.
public struct FarWire: Hashable, Sendable, BitwiseCopyable {
  /// Stands for the other relay, wherever it is reached at the moment: whatever comes in is from there.
  public var relay: Endpoint
  /// How much earlier than measured the other room is. Where the way there is known to take longer than the way back, half of the
  /// difference. Either side may set it, and what both set adds up with opposite signs.
  public var correction: Micros
  /// So many beats later than ours is the other room's grid: what is beat 16 here is heard there as 12, if it is 4. Sound that takes so long on
  /// its way is then in time where it arrives. Either side may set it, and what both set adds up with opposite signs.
  ///
  /// Both rooms are in one session and have one tempo all the same. A start is for a beat, and so is heard there that much later.
  public var distance: Beats

  /// Both rooms hear one beat at one time, unless a correction or a distance is given.
  public init(relay: Endpoint, correction: Micros = .zero, distance: Beats = .zero) {
    self.relay = relay
    self.correction = correction
    self.distance = distance
  }

  /// A timeline of ours, as the other room counts; and back. The other room may say anything: what is wrapped around is not believed.
  func there(_ timeline: Timeline) -> Timeline { shifted(timeline, to: timeline.beatOrigin - distance) }
  func here(_ timeline: Timeline) -> Timeline { shifted(timeline, to: timeline.beatOrigin + distance) }

  private func shifted(_ timeline: Timeline, to beat: Beats) -> Timeline {
    Timeline(tempo: timeline.tempo, beatOrigin: beat, timeOrigin: timeline.timeOrigin)
  }
}

/// How well a far wire is measured.
public struct FarMeasure: Hashable, Sendable, BitwiseCopyable {
  /// The fastest that counts. The rooms agree within half of it at the worst, if all of it is spent on one way.
  public var roundTrip: Micros
  /// The other relay's host clock ahead of ours.
  public var offset: Micros
  /// Of `FarWire.correction`, what holds by now.
  public var correction: Micros
}

extension LinkSession {
  /// nil while too little is known, or for a gateway that is not a far one.
  public func farMeasure(of gateway: GatewayID, at now: Micros) -> FarMeasure? {
    guard let place = index(of: gateway), let clock = gateways[place].farClock,
      let offset = clock.offset(at: now), let roundTrip = clock.roundTrip
    else { return nil }
    return FarMeasure(roundTrip: roundTrip, offset: offset, correction: gateways[place].correction)
  }

  mutating func setFarWire(_ correction: Micros, _ distance: Beats, on id: GatewayID) {
    guard let place = index(of: id), let far = gateways[place].gateway.far else { return }
    gateways[place].setFarWire(correction: correction, distance: distance)
    guard distance != far.distance else { return }
    // What we said is another timeline there now. What they said is another one here, as soon as they say it again.
    revision += 1
    isBroadcastDue = true
  }

  func isFar(_ gateway: GatewayID) -> Bool {
    index(of: gateway).map { gateways[$0].gateway.far != nil } ?? false
  }

  /// Its session's time is known with its next answer, or not at all if it does not answer.
  mutating func awaitRelay(_ target: SessionID, _ asked: Sighting) {
    guard let place = index(of: asked.gateway),
      gateways[place].farClock?.isAlive(at: uptime.now) ?? false
    else { return measurementFailed(of: target, node: asked.state.node) }
    if !awaited.contains(target) { awaited.append(target) }
  }

  /// Pings are due, and who waits for an answer may have waited long enough.
  mutating func pingRelays() {
    for place in gateways.indices {
      guard let far = gateways[place].gateway.far, let due = gateways[place].farClock?.nextPing,
        due <= uptime.now, let host = gateways[place].farClock?.ping(at: now, uptime: uptime.now)
      else { continue }
      emit(
        .send(
          encodePing(host: host, previousGhost: nil), to: .endpoint(far.relay),
          on: gateways[place].gateway.id,
          via: .measurement))
    }
    let waiting = awaited
    awaited = []
    for session in waiting { measure(session) }
  }

  mutating func answerRelay(_ echo: EchoPayload, waited: Micros, on place: Int) {
    guard !isClockDoubted, let far = gateways[place].gateway.far, gateways[place].pongs.take(at: uptime.now)
    else { return }
    let middle = now - Micros(waited.count / 2)
    let pong = encodePong(
      session: session, ghost: ghost.ghost(atHost: middle) + gateways[place].correction, relay: middle,
      echoing: echo)
    emit(.send(pong, to: .endpoint(far.relay), on: gateways[place].gateway.id, via: .measurement))
  }

  mutating func hearRelay(_ pong: Pong, waited: Micros, on place: Int) {
    let gateway = gateways[place].gateway
    guard gateway.far != nil, Belief.isPlausible(age: pong.ghost), pong.relay != .zero,
      Belief.isPossible(hostTime: pong.relay),
      gateways[place].farClock?.hear(host: pong.host, relay: pong.relay, at: now - waited, uptime: uptime.now)
        ?? false
    else {
      counters.strayPongs += 1
      return
    }
    gateways[place].moveCorrection(at: uptime.now)
    guard let offset = gateways[place].farClock?.offset(at: now) else { return }
    let map = GhostMap(intercept: offset + (pong.ghost - pong.relay) - gateways[place].correction)
    guard let relay = peers.latest(on: gateway.id, in: pong.session) else { return }
    let told = Source(relay)
    if pong.session == session {
      guard guide == told || isClockDoubted && guide(to: session)?.sighting.gateway == gateway.id else {
        return
      }
      awaited.removeAll { $0 == session }
      steer(told, map)
    } else if awaited.contains(pong.session), guide(to: pong.session)?.sighting.gateway == gateway.id {
      awaited.removeAll { $0 == pong.session }
      counters.measurementsDone += 1
      weigh(pong.session, map, by: told)
    }
  }

  /// Our session's time, measured again: we go there slowly, so that nobody hears it. What is too far for that is another clock.
  private mutating func steer(_ told: Source, _ map: GhostMap) {
    let left = (map.intercept - ghost.intercept).count
    guard !isClockDoubted, source == told || guide == told, abs(left) <= Limits.clockTolerance.count else {
      counters.measurementsDone += 1
      return follow(told, map)
    }
    if source != told { source = told }
    guard uptime.now - steered >= Limits.farLook else { return }
    steered = uptime.now
    let farthest = Limits.farLook.count / Limits.farSlew
    let step = max(-farthest, min(left, farthest))
    guard step != 0 else { return }
    slewed += abs(step)
    if slewed >= Limits.farNews.count {
      // Who asked us long ago is that much behind, and asks again.
      slewed = 0
      clock.jumps &+= 1
      isBroadcastDue = true
    }
    apply(timeline, GhostMap(intercept: ghost.intercept + Micros(step)))
  }
}

extension Peers {
  /// Who spoke last through it of those in that session.
  func latest(on gateway: GatewayID, in session: SessionID) -> Sighting? {
    nodes.values.lazy.joined().filter { $0.gateway == gateway && $0.state.session == session }
      .max { ($0.heard, $1.state.node) < ($1.heard, $0.state.node) }
  }
}
