// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusChoices

/// Decides when the transport starts to roll: on the session's grid, for any client that pressed Play.
///
/// JACK asks slow-sync clients in every Starting cycle whether they are ready; a yes in cycle m makes cycle
/// m+1 the first that rolls. So the start is held until the cycle whose successor is heard nearest to the
/// wanted beat. Only Stopped -> Starting is held. A rolling transport passes through Starting on every locate
/// and loop; these are not held (facts: jack 3, 4), except a locate that was requested before the start
/// rolled and comes after it.
///
/// The wait is bounded, and judged again in each cycle: a tempo, quantum or session that changes meanwhile
/// moves the target. `Start` computes the beat, and the frame from which it is met. The transitions:
///
/// | stage | what happens | next | wish | answer |
/// | --- | --- | --- | --- | --- |
/// | idle | asked, after a stop | held | none | no |
/// | idle | asked, after a stop, in a start's second cycle | held | none | no |
/// | idle | asked, and its beat is due | released | none | yes |
/// | idle | asked, after it rolled | idle | none | yes |
/// | idle | asked, where a start was moved to just before it rolled | held | none | no |
/// | idle | asked, within two cycles of a start | held | none | no |
/// | held | asked, and its beat is far | held | none | no |
/// | held | asked, and a cycle's start would miss its beat, which shall be exact | held | starting | no |
/// | held | asked, and its beat is due | released | none | yes |
/// | held | rolls without us | idle | none | - |
/// | held | stops where play was pressed | idle | none | - |
/// | held | stops where it was sent | puttingBack | none | - |
/// | released | asked elsewhere, or its beat was missed | held | none | no |
/// | released | rolls | idle | none | - |
/// | released | starts still, too late for its beat | held | starting | - |
/// | released | starts still, too late, moved on twice before | givenUp | none | - |
/// | givenUp | rolls | idle | none | - |
/// | givenUp | stops | idle | none | - |
/// | held | rolls before it was sent to a later beat | overtaken | starting | - |
/// | overtaken | asked, where it was sent | held | starting | no |
/// | overtaken | rolls on | idle | none | - |
/// | puttingBack | stands there for twelve cycles | puttingBack | stopped | - |
/// | puttingBack | is moved elsewhere | idle | none | - |
/// | puttingBack | asked | held | none | no |
/// | held | the server freewheels | idle | none | - |
struct Launch: BitwiseCopyable {
  enum Stage: BitwiseCopyable {
    case idle
    case held(Start)
    /// We said yes; other clients may still hold.
    case released(Start)
    /// JACK alone says when it rolls, and nothing plays before that.
    case givenUp(Start)
    /// The start was to move to a later beat, but rolled before we could send it there.
    case overtaken(Start)
    /// The transport stopped where we had sent it. After `cycles` more it goes back to where Play was
    /// pressed.
    case puttingBack(Start, from: UInt32, cycles: Int)
  }

  /// JACK's question, and what we know about it.
  struct Question: BitwiseCopyable {
    /// The song's beat from which the transport will start.
    var songBeat: Beats
    /// The song of a sequencer that began before this start.
    var leader: Leader
    /// The session has set the time of the start.
    var isSessions = false
  }

  private(set) var stage = Stage.idle
  /// The stage in brief: most cycles read only this, and touch no start.
  private(set) var isIdle = true
  private(set) var isHolding = false
  private var isGivenUp = false
  private(set) var wish = TransportWish()
  private(set) var others = ReadinessEstimate()
  private(set) var cuts = CutStarts()
  private var due = DueStart()
  private var relocating: Relocating?
  /// The place that the last start was moved to; JACK may ask there after the start rolled.
  private var lastMove: Start.Move?
  /// When the last start rolled. Used once a stop, because a program may locate after each of its starts.
  private var rolledAt = -Double.infinity
  private var isBehind = false

  /// Launches that were moved to a later boundary because another client was not ready.
  private(set) var moved: UInt64 = 0
  /// Microseconds from the intended time to the time when the start position is heard; late is positive.
  private(set) var error = 0.0

  /// The start that is held, or was released and does not roll yet.
  var start: Start? {
    switch stage {
    case .held(let start), .released(let start), .overtaken(let start): start
    case .idle, .givenUp, .puttingBack: nil
    }
  }

  /// The place in the song of `frame`, if it is one of this start's frames.
  func place(at frame: UInt32, frameMicros: Double, beatMicros: Double) -> SongPlace? {
    switch stage {
    case .idle, .givenUp: return nil
    case .held(let start), .released(let start), .overtaken(let start):
      guard start.isOurs(frame) || start.wish?.from == frame else { return nil }
      return start.place.moved(to: frame, frameMicros: frameMicros, beatMicros: beatMicros)
    case .puttingBack(let start, let from, _):
      guard start.isOurs(frame) || from == frame else { return nil }
      return start.place.moved(to: frame, frameMicros: frameMicros, beatMicros: beatMicros)
    }
  }

  /// The sync callback's answer: true lets the transport roll in the next cycle. [audio]
  mutating func mayRoll(_ now: borrowing CycleContext, _ question: Question) -> Bool {
    cuts.isAsked = true
    guard case .starting = now.transport.state else { return true }
    let (next, mayRoll) = asked(now, question)
    enter(next)
    return mayRoll
  }

  /// Follows the transport, once a cycle. `place`: where the transport stood. [audio]
  mutating func observe(_ now: borrowing CycleContext, from place: SongPlace? = nil) {
    if due.wasStopped, isIdle, now.isRolling, now.isSound, let place { cuts.judge(now, from: place) }
    learn(now)
    guard !isIdle else { return }
    if case .released = stage, now.isRolling, !isBehind { rolledAt = now.heard.start }
    enter(seen(now))
  }

  /// Ends a launch: the server freewheels and waits for no client. A client's slowness does not count then.
  mutating func letGo(_ state: Transport.State) {
    enter(.idle)
    lastMove = nil
    relocating = nil
    due.see(state)
  }

  /// In this cycle all clients wait for us, because we hold a relocation until its cycle.
  mutating func heldRelocation(_ now: borrowing CycleContext) {
    seeRelocation(now)
    relocating?.held = now.heard.start
  }

  private mutating func enter(_ next: Stage) {
    stage = next
    (isIdle, isHolding, isGivenUp) = (false, false, false)
    switch next {
    case .idle:
      isIdle = true
      wish.follow(nil)
    case .givenUp:
      isGivenUp = true
      wish.follow(nil)
    case .held(let start), .released(let start), .overtaken(let start):
      isHolding = true
      lastMove = start.move
      wish.follow(start.wish)
    case .puttingBack(let start, _, _): wish.follow(start.wish)
    }
  }

  @inline(__always)
  func report(into report: inout Report) {
    report.isHolding = isHolding
    report.isGivenUp = isGivenUp
    report.launchError = error
    report.movedLaunches = moved
    report.othersTake = others.tightMicros
    report.wish = wish
    cuts.report(into: &report)
  }

  // MARK: the steps

  /// The time that the other clients get for a start, with these settings.
  private func othersTake(_ now: borrowing CycleContext) -> Double {
    if cuts.holdsBriefly { return 0 }
    let isTight = now.asksLate ? true : now.launchesExactly
    return isTight ? others.tightMicros : others.micros
  }

  private mutating func asked(_ now: borrowing CycleContext, _ question: Question) -> (
    next: Stage, mayRoll: Bool
  ) {
    let othersTake = othersTake(now)
    defer { rolledAt = -.infinity }
    let frame = now.transport.frame, rollsAt = now.rollsAt
    var back: Start.Move?
    if let lastMove, lastMove.frame == frame, rollsAt - lastMove.moment < Start.memory { back = lastMove }
    var start: Start
    if let current = self.start {
      // JACK asks all clients again after a locate, whether it was ours or another client's.
      start = current
      start.see(now)
      let isMoved = start.isAway(frame) || start.isOnItsWay(from: frame) || back != nil
      let isElsewhere = frame != start.place.frame || question.songBeat != start.songBeat
      if start.isWantedOtherwise(now) || !isMoved && isElsewhere || start.hasLostLeader(question) {
        start.aim(now, question, othersTake)
      }
    } else {
      let hasJustRolled = rollsAt - rolledAt < 3.5 * now.cycleMicros
      guard due.isDue || back != nil || hasJustRolled else { return (stage, true) }
      isBehind = !due.isDue
      due.clear()
      start = Start(now, question, askedAt: back?.askedAt ?? rollsAt)
      start.choose(now, question, othersTake, lead: othersTake)
    }
    if start.update(now, question, othersTake) { return (.released(start), true) }
    if start.isExact { start.prepare(now, othersTake) }
    return (.held(start), false)
  }

  private func seen(_ now: borrowing CycleContext) -> Stage {
    switch (now.transport.state, stage) {
    case (.stopped, .held(var start)), (.stopped, .released(var start)), (.stopped, .overtaken(var start)):
      guard start.isAway(now.transport.frame) else { return .idle }
      start.wish = nil
      return .puttingBack(start, from: now.transport.frame, cycles: 12)
    case (.stopped, .puttingBack(var start, let from, let cycles)):
      guard now.transport.frame == from else { return .idle }
      if cycles == 1 {
        start.wish = TransportWish(start.place, from: from, if: .stopped, at: now.heard.start)
      }
      return .puttingBack(start, from: from, cycles: max(0, cycles - 1))
    case (.starting, .released(var start)) where start.isLate(now):
      start.moveOn(now, othersTake(now))
      return .held(start)
    case (.starting, .released(let start)) where start.isGivenUp(now): return .givenUp(start)
    case (.rolling, .held(let start)) where start.isTakenBack(now),
      (.rolling, .overtaken(let start)) where start.isTakenBack(now):
      return .overtaken(start)
    case (.rolling, _), (.stopped, .givenUp): return .idle
    case (.starting, _), (.stopped, .idle): return stage
    }
  }

  /// Learns how late the other clients were, so that the next launch allows for them.
  private mutating func learn(_ now: borrowing CycleContext) {
    due.see(now.transport.state)
    cuts.see(clients: now.clients)
    var isAwaited = relocating != nil
    if case .released = stage { isAwaited = true }
    others.see(isAwaited: isAwaited, isSound: now.isSound, clients: now.clients)
    switch now.transport.state {
    case .stopped: relocating = nil
    case .starting: learnWhileStarting(now)
    case .rolling: if isIdle { learnRelocation(now) } else { learnWhereItRolls(now) }
    }
  }

  private mutating func learnWhileStarting(_ now: borrowing CycleContext) {
    switch stage {
    case .released(let start):
      guard start.isLate(now) else { return }
      others.needMore(
        than: start.waited(until: now.heard.start), cycle: now.cycleMicros, isGuess: now.asksLate)
      moved &+= 1
    case .idle, .puttingBack: seeRelocation(now)
    case .held, .overtaken, .givenUp: break
    }
  }

  private mutating func learnWhereItRolls(_ now: borrowing CycleContext) {
    switch stage {
    case .givenUp(let start): error = start.nearest(now).error(now)
    case .held(let start), .overtaken(let start):
      // Another client or JACK let the start roll without us. The nearest boundary is the one to judge it by.
      guard !start.isTakenBack(now) else { return }
      cuts.judge(now, start)
      learn(now, start.nearest(now))
    case .released(let start): learn(now, start)
    case .idle, .puttingBack: learnRelocation(now)
    }
  }

  private mutating func learn(_ now: borrowing CycleContext, _ start: Start) {
    learnRelocation(now)
    guard start.step > .zero else { return }
    error = start.error(now)
    if error > now.cycleMicros {
      others.needMore(than: start.waited(until: now.heard.start), cycle: now.cycleMicros)
    } else {
      others.wereInTime(isTight: now.asksLate || start.isExact, cycle: now.cycleMicros)
    }
  }

  /// JACK asks all clients again wherever the transport is sent.
  private mutating func seeRelocation(_ now: borrowing CycleContext) {
    let frame = now.transport.frame
    if relocating?.frame != frame { relocating = Relocating(frame: frame, since: now.heard.start) }
  }

  private mutating func learnRelocation(_ now: borrowing CycleContext) {
    guard let place = relocating else { return }
    relocating = nil
    // Two cycles are JACK's own.
    let ready = now.heard.start - 2 * now.cycleMicros
    // We were ready last, and the others perhaps long before.
    if ready - place.held < now.cycleMicros { return }
    others.took(ready - place.since, cycle: now.cycleMicros)
  }
}
