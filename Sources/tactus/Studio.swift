// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ClickSounds
import ControlSurface
import HostSync
import JACKHost
import Link

/// Where the parts meet: brings them together, looks after them, tells what happens. [control]
///
/// It decides nothing about time or music; that is in the modules below.
final class Studio {
  private static let step = 20
  private static let retry = 500

  private let configuration: Configuration
  private let link: Link
  private let exchange: AudioExchange
  private let door: SessionDoor
  private let desk: ControlDesk
  private var sound: BuiltInSound
  private var sounds: SoundShelf
  private var bridge = StartStopBridge()
  private var peers = 0

  init(_ configuration: Configuration) throws(SoundFileError) {
    self.configuration = configuration
    sounds = try SoundShelf(configuration.soundFiles)
    link = Link(tempo: configuration.tempo)
    let state = link.captureAppState()
    let fixed = configuration.fixedSettings
    var shown = configuration.surfaceState(state.timeline)
    exchange = AudioExchange(
      session: state, settings: shown.settings(from: fixed, launch: shown.launch))
    door = SessionDoor(exchange: exchange, state: state)
    link.isStartStopSyncEnabled = configuration.syncsStartStop
    sound = configuration.sound
    shown.click.soundNames = BuiltInSound.allCases.map(\.rawValue)
    shown.click.sound = BuiltInSound.allCases.firstIndex(of: sound) ?? 0
    desk = ControlDesk(
      link: link, exchange: exchange, state: shown, base: fixed, wake: EndSignals.wake)
  }

  func play(until signals: EndSignals) -> Tactus.Status {
    do {
      guard let host = try join(until: signals), !configuration.probe else { return .success }
      sounds.put(sound, sampleRate: host.server.sampleRate, into: exchange)
      host.timebaseWish = desk.wantsTimebase ? .master : .nobody
      try host.start(at: Link.clock())
      link.attach(door)
      link.attach(desk)
      link.isEnabled = configuration.isLinkEnabled
      Console.say(host.server.line)
      let surface = openSurface()
      while !signals.came(withinMilliseconds: Self.step), look(after: host) {}
      desk.connect(nil)
      surface?.close()
      link.isEnabled = false
      link.detach(desk)
      link.detach(door)
      host.close()
      return .success
    } catch {
      if configuration.probe, case .noServer = error { return .unavailable }
      Console.complain(error.description + error.advice)
      return error.status
    }
  }

  /// nil: not wanted, or it could not be opened. That is said, and is no reason not to play.
  private func openSurface() -> OSCSurface? {
    guard let settings = configuration.surfaceSettings else { return nil }
    do {
      let surface = try OSCSurface(
        settings, state: desk.state, notice: { Console.say($0.text) }, handler: { [desk] in desk.obey($0) })
      desk.connect(surface)
      Console.say("OSC: " + surface.endpoints.map(\.description).joined(separator: ", "))
      if let query = surface.queryEndpoint { Console.say("OSCQuery: http://\(query)/") }
      return surface
    } catch {
      Console.complain("no OSC: \(error)")
      return nil
    }
  }

  private func say(_ line: String) {
    Console.say(line)
    desk.tell { $0.message = line }
  }

  /// false: a controller asked for the end.
  private func look(after host: JACKHost) -> Bool {
    for event in host.step(at: Link.clock()) {
      if let line = event.line { say(line) }
      switch event {
      case .serverReturned(let server): restart(at: server.sampleRate)
      case .sampleRateChanged(let rate): restart(at: rate)
      case .serverLost, .periodChanged, .freewheel, .latenciesChanged, .timebase: break
      }
    }
    let report = exchange.report()
    sounds.clear(before: report.oldestBank)
    let session = link.snapshot
    if session.peerCount != peers {
      peers = session.peerCount
      say(peers == 0 ? "No Links" : peers == 1 ? "1 Link" : "\(peers) Links")
    }
    desk.tell { $0.show(report, HostView(host, xruns: exchange.xrunCount)) }
    let choices = desk.state
    host.timebaseWish =
      choices.lead == .auto
      ? report.timebase == .anothers ? .nobody : .master : desk.wantsTimebase ? .master : .nobody
    for wish in desk.takeWishes() {
      guard fulfil(wish, on: host, report) else { return false }
    }
    while let message = exchange.nextControlMessage() {
      for command in message.transportCommands(isRunning: report.isRolling || report.isWaiting) {
        host.command(command)
      }
    }
    guard choices.startStopSync else {
      bridge = StartStopBridge()
      return true
    }
    if let command = bridge.command(isPlaying: session.state.isPlaying, report: report) {
      host.command(command)
    }
    return true
  }

  /// false: it was the wish to end.
  private func fulfil(_ wish: ControlDesk.Wish, on host: JACKHost, _ report: Report) -> Bool {
    switch wish {
    case .transport(let command): host.command(command)
    case .toggle: host.command(report.isRolling || report.isWaiting ? .stop : .play)
    case .locate(let place):
      host.command(.locate(frame: desk.state.frame(of: place, sampleRate: host.server.sampleRate)))
    case .takeTimebase:
      desk.wantTimebase()
      host.takeTimebase(at: Link.clock())
    case .sound(let index):
      guard BuiltInSound.allCases.indices.contains(index) else { return true }
      sound = BuiltInSound.allCases[index]
      sounds.put(sound, sampleRate: host.server.sampleRate, into: exchange)
      desk.tell { $0.click.sound = index }
    case .quit: return false
    }
    return true
  }

  /// Sounds are rendered for a rate.
  private func restart(at sampleRate: Int) {
    sounds.put(sound, sampleRate: sampleRate, into: exchange)
  }

  /// Opens the client; with `--wait`, as soon as there is a server. nil: asked to end before.
  private func join(until signals: EndSignals) throws(JACKError) -> JACKHost? {
    var announced = false
    while true {
      do throws(JACKError) {
        return try JACKHost(name: configuration.name, server: configuration.server, exchange: exchange)
      } catch {
        guard configuration.wait, case .noServer = error else { throw error }
        if !announced { Console.complain("\(error.description); waiting for it") }
        announced = true
        if signals.came(withinMilliseconds: Self.retry) { return nil }
      }
    }
  }
}

/// Carries the session's starts and stops to JACK's transport. The other way is the audio cycle's
/// (`Settings.syncsStartStop`). Only a change counts: joining a session that plays starts nothing.
struct StartStopBridge {
  private var wasPlaying: Bool?

  mutating func command(isPlaying: Bool, report: Report) -> TransportCommand? {
    defer { wasPlaying = isPlaying }
    guard let wasPlaying, wasPlaying != isPlaying else { return nil }
    let runs = report.isRolling || report.isWaiting
    guard runs != isPlaying else { return nil }
    return isPlaying ? .play : .stop
  }
}

extension JACKEvent {
  /// What a musician should know of it; nil if nothing.
  fileprivate var line: String? {
    switch self {
    case .serverLost(let reason): "JACK server gone (\(reason)); coming back with it"
    case .serverReturned(let server): "back on " + server.line
    case .periodChanged(let frames): "JACK now has \(frames) frames a period"
    case .sampleRateChanged(let rate): "JACK now runs at \(rate) Hz"
    case .freewheel(let on):
      on ? "JACK is freewheeling: the session is left alone" : "JACK is in real time again"
    case .latenciesChanged: nil
    case .timebase(let standing):
      switch standing {
      case .uninvolved, .asked: nil
      case .master: "timebase master: JACK's clients are shown the session's bars and beats"
      case .follower: "another client is timebase master; the session is not shown on JACK's transport"
      case .vacant: "JACK's transport has no timebase master any more"
      }
    }
  }
}

extension ServerDescription {
  /// "JACK server "default" (jack2 1.9.21): 48000 Hz, 256 frames a period (5.3 ms), real time, as "tactus""
  var line: String {
    let tenths = sampleRate > 0 ? (framesPerPeriod * 20_000 / sampleRate + 1) / 2 : 0
    return
      "JACK server \"\(server)\" (\(implementation)): \(sampleRate) Hz, \(framesPerPeriod) frames a period "
      + "(\(tenths / 10).\(tenths % 10) ms), \(isRealtime ? "real time" : "not real time"), as \"\(clientName)\""
  }
}

extension JACKError {
  /// What the user can do, where the description alone does not say it.
  fileprivate var advice: String {
    switch self {
    case .noServer: "; start it, name another with --server, or --wait for it"
    case .unusableName, .versionMismatch, .sharedMemory, .refused, .portRefused, .activationRefused: ""
    }
  }

  fileprivate var status: Tactus.Status {
    switch self {
    case .noServer: .unavailable
    case .unusableName: .usage
    case .versionMismatch, .sharedMemory, .refused, .portRefused, .activationRefused: .failure
    }
  }
}
