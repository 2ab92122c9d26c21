// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// A start under way. It has a place in the song, the session's beat on which that place must fall, and the
/// frame from which the transport must roll.
///
/// A start falls on the beginning of a cycle, and a beat falls anywhere. To be exact to the frame, the
/// transport, which stands at frame F, is sent to F - r and released in the cycle that begins r frames before
/// the beat (facts: jack 12).
struct Start: BitwiseCopyable {
  /// The microseconds before the last possible locate in which small errors count. In this time we locate the
  /// transport again if its frame misses the beat by more than `goodEnough` frames. Earlier, the limit is
  /// `plainlyWrong` frames: clocks still move, so small corrections would be in vain.
  static let finalApproach = 200_000.0
  static let plainlyWrong = 8.0
  static let goodEnough = 0.6
  /// The frames by which an exact start may be off, because clocks move between the last locate and the
  /// start.
  static let stillExact = 2.5
  /// The share of a cycle by which a start may be late. The nearest cycle is at most half a cycle late. A
  /// quarter more allows for cycles that are not evenly spaced: if one cycle is just too early, the next
  /// cycle must not count as too late.
  static let latest = 0.75
  /// The microseconds by which a beat's time may move in one cycle while a user drags the tempo. MIDI clocks
  /// catch up with such a move.
  private static let dragged = 10_000.0
  static var beat: Beats { Beats(millionths: 1_000_000) }

  /// The place where Play was pressed; with a leader, the place where the leader will be.
  var place: SongPlace
  /// The session's beat on which the place is to fall.
  var target = Beats.zero
  /// The grid in beats from which `target` was chosen. `wantedStep` is the grid that the user wants. The two
  /// differ if the wait for the user's grid would be too long.
  private(set) var step, wantedStep: Beats
  /// The time at which the transport would have rolled if no client had held it.
  let askedAt: Double
  /// The length of the count-in in beats. `countsSince` is the time at which the count-in begins. A peer's
  /// start has no count-in here, because the peer has set its time.
  private var countIn: Beats
  private var countsSince: Double
  /// The count-in that the user wants; nil: the start is a peer's. `countIn` is shorter than this if the wait
  /// would be too long.
  private var wantedCountIn: Beats?
  /// Whether the start enters the song at the place of a sequencer that plays already.
  var isChasing = false
  /// The last locate that this start wants or wanted.
  var action: LocateAction?
  /// The frame to which we located the transport and at which we saw it stand.
  private var wasAt: UInt32?
  /// The number of times that this start moved to a later beat or bar: another client was late, the start
  /// would not have been exact, or an output would not have learned of the start in time.
  var retries = 0
  /// Whether this start replaces a start that had just begun. A program may locate after each of its starts,
  /// so we replace only one start.
  var isSecond = false
  /// The value of `outputsAhead` in the last cycle. `noticeBefore` is the time by which, in the last cycle,
  /// the earliest output had to learn of the start.
  private var aheadBefore = Double.infinity
  private var noticeBefore = -Double.infinity

  init(_ now: borrowing CycleContext, _ question: Launch.Question, _ othersTake: Double) {
    place = SongPlace(frame: now.transport.frame, beat: question.songBeat.value)
    step = now.settings.launchStep
    wantedStep = step
    wantedCountIn = question.isSessions ? nil : now.settings.countIn
    countIn = wantedCountIn ?? .zero
    askedAt = now.rollsAt
    countsSince = askedAt
    choose(now, question, othersTake, lead: othersTake)
  }

  var songBeat: Beats { Beats(place.beat) }

  /// Whether a peer has set the start's time.
  var isPeers: Bool { wantedCountIn == nil }

  /// Returns whether `frame` is the start's own place, or a frame to which we located the transport for this
  /// start.
  func isOurs(_ frame: UInt32) -> Bool {
    frame == place.frame || frame == action?.place.frame || frame == wasAt
  }

  func isAway(_ frame: UInt32) -> Bool { frame != place.frame && isOurs(frame) }

  /// The microseconds from the first rolling frame until the start's place in the song is heard.
  func ahead(_ now: borrowing CycleContext) -> Double {
    place.micros(from: now.transport.frame &+ now.transport.skip, frameMicros: now.frameMicros)
  }

  func targetTime(_ now: borrowing CycleContext) -> Double { now.grid.time(of: target.value) }

  /// The microseconds by which the transport is off its target if it rolls in this cycle; late is positive.
  func error(_ now: borrowing CycleContext) -> Double { now.heard.start + ahead(now) - targetTime(now) }

  /// Whether the start's place is at least a cycle after the song's beginning, so that the transport can be
  /// located to a frame before the place.
  func hasRoom(_ now: borrowing CycleContext) -> Bool {
    Double(place.frame) * now.frameMicros >= now.cycleMicros
  }

  func preparation(_ now: borrowing CycleContext, _ othersTake: Double) -> Double {
    Reposition.micros(cycle: now.cycleMicros, othersTake: othersTake)
  }

  /// The microseconds that the other clients have had to get ready, since Play or since the last locate.
  func waited(until heard: Double) -> Double {
    let waited = heard - askedAt
    guard waited > ReadinessEstimate.longest, let action, action.moment > askedAt else { return waited }
    return heard - action.moment
  }
}

// MARK: the beat

extension Start {
  /// Follows locates, after which JACK asks all clients again. Our own locates keep the target beat. After
  /// another client's locate we choose another beat.
  mutating func follow(_ now: borrowing CycleContext, _ question: Launch.Question, _ othersTake: Double) {
    let frame = now.transport.frame
    if frame == action?.place.frame { wasAt = frame }
    let wasMoved = wasMoved(to: frame, now), isWantedOtherwise = isWantedOtherwise(now)
    let isMoved = isAway(frame) || isOnItsWay(from: frame) || wasMoved
    let isElsewhere = frame != place.frame || question.songBeat != songBeat
    if isWantedOtherwise || !isMoved && isElsewhere || hasLostLeader(question) {
      aim(now, question, othersTake)
    }
  }

  mutating func aim(_ now: borrowing CycleContext, _ question: Launch.Question, _ othersTake: Double) {
    if !isAway(now.transport.frame) {
      place = SongPlace(frame: now.transport.frame, beat: question.songBeat.value)
      action = nil
      wasAt = nil
    }
    wantedStep = now.settings.launchStep
    step = wantedStep
    if isCountedOtherwise(now) {
      wantedCountIn = now.settings.countIn
      countIn = now.settings.countIn
      countsSince = now.rollsAt
    }
    choose(now, question, othersTake, lead: 0)
  }

  /// Returns whether the user has chosen another grid or count-in since the target was chosen. All bars of a
  /// new count-in shall be heard.
  func isWantedOtherwise(_ now: borrowing CycleContext) -> Bool {
    guard !isCountedOtherwise(now) else { return true }
    return wantedStep != now.settings.launchStep
  }

  private func isCountedOtherwise(_ now: borrowing CycleContext) -> Bool {
    guard let wantedCountIn else { return false }
    return wantedCountIn != now.settings.countIn
  }

  /// Chooses the first beat of the grid that the start can still meet; without a grid, the beat that needs no
  /// wait.
  mutating func choose(
    _ now: borrowing CycleContext, _ question: Launch.Question, _ othersTake: Double, lead: Double = 0
  ) {
    guard step > .zero else {
      target = Beats(now.grid.beat(at: now.rollsAt))
        .closestMatchingPhase(of: songBeat, quantum: Self.beat)
      return
    }
    isChasing = false
    if case .playing(let origin, let framesPerBeat) = question.leader {
      return chase(now, question, othersTake, origin, framesPerBeat)
    }
    // If the first rolling cycle begins after the start's place, a beat before that cycle is over and must
    // not be chosen.
    var earliest = now.rollsAt + max(0, ahead(now)) - now.cycleMicros / 2 + lead
    if !question.isOurs { earliest = max(earliest, now.notBefore) }
    if now.launchesExactly, hasRoom(now) {
      // Add a quarter of a cycle, so that rounding does not make the target too early.
      earliest = max(earliest, now.rollsAt + preparation(now, othersTake) + now.cycleMicros / 4)
    }
    if !isPeers {
      let counted = countsSince + countIn.value * now.grid.beatMicros
      earliest = max(earliest, max(now.rollsAt, counted) + now.outputsAhead)
    }
    target = Beats(now.grid.beat(at: earliest)).nextMatchingPhase(of: songBeat, quantum: step)
  }

  /// Chooses another beat if the present target was missed or another beat is better. Returns true if this is
  /// the cycle in which to release the transport.
  mutating func update(_ now: borrowing CycleContext, _ question: Launch.Question, _ othersTake: Double)
    -> Bool
  {
    let limit = limit(now)
    guard step > .zero else { return true }
    if case .unsettled = question.leader { return now.rollsAt > limit }
    if isChasing, !isThere(now) {
      if now.rollsAt > targetTime(now) { choose(now, question, othersTake) }
      return now.rollsAt > limit
    }
    let rolls = now.rollsAt + ahead(now)
    // The beat is missed if cycles were lost or the session has jumped.
    let isMissed = rolls >= targetTime(now) + Self.latest * now.cycleMicros
    let isElsewhere = isAnotherSessions(now, question, othersTake)
    let isTooSoon = isSuddenlyTooSoon(now)
    if isTooSoon { retries += 1 }
    let isPutOff = isPutOff(now)
    if isMissed || isElsewhere || isTooSoon || isPutOff { choose(now, question, othersTake) }
    (aheadBefore, noticeBefore) = (now.outputsAhead, notice(now))
    while targetTime(now) > limit, countIn > .zero || step > Self.beat {
      // If the target is too far away for a held transport, shorten the count-in bar by bar, then use a grid
      // of beats.
      if countIn == .zero { step = Self.beat }
      countIn = max(.zero, countIn - now.settings.meter.length)
      choose(now, question, othersTake)
    }
    if now.rollsAt > limit { return true }
    guard now.rollsAt + ahead(now) >= targetTime(now) - now.cycleMicros / 2 else { return false }
    guard now.launchesExactly, isBetterLater(now, othersTake, limit: limit) else { return true }
    retries += 1
    choose(now, question, othersTake)
    return false
  }

  /// The latest time at which we release the start. A peer's start begins when the peer plays, even if that
  /// time is far away.
  private func limit(_ now: borrowing CycleContext) -> Double {
    let own = now.longestWait(after: countIn)
    guard isPeers else { return countsSince + own }
    return countsSince + max(0, min(now.notBefore - countsSince, LaunchSettings.longestPeersWait)) + own
  }

  /// Whether the peer has put off its start since the target was chosen. A correction of clocks moves a time
  /// by far less than half a step of the grid.
  private func isPutOff(_ now: borrowing CycleContext) -> Bool {
    guard isPeers else { return false }
    return targetTime(now) < now.notBefore - step.value * now.grid.beatMicros / 2
  }

  /// The time by which the earliest output must learn of the start.
  private func notice(_ now: borrowing CycleContext) -> Double { targetTime(now) - now.outputsAhead }

  /// Whether some output should already have learned of the start, because the output is farther ahead than
  /// before, or because the tempo has jumped.
  private func isSuddenlyTooSoon(_ now: borrowing CycleContext) -> Bool {
    let due = notice(now)
    guard !isPeers, retries < TransportLimits.mostRetries, due < now.rollsAt else { return false }
    let isFarther = now.outputsAhead > aheadBefore + now.frameMicros
    let hasJumped = due < noticeBefore - now.cycleMicros - Self.dragged
    return isFarther || hasJumped
  }

  /// Whether the target is farther away than any target that we would choose now. If so, we have joined a
  /// session whose beats have smaller numbers.
  private func isAnotherSessions(
    _ now: borrowing CycleContext, _ question: Launch.Question, _ othersTake: Double
  ) -> Bool {
    let notBefore = question.isOurs ? -.infinity : now.notBefore
    let latest =
      now.rollsAt + max(0, ahead(now)) + preparation(now, othersTake) + now.cycleMicros + now.outputsAhead
    return target.value > now.grid.beat(at: max(notBefore, latest)) + max(step.value, 1) + countIn.value
  }

  /// Whether a start that is due must move to the next beat of its grid, because it would not be exact: our
  /// locate came too late, or the driver stalled after it. The start does not move if that beat is too far
  /// away, or after two retries.
  private func isBetterLater(_ now: borrowing CycleContext, _ othersTake: Double, limit: Double) -> Bool {
    let miss = abs(error(now) + now.cycleMicros)
    let next = now.rollsAt + step.value * now.grid.beatMicros + 2 * preparation(now, othersTake)
    guard hasRoom(now), miss > Self.stillExact * now.frameMicros else { return false }
    return retries < TransportLimits.mostRetries && next < limit
  }

  /// Returns this start with the beat of the grid that is nearest to it as its target.
  func nearest(_ now: borrowing CycleContext) -> Start {
    var start = self
    guard step > .zero else { return start }
    start.target = Beats(now.grid.beat(at: now.heard.start + ahead(now)))
      .closestMatchingPhase(of: songBeat, quantum: step)
    return start
  }
}
