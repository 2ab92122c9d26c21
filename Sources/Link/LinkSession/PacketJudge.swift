// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

/// Judges each statement of a datagram before the statement has an effect: whether we believe it, from which
/// peer, and for how long.
///
/// A Link network has no authentication: any host may set a tempo, so we cannot ask whether a statement is
/// true. We demand two things instead:
///
/// **All peers judge alike**: by the content of the packet and by the session's measured time, never by
/// earlier packets. Otherwise peers that took a timeline and peers that did not would never agree again.
/// Peers' clocks differ by milliseconds, so at the very limit their judgement may differ. But no peer
/// remembers a refusal, and a moment later the statement is within the limit for all.
///
/// **After any believed statement an honest change still fits.** A change keeps the session's beat at that
/// moment, and its origin is at least a microbeat after the old origin (facts: link 7.7). So the limit on
/// beats and origins grows faster than any tempo, and no timeline within the limit ever leaves it. The time
/// by which an origin may lie ahead of the session's beat is limited, too, and is counted in the timeline's
/// own beats. At any tempo, the session's beat advances within a few microseconds by the microbeat that the
/// next change needs.
///
/// **We can continue from any state from which peers of Ableton's library can.** Otherwise we would lose them
/// for good. So the only limits are the ranges of the integer types.
enum PacketJudge {
  // MARK: Time

  /// Whether a session may have this age. As soon as a session is older, all members leave it. If we only
  /// stopped joining such a session, newcomers would stay apart from its members for good.
  static func isPlausible(age: Micros) -> Bool {
    age >= -Rules.joinTolerance && age <= Limits.farthestTime
  }

  /// Whether a machine may have been up for this long, so that sums with this time fit in 64 bits.
  static func isPossible(hostTime: Micros) -> Bool {
    hostTime >= -Limits.farthestTime && hostTime <= Limits.farthestTime
  }

  // MARK: Timelines

  /// Whether the timeline is believable at any time at all. For a session that we have not measured, no other
  /// check is possible.
  static func isPossible(_ timeline: Timeline) -> Bool {
    let tempo = timeline.tempo.beatsPerMinute
    return tempo > 0 && tempo.isFinite && isPossible(timeline.beatOrigin)
  }

  /// Whether a timeline is believable now, in the session's time.
  static func isPlausible(_ timeline: Timeline, at now: Micros) -> Bool {
    guard isPossible(timeline) else { return false }
    let farthest = farthestBeat(at: now)
    let beat = timeline.clamped.exactBeats(at: now)
    let (lead, overflows) = timeline.beatOrigin.millionths.subtractingReportingOverflow(beat.millionths)
    return timeline.beatOrigin <= farthest && beat <= farthest && beat >= -Limits.farthestBeat
      && !overflows && lead <= Limits.timelineLead.millionths
  }

  private static func farthestBeat(at now: Micros) -> Beats {
    Limits.farthestBeat + Limits.horizonTempo.beats(in: now)
  }

  private static func isPossible(_ beat: Beats) -> Bool {
    beat >= -Limits.farthestBeat && beat <= farthestBeat(at: Limits.farthestTime)
  }

  /// The timeline with the later beat origin wins (facts: link 7.3). Two peers may make timelines that begin
  /// in the same microbeat before they hear of each other's. Any fixed order of the two timelines prevents
  /// that the session is split for good.
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

  /// Whether a start or stop is believable now. A start or stop with a time stamp far in the future would
  /// block all others until that time.
  static func isPlausible(_ startStop: SessionStartStop, at now: Micros) -> Bool {
    isPossible(startStop) && startStop.timestamp <= now + Limits.startStopLead
  }

  // MARK: Song

  static func isPossible(_ song: SessionSong) -> Bool {
    let line = song.line
    return isPossible(line.sessionBeat) && line.songBeat >= .zero && line.songBeat <= Limits.farthestSong
      && line.beatsPerBar >= 1 && line.beatsPerBar <= Limits.longestBar
      && line.beatType <= 32 && line.beatType.nonzeroBitCount == 1
      && song.timestamp >= -Limits.farthestTime
      && song.timestamp <= Limits.farthestTime + Limits.startStopLead
  }

  /// Whether a song line is believable now, apart from its time stamp. `beat` is the session's beat.
  static func isPlausible(_ song: SessionSong, beat: Beats) -> Bool {
    let (distance, overflows) = song.line.sessionBeat.millionths.subtractingReportingOverflow(beat.millionths)
    return isPossible(song) && !overflows && distance.magnitude <= UInt64(Limits.farthestSong.millionths)
  }

  // MARK: States

  static func isPlausible(_ state: PeerState, at now: Micros) -> Bool {
    isPlausible(state.timeline, at: now) && isPlausible(state.startStop, at: now)
  }

  // MARK: Sessions

  /// Whether the other session is better than ours. The older session wins. Of two equally old sessions, the
  /// session with the smaller id wins (facts: link 7.4).
  ///
  /// Two sessions count as equally old if their ages differ by less than a margin. Both sides measure, and
  /// close to the margin each may find the other session better, or neither. So the margin changes with each
  /// measurement of a session that still exists beside ours, and soon both sides agree.
  ///
  /// Ableton's library measures once, with a constant margin. If a peer of Ableton's library is in either
  /// session, our margin changes only a little, and in favour of the smaller id. Otherwise we might leave for
  /// the older session for good while that peer stays in the other.
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

  /// Whether peers of Ableton's library may be split for good, each by its own error of measurement. This is
  /// computed in the session with the smaller id, from the time by which the other session is older.
  static func isStuck(olderBy lead: Micros, afterLooks looks: Int) -> Bool {
    let most = Micros(Limits.mixedBorderStep.count * Int64(Limits.borderSteps))
    return looks >= Limits.looksInVain && lead <= Rules.joinTolerance + most
      && lead >= Rules.joinTolerance - most
  }

  /// Whether the ages are so close to the margin that peers may disagree about which of the two sessions is
  /// better.
  static func isAtTheBorder(_ lead: Micros) -> Bool {
    let age = Micros(abs(lead.count))
    return age < Rules.joinTolerance + Limits.borderStep
      && age > border(afterLooks: .max, step: Limits.borderStep) - Limits.borderStep
  }

  private static func border(afterLooks looks: Int, step: Micros) -> Micros {
    Rules.joinTolerance - Micros(step.count * Int64(min(looks, Limits.borderSteps)))
  }

  // MARK: Peers

  /// The time for which a peer counts as present after a datagram. Every implementation announces five
  /// seconds (facts: link 3.2); without a limit a peer could announce minutes.
  static func lifetime(_ timeToLive: UInt8) -> Micros {
    Micros(Int64(min(timeToLive, Wire.timeToLive)) * 1_000_000)
  }

  /// Whether a packet with a known id comes from another host while the known host still counts as present. A
  /// peer that stalls must not lose its id, and we must not lose its clock, to an attacker who waits for a
  /// stall. A peer with two addresses on our network sends each packet from both. The tempo and the start of
  /// a peer that has moved are still accepted (`LinkSession.receiveElsewhere`).
  static func isForged(from source: Address, of known: PeerRecord, at now: Micros) -> Bool {
    source != known.source && now < known.expiry
  }

  /// The endpoint at which a peer can be measured, if it is on the sender's own address: a peer binds all its
  /// sockets to one address (facts: link 3.7). So no packet can make us ping a machine other than its sender,
  /// a group or ourselves.
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

  /// The announced clock origin. Returns nil if the peer announced no origin, or an impossible origin. Only a
  /// peer's own clock may have zero steps: otherwise any peer could claim to be as near to the founder's
  /// clock as the founder.
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
