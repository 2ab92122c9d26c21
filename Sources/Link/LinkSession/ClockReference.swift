// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

/// A peer that gave us a session's time: its id, its endpoint, and the number of jumps of its clock then.
/// Another host may use the peer's id, but not from that endpoint.
struct Source: Equatable, Sendable {
  let node: NodeID
  let endpoint: Endpoint?
  let jumps: UInt32

  init(_ sighting: PeerRecord) {
    node = sighting.state.node
    endpoint = sighting.endpoint
    jumps = sighting.state.clock?.jumps ?? 0
  }
}

/// A peer that we could ask for a session's time, with all that its rank among such peers depends on.
///
/// All members of a session must use one clock, and that depends on which peer each of them asks. Two peers
/// that ask each other, or three in a ring, would form a clock of their own that drifts away from the
/// session's. Peers of Ableton's library ask the founder, or the peer with the lowest id that they see
/// (facts: link 4.5). On one network this rule gives one clock as long as the founder is there. Along a chain
/// of networks it does not. So each of our peers announces the root of its clock and the number of
/// measurements between the root and itself (`ClockOrigin`), and asks the peer that is nearest to the best
/// clock. These choices form a tree on any networks, and never a circle.
///
/// The founder's clock is the best. The next best is a clock that seems to be the founder's, then the clock
/// of the lowest id. If the owner of a clock is gone, each peer that takes this clock from another peer adds
/// a step, until no peer may take it (`Limits.clockSteps`).
struct ClockReference {
  let sighting: PeerRecord
  let origin: ClockOrigin
  /// Whether the peer has failed to answer lately.
  let isAvoided: Bool
  /// Whether the peer's clock comes from our own clock or is passed round in a circle of peers. While we
  /// doubt our own clock, the first case does not count.
  fileprivate let isFollower: Bool
  /// The rank of this gateway among several gateways to one peer. The gateway by which the peer last gave us
  /// the time comes first (-1), then the other gateways in order. On another gateway, another host may use
  /// the peer's id.
  fileprivate let way: Int

  private var hasFoundersClock: Bool { origin.root == sighting.state.session }

  /// A peer that doubts its own clock takes any peer that answers, even one of its followers. Otherwise
  /// followers come last: it is better to wait for a peer that does not answer than to follow in a circle.
  fileprivate func isBetter(than other: ClockReference, toDoubters: Bool) -> Bool {
    if toDoubters && isAvoided != other.isAvoided { return other.isAvoided }
    if isFollower != other.isFollower { return other.isFollower }
    if isAvoided != other.isAvoided { return other.isAvoided }
    if hasFoundersClock != other.hasFoundersClock { return hasFoundersClock }
    if !hasFoundersClock && origin.isInferred != other.origin.isInferred { return origin.isInferred }
    return (origin.root, origin.steps, sighting.state.node, way)
      < (other.origin.root, other.origin.steps, other.sighting.state.node, other.way)
  }

  /// Whether the peer's clock is better than that of `node`, a member of the same session.
  fileprivate func leads(_ node: NodeID) -> Bool {
    guard !isFollower, origin.root != node, node != sighting.state.session else { return false }
    return hasFoundersClock || origin.isInferred || origin.root < node
  }
}

extension LinkSession {
  /// The best peer to ask for the time of `target`; nil if we hear no member.
  func guide(to target: SessionID) -> ClockReference? {
    let isOurs = target == session
    let usher = isOurs && peers.isBetweenWires(session) ? usher : nil
    let isLowest = isOurs && peers.isLowest(node, in: session, notCounting: isFar)
    var best: ClockReference?
    for sighting in peers.nodes.values.joined() where sighting.state.session == target {
      guard let place = index(of: sighting.gateway) else { continue }
      let origin = origin(of: sighting, isUsher: sighting.state.node == usher, isLowest: isLowest)
      let candidate = ClockReference(
        sighting: sighting, origin: origin, isAvoided: sighting.isAvoided(at: uptime.now),
        isFollower: isOurs && (origin.root == node && !isClockDoubted || origin.steps >= Limits.clockSteps),
        way: Source(sighting) == source ? -1 : place)
      if best.map({ candidate.isBetter(than: $0, toDoubters: isClockDoubted) }) ?? true { best = candidate }
    }
    return best
  }

  /// The origin of a peer's clock. If the peer has been silent for `crowdedExpiry`, it is usually gone, and
  /// its clock counts as out of reach. A peer that gave us the time is followed until its record expires: our
  /// clock comes from it, and if it stalls, a liar must not take its place.
  private func origin(of sighting: PeerRecord, isUsher: Bool, isLowest: Bool) -> ClockOrigin {
    var origin =
      PacketJudge.origin(of: sighting.state)
      ?? inferredOrigin(of: sighting, isUsher: isUsher, isLowest: isLowest)
    let end = Source(sighting) == source ? sighting.expiry : sighting.heard + Limits.crowdedExpiry
    if uptime.now >= end { origin.steps = Limits.clockSteps }
    return origin
  }

  /// The likely clock origin of a peer of Ableton's library. Such peers announce no origin: the clock is the
  /// peer's own, or that of a founder that we do not see. We assume the founder's clock in two cases: the
  /// peer gave us the time when we joined from another network, or the peer does not ask us although we have
  /// the lowest id on its network.
  private func inferredOrigin(of sighting: PeerRecord, isUsher: Bool, isLowest: Bool) -> ClockOrigin {
    ClockOrigin(
      root: sighting.state.node, steps: 0,
      // A peer that does not see the founder asks a relay, even a relay that joined the session through that
      // peer.
      isInferred: (isUsher && !isRelay)
        || (isUsher || isLowest) && peers.isIndependent(sighting, at: uptime.now))
  }

  /// Chooses the peer to ask, four times a second, and announces the origin of our clock.
  mutating func chooseGuide() {
    if let gone = usher, !peers.announces(gone, session) { usher = nil }
    let best = guide(to: session).flatMap { $0.leads(node) ? $0 : nil }
    var origin = ClockOrigin(root: node, steps: 0)
    if let best {
      origin = best.origin
      origin.steps += 1
    }
    origin.jumps = clock.jumps
    if origin != clock {
      clock = origin
      revision += 1
    }
    let asked = best.map { Source($0.sighting) }
    guard asked != guide else { return }
    guide = asked
    if asked != nil && asked != source { remeasureSoon() }
  }
}
