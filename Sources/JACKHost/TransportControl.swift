// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices
import HostSync
import Linux

/// What we ask of the server's transport: the user's commands, what waits for its moment, and what the audio thread
/// cannot ask for itself. [control]
struct TransportControl {
  var relocator = Relocator()
  /// The session's beat, in microseconds: a tempo that comes together with a start is in the reports a cycle later.
  var beatMicros = 0.0
  private var renewal = HoldRenewal()
  private var behindStop = OrdersBehindStop<TransportCommand>()
  private var hasSettled = false
  /// The reports' `cutStarts` that were mended so far; nil: there was no report.
  private var cutStarts: UInt64?
  private var stoodStill = false
  /// The audio thread's wish, and the cycle that it came with.
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
      // A start that waits goes on from the new place.
      if relocator.startBeat == nil { relocator.cancel() }
      locate(frame, on: running, report, sampleRate: sampleRate)
    case .play where report.isUnderWay:
      relocator.goOn(from: report)
      // It will without being asked.
      if !relocator.isLocating { Question.ask { running.command(.play) } }
    case .play:
      relocator.cancel()
      running.syncLimit.follow(report, relocator.choices, beatMicros: beatMicros)
      if !relocator.start(from: report) { Question.ask { running.command(.play) } }
    }
  }

  /// A locate that waited is done when it stands.
  private mutating func stop(
    at place: UInt32?, _ running: RunningClient, _ report: Report, sampleRate: Int
  ) {
    if report.isMoving { behindStop.stopped(at: HostClock.micros()) }
    // Another request to start would undo the stop, until JACK shows it.
    renewal = HoldRenewal()
    Question.ask { running.command(.stop) }
    if let place { command(.locate(frame: place), on: running, report, sampleRate: sampleRate) }
  }

  /// The server has gone, or does not answer: what was meant for it is not for the next.
  mutating func forget() {
    relocator.cancel()
    behindStop.forget()
    (hasSettled, cutStarts, stoodStill) = (false, nil, false)
  }

  /// JACK let a start roll that we held. On jackd the limit is the last client's word, which is ours again; on PipeWire it is the
  /// shortest of all. The start is made again from its place, by a transport that stands until it is due.
  private mutating func mend(on running: RunningClient, _ report: Report, sampleRate: Int) {
    defer { cutStarts = report.cutStarts }
    guard let cutStarts, report.cutStarts > cutStarts else { return }
    running.syncLimit.insist()
    guard report.isUnderWay, relocator.canStartLate else { return }
    for order in [.stop, .locate(frame: report.cutFrame), .play] as [TransportCommand] {
      command(order, on: running, report, sampleRate: sampleRate)
    }
  }

  /// Locates a transport that stands although it says that it rolls: that lets PipeWire's go on.
  private mutating func rouse(on running: RunningClient, _ report: Report, sampleRate: Int) {
    defer { stoodStill = report.standsStill }
    guard report.standsStill, !stoodStill else { return }
    let (frame, rate) = (report.moment.frame, Double(max(1, sampleRate)))
    let beat = Double(frame) / rate * report.tempo / 60
    command(
      .jump(frame: frame, beat: beat, step: relocator.choices.quantum), on: running, report,
      sampleRate: sampleRate)
  }

  /// Sends a transport that we found standing to where it stands: PipeWire may roll from there or from one cycle farther on, and behind
  /// a locate it rolls from there.
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
    // A locate that comes together with a start takes a cycle more to be seen, and what was wished before would undo it.
    if report.moment.due > wish.due {
      running.fulfil(report.wish, showing: bbt(of: Beats(report.wish.place.beat), report))
    }
    settle(on: running, report, sampleRate: sampleRate)
    mend(on: running, report, sampleRate: sampleRate)
    rouse(on: running, report, sampleRate: sampleRate)
    let limit = running.syncLimit.implementation.longestHold
    if renewal.isDue(isHolding: report.isHolding, limit: limit, at: HostClock.micros()) { running.holdOn() }
    // What was done before in this look may have taken many milliseconds, and a start is asked for in its moment or not at all.
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

  /// How we show a place in the song. nil: another master knows its bars better than we do, and where none is nobody would take it
  /// away again.
  private func bbt(of beat: Beats, _ report: Report) -> BBT? {
    guard report.timebase == .ours else { return nil }
    return BBT(song: beat, meter: relocator.choices.meter, beatsPerMinute: report.tempo)
  }
}

extension JACKHost {
  /// The session's beat, in microseconds, before a command.
  public var beatMicros: Double {
    get { transport.beatMicros }
    set { transport.beatMicros = newValue }
  }
}
