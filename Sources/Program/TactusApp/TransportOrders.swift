// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import HostSync
import JACKHost
import Link
import TactusChoices

/// Asks JACK's transport for what the surface's users want, and for the session's starts and stops. [control]
struct TransportOrders {
  /// A start that the session knows of, and that waits while JACK's transport is stopped.
  private struct ToldStart {
    var beat: Double
    /// tactus started the session. If a peer did, tactus does not change the time of the start.
    var isOurs: Bool
    /// JACK was asked for the start; the report may not show that yet.
    var isAsked = false
  }

  /// The number of the session's last start or stop that the transport was asked for.
  private var obeyedStartStop: UInt32 = 0
  private var toldStart: ToldStart?
  private var lastOrder = LastOrder()

  /// Returns lines for the user.
  mutating func carryOut(_ desk: CommandHandler, on host: JACKHost, _ report: Report, in link: Link)
    -> [String]
  {
    let wishes = desk.takeWishes()
    // Read after the wishes were taken, so that the settings are at least as new as the last wish.
    host.relocator.choices = desk.settings
    host.beatMicros = 60e6 / link.captureAppState().tempo
    var lines: [String] = []
    for wish in wishes {
      if let line = fulfil(wish, of: desk, on: host, report, in: link) { lines.append(line) }
    }
    let wish = report.startStop
    if wish.number != obeyedStartStop {
      obeyedStartStop = wish.number
      // A start that waits already begins at the session's time.
      if !wish.starts || host.relocator.startBeat == nil {
        host.command(wish.starts ? .play : desk.state.stopCommand)
      }
    }
    tellStart(host.relocator.startBeat, report, in: link)
    return lines
  }

  /// Tells the session of a start that waits while JACK's transport is stopped: the audio thread would tell
  /// it too late for the peers. Once JACK was asked, a slow program may still move the start, and the peers
  /// get the new time, too.
  ///
  /// - Parameter standing: the session's beat of the start, until JACK is asked for it.
  mutating func tellStart(_ standing: Double?, _ report: Report, in link: Link) {
    let shown = report.isWaiting ? report.startBeat : toldStart?.beat
    guard let beat = standing ?? (isToldStart(shownBy: report) ? shown : nil) else { return toldStart = nil }
    let time = Micros(
      rounding: report.moment.heard.start + (beat - report.sessionBeat) * report.moment.beatMicros)
    guard let told = toldStart else {
      return toldStart = ToldStart(beat: beat, isOurs: tell(true, at: time, in: link))
    }
    toldStart?.isAsked = standing == nil
    guard told.isOurs, told.beat != beat else { return }
    toldStart?.beat = beat
    guard link.isStartStopSyncEnabled else { return }
    link.updateAppState { if $0.isPlaying { $0.setPlaying(true, at: time) } }
  }

  /// Whether JACK was asked for the start that the session knows of, and the start still waits.
  private func isToldStart(shownBy report: Report) -> Bool {
    guard let toldStart else { return false }
    return report.isWaiting || !(toldStart.isAsked || report.isMoving)
  }

  private mutating func start(_ host: JACKHost) {
    host.command(.play)
    lastOrder = LastOrder(moves: true, at: Link.clock())
  }

  private mutating func stop(_ desk: CommandHandler, _ host: JACKHost, in link: Link) {
    if host.relocator.startBeat != nil {
      tell(false, at: Link.clock(), in: link)
      toldStart = nil
    }
    let command = desk.state.stopCommand
    host.command(command)
    if case .stop = command { lastOrder = LastOrder(moves: false, at: Link.clock()) }
  }

  private func moves(_ host: JACKHost, _ report: Report) -> Bool {
    lastOrder.moves(shown: report.isMoving || host.relocator.startBeat != nil, at: Link.clock())
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

  private mutating func fulfil(
    _ wish: Command, of desk: CommandHandler, on host: JACKHost, _ report: Report, in link: Link
  ) -> String? {
    switch wish {
    case .start: start(host)
    case .stop: stop(desk, host, in: link)
    case .toggle where moves(host, report): stop(desk, host, in: link)
    case .toggle: start(host)
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

/// JACK shows a change within a few cycles, or never. Until then it may show the old state.
private let answer = Micros(100_000)

/// The last request to the transport. Two toggles in a row are two, even if JACK shows neither yet.
struct LastOrder {
  private var order: (moves: Bool, until: Micros)?

  init() {}

  init(moves: Bool, at time: Micros) { order = (moves, time + answer) }

  /// Whether the transport moves, or is about to.
  func moves(shown: Bool, at time: Micros) -> Bool {
    if let order, time < order.until { order.moves } else { shown }
  }
}

/// A start that overrides the launch moment of the settings, until it is over.
struct AskedLaunch {
  let moment: LaunchMoment
  private let asked: Micros
  private var wasSeen = false
  private(set) var isOver = false

  /// A start that has not begun within this time never does.
  private static let patience = Micros(1_000_000)

  init(_ moment: LaunchMoment, at time: Micros) {
    self.moment = moment
    asked = time
  }

  mutating func look(at transport: SurfaceState.Transport, _ time: Micros) {
    let age = time - asked
    // Until then the transport may show a song that stops first, or another start that waits.
    guard age >= answer else { return }
    switch transport {
    case .waiting: wasSeen = true
    case .stopped where !wasSeen && age < Self.patience: break
    case .stopped, .rolling: isOver = true
    }
  }
}

// The surface's commands as transport commands.
extension SurfaceState {
  /// A stop waits for the beat or bar that the user chose. A stop by another JACK client takes effect at
  /// once.
  var stopCommand: TransportCommand {
    switch choices.stop {
    case .now: .stop
    case .beat: .stopOn(bar: false)
    case .bar: .stopOn(bar: true)
    }
  }

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
