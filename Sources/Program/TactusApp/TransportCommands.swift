// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import TactusChoices
import TactusJACK
import TactusSurface
import TactusSync

/// Passes the surface's commands and the session's starts and stops on to the plan for JACK's transport, and
/// reports to the session what the plan has done. [control]
struct TransportCommands {
  private(set) var song = FollowedSong()

  /// Returns lines for the user.
  mutating func carryOut(_ desk: CommandHandler, on host: JACKHost, _ report: Report, in link: Link)
    -> [String]
  {
    let commands = desk.takeCommands()
    // Read the settings after taking the commands: the settings must be at least as new as the last command.
    host.plan.choices = desk.settings
    host.plan.beatMicros = 60e6 / link.captureAppState().tempo
    var lines: [String] = []
    for command in commands {
      if let line = carryOut(command, of: desk, on: host, report, in: link) { lines.append(line) }
    }
    host.follow(report.startStop)
    let start = host.plan.startBeat
    tell(&host.plan.announcement, of: start, report, in: link)
    song.follow(host, report, in: link, isOn: desk.state.choices.syncsSong)
    return lines
  }

  /// Tells the session about a start that waits while JACK's transport is stopped.
  func tell(_ announcement: inout StartAnnouncement, of start: Double?, _ report: Report, in link: Link) {
    switch announcement.next(start, report) {
    case nil: break
    case .start(let time): announcement.isOurs = tell(true, at: time, in: link)
    case .move(let time):
      guard link.isStartStopSyncEnabled else { return }
      link.updateAppState { if $0.isPlaying { $0.setPlaying(true, at: time) } }
    }
  }

  /// Takes back a start that the session has from tactus and that still waits, because tactus leaves the
  /// server. Returns whether the session has changed.
  func withdrawStart(on host: JACKHost, _ report: Report, in link: Link) -> Bool {
    let isOurs =
      host.plan.startBeat == nil
      ? report.launch.isHolding && report.isStartOurs : host.plan.announcement.isOurs
    guard isOurs else { return false }
    defer { host.command(.stop) }
    return tell(false, at: Link.clock(), in: link)
  }

  private func stop(_ desk: CommandHandler, _ host: JACKHost, in link: Link) {
    if host.plan.startBeat != nil {
      tell(false, at: Link.clock(), in: link)
      host.plan.announcement.forget()
    }
    host.command(desk.state.choices.stopCommand)
  }

  /// Sets the session's playing state. Returns whether the state has changed.
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

  private func carryOut(
    _ command: Command, of desk: CommandHandler, on host: JACKHost, _ report: Report, in link: Link
  ) -> String? {
    switch command {
    case .start: host.command(.play)
    case .stop: stop(desk, host, in: link)
    case .toggle where host.plan.moves(report): stop(desk, host, in: link)
    case .toggle: host.command(.play)
    case .locate(let place):
      let locate = desk.state.command(toGoTo: place, report, sampleRate: host.server.sampleRate)
      guard let locate else { return "locate: \(CommandHandler.tooFar.text)" }
      host.command(locate)
    case .timebase, .takeover:
      desk.wantTimebase()
      let isTaken = if case .takeover = command { true } else { false }
      host.askForTimebase(conditionally: !isTaken, at: Link.clock())
    case .choose where command.switchesClickOn: return host.connectClick()?.line
    // `CommandHandler` has already carried out these commands.
    case .choose, .tempo, .bentTempo, .bend, .align, .rewind, .rolling, .channel, .roomOffset, .output,
      .removeOutput, .song, .removeSong, .save, .quit:
      break
    }
    return nil
  }
}

extension SessionState {
  /// Starts or stops without a JACK server. A start waits for the next multiple of `step` beats, and keeps
  /// its time if it waits already.
  mutating func play(_ plays: Bool, on step: Double, at time: Micros) {
    guard plays != isPlaying else { return }
    guard plays, step > 0 else { return setPlaying(plays, at: time) }
    let grid = Beats(step)
    let beat = beats(at: time, quantum: grid).nextMatchingPhase(of: .zero, quantum: grid)
    setPlaying(true, at: self.time(at: beat, quantum: grid))
  }
}

/// A start with its own launch moment, which replaces the moment of the settings until the start is over.
struct AskedLaunch {
  let moment: LaunchMoment
  private let asked: Micros
  private var wasSeen = false
  private(set) var isOver = false

  /// How long after a command JACK may still show the earlier state. JACK shows a change within a few cycles
  /// or never.
  private static let reaction = Micros(100_000)
  /// The time after which a start that has not begun never begins. A start may have to wait behind a stop.
  private static let startTimeout = TransportLimits.answerTimeout + TransportLimits.answerTimeout

  init(_ moment: LaunchMoment, at time: Micros) {
    self.moment = moment
    asked = time
  }

  mutating func poll(at transport: SurfaceState.Transport, _ time: Micros) {
    let age = time - asked
    // Before this time, the transport may still show a song that has to stop first, or an earlier start
    // that waits.
    guard age >= Self.reaction else { return }
    switch transport {
    case .waiting: wasSeen = true
    case .stopped where !wasSeen && age < Self.startTimeout: break
    case .stopped, .rolling: isOver = true
    }
  }
}

// The surface's commands, as commands for the transport.
extension SurfaceState {
  /// The frame of a position in the song at the session's tempo. nil: JACK counts frames with 32 bits, and
  /// the position lies beyond them.
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

  /// The command for a locate, which lands on the grid on which a start would begin. nil: JACK's frame count
  /// can't reach the place.
  func command(toGoTo place: Place, _ report: Report, sampleRate: Int) -> TransportCommand? {
    if report.master.timebase == .foreign, let frame = report.frame(of: place, sampleRate: Double(sampleRate))
    {
      return UInt32(exactly: frame).map { .locate(frame: $0) }
    }
    return frame(of: place, sampleRate: sampleRate).map {
      .jump(frame: $0, beat: beat(of: place), step: choices.launchStep.value)
    }
  }
}

extension Lead {
  /// Whether tactus itself tells other programs bar and beat; otherwise the leader does.
  var wantsTimebase: Bool { self == .link || self == .midi }

  /// The name of the leader if only the leader sets the tempo; nil: users can set the tempo.
  var leader: String? {
    switch self {
    case .host: "another JACK client"
    case .midi: "a MIDI clock"
    case .link, .auto: nil
    }
  }
}

extension Report {
  /// The frame of a position in the song, in the beats and bars that a foreign timebase master counts. It
  /// is computed from that master's present bar, tempo and frame. nil: the master's bars make no sense, or
  /// it has not rolled long enough to show which notes its tempo counts.
  fileprivate func frame(of place: Place, sampleRate: Double) -> Int64? {
    guard let shown = master.shown, let here = shown.beats else { return nil }
    let beat: Double
    switch place {
    case .beat(let there): beat = there
    case .bar(let bar): beat = Double(bar - 1) * Double(shown.beatsPerBar) / shown.notesPerBeat
    case .seconds(let seconds): return Int64(rounding: seconds * sampleRate)
    }
    guard master.foreignTempo > 0 else { return nil }
    let frames = (beat - here) * 60 / master.foreignTempo * sampleRate
    return max(0, Int64(moment.frame) &+ Int64(rounding: frames))
  }
}
