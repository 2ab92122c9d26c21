// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// A start under way: which place of the song falls on which beat of the session, and from where the transport rolls for it.
///
/// A start falls into a cycle, and a beat falls anywhere. To be exact to the frame the transport, which stands at frame F, is
/// sent to F - r and let go in the cycle that begins r frames before the beat (facts: jack 12).
struct Start: BitwiseCopyable {
  struct Move: BitwiseCopyable {
    var frame: UInt32
    /// When it was moved, and when the start was asked for.
    var moment, askedAt: Double
  }

  /// Two wishes are this far apart: other clients look for the place each time.
  static let shortestPause = 150_000.0
  /// In the last microseconds before it would be too late, the place is corrected to the frame; before
  /// that only if it is plainly wrong, since clocks still move.
  static let finalApproach = 200_000.0
  static let plainlyWrong = 8.0
  static let goodEnough = 0.6
  static let mostMoves = 2
  static let mostRetries = 2
  /// An exact start may be off by what clocks move between the last correction and the start, in frames.
  static let stillExact = 2.5
  /// A start may be so late, in cycles: half of one and, since cycles are not evenly apart to the microsecond, a
  /// quarter; one is just too early, and the next must not be too late.
  static let latest = 0.75
  /// What a tempo that is drawn moves a beat by from one look to the next: clocks catch up with that.
  private static let drawn = 10_000.0
  /// A relocation that takes longer than this is not ours any more.
  static let memory = 300_000.0
  static var beat: Beats { Beats(micros: 1_000_000) }

  /// Where play was pressed; beside a leader, where the leader will be.
  var place: SongPlace
  /// The session's beat that the place shall fall on.
  var target = Beats.zero
  /// The grid that `target` was chosen from, and the one that the user wants; a shortened wait parts them.
  private(set) var step, wantedStep: Beats
  /// When the transport could have rolled if nobody had waited.
  let askedAt: Double
  private(set) var isExact: Bool
  /// Beats that are counted in before it, and since when; nothing for a peer's start, whose time is fixed.
  private var countIn: Beats
  private var countsSince: Double
  /// What was wanted of that last; a long wait makes it shorter. nil: it is a peer's start.
  private var wantedCountIn: Beats?
  /// The song is entered where a sequencer is in it.
  var isChasing = false
  /// Where the transport is to be sent, or was.
  var wish: TransportWish?
  /// Where we sent it and it was seen last.
  private var wasAt: UInt32?
  var move: Move?
  var moves = 0
  /// How often this launch was put off because it would not have been exact.
  private var retries = 0
  /// How far ahead of the others the first of all outputs is, and when it hears of this.
  private var mostAhead = Double.infinity
  private var toldAt = -Double.infinity
  /// How often this was put off because some output would not have heard of it in time.
  private var putOffs = 0

  init(_ now: borrowing Now, _ question: Launch.Question, askedAt: Double) {
    place = SongPlace(frame: now.transport.frame, beat: question.songBeat.value)
    step = now.settings.launchStep
    wantedStep = step
    isExact = now.launchesExactly
    wantedCountIn = question.isSessions ? nil : now.settings.countIn
    countIn = wantedCountIn ?? .zero
    self.askedAt = askedAt
    countsSince = askedAt
  }

  var songBeat: Beats { Beats(place.beat) }

  /// It is at a fixed time.
  var isPeers: Bool { wantedCountIn == nil }

  /// Whether the transport stands where the song is entered, or where we sent it.
  func isOurs(_ frame: UInt32) -> Bool {
    frame == place.frame || frame == wish?.place.frame || frame == wasAt
  }

  func isAway(_ frame: UInt32) -> Bool { frame != place.frame && isOurs(frame) }

  /// How long after the first rolling frame the place is heard.
  func ahead(_ now: borrowing Now) -> Double {
    place.micros(from: now.transport.frame &+ now.transport.skip, frameMicros: now.frameMicros)
  }

  func targetTime(_ now: borrowing Now) -> Double { now.grid.time(of: target.value) }

  /// What the transport is off, in microseconds, if it rolls in this cycle; late is positive.
  func error(_ now: borrowing Now) -> Double { now.heard.start + ahead(now) - targetTime(now) }

  /// From the song's first cycle nothing can be sent back.
  func hasRoom(_ now: borrowing Now) -> Bool {
    Double(place.frame) * now.frameMicros >= now.cycleMicros
  }

  func preparation(_ now: borrowing Now, _ othersTake: Double) -> Double {
    Reposition.micros(cycle: now.cycleMicros, othersTake: othersTake)
  }

  /// Since Play, or since the last place that it was sent to: who had longer than anybody takes was ready until then.
  func waited(until heard: Double) -> Double {
    let waited = heard - askedAt
    guard waited > OthersTake.longest, let wish, wish.moment > askedAt else { return waited }
    return heard - wish.moment
  }
}

// MARK: the beat

extension Start {
  /// What is asked for now, and where the transport stands.
  mutating func see(_ now: borrowing Now) {
    isExact = now.launchesExactly
    if now.transport.frame == wish?.place.frame { wasAt = now.transport.frame }
  }

  mutating func aim(_ now: borrowing Now, _ question: Launch.Question, _ othersTake: Double) {
    if !isAway(now.transport.frame) {
      place = SongPlace(frame: now.transport.frame, beat: question.songBeat.value)
      wish = nil
      wasAt = nil
      move = nil
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

  /// Another grid is wanted, or bars of another length are counted in: all of those shall be heard.
  func isWantedOtherwise(_ now: borrowing Now) -> Bool {
    guard !isCountedOtherwise(now) else { return true }
    return wantedStep != now.settings.launchStep
  }

  private func isCountedOtherwise(_ now: borrowing Now) -> Bool {
    guard let wantedCountIn else { return false }
    return wantedCountIn != now.settings.countIn
  }

  /// The first boundary that can still be met; without a grid, the beat that needs no wait.
  mutating func choose(
    _ now: borrowing Now, _ question: Launch.Question, _ othersTake: Double, lead: Double = 0
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
    // Where the first cycle is farther on than the place, the place would fall on a beat that is over.
    var earliest = max(now.notBefore, now.rollsAt + max(0, ahead(now)) - now.cycleMicros / 2 + lead)
    if isExact, hasRoom(now) {
      // A quarter of a cycle, so that rounding the target doesn't make it too soon.
      earliest = max(earliest, now.rollsAt + preparation(now, othersTake) + now.cycleMicros / 4)
    }
    if !isPeers {
      let counted = countsSince + countIn.value * now.grid.beatMicros
      earliest = max(earliest, max(now.rollsAt, counted) + now.outputsAhead)
    }
    target = Beats(now.grid.beat(at: earliest)).nextMatchingPhase(of: songBeat, quantum: step)
  }

  /// Chooses another beat where this one was missed or would be worse. True: the moment to let go has come.
  mutating func update(_ now: borrowing Now, _ question: Launch.Question, _ othersTake: Double) -> Bool {
    let limit = limit(now)
    guard step > .zero else { return true }
    if case .unsettled = question.leader { return now.rollsAt > limit }
    if isChasing, !isThere(now) {
      if now.rollsAt > targetTime(now) { choose(now, question, othersTake) }
      return now.rollsAt > limit
    }
    let rolls = now.rollsAt + ahead(now)
    // Missed, by lost cycles or because the session jumped: there is another boundary.
    let isMissed = rolls >= targetTime(now) + Self.latest * now.cycleMicros
    let isElsewhere = isAnotherSessions(now, othersTake)
    let isTooSoon = isSuddenlyTooSoon(now)
    if isTooSoon { putOffs += 1 }
    let isPutOff = isPutOff(now)
    if isMissed || isElsewhere || isTooSoon || isPutOff { choose(now, question, othersTake) }
    (mostAhead, toldAt) = (now.outputsAhead, tellAt(now))
    while targetTime(now) > limit, countIn > .zero || step > Self.beat {
      // Too far away for a held transport: fewer bars of count-in are the next best thing, then the next beat.
      if countIn == .zero { step = Self.beat }
      countIn = max(.zero, countIn - now.settings.meter.length)
      choose(now, question, othersTake)
    }
    if now.rollsAt > limit { return true }
    guard now.rollsAt + ahead(now) >= targetTime(now) - now.cycleMicros / 2 else { return false }
    guard isExact, isBetterLater(now, othersTake, limit: limit) else { return true }
    retries += 1
    choose(now, question, othersTake)
    return false
  }

  /// When the hold ends at the latest. A peer's start begins when the peer plays, however far away that is.
  private func limit(_ now: borrowing Now) -> Double {
    let own = now.longestWait(after: countIn)
    guard isPeers else { return countsSince + own }
    return countsSince + max(0, min(now.notBefore - countsSince, LaunchSettings.longestPeersWait)) + own
  }

  /// The peer has set a later time since. What clocks move is far less than half a step.
  private func isPutOff(_ now: borrowing Now) -> Bool {
    guard isPeers else { return false }
    return targetTime(now) < now.notBefore - step.value * now.grid.beatMicros / 2
  }

  /// When the first of all outputs has to know it.
  private func tellAt(_ now: borrowing Now) -> Double { targetTime(now) - now.outputsAhead }

  /// Some output would have to know it already: one is farther ahead than before, or the tempo has jumped.
  private func isSuddenlyTooSoon(_ now: borrowing Now) -> Bool {
    let told = tellAt(now)
    guard !isPeers, putOffs < Self.mostMoves, told < now.rollsAt else { return false }
    let isFarther = now.outputsAhead > mostAhead + now.frameMicros
    let hasJumped = told < toldAt - now.cycleMicros - Self.drawn
    return isFarther || hasJumped
  }

  /// The target is farther away than any that would be chosen now: we have joined a session whose numbers are smaller.
  private func isAnotherSessions(_ now: borrowing Now, _ othersTake: Double) -> Bool {
    let latest =
      now.rollsAt + max(0, ahead(now)) + preparation(now, othersTake) + now.cycleMicros + now.outputsAhead
    return target.value > now.grid.beat(at: max(now.notBefore, latest)) + max(step.value, 1) + countIn.value
  }

  /// The start is due and would not be exact: the place did not come in time, or the driver stalled after it. Once or
  /// twice the next boundary is the better start, if it is not too far away.
  private func isBetterLater(_ now: borrowing Now, _ othersTake: Double, limit: Double) -> Bool {
    let miss = abs(error(now) + now.cycleMicros)
    let next = now.rollsAt + step.value * now.grid.beatMicros + 2 * preparation(now, othersTake)
    guard hasRoom(now), miss > Self.stillExact * now.frameMicros else { return false }
    return retries < Self.mostRetries && next < limit
  }

  /// The boundary that it is nearest to.
  func nearest(_ now: borrowing Now) -> Start {
    var start = self
    guard step > .zero else { return start }
    start.target = Beats(now.grid.beat(at: now.heard.start + ahead(now)))
      .closestMatchingPhase(of: songBeat, quantum: step)
    return start
  }
}
