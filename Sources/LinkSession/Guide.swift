// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkWire

/// Who told us a time, and how often its clock had jumped by then. Somebody else may have told it under that name, but
/// not from there.
struct Source: Equatable, Sendable {
  let node: NodeID
  let endpoint: Endpoint?
  let jumps: UInt32

  init(_ sighting: Sighting) {
    node = sighting.state.node
    endpoint = sighting.endpoint
    jumps = sighting.state.clock?.jumps ?? 0
  }
}

/// Whom we ask for a session's time.
///
/// Everybody in a session must go by one clock, and who asks whom decides it: were two to ask each other, or three in a
/// ring, they would be a clock of their own that drifts away from the session's. The reference's peers ask the founder, or
/// the lowest id that they see (facts: link 4.5), which is one clock on one wire while the founder is there, and none along
/// a chain of wires. So ours say in their state whose clock they tell the time by and how many measurements lie between
/// (`ClockOrigin`), and each asks the peer that is nearest to the best clock: a tree, whatever the wires.
///
/// The best clock is the founder's, then one that seems to be, then that of the lowest id. A clock whose owner is gone is passed from peer to peer
/// with more steps each time, until it is out of reach.
struct Guide {
  let sighting: Sighting
  let origin: ClockOrigin
  /// It was asked in vain lately.
  let isAvoided: Bool
  /// Its clock is ours, which we do not doubt, or one that goes round in a circle.
  fileprivate let isFollower: Bool
  /// Among several ways to one peer, the one by which it told us the time, else the first: its name may be another's on the others.
  fileprivate let way: Int

  private var hasFoundersClock: Bool { origin.root == sighting.state.session }

  /// A peer that doubts its own clock asks anybody, a founder its followers first; else one that did not answer is waited for, rather than to follow in a circle.
  fileprivate func isBetter(than other: Guide, toDoubters: Bool) -> Bool {
    if toDoubters && isAvoided != other.isAvoided { return other.isAvoided }
    if isFollower != other.isFollower { return other.isFollower }
    if isAvoided != other.isAvoided { return other.isAvoided }
    if hasFoundersClock != other.hasFoundersClock { return hasFoundersClock }
    if !hasFoundersClock && origin.isInferred != other.origin.isInferred { return origin.isInferred }
    return (origin.root, origin.steps, sighting.state.node, way)
      < (other.origin.root, other.origin.steps, other.sighting.state.node, other.way)
  }

  /// Whether its clock is better than that of `node`, which is in the same session.
  fileprivate func leads(_ node: NodeID) -> Bool {
    guard !isFollower, origin.root != node, node != sighting.state.session else { return false }
    return hasFoundersClock || origin.isInferred || origin.root < node
  }
}

extension LinkSession {
  /// The best to ask for the time of `target`; nil if nobody that we can hear announces it.
  func guide(to target: SessionID) -> Guide? {
    let isOurs = target == session
    let usher = isOurs && peers.isBetweenWires(session) ? usher : nil
    let isLowest = isOurs && peers.isLowest(node, in: session, notCounting: isFar)
    var best: Guide?
    for sighting in peers.nodes.values.joined() where sighting.state.session == target {
      guard let place = index(of: sighting.gateway) else { continue }
      let origin = origin(of: sighting, isUsher: sighting.state.node == usher, isLowest: isLowest)
      let candidate = Guide(
        sighting: sighting, origin: origin, isAvoided: sighting.isAvoided(at: uptime.now),
        isFollower: isOurs && (origin.root == node && !isClockDoubted || origin.steps >= Limits.clockSteps),
        way: Source(sighting) == source ? -1 : place)
      if best.map({ candidate.isBetter(than: $0, toDoubters: isClockDoubted) }) ?? true { best = candidate }
    }
    return best
  }

  /// What was said long ago may not be so any more, and who says it is gone as a rule. But the peer that told us the time is followed while
  /// its name is kept: its clock is ours, and who stalls for a while must not lose it to a liar.
  private func origin(of sighting: Sighting, isUsher: Bool, isLowest: Bool) -> ClockOrigin {
    var origin =
      Belief.origin(of: sighting.state) ?? inferredOrigin(of: sighting, isUsher: isUsher, isLowest: isLowest)
    let end = Source(sighting) == source ? sighting.expiry : sighting.heard + Limits.crowdedExpiry
    if uptime.now >= end { origin.steps = Limits.clockSteps }
    return origin
  }

  /// A peer of the reference's does not say where its clock comes from. It is its own, or the founder's whom we do not see:
  /// if it brought us into the session from another wire, or if everybody on ours ought to ask us and it does not.
  private func inferredOrigin(of sighting: Sighting, isUsher: Bool, isLowest: Bool) -> ClockOrigin {
    ClockOrigin(
      root: sighting.state.node, steps: 0,
      // Anyone who does not see the founder asks a relay, no matter which brought it in.
      isInferred: (isUsher && !isRelay)
        || (isUsher || isLowest) && peers.isIndependent(sighting, at: uptime.now))
  }

  /// Looks around, four times a second: whose clock is ours from now on?
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
