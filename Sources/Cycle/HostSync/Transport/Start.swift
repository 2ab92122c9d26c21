// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusChoices

/// A start under way: a place of the song, the session's beat on which that place must fall, and the frame
/// from which the transport must roll.
///
/// A start falls on the beginning of a cycle, and a beat falls anywhere. To be exact to the frame, the
/// transport, which stands at frame F, is sent to F - r and released in the cycle that begins r frames before
/// the beat (facts: jack 12).
struct Start: BitwiseCopyable {
  /// In the last microseconds before it would be too late, the place is corrected if it is off by more than
  /// `goodEnough` frames; before that only if it is off by more than `plainlyWrong`, because clocks still
  /// move.
  static let finalApproach = 200_000.0
  static let plainlyWrong = 8.0
  static let goodEnough = 0.6
  /// Frames by which an exact start may be off, because clocks move between the last correction and the
  /// start.
  static let stillExact = 2.5
  /// Cycles by which a start may be late: half a cycle and, since cycles are not evenly spaced to the
  /// microsecond, a quarter. If a cycle is just too early, the next one must not be too late.
  static let latest = 0.75
  /// Microseconds by which a beat moves from cycle to cycle while a user drags the tempo: MIDI clocks catch
  /// up with that.
  private static let drawn = 10_000.0
  static var beat: Beats { Beats(micros: 1_000_000) }

  /// The place where Play was pressed; with a leader, the place where the leader will be.
  var place: SongPlace
  /// The session's beat on which the place is to fall.
  var target = Beats.zero
  /// The grid that `target` was chosen from, and the grid that the user wants. They differ after the wait was
  /// shortened.
  private(set) var step, wantedStep: Beats
  /// When the transport could have rolled if no client had waited.
  let askedAt: Double
  /// Beats of count-in, and since when they are counted; zero for a peer's start, whose time is fixed.
  private var countIn: Beats
  private var countsSince: Double
  /// The count-in as requested last, since `countIn` is shortened during a long wait. nil: a peer's start.
  private var wantedCountIn: Beats?
  /// The song is entered at the place of a sequencer that plays already.
  var isChasing = false
  /// The place to which the transport is to be sent, or was sent.
  var action: LocateAction?
  /// The place to which we sent the transport, where it was seen last.
  private var wasAt: UInt32?
  /// Times that this start took another boundary: another client was late, it would not have been exact, or
  /// some output would not have learned of it in time.
  var retries = 0
  /// It replaces a start that had just begun. A program may locate after each of its starts, so this happens
  /// once.
  var isSecond = false
  /// `outputsAhead` in the last cycle, and the time when the earliest output must learn of the start.
  private var mostAhead = Double.infinity
  private var toldAt = -Double.infinity

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

  /// A peer's start: its time is fixed.
  var isPeers: Bool { wantedCountIn == nil }

  /// Returns whether the transport stands where the song is entered, or where we sent it.
  func isOurs(_ frame: UInt32) -> Bool {
    frame == place.frame || frame == action?.place.frame || frame == wasAt
  }

  func isAway(_ frame: UInt32) -> Bool { frame != place.frame && isOurs(frame) }

  /// Microseconds from the first rolling frame until the place is heard.
  func ahead(_ now: borrowing CycleContext) -> Double {
    place.micros(from: now.transport.frame &+ now.transport.skip, frameMicros: now.frameMicros)
  }

  func targetTime(_ now: borrowing CycleContext) -> Double { now.grid.time(of: target.value) }

  /// Microseconds by which the transport is off if it rolls in this cycle; late is positive.
  func error(_ now: borrowing CycleContext) -> Double { now.heard.start + ahead(now) - targetTime(now) }

  /// The place is far enough from the song's beginning to send the transport back by less than a cycle.
  func hasRoom(_ now: borrowing CycleContext) -> Bool {
    Double(place.frame) * now.frameMicros >= now.cycleMicros
  }

  func preparation(_ now: borrowing CycleContext, _ othersTake: Double) -> Double {
    Reposition.micros(cycle: now.cycleMicros, othersTake: othersTake)
  }

  /// Microseconds that the other clients have had to get ready: since Play, or since the last locate.
  func waited(until heard: Double) -> Double {
    let waited = heard - askedAt
    guard waited > ReadinessEstimate.longest, let action, action.moment > askedAt else { return waited }
    return heard - action.moment
  }
}

// MARK: the beat

extension Start {
  /// JACK asks all clients again after a locate, whether it was ours or another client's.
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

  /// Returns whether another grid or another count-in is wanted now. All bars of the new count-in shall be
  /// heard.
  func isWantedOtherwise(_ now: borrowing CycleContext) -> Bool {
    guard !isCountedOtherwise(now) else { return true }
    return wantedStep != now.settings.launchStep
  }

  private func isCountedOtherwise(_ now: borrowing CycleContext) -> Bool {
    guard let wantedCountIn else { return false }
    return wantedCountIn != now.settings.countIn
  }

  /// Chooses the first boundary that can still be met; without a grid, the beat that needs no wait.
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
    // If the first cycle begins after the place, the place would fall on a beat that is over.
    var earliest = now.rollsAt + max(0, ahead(now)) - now.cycleMicros / 2 + lead
    if !question.isOurs { earliest = max(earliest, now.notBefore) }
    if now.launchesExactly, hasRoom(now) {
      // A quarter of a cycle more, so that rounding does not make the target too early.
      earliest = max(earliest, now.rollsAt + preparation(now, othersTake) + now.cycleMicros / 4)
    }
    if !isPeers {
      let counted = countsSince + countIn.value * now.grid.beatMicros
      earliest = max(earliest, max(now.rollsAt, counted) + now.outputsAhead)
    }
    target = Beats(now.grid.beat(at: earliest)).nextMatchingPhase(of: songBeat, quantum: step)
  }

  /// Chooses another beat if this one was missed or would be worse. Returns true when it is time to release
  /// the transport.
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
    // Missed, because cycles were lost or the session jumped: take another boundary.
    let isMissed = rolls >= targetTime(now) + Self.latest * now.cycleMicros
    let isElsewhere = isAnotherSessions(now, question, othersTake)
    let isTooSoon = isSuddenlyTooSoon(now)
    if isTooSoon { retries += 1 }
    let isPutOff = isPutOff(now)
    if isMissed || isElsewhere || isTooSoon || isPutOff { choose(now, question, othersTake) }
    (mostAhead, toldAt) = (now.outputsAhead, tellAt(now))
    while targetTime(now) > limit, countIn > .zero || step > Self.beat {
      // Too far away for a held transport: shorten the count-in bar by bar, then take the next beat.
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

  /// The latest end of the hold. A peer's start begins when the peer plays, however far away that is.
  private func limit(_ now: borrowing CycleContext) -> Double {
    let own = now.longestWait(after: countIn)
    guard isPeers else { return countsSince + own }
    return countsSince + max(0, min(now.notBefore - countsSince, LaunchSettings.longestPeersWait)) + own
  }

  /// Whether the peer has set a later time since then. Corrections of clocks move a time by far less than
  /// half a step.
  private func isPutOff(_ now: borrowing CycleContext) -> Bool {
    guard isPeers else { return false }
    return targetTime(now) < now.notBefore - step.value * now.grid.beatMicros / 2
  }

  /// The time at which the earliest output must learn of the start.
  private func tellAt(_ now: borrowing CycleContext) -> Double { targetTime(now) - now.outputsAhead }

  /// Whether some output should have learned of the start already: the output is farther ahead than before,
  /// or the tempo has jumped.
  private func isSuddenlyTooSoon(_ now: borrowing CycleContext) -> Bool {
    let told = tellAt(now)
    guard !isPeers, retries < TransportLimits.mostRetries, told < now.rollsAt else { return false }
    let isFarther = now.outputsAhead > mostAhead + now.frameMicros
    let hasJumped = told < toldAt - now.cycleMicros - Self.drawn
    return isFarther || hasJumped
  }

  /// Whether the target is farther away than any target that would be chosen now: then we have joined a
  /// session with smaller beat numbers.
  private func isAnotherSessions(
    _ now: borrowing CycleContext, _ question: Launch.Question, _ othersTake: Double
  ) -> Bool {
    let notBefore = question.isOurs ? -.infinity : now.notBefore
    let latest =
      now.rollsAt + max(0, ahead(now)) + preparation(now, othersTake) + now.cycleMicros + now.outputsAhead
    return target.value > now.grid.beat(at: max(notBefore, latest)) + max(step.value, 1) + countIn.value
  }

  /// The start is due and would not be exact: the place did not come in time, or the driver stalled after it.
  /// The next boundary is then better, unless it is too far away, or there were two retries already.
  private func isBetterLater(_ now: borrowing CycleContext, _ othersTake: Double, limit: Double) -> Bool {
    let miss = abs(error(now) + now.cycleMicros)
    let next = now.rollsAt + step.value * now.grid.beatMicros + 2 * preparation(now, othersTake)
    guard hasRoom(now), miss > Self.stillExact * now.frameMicros else { return false }
    return retries < TransportLimits.mostRetries && next < limit
  }

  /// Returns this start with the boundary that it is nearest to.
  func nearest(_ now: borrowing CycleContext) -> Start {
    var start = self
    guard step > .zero else { return start }
    start.target = Beats(now.grid.beat(at: now.heard.start + ahead(now)))
      .closestMatchingPhase(of: songBeat, quantum: step)
    return start
  }
}
