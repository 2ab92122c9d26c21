// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// Decides when the transport starts to roll: on the session's grid, for any client that pressed Play.
///
/// JACK asks slow-sync clients in every Starting cycle whether they are ready; a yes in cycle m lets cycle
/// m+1 roll. So the start is held until the cycle whose successor is heard nearest to the wanted beat. Only a
/// start from Stopped is held. A rolling transport passes through Starting on every locate and loop, which
/// are not held (facts: jack 3, 4), except a locate that was requested before the start rolled and comes
/// after it.
///
/// The wait is bounded. Each cycle computes the start's beat again (`Start`), because tempo, quantum or
/// session may change. In the table, "asked" says that JACK called the sync callback, which returns "answer":
///
/// | stage | what happens | next | action | answer |
/// | --- | --- | --- | --- | --- |
/// | idle | stops | standing | none | - |
/// | idle | asked | idle | none | yes |
/// | standing | asked | held | none | no |
/// | standing | asked in a start's second cycle | held | none | no |
/// | standing | asked, and its beat is due | released | none | yes |
/// | standing | rolls | idle | none | - |
/// | held | asked, and its beat is far | held | none | no |
/// | held | asked, and a cycle's start would miss its beat, which shall be exact | held | starting | no |
/// | held | asked, and its beat is due | released | none | yes |
/// | held | rolls without us | begun | none | - |
/// | held | stops where play was pressed | standing | none | - |
/// | held | stops where it was sent | puttingBack | stopped | - |
/// | held | rolls before it was sent to a later beat | overtaken | starting | - |
/// | held | the server freewheels | idle | none | - |
/// | released | asked elsewhere, or its beat was missed | held | none | no |
/// | released | rolls | begun | none | - |
/// | released | starts still, too late for its beat | held | starting | - |
/// | released | starts still, too late, after two retries | givenUp | none | - |
/// | givenUp | rolls | begun | none | - |
/// | givenUp | stops | standing | none | - |
/// | overtaken | asked, where it was sent | held | starting | no |
/// | overtaken | rolls on | begun | none | - |
/// | begun | asked, where it was sent just before it rolled | held | starting | no |
/// | begun | asked within two cycles | held | none | no |
/// | begun | asked later | begun | none | yes |
/// | begun | rolls on | idle | none | - |
/// | puttingBack | is moved elsewhere | standing | none | - |
/// | puttingBack | asked | held | none | no |
struct Launch: BitwiseCopyable {
  enum Stage: BitwiseCopyable {
    case idle
    /// The transport stood. JACK has not called the sync callback since; its next call is about a start.
    /// `isStarting`: JACK shows Starting before that call, as PipeWire may to a late client (facts: jack 3).
    case standing(isStarting: Bool)
    case held(Start)
    /// We have let the transport roll. Other clients may still hold the start.
    case released(Start)
    /// Other clients were late too often. We hold no more; JACK alone decides when the transport rolls.
    case givenUp(Start)
    /// The start was to move to a later beat, but the transport rolled before the control thread located it.
    case overtaken(Start)
    /// The transport rolls since `since`; -infinity: it rolled without our yes. A locate just after the start
    /// still belongs to the start: some programs locate after each start, and our own locate may come late.
    case begun(Start, since: Double)
    /// The transport stopped where we had located it, and goes back to where Play was pressed.
    case puttingBack(Start, from: UInt32)
  }

  /// The data from which the launch answers JACK's sync callback.
  struct Question: BitwiseCopyable {
    /// The song's beat from which the transport will start.
    var songBeat: Beats
    /// The song of a sequencer that began before this start.
    var leader: Leader
    /// Whether a peer has set the time of the start.
    var isSessions = false
    /// Whether the session has the start's time from us.
    var isOurs = false
  }

  /// The number of cycles after a start in which another client's locate counts as part of the start.
  private static let belonging = 3.5

  private(set) var stage = Stage.idle
  /// Whether no start is under way. Most cycles read only this value and no part of a start.
  private(set) var isIdle = true
  private(set) var isHolding = false
  private(set) var action = LocateAction()
  private(set) var others = ReadinessEstimate()
  private(set) var cuts = CutStarts()

  /// The number of launches that were moved to a later beat or bar because another client was not ready.
  private(set) var moved: UInt64 = 0
  /// The microseconds by which the start position is heard after the intended time; negative: before it.
  private(set) var error = 0.0

  /// The start that is held, or was released while the transport does not roll yet.
  var start: Start? {
    switch stage {
    case .held(let start), .released(let start), .overtaken(let start): start
    case .idle, .standing, .givenUp, .begun, .puttingBack: nil
    }
  }

  /// The place in the song at `frame`; nil: this launch neither stands at `frame` nor is located there.
  func place(at frame: UInt32, _ now: borrowing CycleContext) -> SongPlace? {
    switch stage {
    case .idle, .standing, .givenUp, .begun: return nil
    case .held(let start), .released(let start), .overtaken(let start), .puttingBack(let start, _):
      guard start.isOurs(frame) || start.action?.from == frame else { return nil }
      return start.place.moved(to: frame, frameMicros: now.frameMicros, beatMicros: now.grid.beatMicros)
    }
  }

  /// The sync callback's answer: true lets the transport roll in the next cycle. [audio]
  mutating func mayRoll(_ now: borrowing CycleContext, _ question: Question) -> Bool {
    cuts.isAsked = true
    let othersTake = othersTake(now)
    guard case .starting = now.transport.state, var start = asked(now, question, othersTake) else {
      return true
    }
    let isReleased = start.update(now, question, othersTake)
    if !isReleased, now.launchesExactly { start.prepare(now, othersTake) }
    enter(isReleased ? .released(start) : .held(start))
    return isReleased
  }

  /// Follows the transport. Call this once a cycle. `place`: the transport's place in the last cycle. [audio]
  mutating func observe(_ now: borrowing CycleContext, from place: SongPlace? = nil) {
    learn(now)
    if isIdle { rest(now, from: place) } else { enter(seen(now)) }
  }

  /// Ends the launch, because the server freewheels: it waits for no client, so a locate shows nothing about
  /// slow clients.
  mutating func letGo(_ state: Transport.State) {
    switch (state, stage) {
    case (.stopped, _): enter(.standing(isStarting: false))
    case (.starting, .standing): enter(.standing(isStarting: true))
    case (.starting, _), (.rolling, _): enter(.idle)
    }
    others.relocating = nil
  }

  /// Notes that in this cycle all clients wait for us, because we hold a locate until its planned cycle.
  mutating func heldRelocation(_ now: borrowing CycleContext) {
    others.seeRelocation(now)
    others.relocating?.held = now.heard.start
  }

  private mutating func enter(_ next: Stage) {
    stage = next
    switch next {
    case .idle, .standing, .begun:
      (isIdle, isHolding) = (true, false)
      action.follow(nil)
    case .givenUp:
      (isIdle, isHolding) = (false, false)
      action.follow(nil)
    case .held(let start), .released(let start), .overtaken(let start):
      (isIdle, isHolding) = (false, true)
      action.follow(start.action)
    case .puttingBack(let start, _):
      (isIdle, isHolding) = (false, false)
      action.follow(start.action)
    }
  }

  @inline(__always)
  func report(into report: inout LaunchReport) {
    report.isHolding = isHolding
    if !isIdle, case .givenUp = stage { report.isGivenUp = true } else { report.isGivenUp = false }
    report.error = error
    report.moved = moved
    report.othersTake = others.tightMicros
    report.action = action
    cuts.report(into: &report)
  }

  /// The microseconds that a start must leave to the other slow clients, so that they can get ready.
  private func othersTake(_ now: borrowing CycleContext) -> Double {
    if cuts.holdsBriefly { return 0 }
    return isTight(now) ? others.tightMicros : others.micros
  }

  /// Whether a start leaves the other clients no more time than the estimate says that they need.
  private func isTight(_ now: borrowing CycleContext) -> Bool { now.asksLate ? true : now.launchesExactly }

  /// The start about which JACK called the sync callback; nil: JACK called it for a locate or loop of a
  /// rolling transport.
  private func asked(_ now: borrowing CycleContext, _ question: Question, _ othersTake: Double) -> Start? {
    switch stage {
    case .held(var start), .released(var start), .overtaken(var start):
      start.follow(now, question, othersTake)
      return start
    case .begun(var start, let since):
      if start.wasMoved(to: now.transport.frame, now) {
        start.follow(now, question, othersTake)
      } else if !start.isSecond, now.rollsAt - since < Self.belonging * now.cycleMicros {
        start = Start(now, question, othersTake)
      } else {
        return nil
      }
      start.isSecond = true
      return start
    case .standing, .puttingBack: return Start(now, question, othersTake)
    case .idle, .givenUp: return nil
    }
  }

  /// Follows the transport while no start is under way.
  private mutating func rest(_ now: borrowing CycleContext, from place: SongPlace?) {
    switch (now.transport.state, stage) {
    case (.stopped, .standing(isStarting: false)): break
    case (.stopped, _): stage = .standing(isStarting: false)
    case (.starting, .standing): stage = .standing(isStarting: true)
    case (.rolling, .standing(let isStarting)):
      if !isStarting, now.isSound, let place { cuts.judge(now, from: place) }
      stage = .idle
    case (.rolling, .begun(let start, let since)):
      let age = now.heard.start - max(since, start.action?.moment ?? since)
      if age > max(TransportLimits.answerMicros, Self.belonging * now.cycleMicros) { stage = .idle }
    case (.starting, _), (.rolling, _): break
    }
  }

  private func seen(_ now: borrowing CycleContext) -> Stage {
    let frame = now.transport.frame
    switch (now.transport.state, stage) {
    case (.stopped, .held(var start)), (.stopped, .released(var start)), (.stopped, .overtaken(var start)):
      guard start.isAway(frame) else { return .standing(isStarting: false) }
      start.action = LocateAction(start.place, from: frame, if: .stopped, at: now.rollsAt)
      return .puttingBack(start, from: frame)
    case (.stopped, .puttingBack(_, let from)):
      return frame == from ? stage : .standing(isStarting: false)
    case (.stopped, _): return .standing(isStarting: false)
    case (.starting, .released(var start)) where start.isLate(now):
      guard start.retries < TransportLimits.mostRetries else { return .givenUp(start) }
      start.moveOn(now, othersTake(now))
      return .held(start)
    case (.starting, _): return stage
    case (.rolling, .held(let start)), (.rolling, .overtaken(let start)):
      return start.isTakenBack(now) ? .overtaken(start) : .begun(start, since: -.infinity)
    case (.rolling, .released(let start)): return .begun(start, since: now.heard.start)
    case (.rolling, .givenUp(let start)): return .begun(start, since: -.infinity)
    case (.rolling, _): return .idle
    }
  }
}

// MARK: learning

extension Launch {
  /// Learns how late the other clients were, so that the next launch allows for them.
  private mutating func learn(_ now: borrowing CycleContext) {
    cuts.see(clients: now.clients)
    var isAwaited = others.relocating != nil
    if case .released = stage { isAwaited = true }
    others.see(isAwaited: isAwaited, isSound: now.isSound, clients: now.clients)
    switch now.transport.state {
    case .stopped: others.relocating = nil
    case .starting: learnWhileStarting(now)
    case .rolling: if isIdle { others.learnRelocation(now) } else { learnWhereItRolls(now) }
    }
  }

  private mutating func learnWhileStarting(_ now: borrowing CycleContext) {
    switch stage {
    case .released(let start):
      guard start.isLate(now), start.retries < TransportLimits.mostRetries else { return }
      others.needMore(
        than: start.waited(until: now.heard.start), cycle: now.cycleMicros, isGuess: now.asksLate)
      moved &+= 1
    case .idle, .begun: others.seeRelocation(now)
    // In these stages the transport may wait for us, not for other clients.
    case .standing, .puttingBack, .held, .overtaken, .givenUp: break
    }
  }

  private mutating func learnWhereItRolls(_ now: borrowing CycleContext) {
    switch stage {
    case .givenUp(let start): error = start.nearest(now).error(now)
    case .held(let start), .overtaken(let start):
      // The transport rolled without our yes, so the error is the distance from the nearest beat or bar line.
      guard !start.isTakenBack(now) else { return }
      cuts.judge(now, start)
      learn(now, start.nearest(now))
    case .released(let start): learn(now, start)
    case .idle, .standing, .begun, .puttingBack: others.learnRelocation(now)
    }
  }

  private mutating func learn(_ now: borrowing CycleContext, _ start: Start) {
    others.learnRelocation(now)
    guard start.step > .zero else { return }
    error = start.error(now)
    if error > now.cycleMicros {
      others.needMore(than: start.waited(until: now.heard.start), cycle: now.cycleMicros)
    } else {
      others.wereInTime(isTight: isTight(now), cycle: now.cycleMicros)
    }
  }
}
