// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import HostSync
import LinkSystem
import TactusChoices

/// All that we ask of the server's transport: the user's commands, planned actions, and wishes of the audio
/// thread, which may not ask JACK itself. [control]
struct TransportControl {
  var relocator = Relocator()
  /// The session's beat, in microseconds. The reports show a tempo that comes with a start a cycle late.
  var beatMicros = 0.0
  private var renewal = HoldRenewal()
  private var behindStop = OrdersBehindStop<TransportCommand>()
  private var hasSettled = false
  /// The reports' `cutStarts` that were repaired so far; nil: there was no report.
  private var cutStarts: UInt64?
  private var stoodStill = false
  /// The audio thread's last wish, and the time of the cycle in which it appeared.
  private var wish: (number: UInt32, due: Double) = (0, 0)

  mutating func command(
    _ command: TransportCommand, on running: RunningClient, _ report: Report, sampleRate: Int
  ) {
    if behindStop.hold(command) { return }
    switch command {
    case .stopOn(let bar) where report.isUnderWay && !relocator.isStopping:
      relocator.stop(onBar: bar)
    case .stop, .stopOn:
      let place = relocator.waitingPlace
      relocator.cancel()
      stop(at: place, running, report, sampleRate: sampleRate)
    case .jump(let frame, let beat, let step)
    where relocator.locate(frame: frame, beat: beat, step: step, from: report):
      break
    case .locate(let frame), .jump(let frame, _, _):
      // A start that waits continues from the new place.
      if relocator.startBeat == nil { relocator.cancel() }
      locate(frame, on: running, report, sampleRate: sampleRate)
    case .goBack:
      guard let frame = report.frame(of: relocator.choices.stopPlace) else { break }
      locate(frame, on: running, report, sampleRate: sampleRate)
    case .play where report.isUnderWay:
      relocator.goOn(from: report)
      // The locate that is under way starts it again by itself.
      if !relocator.isLocating { Question.ask { running.command(.play) } }
    case .play:
      relocator.cancel()
      running.syncLimit.follow(report, relocator.choices, beatMicros: beatMicros)
      if !relocator.start(from: report) { Question.ask { running.command(.play) } }
    }
  }

  /// Stops the transport. Once it has stopped, a locate that waited is carried out, or else it goes back to
  /// where a stop is to leave it.
  private mutating func stop(
    at place: UInt32?, _ running: RunningClient, _ report: Report, sampleRate: Int
  ) {
    if report.isMoving { behindStop.stopped(at: HostClock.micros()) }
    // A renewed request to start would undo the stop until JACK shows it.
    renewal = HoldRenewal()
    Question.ask { running.command(.stop) }
    if let place {
      command(.locate(frame: place), on: running, report, sampleRate: sampleRate)
    } else if report.isMoving, relocator.choices.stopPlace != .here {
      command(.goBack, on: running, report, sampleRate: sampleRate)
    }
  }

  /// Forgets everything planned for a server that is gone or silent: it is not meant for the next.
  mutating func forget() {
    relocator.cancel()
    behindStop.forget()
    (hasSettled, cutStarts, stoodStill) = (false, nil, false)
  }

  /// Repairs a start that JACK let roll while we held it, because another client changed the limit. jackd
  /// uses the last value set, so we set ours again; PipeWire uses the shortest of all. The start is made
  /// again from its place: stop, locate, play.
  private mutating func mend(on running: RunningClient, _ report: Report, sampleRate: Int) {
    defer { cutStarts = report.cutStarts }
    guard let cutStarts, report.cutStarts > cutStarts else { return }
    running.syncLimit.insist()
    guard report.isUnderWay, relocator.canStartLate else { return }
    relocator.cancel()
    stop(at: report.cutFrame, running, report, sampleRate: sampleRate)
    command(.play, on: running, report, sampleRate: sampleRate)
  }

  /// Locates a transport that stands although JACK says that it rolls: that makes PipeWire's go on.
  private mutating func rouse(on running: RunningClient, _ report: Report, sampleRate: Int) {
    defer { stoodStill = report.standsStill }
    guard report.standsStill, !stoodStill else { return }
    let (frame, rate) = (report.moment.frame, Double(max(1, sampleRate)))
    let beat = Double(frame) / rate * report.tempo / 60
    command(
      .jump(frame: frame, beat: beat, step: relocator.choices.quantum), on: running, report,
      sampleRate: sampleRate)
  }

  /// Locates a transport that we found stopped to the frame where it stands: PipeWire may roll from there or
  /// one cycle later, but after a locate it rolls from there.
  private mutating func settle(on running: RunningClient, _ report: Report, sampleRate: Int) {
    guard report.isFirstFrameUnknown, !hasSettled, !running.syncLimit.implementation.rollsFromWhereItStands
    else { return }
    hasSettled = true
    locate(report.moment.frame, on: running, report, sampleRate: sampleRate)
  }

  mutating func step(on running: RunningClient, _ report: Report, sampleRate: Int) {
    running.syncLimit.follow(report, relocator.choices, beatMicros: beatMicros)
    relocator.syncLimit = running.syncLimit.present
    for order in behindStop.take(isMoving: report.isMoving, at: HostClock.micros()) {
      command(order, on: running, report, sampleRate: sampleRate)
    }
    if wish.number != report.wish.number { wish = (report.wish.number, report.moment.due) }
    // A locate that comes together with a start becomes visible a cycle later; an older wish would undo it.
    if report.moment.due > wish.due {
      running.fulfil(report.wish, showing: bbt(of: Beats(report.wish.place.beat), report))
    }
    settle(on: running, report, sampleRate: sampleRate)
    mend(on: running, report, sampleRate: sampleRate)
    rouse(on: running, report, sampleRate: sampleRate)
    let limit = running.syncLimit.implementation.longestHold
    if renewal.isDue(isHolding: report.isHolding, limit: limit, at: HostClock.micros()) { running.holdOn() }
    // The steps above may have taken many milliseconds, and a start must be asked for at its time or not at
    // all: read the clock again.
    switch relocator.step(report, at: HostClock.micros()) {
    case .nothing: break
    case .locate(let frame): locate(frame, on: running, report, sampleRate: sampleRate)
    case .stop(let place): stop(at: place, running, report, sampleRate: sampleRate)
    case .start: running.command(.play)
    case .relocate(let relocation):
      running.relocate(relocation, showing: bbt(of: Beats(relocation.place.beat), report))
    }
  }

  private func locate(_ frame: UInt32, on running: RunningClient, _ report: Report, sampleRate: Int) {
    let seconds = Double(frame) / Double(max(1, sampleRate))
    let there = bbt(of: Beats(seconds * report.tempo / 60), report)
    Question.ask { running.locate(frame, showing: there) }
  }

  /// The bar and beat to show for a place in the song. nil unless we are timebase master: another master
  /// knows its bars better, and without a master the values would stay for ever.
  private func bbt(of beat: Beats, _ report: Report) -> BBT? {
    guard report.timebase == .ours else { return nil }
    return BBT(song: beat, meter: relocator.choices.meter, beatsPerMinute: report.tempo)
  }
}

extension JACKHost {
  /// The length of the session's beat in microseconds; set it before a command.
  public var beatMicros: Double {
    get { transport.beatMicros }
    set { transport.beatMicros = newValue }
  }
}
