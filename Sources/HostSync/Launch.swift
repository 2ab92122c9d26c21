// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// When the transport starts to roll: on the session's grid, whoever pressed play.
///
/// JACK asks slow-sync clients in every Starting cycle whether they are ready; a yes in cycle m makes cycle m+1
/// the first that rolls. So the start is held until the cycle whose successor is heard nearest to the wanted
/// beat. Only Stopped -> Starting is held: a rolling transport passes through Starting on every locate and loop,
/// and those are none of our business (facts: jack 3, 4).
///
/// The wait is bounded, and judged anew in each cycle: a tempo, quantum or session that changes meanwhile moves
/// the target with it. `Launch+PreRoll.swift` has what makes a start exact to the frame, and what happens when another
/// client was not ready in time, `Launch+Leader.swift` how a song is entered that a sequencer has begun.
public struct Launch: BitwiseCopyable {
  public enum Stage: UInt8, Sendable, BitwiseCopyable {
    case idle
    /// The transport is held.
    case waiting
    /// We said yes; others may still hold.
    case released
  }

  /// What is true when JACK asks.
  struct Question {
    var state: Transport.State
    /// The transport's.
    var frame: UInt32
    /// The session's beats against Link's time.
    var grid: Grid
    /// When the first frame of the next cycle is heard through the physical outputs.
    var rollsAt: Double
    /// Microseconds of a cycle, and of a frame.
    var period: Double
    var perFrame: Double
    /// The song's beat from which the transport will start.
    var songBeat: Beats
    /// A start that a peer asked for does not happen before this moment.
    var notBefore: Double?
    /// The song that a sequencer has begun already.
    var leader: Leader

    init(
      state: Transport.State, frame: UInt32, grid: Grid, rollsAt: Double, period: Double, perFrame: Double,
      songBeat: Beats, notBefore: Double?, leader: Leader = .none
    ) {
      self.state = state
      self.frame = frame
      self.grid = grid
      self.rollsAt = rollsAt
      self.period = period
      self.perFrame = perFrame
      self.songBeat = songBeat
      self.notBefore = notBefore
      self.leader = leader
    }
  }

  /// What the transport does in a cycle.
  struct Sight {
    var state: Transport.State
    var frame: UInt32
    /// When frame 0 of this cycle is heard.
    var heard: Double
    var period: Double
    var perFrame: Double
    var grid: Grid
    /// Neither this cycle's time nor the one before's was lost.
    var isSound: Bool

    init(
      state: Transport.State, frame: UInt32, heard: Double, period: Double, perFrame: Double, grid: Grid,
      isSound: Bool = true
    ) {
      self.state = state
      self.frame = frame
      self.heard = heard
      self.period = period
      self.perFrame = perFrame
      self.grid = grid
      self.isSound = isSound
    }
  }

  public internal(set) var stage = Stage.idle
  /// The session's beat that the song's start position shall fall on.
  var target = Beats.zero
  /// The song's beat from which the transport will start, and the frame that has it.
  var songBeat = Beats.zero
  var anchor: UInt32 = 0
  /// When the transport could have rolled if nobody had waited.
  private(set) var askedAt = 0.0
  /// The grid that `target` was chosen from, and the one that the user wants; a shortened wait parts them.
  private(set) var step = Beats.zero
  private var wantedStep = Beats.zero
  var others = OthersTake()
  private var wasStopped = false
  private var relocatingSince: Double?
  /// As asked for last.
  private(set) var isExact = false
  /// What exact and repeated starts need; see `Launch+PreRoll.swift`.
  var preRoll = PreRoll()
  /// The song is entered where a sequencer is in it.
  var isChasing = false
  public internal(set) var wish = TransportWish()

  /// Launches whose wait was cut short because it had become too long.
  public private(set) var shortened: UInt64 = 0
  /// Launches that were moved to a later boundary because another client was not ready.
  public internal(set) var moved: UInt64 = 0
  /// The start position's distance from the wanted moment, in microseconds; late is positive.
  public private(set) var error = 0.0
  public private(set) var count: UInt64 = 0

  private static let beat: Beats = Beats(micros: 1_000_000)

  init() {}

  /// The sync callback's answer: true lets the transport roll in the next cycle. [audio]
  mutating func mayRoll(_ question: Question, _ settings: LaunchSettings, quantum: Beats) -> Bool {
    guard case .starting = question.state else { return true }
    let wanted = settings.moment.step(quantum: quantum)
    if case .exact = settings.alignment { isExact = true } else { isExact = false }
    switch stage {
    case .idle:
      isChasing = false
      let isBack = preRoll.isBack(question)
      guard wasStopped || isBack else { return true }
      if !isBack { askedAt = question.rollsAt }
      aim(question, wanted: wanted, lead: others.micros)
    case .waiting, .released:
      // Asked again after a yes: somebody located meanwhile, or we did, and JACK asks anew.
      let isOurs = preRoll.sees(question.frame) && question.frame != anchor || isSetOff(question)
      let isElsewhere = question.frame != anchor || question.songBeat != songBeat
      let isMoved = isOurs || preRoll.isBack(question)
      if wanted != wantedStep || !isMoved && isElsewhere || isBesideLeader(question) {
        aim(question, wanted: wanted, lead: 0)
      }
    }
    let longest =
      settings.longestWait < LaunchSettings.longestWaitAllowed
      ? settings.longestWait : LaunchSettings.longestWaitAllowed
    let limit = askedAt + Double(longest.count)
    stage = isDue(question, limit: limit) ? .released : .waiting
    if isExact, isWaiting { prepare(question) }
    return !isWaiting
  }

  private var isWaiting: Bool { if case .waiting = stage { true } else { false } }

  private mutating func isDue(_ question: Question, limit: Double) -> Bool {
    guard step > .zero else { return true }
    if case .unsettled = question.leader { return question.rollsAt > limit }
    if isChasing, !isThere(question) {
      if question.rollsAt > question.grid.time(of: target.value) { choose(question, lead: 0) }
      return question.rollsAt > limit
    }
    let half = question.period / 2
    let ahead = preRollMicros(at: question.frame, perFrame: question.perFrame)
    // Missed, by lost cycles or because the session jumped: there is another boundary.
    let missed = Self.latest * question.period
    let isMissed = question.rollsAt + ahead >= question.grid.time(of: target.value) + missed
    if isMissed || isAnotherSessions(question, ahead) { choose(question, lead: 0) }
    if question.grid.time(of: target.value) > limit, step > Self.beat {
      // The bar is too far away for a held transport; the next beat is the next best thing.
      shortened &+= 1
      step = Self.beat
      choose(question, lead: 0)
    }
    if question.rollsAt > limit { return true }
    guard question.rollsAt + ahead >= question.grid.time(of: target.value) - half else { return false }
    if isExact, mustTryAgain(question, limit: limit) {
      choose(question, lead: 0)
      return false
    }
    return true
  }

  /// The target is farther away than any that would be chosen now: we have joined a session whose numbers are smaller.
  private func isAnotherSessions(_ question: Question, _ ahead: Double) -> Bool {
    var latest = question.rollsAt + max(0, ahead) + preparation(question.period) + question.period
    if let notBefore = question.notBefore, notBefore > latest { latest = notBefore }
    return target.value > question.grid.beat(at: latest) + max(step, Self.beat).value
  }

  private mutating func aim(_ question: Question, wanted: Beats, lead: Double) {
    if !(preRoll.sees(question.frame) && question.frame != anchor) {
      songBeat = question.songBeat
      anchor = question.frame
      preRoll.forget()
      wish.withdraw()
    }
    wantedStep = wanted
    step = wanted
    choose(question, lead: lead)
  }

  /// The first boundary that can still be met; without a grid, the beat that needs no wait.
  private mutating func choose(_ question: Question, lead: Double) {
    guard step > .zero else {
      target = Beats(question.grid.beat(at: question.rollsAt))
        .closestMatchingPhase(of: songBeat, quantum: Self.beat)
      return
    }
    if chase(question) { return }
    let ahead = preRollMicros(at: question.frame, perFrame: question.perFrame)
    var earliest = question.rollsAt + ahead - question.period / 2 + lead
    if isExact, hasRoom(question) {
      // A quarter of a period, so that rounding the target doesn't make it too soon.
      let prepared = question.rollsAt + preparation(question.period) + question.period / 4
      if prepared > earliest { earliest = prepared }
    }
    if let notBefore = question.notBefore, notBefore > earliest { earliest = notBefore }
    target = Beats(question.grid.beat(at: earliest)).nextMatchingPhase(of: songBeat, quantum: step)
  }

  /// A start is being held, or was let go and does not roll yet.
  var isHolding: Bool {
    if case .idle = stage { false } else { true }
  }

  /// What the transport did, once a cycle. [audio]
  mutating func observe(_ sight: Sight) {
    if case .stopped = sight.state { wasStopped = true } else { wasStopped = false }
    var isAwaited = relocatingSince != nil
    if case .released = stage { isAwaited = true }
    others.see(isAwaited: isAwaited, isSound: sight.isSound)
    switch sight.state {
    case .stopped:
      putBack(sight)
      stage = .idle
      relocatingSince = nil
    case .starting:
      if case .idle = stage, relocatingSince == nil { relocatingSince = sight.heard }
      moveOnIfOthersAreLate(sight)
    case .rolling:
      if isWaiting, isTakenBack(sight) { return }
      learn(sight)
      stage = .idle
      preRoll.isOver()
      wish.withdraw()
    }
  }

  /// The server freewheels and waits for nobody: what was under way is over, and nobody's slowness counts.
  mutating func letGo(_ state: Transport.State) {
    stage = .idle
    relocatingSince = nil
    preRoll = PreRoll()
    wish.withdraw()
    switch state {
    case .stopped: wasStopped = true
    case .starting: break
    case .rolling: wasStopped = false
    }
  }

  /// What we held of a relocation ourselves was not the others' doing.
  mutating func heldRelocation(until rollsAt: Double, period: Double) {
    relocatingSince = rollsAt - period
  }

  /// How late the others were, so that the next launch allows for them.
  private mutating func learn(_ sight: Sight) {
    if let since = relocatingSince {
      // Nobody but the others held this one; two cycles are JACK's own.
      others.took(sight.heard - since - 2 * sight.period, period: sight.period)
      relocatingSince = nil
    }
    if case .idle = stage { return }
    count &+= 1
    guard step > .zero else { return }
    let ahead = preRollMicros(at: sight.frame, perFrame: sight.perFrame)
    if isWaiting {
      // Somebody let it roll without us; the boundary that it is near to is the one to be judged by.
      target = Beats(sight.grid.beat(at: sight.heard + ahead))
        .closestMatchingPhase(of: songBeat, quantum: step)
    }
    error = sight.heard + ahead - sight.grid.time(of: target.value)
    if error > sight.period {
      learn(thatOthersWereNotReadyAt: sight.heard, period: sight.period)
    } else {
      others.wereInTime(isExact: isExact, period: sight.period)
    }
  }
}
