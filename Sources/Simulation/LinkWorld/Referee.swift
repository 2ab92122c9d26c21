// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import LinkWire

/// The invariants that must hold in every world, in a musician's words.
package enum Invariant: String, Sendable, CaseIterable {
  case beatIsUnbroken = "nobody's beat jumps, unless its own app made it"
  case tempoIsInRange = "every tempo is within 20...999 BPM"
  case tempoIsSomebodys = "every tempo is one that somebody set"
  case tablesAreBounded = "no table outgrows its limit"
  case speechIsBounded = "no gateway announces itself more than 21 times a second"
  case allAgree = "left in peace, all are in one session with one timeline and count each other"
  case phaseIsBounded = "left in peace, all hear the beat together, as far as network and clocks allow"
  case changeReachesAll = "a tempo set in peace is everybody's within five seconds"
  case startReachesAll = "a start in peace is everybody's within five seconds"
  case attackIsOver = "ten seconds after an attack any peer can set tempo and start, and all agree"
}

/// A broken invariant, and the time at which it broke.
package struct Violation: Sendable, CustomStringConvertible {
  package let invariant: Invariant
  package let at: Micros
  package let detail: String

  package var description: String { "at \(at.seconds) s: not true that \(invariant.rawValue) (\(detail))" }
}

/// Watches a world and records violations of the invariants.
final class Referee {
  private(set) var violations: [Violation] = []
  /// The scenario of the present act. An act is a time of trouble and a time of peace.
  var scenario: Scenario
  /// The tempos that peers have set, in microseconds per beat.
  private var legitimate: Set<Int64> = []
  private var announcements: [Int: [Micros]] = [:]

  static let enough = 20

  init(_ scenario: Scenario) {
    self.scenario = scenario
  }

  func permit(tempo: Double) { legitimate.insert(Tempo(tempo).clamped.microsPerBeat) }

  func blame(_ invariant: Invariant, at time: Micros, _ detail: String) {
    guard violations.count < Referee.enough else { return }
    violations.append(Violation(invariant: invariant, at: time, detail: detail))
  }

  func watch(_ world: LinkWorld) {
    for peer in world.peers { permit(tempo: peer.snapshot.state.tempo) }
    world.onPublish = { [unowned self, unowned world] peer, before, after, isOwn in
      self.judge(peer, before, after, isOwn: isOwn, in: world)
    }
    world.onSend = { [unowned self, unowned world] packet, sender, destination, channel in
      self.judge(packet, from: sender, to: destination, channel, in: world)
    }
  }

  private func judge(
    _ peer: Int, _ before: SessionSnapshot, _ after: SessionSnapshot, isOwn: Bool, in world: LinkWorld
  ) {
    let tempo = after.state.tempo
    if !(tempo >= 20 && tempo <= 999) {
      blame(.tempoIsInRange, at: world.now, "peer \(peer) has \(tempo) BPM")
    }
    let isForged = scenario.hostility > 0
    if isOwn {
      permit(tempo: tempo)
    } else if !isForged && !legitimate.contains(after.state.timeline.tempo.microsPerBeat) {
      blame(.tempoIsSomebodys, at: world.now, "peer \(peer) has \(tempo) BPM")
    }
    let host = world.host(of: peer)
    let jump = after.state.timeline.beats(at: host) - before.state.timeline.beats(at: host)
    // A timeline's origin is rounded to whole microseconds, and its beats to microbeats.
    if abs(jump.millionths) > 3 + 1_000_000 / after.state.timeline.tempo.microsPerBeat {
      blame(.beatIsUnbroken, at: world.now, "peer \(peer) by \(jump.millionths) microbeats")
    }
  }

  private func judge(
    _ packet: Packet, from sender: Int, to destination: LinkSession.Destination, _ channel: Channel,
    in world: LinkWorld
  ) {
    // If clocks step, the sender's seconds differ from the world's: then this check is skipped.
    guard destination == .group, channel == .discovery, scenario.clockSteps == 0,
      world.interfaces[sender].peer >= 0
    else { return }
    let isAlive = packet.withUnsafeBytes { $0.count > 20 }
    guard isAlive else { return }
    var recent = announcements[sender, default: []]
    recent.append(world.now)
    if recent.count > 22 { recent.removeFirst() }
    announcements[sender] = recent
    if recent.count == 22, world.now - recent[0] < Micros(1_000_000) {
      blame(.speechIsBounded, at: world.now, "interface \(sender)")
      announcements[sender] = []
    }
  }

  func inspect(_ world: LinkWorld) {
    for (index, peer) in world.peers.enumerated() {
      let load = peer.machine.load
      if load.sightings > Limits.sightings || load.sessions > Limits.sessions
        || load.gateways > Limits.gateways || load.measurements > Limits.measurements + 2
      {
        blame(.tablesAreBounded, at: world.now, "peer \(index): \(load)")
      }
      if peer.machine.counters.outputsDropped > 0 {
        blame(.tablesAreBounded, at: world.now, "peer \(index) dropped outputs")
      }
    }
  }

  /// The largest allowed difference of two phases. Each clock was measured against another clock with an
  /// error of at most half of the asymmetry, and has drifted since then. If the founder has left, two peers
  /// may be compared through a third peer, so that two errors add up. Along a chain of networks, the errors
  /// of all measurements add up.
  var phaseAllowance: Double {
    if let rooms = scenario.rooms { return allowance(between: rooms) }
    let asymmetry = Double(scenario.conditions.asymmetry.count)
    let apart = 2 * scenario.drift * 1e-6 * 65e6
    return (2 * asymmetry + 2 * apart + 50) * Double(scenario.wires)
  }
}

extension Referee {
  /// The largest allowed difference of two phases in different rooms. Between relays it is half of the
  /// asymmetry of their connections plus a millisecond, whatever the jitter is. All other peers, and the
  /// relay in the founder's room, measure by Link's rules, every 30 seconds.
  private func allowance(between rooms: Rooms) -> Double {
    let far = rooms.wires.map { Double($0.asymmetry.count) / 2 + 1000 }.reduce(0, +)
    let jitter = Double(scenario.conditions.asymmetry.count) / 2 + 50
    let apart = 2 * scenario.drift * 1e-6 * 35e6
    return far + 3 * (jitter + apart)
  }
}

extension LinkWorld {
  /// A reason why a peer of Ableton's library disagrees with the first of our peers; nil: all agree.
  var disagreementOfReferences: String? {
    guard let first = active.first else { return nil }
    let leader = peers[first].snapshot
    for (index, reference) in references.enumerated() {
      if reference.session != leader.session { return "reference \(index) is in another session" }
      let (a, b) = (leader.sessionTimeline, reference.timeline)
      if a.tempo.microsPerBeat != b.tempo.microsPerBeat || a.beatOrigin != b.beatOrigin
        || a.timeOrigin != b.timeOrigin
      {
        return "reference \(index) has a different timeline"
      }
    }
    return nil
  }

  func phaseErrorsOfReferences() -> [Double] {
    guard let first = active.first else { return [] }
    let state = peers[first].snapshot.state
    let phase = state.phase(at: host(of: first), quantum: 4)
    return references.map { reference in
      var apart = reference.phase(at: now) - phase
      if apart > 2 { apart -= 4 }
      if apart < -2 { apart += 4 }
      return apart * Double(state.timeline.tempo.microsPerBeat)
    }
  }

  /// The peers that are switched on.
  public var active: [Int] {
    peers.indices.filter { peers[$0].isRunning && peers[$0].machine.isEnabled }
  }

  /// A reason why the active peers disagree; nil: they agree.
  public func disagreement(countingPeers: Bool = true) -> String? {
    let active = active
    guard let first = active.first else { return nil }
    let leader = peers[first].snapshot
    for peer in active {
      let other = peers[peer].snapshot
      if other.session != leader.session { return "peers \(first) and \(peer) are in different sessions" }
      let (a, b) = (leader.sessionTimeline, other.sessionTimeline)
      if a.tempo.microsPerBeat != b.tempo.microsPerBeat || a.beatOrigin != b.beatOrigin
        || a.timeOrigin != b.timeOrigin
      {
        return "peers \(first) and \(peer) have different timelines"
      }
      // A guest on the same network may or may not be in the session. So both counts of peers are allowed,
      // with the guest and without.
      let visible = neighbours(of: peer)
      if countingPeers && !(visible...visible + guests.count).contains(other.peerCount) {
        return "peer \(peer) counts \(other.peerCount) of \(visible) peers"
      }
    }
    return nil
  }

  /// The number of other active peers that share a network with this peer.
  private func neighbours(of peer: Int) -> Int {
    let segments = Set(peers[peer].interfaces.map { interfaces[$0].segment })
    return active.count { other in
      other != peer && peers[other].interfaces.contains { segments.contains(interfaces[$0].segment) }
    }
  }

  /// The difference between each peer's beat and the first peer's beat, in microseconds, as apps would play
  /// them.
  public func phaseErrors() -> [Double] {
    let active = active
    guard let first = active.first else { return [] }
    let quantum = 4.0
    let reference = peers[first].snapshot.state
    let microsPerBeat = Double(reference.timeline.tempo.microsPerBeat)
    let phase = reference.phase(at: host(of: first), quantum: quantum)
    return active.dropFirst().map { peer in
      var apart = peers[peer].snapshot.state.phase(at: host(of: peer), quantum: quantum) - phase
      if apart > quantum / 2 { apart -= quantum }
      if apart < -quantum / 2 { apart += quantum }
      return apart * microsPerBeat
    }
  }
}

extension LinkWorld {
  /// Each peer's view of the session, for debugging a disagreement. Ghost times are for the world's present
  /// time.
  var portrait: [String] {
    peers.indices.map { index in
      let peer = peers[index]
      let snapshot = peer.snapshot
      let timeline = snapshot.sessionTimeline
      let ghost = snapshot.ghost.ghost(atHost: host(of: index))
      let counters = peer.machine.counters
      return "peer \(index) \(snapshot.node) in \(snapshot.session), \(snapshot.peerCount) peers, "
        + "ghost \(ghost.count) µs, \(timeline.tempo.microsPerBeat) µs from beat \(timeline.beatOrigin.value) "
        + "at \(timeline.timeOrigin.seconds) s; \(counters.joins) joins, \(counters.resets) resets, "
        + "\(counters.measurementsDone) measured, \(counters.measurementsFailed) failed, "
        + "\(counters.implausible) implausible, \(counters.staleCommits) stale, \(counters.clockSteps) steps, \(peer.machine.load)"
    }
      + references.enumerated().map { index, reference in
        "reference \(index) in \(reference.session), ghost \(reference.time(at: now).count) µs"
      }
  }
}
