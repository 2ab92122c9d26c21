// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// The steps that wait for a time.
extension TransportPlan {
  /// The microseconds by which the time that other clients need must stay below JACK's limit. A time that is
  /// nearer to the limit may exceed it at the next locate.
  static let margin = 1e6

  mutating func act(_ now: Observation, _ ask: Ask) {
    let report = now.report
    if report.isBetweenPlaces { stoodAt = report.moment.heard.start }
    let rests =
      report.song.isRolling && (0..<TransportLimits.pause).contains(report.moment.heard.start - stoodAt)
    if !rests, let again = land(report) { return ask(.relocate(again)) }
    if case .idle = stage, correction.isDue(report, choices, at: now.time) {
      stage = .correcting(bar: Relocation.nextBar(report))
    }
    switch stage {
    case .idle, .asked: break
    case .stopping(let onBar, let beat, let there): stop(now, onBar: onBar, on: beat, then: there, ask)
    case .standing(let start): self.start(now, start, ask)
    // The correction is planned again at each look: a nearer time is known better, and the session may move.
    case .correcting(let bar):
      guard let relocation = Relocation.correction(report, at: bar) else { return stage = .idle }
      relocate(relocation, now, rests: rests, ask)
    case .locating(_, let appointment):
      relocate(appointment.relocation(report), now, rests: rests, ask)
    // Another JACK client has located, or the session has other beats: the line may be another one now.
    case .following(_, let origin, _) where report.song.isRolling && report.songOrigin != origin:
      stage = .idle
    case .following(_, _, var appointment):
      // The tempo may have changed since the line came.
      appointment.place.frame = report.frame(ofBeat: appointment.place.beat) ?? appointment.place.frame
      relocate(appointment.relocation(report), now, rests: rests, ask)
    }
  }

  private mutating func relocate(_ planned: Relocation, _ now: Observation, rests: Bool, _ ask: Ask) {
    let report = now.report
    guard report.isUnderWay else { return giveUp(now, ask) }
    let late = Double(now.time.count) - planned.askAt
    let isInTime = late <= Relocation.leeway(report) && !(rests && late >= 0)
    if late < -farthest(report) || !isInTime { postpone(report) }
    guard late >= 0, isInTime else { return }
    if case .correcting = stage { correction.isAsked(at: now.time) }
    var relocation = planned
    // JACK may stand at the place of the relocation before this one. Then all clients go on standing.
    relocation.insteadOf = landing?.relocation.place.frame
    landing = RelocationRetry(
      relocation, step: step,
      limit: Double(presentLimit(now).count) - Self.margin)
    stage = .idle
    ask(.relocate(relocation))
  }

  /// The session's grid on which the planned locate must land, in beats.
  private var step: Double {
    if case .following = stage { choices.launchStep.value } else { destination?.step ?? choices.quantum }
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

  /// Asks for the stop when its beat or bar is near. JACK stops in the cycle after the request, and the
  /// middle of a cycle is the safest time for a request.
  private mutating func stop(
    _ now: Observation, onBar: Bool, on known: Double?, then there: Destination?, _ ask: Ask
  ) {
    let report = now.report
    guard report.isUnderWay else { return giveUp(now, ask) }
    // The transport is on its way to another place, which has other bars.
    guard report.song.isRolling, landing == nil else {
      return stage = .stopping(onBar: onBar, on: nil, then: there)
    }
    let beat = known ?? Self.end(onBar: onBar, report)
    stage = .stopping(onBar: onBar, on: beat, then: there)
    let moment = report.moment
    let away = (beat - report.sessionBeat) * moment.beatMicros
    let cycles = Double(Int64(rounding: away / moment.cycleMicros))
    let askAt = moment.due + (cycles - 0.6) * moment.cycleMicros
    // The session has jumped and has other beats, so choose the beat again.
    let farthest = onBar ? report.bars.meter.length.value : 1
    if away > farthest * moment.beatMicros + 1e6 { stop(onBar: onBar) }
    if Double(now.time.count) >= askAt {
      stop(now, at: there?.place.frame ?? (onBar ? line(beat, report) : nil), ask)
    }
  }

  /// The frame of the bar line at this beat of the session, if a stop is to leave the transport on the line.
  /// If the bar line were computed from the place of the stop, it could be the line before.
  private func line(_ beat: Double, _ now: Report) -> UInt32? {
    guard choices.stopPlace == .bar, now.master.timebase != .foreign else { return nil }
    return now.frame(ofBeat: beat - now.sessionBeat + now.song.beat)
  }

  /// The session's next beat on which the transport can stop.
  private static func end(onBar: Bool, _ now: Report) -> Double {
    let cycle = now.moment.cycleMicros / now.moment.beatMicros
    return onBar
      ? now.sessionBeat - now.song.beat + ThirtySeconds.beats(now.bars.line(atOrAfter: now.song.beat + cycle))
      : -Double(Int64(flooring: -(now.sessionBeat + cycle)))
  }

  /// Requests the start in time for its beat, or at once if the start must not wait any more.
  private mutating func start(_ now: Observation, _ standing: DeferredStart, _ ask: Ask) {
    guard !now.report.isMoving else { return cancel() }
    guard standing.isWanted(by: choices, now.report), standing.isMet(now.report, at: now.time) else {
      return start(from: now.report) ? () : start(now, ask)
    }
    if Double(now.time.count) >= standing.askAt(now.report) { start(now, on: standing.beat, ask) }
  }

  /// Ends the plan, because another client has stopped the transport. A locate that waited is asked for at
  /// once.
  private mutating func giveUp(_ now: Observation, _ ask: Ask) {
    let frame = destination?.place.frame
    cancel()
    if let frame { ask(now.locate(frame)) }
  }

  /// The longest time ahead, in microseconds, at which a planned locate may lie. A time beyond it shows that
  /// the session has moved.
  private func farthest(_ now: Report) -> Double {
    var grid = destination.map { max(1, $0.step) } ?? now.bars.meter.length.value
    if case .following = stage { grid = max(choices.launchStep.value, BeatTarget.farthestAhead) }
    return (grid + 1) * now.moment.beatMicros + 1e6
  }

  /// Chooses the next time, because it is too late for the present one, or the session has moved that time
  /// far away.
  private mutating func postpone(_ now: Report) {
    switch stage {
    case .idle, .stopping, .standing, .asked: break
    case .correcting: stage = .correcting(bar: Relocation.nextBar(now))
    case .locating(let there, _): stage = .locating(there, at: there.appointment(now))
    case .following(let line, let origin, _):
      stage = .following(line, from: origin, at: BeatTarget(now, line, step: choices.launchStep.value))
    }
  }
}
