// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkBeatMath
import TactusChoices

/// Keeps the song at the place where the session's other tactus programs have theirs. Pure: reports, the
/// session's newest line and the time go in; commands for `TransportPlan`, or a new line for the session,
/// come out. [control]
///
/// A locate, a start or a stop here is a *decision*, and makes a new line. So that two machines do not answer
/// each other for ever, the following is none: a place that is on the session's line, what this type has
/// asked for, a start or stop of the session, and a jump of the session's time.
///
/// A line is for standing transports or for rolling ones, and a transport waits for a line of its kind. So a
/// start or a stop makes the line before it void. If a Link app has started or stopped the session, no
/// machine has decided; then the first machine that has waited in vain for a line makes one.
package struct SongSync: Sendable {
  /// The time for which the transport must stand at a place after a stop, or after a locate. A stop by tactus
  /// may go back to the bar, and a hand that drags a playhead locates many times.
  private static let restAfterStop = Micros(150_000)
  private static let restAfterLocate = Micros(30_000)
  /// The time in which a line must follow a start or stop of the session. After it, the machine's own place
  /// is the line.
  private static let lineTimeout = Micros(500_000)
  /// The time in which a machine that comes to the session learns its line. After it, the machine's own place
  /// is the line, if the session has none.
  private static let arrivalTimeout = Micros(2_000_000)
  /// The time within which the session takes our line.
  private static let answerTime = Micros(200_000)
  /// The least time between two locates.
  private static var pause: Micros { Micros(rounding: TransportLimits.pause) }

  private var last: (place: Place, report: Report)?
  /// The time at which the last start, stop or locate here becomes a decision, unless another machine's line
  /// comes first; nil: none waits.
  private var decidesAt: Micros?
  /// Whether that is a locate. Then another machine's line does not come first, because the locate is newer.
  private var isLocated = false
  /// The time at which this machine's place becomes a decision, if the session still has no line for it.
  private var settlesAt: Micros?
  private var loop = LoopWatch()
  /// The last start or stop of the session that has been seen in the transport.
  private var command: UInt32 = 0
  /// The session's last known decision.
  private var decision: UInt64?
  /// Our line that the session has not shown yet.
  private var proposed: (line: SongLine, at: Micros)?
  /// Whether the song may be off the session's line, and the requests made to bring it there.
  private var isDue = false
  private var tries = 0
  /// Whether a locate by a JACK client may have left the frames of the rolling song between the session's
  /// beats.
  private var isOff = false
  private var askedAt = Micros(-1_000_000_000)
  /// The last two frames to which we have sent a standing transport.
  private var asked: (last: UInt32?, before: UInt32?)
  /// The last jump by a user of tactus that others know already, before JACK was asked for it.
  private var announced: TransportPlan.SharedLine?
  /// Whether JACK was carrying out a locate of the plan at the last look.
  private var wasLanding = false

  package init() {}

  /// Whether a loop of less than two bars is left alone.
  package var leavesLoopAlone: Bool { loop.isLeftAlone }

  /// Looks at the newest report; call it after the plan's own look, as often as possible.
  package mutating func next(
    _ now: Report, at time: Micros, _ plan: TransportPlan, _ shared: Shared
  ) -> Step {
    see(shared, at: time)
    guard let place = place(now) else {
      waitForArrival(now)
      return .nothing
    }
    defer {
      (last, wasLanding) = ((place, now), plan.landing != nil)
      if place.isRolling == now.startStop.starts { command = now.startStop.number }
    }
    guard let last, !now.isBreak(since: last.report) else {
      (decidesAt, isLocated, settlesAt, isDue, tries) = (nil, false, time + Self.arrivalTimeout, true, 0)
      return .nothing
    }
    if case .locating(_, let target) = plan.stage {
      let jump = TransportPlan.SharedLine(beat: target.place.beat, sessionBeat: target.sessionBeat)
      if jump != announced {
        (announced, isOff) = (jump, false)
        return decide(SongLine(plan.choices.meter, on: jump.sessionBeat, at: jump.beat), at: time)
      }
    }
    let line = proposed?.line ?? shared.line
    let isElsewhere = line?.isRolling == true && !shared.isAlone
    if let line = turn(from: last.place, to: place, now, at: time, plan, line, isElsewhere) {
      return decide(line, at: time)
    }
    if isDue, !isLocated, let line, line.isRolling == place.isRolling { decidesAt = nil }
    if let decidesAt { return wait(until: decidesAt, place, now, at: time, plan) }
    if let settlesAt, time >= settlesAt {
      self.settlesAt = nil
      if place.isUnknown(to: line) { decidesAt = time }
    }
    return isDue ? obey(line, from: place, now, at: time, plan) : .nothing
  }

  /// The microseconds by which the song is ahead of the session's line; nil: there is no line, or the song is
  /// on its way.
  package func offset(_ now: Report, _ shared: Shared) -> Double? {
    guard let line = shared.line, let last, line.isRolling == last.place.isRolling else { return nil }
    switch last.place {
    case .standing(let beat): return (beat - line.songBeat.value) * now.moment.beatMicros
    case .rolling:
      guard now.song.isRolling else { return nil }
      let beat = now.sessionBeat - line.origin
      return (now.song.beat - beat) * now.moment.beatMicros - now.song.hostLag
    }
  }
}

// MARK: what is here

extension SongSync {
  /// nil: the song is on its way from one place to another.
  private func place(_ now: Report) -> Place? {
    if now.song.isRolling { return .rolling(origin: now.songOrigin) }
    if now.isBetweenPlaces { return nil }
    guard now.isMoving else { return .standing(at: now.song.beat) }
    // While a start waits, the song's beat counts up to it, and an exact start moves back by less than a
    // cycle.
    guard let last, case .standing = last.place else { return nil }
    let moved = Int64(now.moment.frame) - Int64(last.report.moment.frame)
    if abs(moved) <= 2 * Int64(now.moment.frames) { return last.place }
    return .standing(at: Double(now.moment.frame) / Double(now.moment.sampleRate) * now.tempo / 60)
  }

  /// Sees to it that a locate for which JACK waits long is no gap.
  private mutating func waitForArrival(_ now: Report) {
    guard let last, !now.isBreak(since: last.report) else { return }
    self.last?.report.moment = now.moment
    self.last?.report.sessionBeat = now.sessionBeat
  }

  /// Follows the session's decisions, and finds out what has become of our own.
  private mutating func see(_ shared: Shared, at time: Micros) {
    if let mine = proposed {
      if shared.line?.isSame(as: mine.line) == true {
        (proposed, decision) = (nil, shared.decision)
        return
      }
      guard shared.decision != decision || time > mine.at + Self.answerTime else { return }
      proposed = nil
    } else if shared.decision == decision {
      return
    }
    decision = shared.decision
    (isDue, tries) = (shared.line != nil, 0)
  }

  /// Judges what has changed since the last look. Returns a line if it is a decision that others must know at
  /// once.
  private mutating func turn(
    from before: Place, to place: Place, _ now: Report, at time: Micros, _ plan: TransportPlan,
    _ known: SongLine?, _ isElsewhere: Bool
  ) -> SongLine? {
    switch (before, place) {
    case (.standing(let beat), .rolling(let origin)):
      // After a stop, the rolling line is void.
      let joins = isElsewhere && decidesAt == nil
      (loop, decidesAt, isLocated, isOff) = (LoopWatch(), nil, false, false)
      if !joins, now.isStart(ofOurs: plan) {
        return SongLine(plan.choices.meter, on: origin + beat, at: beat)
      }
      // The transport has joined a session that rolls, or the starter's line is on its way.
      isDue = true
      decidesAt = time + Self.lineTimeout
    case (.rolling, .standing):
      (loop, isOff) = (LoopWatch(), false)
      let isOurs = now.startStop.number == command || now.startStop.starts
      (decidesAt, isLocated) = (time + (isOurs ? Self.restAfterStop : Self.lineTimeout), false)
    case (.standing(let before), .standing(let beat)):
      if now.areNear(before, beat) { break }
      if let known, !known.isRolling, now.areNear(beat, known.songBeat.value) { break }
      if now.moment.frame == last?.report.moment.frame {
        // A tempo that came with a locate has given the frame another beat (`Song.standing`).
        isDue = decidesAt == nil
        break
      }
      // The other machines' song rolls. A start here joins it.
      if isElsewhere, decidesAt == nil { break }
      // JACK may show an earlier request of ours late.
      let isAsked = now.moment.frame == asked.last || now.moment.frame == asked.before
      // A place of a user's is the newest decision, even if the song was on its way to the line.
      isDue = isAsked && time < askedAt + TransportLimits.answerTimeout
      if isDue { break }
      (decidesAt, isLocated) = (max(decidesAt ?? .zero, time + Self.restAfterLocate), true)
    case (.rolling(let before), .rolling(let origin)):
      guard plan.landing == nil, !wasLanding else {
        // A locate of the plan may end at another place than planned.
        isDue = isDue || origin != before
        break
      }
      return jump(from: before, to: origin, now, plan, known)
    }
    return nil
  }

  /// Judges a jump of the rolling song, which another JACK client has made.
  private mutating func jump(
    from before: Double, to origin: Double, _ now: Report, _ plan: TransportPlan, _ known: SongLine?
  ) -> SongLine? {
    let isOver = loop.isOver(now)
    if let known, known.isRolling, known.origin(grain: plan.choices.meter.grain) == origin {
      if now.song.run != last?.report.song.run { (isOff, isDue, tries) = (true, true, 0) }
      return nil
    }
    guard isOver || origin != before else { return nil }
    guard isOver || !loop.turns(from: before, to: origin, now) else {
      (isOff, isDue) = (false, false)
      return nil
    }
    isOff = true
    return .rolling(plan.choices.meter, now)
  }

}

// MARK: what follows

extension SongSync {
  /// Decides where the song is, once no other machine's line has come and the transport rests.
  private mutating func wait(
    until due: Micros, _ place: Place, _ now: Report, at time: Micros, _ plan: TransportPlan
  ) -> Step {
    guard time >= due, !plan.isBusy else { return .nothing }
    switch place {
    case .standing(let beat): return decide(.standing(plan.choices.meter, at: max(0, beat), now), at: time)
    case .rolling: return decide(.rolling(plan.choices.meter, now), at: time)
    }
  }

  private mutating func decide(_ line: SongLine, at time: Micros) -> Step {
    (decidesAt, isLocated, settlesAt, isDue, tries) = (nil, false, nil, isOff, 0)
    proposed = (line, time)
    return .decide(line)
  }

  private mutating func obey(
    _ line: SongLine?, from place: Place, _ now: Report, at time: Micros, _ plan: TransportPlan
  ) -> Step {
    guard let line, tries <= TransportLimits.mostRetries else {
      isDue = false
      return .nothing
    }
    guard line.isRolling == place.isRolling else { return .nothing }
    let isThere =
      switch place {
      case .standing(let beat): now.areNear(beat, line.songBeat.value)
      case .rolling(let origin):
        line.origin(grain: plan.choices.meter.grain) == origin && !plan.isFollowing
          && !(isOff && abs(now.song.hostLag) > Double(plan.choices.correctAbove.count))
      }
    guard !isThere else {
      (isDue, isOff) = (false, false)
      return .nothing
    }
    let pause = tries == 0 || place.isRolling ? Self.pause : TransportLimits.answerTimeout
    guard time >= askedAt + pause, let command = command(to: line, place, now, plan) else { return .nothing }
    (askedAt, tries) = (time, tries + 1)
    if case .locate(let frame) = command { asked = (frame, asked.last) }
    return .command(command)
  }

  /// The command that brings the song to the line; nil: it is given already, or cannot be given now.
  private func command(
    to line: SongLine, _ place: Place, _ now: Report, _ plan: TransportPlan
  ) -> TransportCommand? {
    guard place.isRolling else {
      return plan.isAskedToStop ? nil : now.frame(ofBeat: line.songBeat.value).map { .locate(frame: $0) }
    }
    guard plan.landing == nil, now.master.timebase != .foreign else { return nil }
    let wanted = TransportPlan.SharedLine(beat: line.songBeat.value, sessionBeat: line.sessionBeat.value)
    switch plan.stage {
    case .stopping, .standing, .asked: return nil
    case .following(let known, _, _) where known == wanted: return nil
    case .idle, .correcting, .locating, .following:
      return .follow(beat: wanted.beat, sessionBeat: wanted.sessionBeat)
    }
  }
}
