// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import TactusChoices

/// Plans relocations on the control thread: waits for the time to ask JACK, and drops plans that have become
/// pointless. Pure: a report and the time go in, requests to JACK come out. [control]
public struct Relocator: Sendable {
  public enum Step: Sendable {
    case nothing
    /// Publish it to the audio thread, then ask JACK.
    case relocate(Relocation)
    /// Nothing rolls any more: ask for an ordinary locate.
    case locate(frame: UInt32)
    /// Stop so that the next cycle is the first that stands; then locate to this frame, if it is given.
    case stop(at: UInt32?)
    /// Start: there is just enough time for all clients to get ready.
    case start
  }

  private enum Errand: Sendable {
    case none
    /// Correct a host at this beat of the song.
    case correct(bar: Double)
    case locate(Destination, at: BeatTarget)
    /// Stop on a beat of the session, known when the transport rolls; then go to a place, if given.
    case stop(onBar: Bool, on: Double?, at: Destination?)
    case start(DeferredStart)
    /// JACK was asked to start, and has not confirmed it.
    case started(beat: Double, until: Micros)
  }

  /// The target of a locate, and the session's grid that it keeps to.
  private struct Destination: Sendable {
    let place: SongPlace
    let step: Double

    func appointment(_ now: Report) -> BeatTarget { BeatTarget(now, place, step: step) }
  }

  /// A lag must last this long, because a lost cycle is followed by others.
  static let doubt = Micros(500_000)
  /// Time between two corrections, each of which is heard as a short silence.
  static let pause = Micros(4_000_000)
  /// Tries in a row that suggest another program's work: corrections rest for `surrender`, a late locate
  /// stays.
  static let mostTries = 3
  static let surrender = Micros(60_000_000)

  /// Microseconds. A time that comes this close to JACK's limit may exceed it the next time.
  static let margin = 1e6

  /// Microseconds for which a transport rolls after a locate before the next one: after two locates one cycle
  /// apart, Ardour 8.12's process thread dies on PipeWire, and Ardour is silent until it is opened again.
  static let rest = 150_000.0

  /// The time in which JACK confirms a start. It does so in its next cycle, if ever.
  static let answer = Micros(500_000)

  /// Microseconds of the longest bar: 64 whole notes at 20 quarters a minute. No host lags more.
  static let mostLag = 768e6

  /// The user's choices: among them whether and above which lag a host is corrected.
  public var choices = Settings()
  /// Corrections requested until now.
  public private(set) var corrections: UInt64 = 0
  /// How long JACK waits for slow clients before it rolls without them.
  public var syncLimit = Micros(10_000_000)
  /// Locates and corrections that stayed late, because other clients needed too long.
  public private(set) var leftLate: UInt64 = 0

  private var errand = Errand.none
  private var landing: RelocationRetry?
  /// When the transport last stood between two places, as heard.
  private var stoodAt = -1e18
  private var laggingSince: Micros?
  private var nextCorrection: Micros?
  private var tries = 0

  public init() {}

  /// The caller has to call `step` every two milliseconds.
  public var isBusy: Bool { if case .none = errand, landing == nil { false } else { true } }

  /// Plans a locate that keeps to the session's grid, or comes after a waiting stop. Returns false if nothing
  /// rolls that could keep to it, or if another client has the bars.
  public mutating func locate(frame: UInt32, beat: Double, step: Double, from now: Report) -> Bool {
    guard now.isUnderWay, now.timebase != .foreign else { return false }
    let there = Destination(place: SongPlace(frame: frame, beat: beat), step: step)
    if case .stop(let onBar, let beat, _) = errand {
      errand = .stop(onBar: onBar, on: beat, at: there)
    } else {
      errand = .locate(there, at: there.appointment(now))
    }
    return true
  }

  /// Plans a stop on the song's next bar line, or the session's next beat. A waiting locate comes after it.
  public mutating func stop(onBar: Bool) {
    errand = .stop(onBar: onBar, on: nil, at: destination)
  }

  /// Lets the transport roll on: takes back a stop that waits, but not the locate after it.
  public mutating func goOn(from now: Report) {
    guard case .stop(_, _, let there) = errand else { return }
    errand = there.map { .locate($0, at: $0.appointment(now)) } ?? .none
  }

  /// The session's next beat on which it can stop.
  private static func end(onBar: Bool, _ now: Report) -> Double {
    let cycle = now.moment.cycleMicros / now.moment.beatMicros
    return onBar
      ? now.sessionBeat - now.songBeat + ThirtySeconds.beats(now.bars.line(atOrAfter: now.songBeat + cycle))
      : -Double(Int64(flooring: -(now.sessionBeat + cycle)))
  }

  /// The frame of a locate that waits.
  public var waitingPlace: UInt32? { destination?.place.frame }

  private var destination: Destination? {
    switch errand {
    case .locate(let there, _): there
    case .stop(_, _, let there): there
    case .none, .correct, .start, .started: nil
    }
  }

  public var isStopping: Bool { if case .stop = errand { true } else { false } }

  /// A start that JACK does not hold can be requested late instead.
  public var canStartLate: Bool { DeferredStart.isPossible(choices) }

  /// Plans a start that leaves the transport standing until there is just enough time. Returns false if it
  /// cannot wait.
  public mutating func start(from now: Report) -> Bool {
    guard !now.isMoving, let start = DeferredStart(now, choices) else { return false }
    errand = .start(start)
    return true
  }

  /// The session's beat of a start that waits like this; nil: none does.
  public var startBeat: Double? {
    switch errand {
    case .start(let start): start.beat
    case .started(let beat, _): beat
    case .none, .correct, .locate, .stop: nil
    }
  }

  /// A locate of the rolling transport waits for its time, or for JACK. A locate after a stop does not count.
  public var isLocating: Bool {
    switch errand {
    case .locate: true
    case .stop: false
    case .none, .correct, .start, .started: landing != nil
    }
  }

  /// Drops all plans, because the user or another client decided otherwise.
  public mutating func cancel() { (errand, landing) = (.none, nil) }

  public mutating func step(_ now: Report, at time: Micros) -> Step {
    if now.isBetweenPlaces { stoodAt = now.moment.heard.start }
    let rests = now.isRolling && (0..<Self.rest).contains(now.moment.heard.start - stoodAt)
    if !rests, let again = land(now) { return .relocate(again) }
    if case .none = errand, isCorrectionDue(now, at: time) {
      errand = .correct(bar: Relocation.nextBar(now))
    }
    if case .stop(let onBar, let beat, let there) = errand {
      return stop(now, onBar: onBar, on: beat, at: there, time)
    }
    if case .start(let waiting) = errand { return start(now, waiting, time) }
    if case .started(_, let until) = errand {
      if now.isMoving || time >= until { cancel() }
      return .nothing
    }
    // Planned again in each step: nearer clocks are known better, and the session may move.
    guard var plan = plan(now) else {
      errand = .none
      return .nothing
    }
    guard now.isUnderWay else { return giveUp() }
    let late = Double(time.count) - plan.askAt
    let isInTime = late <= Relocation.leeway(now) && !(rests && late >= 0)
    if late < -farthest(now) || !isInTime { postpone(now) }
    guard late >= 0, isInTime else { return .nothing }
    if case .correct = errand {
      corrections &+= 1
      tries += 1
      nextCorrection = time + (tries < Self.mostTries ? Self.pause : Self.surrender)
      laggingSince = nil
    }
    // JACK may stand there for the relocation before this one; then all clients go on standing.
    plan.insteadOf = landing?.relocation.place.frame
    landing = RelocationRetry(
      plan, step: destination?.step ?? choices.quantum, limit: Double(syncLimit.count) - Self.margin)
    errand = .none
    return .relocate(plan)
  }

  private mutating func land(_ now: Report) -> Relocation? {
    guard let relocation = landing?.relocation else { return nil }
    if let next = landing?.next(now) {
      landing = next
      return next.relocation
    }
    guard relocation.isOver(now) else { return nil }
    if relocation.lateFrames(now) != nil { leftLate &+= 1 }
    landing = nil
    return nil
  }

  /// JACK stops in the cycle after the one in which it is asked, whose middle is the safest time to ask.
  private mutating func stop(
    _ now: Report, onBar: Bool, on known: Double?, at there: Destination?, _ time: Micros
  ) -> Step {
    guard now.isUnderWay else { return giveUp() }
    // The transport is on its way to another place, which has other bars.
    guard now.isRolling, landing == nil else {
      errand = .stop(onBar: onBar, on: nil, at: there)
      return .nothing
    }
    let beat = known ?? Self.end(onBar: onBar, now)
    errand = .stop(onBar: onBar, on: beat, at: there)
    let moment = now.moment
    let away = (beat - now.sessionBeat) * moment.beatMicros
    let cycles = Double(Int64(rounding: away / moment.cycleMicros))
    let askAt = moment.due + (cycles - 0.6) * moment.cycleMicros
    // A session that jumped has other beats: choose again.
    let farthest = onBar ? now.bars.meter.length.value : 1
    if away > farthest * moment.beatMicros + 1e6 { stop(onBar: onBar) }
    guard Double(time.count) >= askAt else { return .nothing }
    cancel()
    return .stop(at: there?.place.frame)
  }

  /// Requests the start in time for its beat; at once if it is not to wait any more.
  private mutating func start(_ now: Report, _ waiting: DeferredStart, _ time: Micros) -> Step {
    guard !now.isMoving else {
      cancel()
      return .nothing
    }
    guard waiting.isWanted(by: choices, now), waiting.isMet(now, at: time) else {
      cancel()
      return start(from: now) ? .nothing : .start
    }
    guard Double(time.count) >= waiting.askAt(now) else { return .nothing }
    errand = .started(beat: waiting.beat, until: time + Self.answer)
    return .start
  }

  private mutating func giveUp() -> Step {
    let frame = waitingPlace
    cancel()
    return frame.map { .locate(frame: $0) } ?? .nothing
  }

  private func plan(_ now: Report) -> Relocation? {
    switch errand {
    case .none, .stop, .start, .started: nil
    case .correct(let bar): .correction(now, at: bar)
    case .locate(_, let appointment): appointment.relocation(now)
    }
  }

  /// Microseconds. Nothing is planned for a time that is farther away.
  private func farthest(_ now: Report) -> Double {
    let grid = destination.map { max(1, $0.step) } ?? now.bars.meter.length.value
    return (grid + 1) * now.moment.beatMicros + 1e6
  }

  /// Takes the next time: it is too late for this one, or the session has moved it far away.
  private mutating func postpone(_ now: Report) {
    switch errand {
    case .none, .stop, .start, .started: break
    case .correct: errand = .correct(bar: Relocation.nextBar(now))
    case .locate(let there, _): errand = .locate(there, at: there.appointment(now))
    }
  }

  private mutating func isCorrectionDue(_ now: Report, at time: Micros) -> Bool {
    guard choices.correction == .locate, now.isRolling, now.timebase == .ours else {
      laggingSince = nil
      return false
    }
    guard abs(now.hostLag) > Double(choices.correctAbove.count), abs(now.hostLag) < Self.mostLag else {
      laggingSince = nil
      if let nextCorrection, time >= nextCorrection { tries = 0 }
      return false
    }
    let since = laggingSince ?? time
    laggingSince = since
    guard time - since >= Self.doubt else { return false }
    if let nextCorrection, time < nextCorrection { return false }
    if tries >= Self.mostTries { tries = 0 }
    return true
  }
}
