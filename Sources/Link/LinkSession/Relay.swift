// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import LinkWire

// `ClockReference` has the rules for chains of networks, and `FarClock` measures the other relay's clock.
// Peers of Ableton's library take their time from the founder or from the lowest id that they see (facts:
// link 4.5).

/// The connection to one other relay, in another room. A gateway with such a connection is a far gateway.
///
/// To the session it is a network like any other, with one peer on it: both rooms find one session, and each
/// takes its clock from the room nearer to the founder. Three things differ:
/// - The two relays measure each other's clocks.
/// - No endpoint is sent over this connection, so that no endpoint of one room gets into the other room.
/// - A relay draws the lowest id of its room, so that the room takes its time from the relay even if the
///   session's founder is in the other room.
public struct FarWire: Hashable, Sendable, BitwiseCopyable {
  /// An endpoint that stands for the other relay, wherever that relay is at the moment: all datagrams from
  /// the relay count as coming from this endpoint.
  public var relay: Endpoint
  /// The microseconds by which the other room is earlier than measured. If datagrams are known to take longer
  /// to the other room than back, this is half of the difference. The effect is this side's value minus the
  /// other side's.
  public var correction: Micros
  /// Beats by which the other room's grid runs behind ours: with 4, our beat 16 is their beat 12. Sound that
  /// takes this long on its way then arrives in time. The effect is this side's value minus the other side's.
  ///
  /// With any distance, both rooms are in one session and have one tempo. A start has a beat, so the other
  /// room hears the start later by this distance.
  public var distance: Beats

  /// Describes the connection. Without a correction and a distance, both rooms hear a beat at the same time.
  public init(relay: Endpoint, correction: Micros = .zero, distance: Beats = .zero) {
    self.relay = relay
    self.correction = correction
    self.distance = distance
  }

  /// `there` turns our timeline into the other room's count, `here` turns the other room's timeline into
  /// ours. The other room's beat may be any number, and the sum may wrap around; `PacketJudge` then refuses
  /// it.
  func there(_ timeline: Timeline) -> Timeline { shifted(timeline, to: timeline.beatOrigin - distance) }
  func here(_ timeline: Timeline) -> Timeline { shifted(timeline, to: timeline.beatOrigin + distance) }

  private func shifted(_ timeline: Timeline, to beat: Beats) -> Timeline {
    Timeline(tempo: timeline.tempo, beatOrigin: beat, timeOrigin: timeline.timeOrigin)
  }
}

/// The quality of a measurement of another relay's clock.
public struct FarMeasure: Hashable, Sendable, BitwiseCopyable {
  /// The fastest round trip that counts. At worst, if one direction takes the whole round trip, the rooms
  /// differ by half of this time.
  public var roundTrip: Micros
  /// Microseconds by which the other relay's host clock is ahead of ours.
  public var offset: Micros
  /// The part of `FarWire.correction` that is in effect now.
  public var correction: Micros
}

extension LinkSession {
  /// The far gateway's measurement; nil for another gateway, or while there are too few samples.
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
    // The other room sees a new timeline of ours now. We see a new timeline of the other room when that room
    // announces its timeline again.
    revision += 1
    isBroadcastDue = true
  }

  func isFar(_ gateway: GatewayID) -> Bool {
    index(of: gateway).map { gateways[$0].gateway.far != nil } ?? false
  }

  /// Waits for the relay's next answer, which has the session's time; fails if the relay does not answer.
  mutating func awaitRelay(_ target: SessionID, _ asked: PeerRecord) {
    guard let place = index(of: asked.gateway),
      gateways[place].farClock?.isAlive(at: uptime.now) ?? false
    else { return measurementFailed(of: target, node: asked.state.node) }
    if !awaited.contains(target) { awaited.append(target) }
  }

  /// Sends the pings that are due. Then tries again to measure the sessions whose time no relay has given so
  /// far.
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
    guard !isClockDoubted, let far = gateways[place].gateway.far,
      gateways[place].pongs.trySpend(at: uptime.now)
    else { return }
    let middle = now - Micros(waited.count / 2)
    let pong = encodePong(
      session: session, ghost: ghost.ghost(atHost: middle) + gateways[place].correction, relay: middle,
      echoing: echo)
    emit(.send(pong, to: .endpoint(far.relay), on: gateways[place].gateway.id, via: .measurement))
  }

  mutating func receiveRelay(_ pong: Pong, waited: Micros, on place: Int) {
    let gateway = gateways[place].gateway
    guard gateway.far != nil, PacketJudge.isPlausible(age: pong.ghost), pong.relay != .zero,
      PacketJudge.isPossible(hostTime: pong.relay),
      gateways[place].farClock?.receive(
        host: pong.host, relay: pong.relay, at: now - waited, uptime: uptime.now)
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

  /// Moves our session's clock slowly to the newly measured clock, so that the move is inaudible. If the
  /// difference is too large for that, the measured clock is another clock, and we adopt it at once.
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
      // Followers that measured our clock before are off by `slewed` microseconds now; a jump makes them
      // measure again.
      slewed = 0
      clock.jumps &+= 1
      isBroadcastDue = true
    }
    apply(timeline, GhostMap(intercept: ghost.intercept + Micros(step)))
  }
}

extension Peers {
  /// The member of the session whose packet came last through this gateway.
  func latest(on gateway: GatewayID, in session: SessionID) -> PeerRecord? {
    nodes.values.lazy.joined().filter { $0.gateway == gateway && $0.state.session == session }
      .max { ($0.heard, $1.state.node) < ($1.heard, $0.state.node) }
  }
}
