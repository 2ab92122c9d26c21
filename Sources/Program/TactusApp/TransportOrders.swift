// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import HostSync
import JACKHost
import Link
import TactusChoices

/// Passes the surface's commands and the session's starts and stops on to the plan for JACK's transport, and
/// the plan's news to the session. [control]
struct TransportOrders {
  /// Returns lines for the user.
  func carryOut(_ desk: CommandHandler, on host: JACKHost, _ report: Report, in link: Link) -> [String] {
    let wishes = desk.takeWishes()
    // Read after the wishes were taken, so that the settings are at least as new as the last wish.
    host.plan.choices = desk.settings
    host.plan.beatMicros = 60e6 / link.captureAppState().tempo
    var lines: [String] = []
    for wish in wishes {
      if let line = fulfil(wish, of: desk, on: host, report, in: link) { lines.append(line) }
    }
    host.follow(report.startStop)
    let start = host.plan.startBeat
    tell(&host.plan.announcement, of: start, report, in: link)
    return lines
  }

  /// Tells the session of a start that waits while JACK's transport is stopped.
  func tell(_ announcement: inout StartAnnouncement, of start: Double?, _ report: Report, in link: Link) {
    switch announcement.next(start, report) {
    case nil: break
    case .start(let time): announcement.isOurs = tell(true, at: time, in: link)
    case .move(let time):
      guard link.isStartStopSyncEnabled else { return }
      link.updateAppState { if $0.isPlaying { $0.setPlaying(true, at: time) } }
    }
  }

  private func stop(_ desk: CommandHandler, _ host: JACKHost, in link: Link) {
    if host.plan.startBeat != nil {
      tell(false, at: Link.clock(), in: link)
      host.plan.announcement.forget()
    }
    host.command(desk.state.choices.stopCommand)
  }

  /// Sets the session's playing state. Returns whether that was another before.
  @discardableResult
  private func tell(_ isPlaying: Bool, at time: Micros, in link: Link) -> Bool {
    guard link.isStartStopSyncEnabled else { return false }
    var isNews = false
    link.updateAppState {
      isNews = $0.isPlaying != isPlaying
      if isNews { $0.setPlaying(isPlaying, at: time) }
    }
    return isNews
  }

  private func fulfil(
    _ wish: Command, of desk: CommandHandler, on host: JACKHost, _ report: Report, in link: Link
  ) -> String? {
    switch wish {
    case .start: host.command(.play)
    case .stop: stop(desk, host, in: link)
    case .toggle where host.plan.moves(report): stop(desk, host, in: link)
    case .toggle: host.command(.play)
    case .locate(let place):
      let order = desk.state.command(toGoTo: place, report, sampleRate: host.server.sampleRate)
      guard let order else { return "locate: \(CommandHandler.tooFar.text)" }
      host.command(order)
    case .timebase, .takeover:
      desk.wantTimebase()
      let isTaken = if case .takeover = wish { true } else { false }
      host.askForTimebase(conditionally: !isTaken, at: Link.clock())
    case .choose where wish.switchesClickOn: return host.connectClick()?.line
    // `CommandHandler` has carried these out at once.
    case .choose, .tempo, .bentTempo, .bend, .align, .rewind, .rolling, .channel, .roomOffset, .output,
      .removeOutput, .song, .removeSong, .save, .quit:
      break
    }
    return nil
  }
}

/// A start that overrides the launch moment of the settings, until it is over.
struct AskedLaunch {
  let moment: LaunchMoment
  private let asked: Micros
  private var wasSeen = false
  private(set) var isOver = false

  /// JACK shows a change within a few cycles, or never. Until then it may show the old state.
  private static let reaction = Micros(100_000)
  /// A start that has not begun within this time never does: it may wait behind a stop.
  private static let startTimeout = TransportPlan.answerTimeout + TransportPlan.answerTimeout

  init(_ moment: LaunchMoment, at time: Micros) {
    self.moment = moment
    asked = time
  }

  mutating func poll(at transport: SurfaceState.Transport, _ time: Micros) {
    let age = time - asked
    // Until then the transport may show a song that stops first, or another start that waits.
    guard age >= Self.reaction else { return }
    switch transport {
    case .waiting: wasSeen = true
    case .stopped where !wasSeen && age < Self.startTimeout: break
    case .stopped, .rolling: isOver = true
    }
  }
}

// The surface's commands as transport commands.
extension SurfaceState {
  /// The frame of a place at the session's tempo. nil: JACK counts frames with 32 bits and can't reach it.
  func frame(of place: Place, sampleRate: Int) -> UInt32? {
    UInt32(
      exactly: Int64(
        rounding: beat(of: place) * Double(tempo.clamped.microsPerBeat) / 1e6 * Double(sampleRate)))
  }

  private func beat(of place: Place) -> Double {
    switch place {
    case .beat(let beat): beat
    case .bar(let bar): Double(bar - 1) * choices.meter.length.value
    case .seconds(let seconds): seconds * 1e6 / Double(tempo.clamped.microsPerBeat)
    }
  }

  /// A locate lands on the grid that a start would wait for. nil: JACK's frame count can't reach the place.
  func command(toGoTo place: Place, _ report: Report, sampleRate: Int) -> TransportCommand? {
    if report.timebase == .foreign, let frame = report.frame(of: place, sampleRate: Double(sampleRate)) {
      return UInt32(exactly: frame).map { .locate(frame: $0) }
    }
    return frame(of: place, sampleRate: sampleRate).map {
      .jump(frame: $0, beat: beat(of: place), step: choices.launchStep.value)
    }
  }
}

extension Lead {
  /// Whether tactus shows bar and beat itself, or leaves them to the leader.
  var wantsTimebase: Bool { self == .link || self == .midi }

  /// The leader that alone sets the tempo; nil: users can set it.
  var leader: String? {
    switch self {
    case .host: "another JACK client"
    case .midi: "a MIDI clock"
    case .link, .auto: nil
    }
  }
}

extension Report {
  /// The frame at which a foreign timebase master has the place, computed from its present bar, tempo and
  /// frame. nil: it shows nothing that makes sense, or has not rolled long enough to show what its tempo
  /// counts.
  fileprivate func frame(of place: Place, sampleRate: Double) -> Int64? {
    guard let shown, let here = shown.beats else { return nil }
    let beat: Double
    switch place {
    case .beat(let there): beat = there
    case .bar(let bar): beat = Double(bar - 1) * Double(shown.beatsPerBar) / shown.notesPerBeat
    case .seconds(let seconds): return Int64(rounding: seconds * sampleRate)
    }
    guard foreignTempo > 0 else { return nil }
    let frames = (beat - here) * 60 / foreignTempo * sampleRate
    return max(0, Int64(moment.frame) &+ Int64(rounding: frames))
  }
}
