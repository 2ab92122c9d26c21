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
  private(set) var move: Move?
  private var moves = 0
  /// How often this launch was put off because it would not have been exact.
  private var retries = 0

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

  /// Whether the transport stands where the song is entered, or where we sent it.
  func isOurs(_ frame: UInt32) -> Bool {
    frame == place.frame || frame == wish?.place.frame || frame == wasAt
  }

  func isAway(_ frame: UInt32) -> Bool { frame != place.frame && isOurs(frame) }

  /// How long after the first rolling frame the place is heard.
  func ahead(_ now: borrowing Now) -> Double {
    place.micros(from: now.transport.frame, frameMicros: now.frameMicros)
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
    var earliest = max(now.notBefore, now.rollsAt + ahead(now) - now.cycleMicros / 2 + lead)
    if isExact, hasRoom(now) {
      // A quarter of a cycle, so that rounding the target doesn't make it too soon.
      earliest = max(earliest, now.rollsAt + preparation(now, othersTake) + now.cycleMicros / 4)
    }
    // A peer's time is fixed.
    if wantedCountIn != nil {
      let since = countIn > .zero ? countsSince : now.rollsAt
      earliest = max(earliest, since + now.outputsAhead + countIn.value * now.grid.beatMicros)
    }
    target = Beats(now.grid.beat(at: earliest)).nextMatchingPhase(of: songBeat, quantum: step)
  }

  /// Chooses another beat where this one was missed or would be worse. True: the moment to let go has come.
  mutating func update(_ now: borrowing Now, _ question: Launch.Question, _ othersTake: Double) -> Bool {
    let limit = countsSince + now.longestWait(after: countIn)
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
    if isMissed || isElsewhere { choose(now, question, othersTake) }
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

// MARK: where the transport is sent

extension Start {
  mutating func send(
    to frame: UInt32, _ now: borrowing Now, reach: UInt32 = 0, at moment: Double
  ) {
    let place = place.moved(to: frame, frameMicros: now.frameMicros, beatMicros: now.grid.beatMicros)
    wish = TransportWish(place, from: now.transport.frame, reach: reach, if: .starting, at: moment)
  }

  /// The frame to roll from in the last cycle that begins before the target, if cycles begin as the one at `moment`. nil:
  /// there is no room before the song's start.
  func preRoll(_ now: borrowing Now, from moment: Double) -> UInt32? {
    let micros = targetTime(now) - moment
    let whole = Double(Int64(flooring: micros / now.cycleMicros))
    let frames = Int64(rounding: (micros - whole * now.cycleMicros) / now.frameMicros)
    guard frames <= Int64(place.frame), frames >= 0 else { return nil }
    return place.frame &- UInt32(truncatingIfNeeded: frames)
  }

  /// Asks for the transport to be where the next cycle that begins before the beat needs it. [audio]
  mutating func prepare(_ now: borrowing Now, _ othersTake: Double) {
    guard step > .zero, now.frameMicros > 0 else { return }
    let left = targetTime(now) - now.rollsAt
    let lead = preparation(now, othersTake)
    guard left >= lead, now.rollsAt - (wish?.moment ?? -1e18) >= Self.shortestPause else { return }
    // How far from a cycle's start the transport would have to roll as it stands now.
    let present = left - ahead(now)
    let cycles = Double(Int64(rounding: present / now.cycleMicros))
    let miss = abs(present - cycles * now.cycleMicros) / now.frameMicros
    let isFinal = left - lead < Self.finalApproach
    guard miss > (isFinal ? Self.goodEnough : Self.plainlyWrong) else { return }
    guard let frame = preRoll(now, from: now.rollsAt) else { return }
    send(to: frame, now, at: now.rollsAt)
  }

  /// It was let go and does not roll: another client holds it, and out of phase is no place to start.
  func isLate(_ now: borrowing Now) -> Bool {
    guard moves < Self.mostMoves else { return false }
    return isMissed(now)
  }

  /// Moved on as often as it may, and held still: when it rolls is JACK's to say, and nothing plays before.
  func isGivenUp(_ now: borrowing Now) -> Bool {
    guard moves >= Self.mostMoves else { return false }
    return isMissed(now)
  }

  private func isMissed(_ now: borrowing Now) -> Bool {
    guard step > .zero else { return false }
    // A yes is a start one cycle later, so the first that can still roll is the next.
    return error(now) + now.cycleMicros >= Self.latest * now.cycleMicros
  }

  /// To the next boundary that leaves the others their time; JACK asks everybody after a relocation. They may be ready
  /// before the control thread has asked for it: then it is taken back from its first few cycles.
  mutating func moveOn(_ now: borrowing Now, _ othersTake: Double) {
    let needed = max(preparation(now, othersTake), wantedCountIn == nil ? 0 : now.outputsAhead)
    target = Beats(now.grid.beat(at: now.heard.start + needed))
      .nextMatchingPhase(of: songBeat, quantum: step)
    let frame = (isExact ? preRoll(now, from: now.heard.start) : nil) ?? place.frame
    let reach = (Reposition.controlMicros + 2 * now.cycleMicros) / now.frameMicros
    send(to: frame, now, reach: UInt32(clamping: Int64(reach)), at: now.heard.start)
    moves += 1
    move = Move(frame: frame, moment: now.heard.start, askedAt: askedAt)
  }

  /// It rolls, too late, and is about to be moved on.
  func isTakenBack(_ now: borrowing Now) -> Bool {
    guard let wish, wish.reach > 0 else { return false }
    let late = Double(now.transport.frame &- wish.from) - Double(wish.reach)
    return late * now.frameMicros <= (Reposition.cycles + 1) * now.cycleMicros
  }
}
