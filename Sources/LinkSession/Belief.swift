// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkWire

/// What is believed, of whom, and for how long: everything that a datagram says is judged here, before it can do
/// anything.
///
/// Nobody on a Link network proves who he is, so anybody may set a tempo, and what is believed can't be what is true.
/// Two things are asked of it instead:
///
/// **All peers judge alike.** By what the packet says and by the session's measured time, never by what they heard
/// before: those who took a timeline and those who did not would not agree again. Peers' clocks differ by
/// milliseconds, and so may their judgement at the very limit; what is refused is not remembered, and a moment later
/// it is within the limit for all.
///
/// **After anything that is believed, an honest change still fits.** A change keeps the session's beat at that moment
/// and begins a microbeat after the old origin or later (facts: link 7.7). So the limit on both grows faster than any
/// tempo: no line that is within it ever leaves it. And how far an origin may lie ahead is counted in the line's own
/// beats: a few microseconds later the lead has shrunk by the microbeat that the next change needs, whatever its tempo.
///
/// **What the reference's peers can go on from, ours can, too**, or they would be parted for good: the limits are those
/// of the numbers themselves.
enum Belief {
  // MARK: Time

  /// Whether a session may be so old, or so young. One that outlives it is left by all its members at once; were
  /// it only not joined any more, it would be divided from its newcomers for good.
  static func isPlausible(age: Micros) -> Bool {
    age >= -Rules.joinTolerance && age <= Limits.farthestTime
  }

  /// Whether a machine may have been up for so long: what is added to it must fit.
  static func isPossible(hostTime: Micros) -> Bool {
    hostTime >= -Limits.farthestTime && hostTime <= Limits.farthestTime
  }

  // MARK: Timelines

  /// Whether a timeline can be believed at any time: all that can be said of a session that was not measured.
  static func isPossible(_ timeline: Timeline) -> Bool {
    let tempo = timeline.tempo.beatsPerMinute
    return tempo > 0 && tempo.isFinite && isPossible(timeline.beatOrigin)
  }

  /// Whether it can be believed now, in the session's time.
  static func isPlausible(_ timeline: Timeline, at now: Micros) -> Bool {
    guard isPossible(timeline) else { return false }
    let farthest = farthestBeat(at: now)
    let beat = timeline.clamped.exactBeats(at: now)
    let (lead, overflows) = timeline.beatOrigin.micros.subtractingReportingOverflow(beat.micros)
    return timeline.beatOrigin <= farthest && beat <= farthest && beat >= -Limits.farthestBeat
      && !overflows && lead <= Limits.timelineLead.micros
  }

  private static func farthestBeat(at now: Micros) -> Beats {
    Limits.farthestBeat + Limits.horizonTempo.beats(in: now)
  }

  private static func isPossible(_ beat: Beats) -> Bool {
    beat >= -Limits.farthestBeat && beat <= farthestBeat(at: Limits.farthestTime)
  }

  /// The one that begins later wins (facts: link 7.3). Two that begin in the same microbeat, and both were set
  /// before their peers heard of the other, would divide the session for good: of these, any fixed order will do.
  static func overrides(_ incoming: Timeline, _ current: Timeline) -> Bool {
    if incoming.beatOrigin != current.beatOrigin { return incoming.beatOrigin > current.beatOrigin }
    let (new, old) = (incoming.clamped.tempo.microsPerBeat, current.tempo.microsPerBeat)
    return new != old ? new > old : incoming.timeOrigin > current.timeOrigin
  }

  // MARK: Start and stop

  static func isPossible(_ startStop: SessionStartStop) -> Bool {
    isPossible(startStop.beats) && startStop.timestamp >= -Limits.farthestTime
      && startStop.timestamp <= Limits.farthestTime + Limits.startStopLead
  }

  /// One that is stamped long after now would bar all others until then.
  static func isPlausible(_ startStop: SessionStartStop, at now: Micros) -> Bool {
    isPossible(startStop) && startStop.timestamp <= now + Limits.startStopLead
  }

  static func isPlausible(_ state: PeerState, at now: Micros) -> Bool {
    isPlausible(state.timeline, at: now) && isPlausible(state.startStop, at: now)
  }

  // MARK: Sessions

  /// The older session wins; of two equally old ones, the one with the smaller id (facts: link 7.4).
  ///
  /// Both sides measure, and at the very border each may find the other one better, or neither. So the border moves with
  /// each look at a session that stayed beside ours, and soon both are on the same side of it.
  ///
  /// The reference looks once, and its border stays where it is. With one of its peers in either session ours hardly moves, and towards the smaller
  /// id: else we leave for the older session for good where it stays in the other.
  static func isBetter(
    _ other: SessionID, olderBy lead: Micros, than own: SessionID, looks: Int, isMixed: Bool = false
  ) -> Bool {
    let border =
      isMixed
      ? border(afterLooks: looks, step: -Limits.mixedBorderStep)
      : border(afterLooks: looks, step: Limits.borderStep)
    if lead > border { return true }
    return lead < border && lead > -border && other < own
  }

  /// Whether peers of the reference's, each with its own error, may have taken either side for good: who is in the one with the smaller id
  /// sees the other one's lead.
  static func isStuck(olderBy lead: Micros, afterLooks looks: Int) -> Bool {
    let most = Micros(Limits.mixedBorderStep.count * Int64(Limits.borderSteps))
    return looks >= Limits.looksInVain && lead <= Rules.joinTolerance + most
      && lead >= Rules.joinTolerance - most
  }

  /// Whether peers may differ in which of two sessions is the better one.
  static func isAtTheBorder(_ lead: Micros) -> Bool {
    let age = Micros(abs(lead.count))
    return age < Rules.joinTolerance + Limits.borderStep
      && age > border(afterLooks: .max, step: Limits.borderStep) - Limits.borderStep
  }

  private static func border(afterLooks looks: Int, step: Micros) -> Micros {
    Rules.joinTolerance - Micros(step.count * Int64(min(looks, Limits.borderSteps)))
  }

  // MARK: Peers

  /// How long a peer counts as there. Everybody's time to live is five seconds (facts: link 3.2); who claims minutes
  /// would stay for minutes.
  static func lifetime(_ timeToLive: UInt8) -> Micros {
    Micros(Int64(min(timeToLive, Wire.timeToLive)) * 1_000_000)
  }

  /// Whether a known name stays with the host that has it: the word is from another host, and the known one
  /// is still there. A peer that stalls for a while must not lose its name, and all of us its clock, to an
  /// attacker who waits for that. A peer that has two addresses on our wire says everything from both. What a
  /// peer that moved says about tempo and start counts even so (`LinkSession.hearElsewhere`).
  static func isForged(from source: Address, of known: Sighting, at now: Micros) -> Bool {
    source != known.source && now < known.expiry
  }

  /// Where a peer can be measured, if it says so: all its sockets are bound to one address (facts: link 3.7), so
  /// it can't make us ping a third machine, a group, ourselves, or nobody.
  static func measurable(_ endpoint: Endpoint?, from source: Address, on gateway: Gateway) -> Endpoint? {
    guard let endpoint, endpoint.port != 0, endpoint.address.isIPv6 == gateway.address.isIPv6 else {
      return nil
    }
    let scoped = Endpoint(endpoint.address.scoped(gateway.address.scope), port: endpoint.port)
    guard scoped.address == source.scoped(gateway.address.scope), scoped != gateway.measurement else {
      return nil
    }
    return scoped
  }

  /// Whose clock it says it has. Its own is no step away, and everybody else's is: who says otherwise would be in
  /// front of the founder itself.
  static func origin(of state: PeerState) -> ClockOrigin? {
    guard let said = state.clock, (said.steps == 0) == (said.root == state.node) else { return nil }
    return said
  }

  static func isUnicast(_ address: Address) -> Bool {
    switch address {
    case .v4(let bits): bits != 0 && bits >> 28 < 0xe
    case .v6(let high, let low, _): (high, low) != (0, 0) && high >> 56 != 0xff
    }
  }
}
