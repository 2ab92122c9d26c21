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
/// The wait is bounded, and judged again in each cycle: a tempo, quantum or session that changes meanwhile moves
/// the target with it. Which beat it is and from which frame it is met is `Start`'s arithmetic; this is what may happen:
///
/// | stage | what happens | next | wish | answer |
/// | --- | --- | --- | --- | --- |
/// | idle | asked, after a stop | held | none | no |
/// | idle | asked, and its beat is due | released | none | yes |
/// | idle | asked, after it rolled | idle | none | yes |
/// | idle | asked, where a start was moved to just before it rolled | held | none | no |
/// | held | asked, and its beat is far | held | none | no |
/// | held | asked, and a cycle's start would miss its beat, which shall be exact | held | starting | no |
/// | held | asked, and its beat is due | released | none | yes |
/// | held | rolls without us | idle | none | - |
/// | held | stops where play was pressed | idle | none | - |
/// | held | stops where it was sent | puttingBack | none | - |
/// | released | asked elsewhere, or its beat was missed | held | none | no |
/// | released | rolls | idle | none | - |
/// | released | starts still, too late for its beat | held | starting | - |
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
    /// The transport is held.
    case held(Start)
    /// We said yes; others may still hold.
    case released(Start)
    /// It was to start on a later beat, and the others let it roll before it could be sent there.
    case overtaken(Start)
    /// It was stopped where it had been sent: after so many cycles more it goes back to where play was pressed.
    case puttingBack(Start, from: UInt32, cycles: Int)
  }

  /// What the transport does in a cycle.
  struct Sight: BitwiseCopyable {
    var state: Transport.State
    var frame: UInt32
    /// The session's beats against Link's time.
    var grid: Grid
    /// When frame 0 of the cycle is heard through the physical outputs.
    var heard: Double
    var cycleMicros: Double
    var frameMicros: Double
    /// Neither this cycle's time nor the one before's was lost.
    var isSound = true

    /// When the next cycle is heard.
    var rollsAt: Double { heard + cycleMicros }
  }

  /// What is true when JACK asks.
  struct Question: BitwiseCopyable {
    var sight: Sight
    /// The song's beat from which the transport will start.
    var songBeat: Beats
    /// A start that a peer asked for does not happen before this moment.
    var notBefore: Double?
    /// The song that a sequencer has begun already.
    var leader: Leader
    var settings: LaunchSettings
    var quantum: Beats

    var wantedStep: Beats { settings.moment.step(quantum: quantum) }
    var isExact: Bool { if case .exact = settings.alignment { true } else { false } }
    var longestWait: Double {
      Double(min(settings.longestWait.count, LaunchSettings.longestWaitAllowed.count))
    }
  }

  private(set) var stage = Stage.idle
  private(set) var wish = TransportWish()
  private(set) var others = OthersTake()
  private var wasStopped = false
  private var relocatingSince: Double?
  /// Where the last start was moved to, which may come after it rolled.
  private var lastMove: Start.Move?

  /// Launches whose wait was cut short because it had become too long.
  private(set) var shortened: UInt64 = 0
  /// Launches that were moved to a later boundary because another client was not ready.
  private(set) var moved: UInt64 = 0
  /// The start position's distance from the wanted moment, in microseconds; late is positive.
  private(set) var error = 0.0
  private(set) var count: UInt64 = 0

  /// The start that is held, or was let go and does not roll yet.
  var start: Start? {
    switch stage {
    case .held(let start), .released(let start), .overtaken(let start): start
    case .idle, .puttingBack: nil
    }
  }

  var isHolding: Bool { start != nil }

  /// What the frame means if it is one of this start's.
  func place(at frame: UInt32, frameMicros: Double, beatMicros: Double) -> SongPlace? {
    switch stage {
    case .idle: return nil
    case .held(let start), .released(let start), .overtaken(let start):
      guard start.isOurs(frame) || start.wish?.from == frame else { return nil }
      return start.place.moved(to: frame, frameMicros: frameMicros, beatMicros: beatMicros)
    case .puttingBack(let start, let from, _):
      guard start.isOurs(frame) || from == frame else { return nil }
      return start.place.moved(to: frame, frameMicros: frameMicros, beatMicros: beatMicros)
    }
  }

  /// The sync callback's answer: true lets the transport roll in the next cycle. [audio]
  mutating func mayRoll(_ question: Question) -> Bool {
    guard case .starting = question.sight.state else { return true }
    let cuts = start?.cuts ?? 0
    let (next, mayRoll) = asked(question)
    take(next)
    if let start, start.cuts > cuts { shortened &+= 1 }
    return mayRoll
  }

  /// What the transport did, once a cycle. [audio]
  mutating func observe(_ sight: Sight) {
    learn(sight)
    take(seen(sight))
  }

  /// The server freewheels and waits for nobody: what was under way is over, and nobody's slowness counts.
  mutating func letGo(_ state: Transport.State) {
    take(.idle)
    lastMove = nil
    relocatingSince = nil
    switch state {
    case .stopped: wasStopped = true
    case .starting: break
    case .rolling: wasStopped = false
    }
  }

  /// What we held of a relocation ourselves was not the others' doing.
  mutating func heldRelocation(_ sight: Sight) { relocatingSince = sight.heard }

  private mutating func take(_ next: Stage) {
    stage = next
    switch next {
    case .idle: wish.follow(nil)
    case .held(let start), .released(let start), .overtaken(let start):
      lastMove = start.move
      wish.follow(start.wish)
    case .puttingBack(let start, _, _): wish.follow(start.wish)
    }
  }

  @inline(__always)
  func report(into report: inout Report) {
    report.isHolding = isHolding
    report.launches = count
    report.launchError = error
    report.movedLaunches = moved
    report.othersTake = others.micros
    report.wish = wish
  }

  // MARK: the steps

  private func asked(_ question: Question) -> (next: Stage, mayRoll: Bool) {
    let frame = question.sight.frame, rollsAt = question.sight.rollsAt
    var back: Start.Move?
    if let lastMove, lastMove.frame == frame, rollsAt - lastMove.moment < Start.memory { back = lastMove }
    var start: Start
    if let current = self.start {
      // Asked again: somebody located meanwhile, or we did, and JACK asks everybody.
      start = current
      start.see(question)
      let isMoved = start.isAway(frame) || start.isOnItsWay(from: frame) || back != nil
      let isElsewhere = frame != start.place.frame || question.songBeat != start.songBeat
      if start.wantedStep != question.wantedStep || !isMoved && isElsewhere || start.hasLostLeader(question) {
        start.aim(question, others.micros)
      }
    } else {
      guard wasStopped || back != nil else { return (stage, true) }
      start = Start(question, askedAt: back?.askedAt ?? rollsAt)
      start.choose(question, others.micros, lead: others.micros)
    }
    if start.update(question, others.micros) { return (.released(start), true) }
    if start.isExact { start.prepare(question.sight, others.micros) }
    return (.held(start), false)
  }

  private func seen(_ sight: Sight) -> Stage {
    switch (sight.state, stage) {
    case (.stopped, .held(var start)), (.stopped, .released(var start)), (.stopped, .overtaken(var start)):
      guard start.isAway(sight.frame) else { return .idle }
      start.wish = nil
      return .puttingBack(start, from: sight.frame, cycles: 12)
    case (.stopped, .puttingBack(var start, let from, let cycles)):
      guard sight.frame == from else { return .idle }
      if cycles == 1 {
        start.wish = TransportWish(start.place, from: from, if: .stopped, at: sight.heard)
      }
      return .puttingBack(start, from: from, cycles: max(0, cycles - 1))
    case (.starting, .released(var start)) where start.isLate(sight):
      start.moveOn(sight, others.micros)
      return .held(start)
    case (.rolling, .held(let start)) where start.isTakenBack(sight),
      (.rolling, .overtaken(let start)) where start.isTakenBack(sight):
      return .overtaken(start)
    case (.rolling, _): return .idle
    case (.starting, _), (.stopped, .idle): return stage
    }
  }

  /// How late the others were, so that the next launch allows for them.
  private mutating func learn(_ sight: Sight) {
    if case .stopped = sight.state { wasStopped = true } else { wasStopped = false }
    var isAwaited = relocatingSince != nil
    if case .released = stage { isAwaited = true }
    others.see(isAwaited: isAwaited, isSound: sight.isSound)
    switch (sight.state, stage) {
    case (.stopped, _): relocatingSince = nil
    case (.starting, .released(let start)):
      guard start.isLate(sight) else { return }
      others.needMore(than: start.waited(until: sight.heard), cycle: sight.cycleMicros)
      moved &+= 1
    case (.starting, .idle), (.starting, .puttingBack):
      if relocatingSince == nil { relocatingSince = sight.heard }
    case (.starting, .held), (.starting, .overtaken): break
    case (.rolling, .held(let start)), (.rolling, .overtaken(let start)):
      // Somebody let it roll without us; the boundary that it is near to is the one to be judged by.
      if !start.isTakenBack(sight) { learn(sight, start.nearest(sight)) }
    case (.rolling, .released(let start)): learn(sight, start)
    case (.rolling, .idle), (.rolling, .puttingBack): learnRelocation(sight)
    }
  }

  private mutating func learn(_ sight: Sight, _ start: Start) {
    learnRelocation(sight)
    count &+= 1
    guard start.step > .zero else { return }
    error = start.error(sight)
    if error > sight.cycleMicros {
      others.needMore(than: start.waited(until: sight.heard), cycle: sight.cycleMicros)
    } else {
      others.wereInTime(isExact: start.isExact, cycle: sight.cycleMicros)
    }
  }

  /// Nobody but the others held this one; two cycles are JACK's own.
  private mutating func learnRelocation(_ sight: Sight) {
    guard let since = relocatingSince else { return }
    others.took(sight.heard - since - 2 * sight.cycleMicros, cycle: sight.cycleMicros)
    relocatingSince = nil
  }
}

extension Launch.Sight {
  init(_ now: borrowing Now, isSound: Bool) {
    self.init(
      state: now.transport.state, frame: now.transport.frame, grid: now.grid, heard: now.heard.start,
      cycleMicros: now.cycleMicros, frameMicros: now.frameMicros, isSound: isSound)
  }
}
