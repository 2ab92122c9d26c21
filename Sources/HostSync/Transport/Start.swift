// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// A start under way: which place of the song falls on which beat of the session, and from where the transport rolls for it.
///
/// A start falls into a cycle, and a beat falls anywhere. To be exact to the frame the transport, which stands at frame F, is
/// sent to F - r and let go in the cycle that begins r frames before the beat (facts: jack 12).
struct Start: BitwiseCopyable {
  struct Move: BitwiseCopyable {
    var frame: UInt32
    /// When it was moved, and when the start was asked for.
    var moment: Double
    var askedAt: Double
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
  private(set) var place: SongPlace
  /// The session's beat that the place shall fall on.
  private(set) var target = Beats.zero
  /// The grid that `target` was chosen from, and the one that the user wants; a shortened wait parts them.
  private(set) var step: Beats
  private(set) var wantedStep: Beats
  /// When the transport could have rolled if nobody had waited.
  let askedAt: Double
  private(set) var isExact: Bool
  /// The song is entered where a sequencer is in it.
  private(set) var isChasing = false
  /// Where the transport is to be sent, or was.
  var wish: TransportWish?
  /// Where we sent it and it was seen last.
  private var wasAt: UInt32?
  private(set) var move: Move?
  private var moves = 0
  /// How often this launch was put off because it would not have been exact, and how often its wait was cut short.
  private var retries = 0
  private(set) var cuts = 0

  init(_ question: Launch.Question, askedAt: Double) {
    place = SongPlace(frame: question.sight.frame, beat: question.songBeat.value)
    step = question.wantedStep
    wantedStep = step
    isExact = question.isExact
    self.askedAt = askedAt
  }

  var songBeat: Beats { Beats(place.beat) }

  /// Whether the transport stands where the song is entered, or where we sent it.
  func isOurs(_ frame: UInt32) -> Bool {
    frame == place.frame || frame == wish?.place.frame || frame == wasAt
  }

  func isAway(_ frame: UInt32) -> Bool { frame != place.frame && isOurs(frame) }

  /// How long after the first rolling frame the place is heard.
  func ahead(_ sight: Launch.Sight) -> Double {
    place.micros(from: sight.frame, frameMicros: sight.frameMicros)
  }

  func targetTime(_ sight: Launch.Sight) -> Double { sight.grid.time(of: target.value) }

  /// What the transport is off, in microseconds, if it rolls in this cycle; late is positive.
  func error(_ sight: Launch.Sight) -> Double { sight.heard + ahead(sight) - targetTime(sight) }

  /// From the song's first cycle nothing can be sent back.
  func hasRoom(_ sight: Launch.Sight) -> Bool {
    Double(place.frame) * sight.frameMicros >= sight.cycleMicros
  }

  private func preparation(_ sight: Launch.Sight, _ othersTake: Double) -> Double {
    Reposition.micros(cycle: sight.cycleMicros, othersTake: othersTake)
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
  mutating func see(_ question: Launch.Question) {
    isExact = question.isExact
    if question.sight.frame == wish?.place.frame { wasAt = question.sight.frame }
  }

  mutating func aim(_ question: Launch.Question, _ othersTake: Double) {
    if !isAway(question.sight.frame) {
      place = SongPlace(frame: question.sight.frame, beat: question.songBeat.value)
      wish = nil
      wasAt = nil
      move = nil
    }
    wantedStep = question.wantedStep
    step = wantedStep
    choose(question, othersTake, lead: 0)
  }

  /// The first boundary that can still be met; without a grid, the beat that needs no wait.
  mutating func choose(_ question: Launch.Question, _ othersTake: Double, lead: Double = 0) {
    let sight = question.sight
    guard step > .zero else {
      target = Beats(sight.grid.beat(at: sight.rollsAt))
        .closestMatchingPhase(of: songBeat, quantum: Self.beat)
      return
    }
    isChasing = false
    if case .playing(let origin, let framesPerBeat) = question.leader {
      return chase(question, othersTake, origin, framesPerBeat)
    }
    var earliest = sight.rollsAt + ahead(sight) - sight.cycleMicros / 2 + lead
    if isExact, hasRoom(sight) {
      // A quarter of a cycle, so that rounding the target doesn't make it too soon.
      earliest = max(earliest, sight.rollsAt + preparation(sight, othersTake) + sight.cycleMicros / 4)
    }
    if let notBefore = question.notBefore { earliest = max(earliest, notBefore) }
    target = Beats(sight.grid.beat(at: earliest)).nextMatchingPhase(of: songBeat, quantum: step)
  }

  /// Chooses another beat where this one was missed or would be worse. True: the moment to let go has come.
  mutating func update(_ question: Launch.Question, _ othersTake: Double) -> Bool {
    let sight = question.sight
    let limit = askedAt + question.longestWait
    guard step > .zero else { return true }
    if case .unsettled = question.leader { return sight.rollsAt > limit }
    if isChasing, !isThere(sight) {
      if sight.rollsAt > targetTime(sight) { choose(question, othersTake) }
      return sight.rollsAt > limit
    }
    let rolls = sight.rollsAt + ahead(sight)
    // Missed, by lost cycles or because the session jumped: there is another boundary.
    let isMissed = rolls >= targetTime(sight) + Self.latest * sight.cycleMicros
    if isMissed || isAnotherSessions(question, othersTake) { choose(question, othersTake) }
    if targetTime(sight) > limit, step > Self.beat {
      // The bar is too far away for a held transport; the next beat is the next best thing.
      cuts += 1
      step = Self.beat
      choose(question, othersTake)
    }
    if sight.rollsAt > limit { return true }
    guard sight.rollsAt + ahead(sight) >= targetTime(sight) - sight.cycleMicros / 2 else { return false }
    guard isExact, isBetterLater(sight, othersTake, limit: limit) else { return true }
    retries += 1
    choose(question, othersTake)
    return false
  }

  /// The target is farther away than any that would be chosen now: we have joined a session whose numbers are smaller.
  private func isAnotherSessions(_ question: Launch.Question, _ othersTake: Double) -> Bool {
    let sight = question.sight
    var latest =
      sight.rollsAt + max(0, ahead(sight)) + preparation(sight, othersTake) + sight.cycleMicros
    if let notBefore = question.notBefore { latest = max(latest, notBefore) }
    return target.value > sight.grid.beat(at: latest) + max(step.value, 1)
  }

  /// The start is due and would not be exact: the place did not come in time, or the driver stalled after it. Once or
  /// twice the next boundary is the better start, if it is not too far away.
  private func isBetterLater(_ sight: Launch.Sight, _ othersTake: Double, limit: Double) -> Bool {
    let miss = abs(error(sight) + sight.cycleMicros)
    let next = sight.rollsAt + step.value * sight.grid.beatMicros + 2 * preparation(sight, othersTake)
    return hasRoom(sight) && retries < Self.mostRetries && miss > Self.stillExact * sight.frameMicros
      && next < limit
  }

  /// The boundary that it is nearest to.
  func nearest(_ sight: Launch.Sight) -> Start {
    var start = self
    guard step > .zero else { return start }
    start.target = Beats(sight.grid.beat(at: sight.heard + ahead(sight)))
      .closestMatchingPhase(of: songBeat, quantum: step)
    return start
  }
}

// MARK: where the transport is sent

extension Start {
  private mutating func send(
    to frame: UInt32, _ sight: Launch.Sight, reach: UInt32 = 0, at moment: Double
  ) {
    let place = place.moved(to: frame, frameMicros: sight.frameMicros, beatMicros: sight.grid.beatMicros)
    wish = TransportWish(place, from: sight.frame, reach: reach, if: .starting, at: moment)
  }

  /// The frame to roll from in the last cycle that begins before the target, if cycles begin as the one at `moment`. nil:
  /// there is no room before the song's start.
  private func preRoll(_ sight: Launch.Sight, from moment: Double) -> UInt32? {
    let micros = targetTime(sight) - moment
    let whole = Double(Int64(flooring: micros / sight.cycleMicros))
    let frames = Int64(rounding: (micros - whole * sight.cycleMicros) / sight.frameMicros)
    guard frames <= Int64(place.frame), frames >= 0 else { return nil }
    return place.frame &- UInt32(truncatingIfNeeded: frames)
  }

  /// Asks for the transport to be where the next cycle that begins before the beat needs it. [audio]
  mutating func prepare(_ sight: Launch.Sight, _ othersTake: Double) {
    guard step > .zero, sight.frameMicros > 0 else { return }
    let left = targetTime(sight) - sight.rollsAt
    let lead = preparation(sight, othersTake)
    guard left >= lead, sight.rollsAt - (wish?.moment ?? -1e18) >= Self.shortestPause else { return }
    // How far from a cycle's start the transport would have to roll as it stands now.
    let present = left - ahead(sight)
    let cycles = Double(Int64(rounding: present / sight.cycleMicros))
    let miss = abs(present - cycles * sight.cycleMicros) / sight.frameMicros
    let isFinal = left - lead < Self.finalApproach
    guard miss > (isFinal ? Self.goodEnough : Self.plainlyWrong) else { return }
    guard let frame = preRoll(sight, from: sight.rollsAt) else { return }
    send(to: frame, sight, at: sight.rollsAt)
  }

  /// It was let go and does not roll: another client holds it, and out of phase is no place to start.
  func isLate(_ sight: Launch.Sight) -> Bool {
    // A yes is a start one cycle later, so the first that can still roll is the next.
    step > .zero && moves < Self.mostMoves
      && error(sight) + sight.cycleMicros >= Self.latest * sight.cycleMicros
  }

  /// To the next boundary that leaves the others their time; JACK asks everybody after a relocation. They may be ready
  /// before the control thread has asked for it: then it is taken back from its first few cycles.
  mutating func moveOn(_ sight: Launch.Sight, _ othersTake: Double) {
    target = Beats(sight.grid.beat(at: sight.heard + preparation(sight, othersTake)))
      .nextMatchingPhase(of: songBeat, quantum: step)
    let frame = (isExact ? preRoll(sight, from: sight.heard) : nil) ?? place.frame
    let reach = (Reposition.controlMicros + 2 * sight.cycleMicros) / sight.frameMicros
    send(to: frame, sight, reach: UInt32(clamping: Int64(reach)), at: sight.heard)
    moves += 1
    move = Move(frame: frame, moment: sight.heard, askedAt: askedAt)
  }

  /// It rolls, too late, and is about to be moved on.
  func isTakenBack(_ sight: Launch.Sight) -> Bool {
    guard let wish, wish.reach > 0 else { return false }
    let late = Double(sight.frame &- wish.from) - Double(wish.reach)
    return late * sight.frameMicros <= (Reposition.cycles + 1) * sight.cycleMicros
  }
}

// MARK: beside a sequencer

extension Start {
  private mutating func chase(
    _ question: Launch.Question, _ othersTake: Double, _ origin: Beats, _ framesPerBeat: Double
  ) {
    let sight = question.sight
    isChasing = true
    // Where the transport stands may be a place that the leader has not reached yet.
    let left = sight.grid.time(of: (origin + question.songBeat).value) - sight.rollsAt
    if left > -sight.cycleMicros / 2, left < 2 * sight.grid.beatMicros {
      target = origin + question.songBeat
      place = SongPlace(frame: sight.frame, beat: question.songBeat.value)
      return
    }
    target = Beats(sight.grid.beat(at: sight.rollsAt + preparation(sight, othersTake)))
      .nextMatchingPhase(of: .zero, quantum: Self.beat)
    let beat = (target - origin).value
    place = SongPlace(frame: UInt32(clamping: Int64(rounding: beat * framesPerBeat)), beat: beat)
    let frame = (isExact ? preRoll(sight, from: sight.rollsAt) : nil) ?? place.frame
    send(to: frame, sight, at: sight.rollsAt)
  }

  /// The transport stands where this start rolls from: at its place, or less than a cycle before it.
  private func isThere(_ sight: Launch.Sight) -> Bool {
    ahead(sight) >= 0 && ahead(sight) <= sight.cycleMicros
  }

  /// It was sent to the leader's place from here, and is not there yet.
  func isOnItsWay(from frame: UInt32) -> Bool { isChasing && wish?.from == frame }

  /// The leader's song is elsewhere than this start thinks, or there is one now, or none any more.
  func hasLostLeader(_ question: Launch.Question) -> Bool {
    switch question.leader {
    case .none, .unsettled: isChasing
    case .playing(let origin, _): !isChasing || target - songBeat != origin
    }
  }
}
