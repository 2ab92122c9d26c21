// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// Commands, and what the reports ask for at once.
extension TransportPlan {
  mutating func obey(_ session: SessionCommand, _ now: Observation, _ ask: Ask) {
    guard session.number != obeyed else { return }
    obeyed = session.number
    // If a start waits already, it begins at the session's time.
    if session.starts && startBeat != nil { return }
    obey(session.starts ? .play : .stop, now, ask)
  }

  mutating func obey(_ command: TransportCommand, _ now: Observation, _ ask: Ask) {
    if isAskedToStop { return held.append(command) }
    let report = now.report
    switch command {
    case .stopOn(let bar) where report.isUnderWay && !isStopping: stop(onBar: bar)
    case .stop, .stopOn: stop(now, ask)
    case .jump(let frame, let beat, let step) where locate(frame: frame, beat: beat, step: step, from: report):
      break
    case .locate(let frame), .jump(let frame, _, _):
      switch stage {
      // A start that waits continues from the new place.
      case .standing, .asked: break
      case .idle, .correcting, .locating, .following, .stopping: cancel()
      }
      ask(now.locate(frame))
    case .goBack:
      if let frame = report.frame(of: choices.stopPlace) { ask(now.locate(frame)) }
    case .follow(let beat, let sessionBeat):
      follow(SharedLine(beat: beat, sessionBeat: sessionBeat), report)
    case .play where report.isUnderWay: goOn(now, ask)
    case .play:
      ask(.limit(limit(now)))
      // JACK was asked just before the start's beat, so ask JACK again.
      if case .asked(let request) = stage, request.beat != nil { return ask(.play) }
      cancel()
      if !start(from: report) { start(now, ask) }
    }
  }

  /// Plans a locate that keeps to the session's grid, or comes after a waiting stop. Returns false if nothing
  /// rolls that could keep to it, or if another client has the bars.
  mutating func locate(frame: UInt32, beat: Double, step: Double, from now: Report) -> Bool {
    guard now.isUnderWay, now.master.timebase != .foreign else { return false }
    let there = Destination(place: SongPlace(frame: frame, beat: beat), step: step)
    if case .stopping(let onBar, let beat, _) = stage {
      stage = .stopping(onBar: onBar, on: beat, then: there)
    } else {
      stage = .locating(there, at: there.appointment(now))
    }
    return true
  }

  /// Plans to join another machine's line. A stop that waits wins, because the place of the stop will be a
  /// new line.
  private mutating func follow(_ line: SharedLine, _ now: Report) {
    guard now.song.isRolling, now.master.timebase != .foreign, landing == nil else { return }
    switch stage {
    case .idle, .correcting, .locating, .following:
      stage = .following(
        line, from: now.songOrigin, at: BeatTarget(now, line, step: choices.launchStep.value))
    case .stopping, .standing, .asked: break
    }
  }

  /// Plans a stop on the song's next bar line, or the session's next beat. A waiting locate comes after it.
  mutating func stop(onBar: Bool) { stage = .stopping(onBar: onBar, on: nil, then: destination) }

  /// Plans a start that leaves the transport standing until there is just enough time for the start. Returns
  /// false if the start cannot wait.
  mutating func start(from now: Report) -> Bool {
    guard !now.isMoving, let start = DeferredStart(now, choices) else { return false }
    stage = .standing(start)
    return true
  }

  /// Asks JACK to start.
  mutating func start(_ now: Observation, on beat: Double? = nil, _ ask: Ask) {
    stage = .asked(Request(starts: true, beat: beat, time: now.time, isShown: now.report.isMoving))
    ask(.play)
  }

  /// Asks JACK to stop. Once the transport has stopped, it is sent to `frame`. Without a frame it goes to the
  /// target of a locate that waited, or else to the place that the user has chosen for stops.
  mutating func stop(_ now: Observation, at frame: UInt32? = nil, _ ask: Ask) {
    let place = frame ?? destination?.place.frame
    let isStarting = if case .asked(let request) = stage { request.starts } else { false }
    cancel()
    // A renewed request to start would undo the stop until JACK shows it.
    renewal = HoldRenewal()
    let isMoving = now.report.isMoving
    stage = .asked(
      Request(starts: false, time: now.time, isShown: !isMoving, holdsBack: isMoving || isStarting))
    ask(.stop)
    if let place {
      obey(.locate(frame: place), now, ask)
    } else if isMoving, choices.stopPlace != .here {
      obey(.goBack, now, ask)
    }
  }

  /// Lets the transport roll on: takes back a stop that waits, but not the locate after it.
  private mutating func goOn(_ now: Observation, _ ask: Ask) {
    if case .stopping(_, _, let there) = stage {
      stage = there.map { .locating($0, at: $0.appointment(now.report)) } ?? .idle
      return isLocating ? () : ask(.play)
    }
    // The locate that is under way will start the transport again by itself.
    guard !isLocating else { return }
    switch stage {
    case .asked(let request) where request.starts: ask(.play)
    case .idle, .asked: start(now, ask)
    case .correcting, .locating, .following, .stopping, .standing: ask(.play)
    }
  }
}

// MARK: reports

extension TransportPlan {
  mutating func observe(_ now: Observation, _ ask: Ask) {
    let report = now.report
    let limit = limit(now)
    ask(.limit(limit))
    let isLonger = (limit ?? now.server.usualLimit) > (lastLimit ?? now.server.usualLimit)
    lastLimit = limit
    takeAnswer(now, ask)
    if action.number != report.launch.action.number {
      action = (report.launch.action.number, report.moment.due)
    }
    if isDue(report.launch.action, report) { ask(.locateIfOpen(report.launch.action)) }
    if repair.settles(now) { ask(now.locate(report.moment.frame)) }
    if repair.findsCut(report) {
      ask(.insistOnLimit)
      // If JACK was asked for a stop meanwhile, the stop wins.
      if report.isUnderWay, !isAskedToStop, DeferredStart.isPossible(choices) {
        stop(now, at: report.launch.cutFrame, ask)
        obey(.play, now, ask)
      }
    }
    if repair.findsStandstill(report) {
      let frame = report.moment.frame
      obey(.jump(frame: frame, beat: now.beat(of: frame), step: choices.quantum), now, ask)
    }
    let isOver = renewal.isDue(
      isHolding: report.launch.isHolding, limit: now.server.longestHold, at: now.time)
    let isShorter = report.moment.frames < lastFrames
    lastFrames = report.moment.frames
    // JACK reads its limit when a hold begins, and jackd counts the limit in cycles (facts: jack 4).
    if isOver || (isLonger || isShorter) && report.launch.isHolding { ask(.holdOn) }
  }

  /// Returns whether to carry out the audio thread's locate now. Another client may locate just after its
  /// start or stop, and our locate must not undo that one, so ours comes later.
  private func isDue(_ wanted: LocateAction, _ now: Report) -> Bool {
    let age = now.moment.due - action.due
    return switch wanted.condition {
    case .none: false
    case .starting: age > 0
    case .stopped: age >= TransportLimits.pause
    }
  }

  /// Ends a request that JACK has answered, or never will, and obeys the commands that have waited for that.
  private mutating func takeAnswer(_ now: Observation, _ ask: Ask) {
    guard case .asked(let request) = stage,
      request.isAnswered(by: now.report) || now.time >= request.time + TransportLimits.answerTimeout
    else { return }
    stage = .idle
    let commands = held
    held = HeldCommands()
    for place in commands.places { obey(commands[place], now, ask) }
  }

  /// The limit for slow clients that the user's choices need.
  private func limit(_ now: Observation) -> Micros? {
    now.report.syncLimit(for: choices, beatMicros: beatMicros, usual: now.server.usualLimit)
  }

  /// The time for which JACK waits for slow clients before it rolls without them.
  func presentLimit(_ now: Observation) -> Micros {
    let wanted = limit(now) ?? now.server.usualLimit
    return now.server.longestHold.map { min($0, wanted) } ?? wanted
  }
}

extension TransportPlan.Observation {
  /// The song's beat at a frame, in the session's present tempo.
  func beat(of frame: UInt32) -> Double { Double(frame) / Double(server.sampleRate) * report.tempo / 60 }

  func locate(_ frame: UInt32) -> TransportAction { .locate(frame: frame, beat: beat(of: frame)) }
}
