// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import LinkBeatMath
import TactusChoices
import TactusClickSounds
import TactusJACK
import TactusSurface
import TactusSync

/// Connects the parts, runs them, and reports what happens. [control]
///
/// The modules below make all decisions about time and music.
///
/// More than 20 properties: one for each part that the program connects.
final class App {
  private static let retry = 500

  var startup: Startup
  var configuration: Configuration
  let link: Link
  let exchange: AudioExchange
  private let door: SessionActions
  let desk: CommandHandler
  private let service = ServiceReport.ofEnvironment()
  var sounds: SoundShelf
  var transport = TransportCommands()
  var presence: Presence
  let keeper: StateKeeper
  private var peerList = PeerList()
  var news = StudioNews()
  private var playNews = PlayNews()
  private var companion = Companion.ofEnvironment()
  private var rooms = RoomsWatch()
  private var proposalWatch = ProposalWatch()
  let view: LiveView?
  private var note: RunningNote?
  private var surface: OSCSurface?
  private let page: PageServer
  private let channels: ReceivedChannels
  private var outputs = CarriedOutputs()

  /// The session manager's project; nil: tactus runs without a session manager.
  let project: ManagedProject?

  init(_ startup: Startup, to rooms: FarSettings? = nil, in project: ManagedProject? = nil)
    throws(SoundFileError)
  {
    self.project = project
    let configuration = startup.configuration
    self.startup = startup
    self.configuration = configuration
    keeper = startup.keeper { Console.complain($0) }
    let secrets = SecretFile(SecretFile.path()) { Console.complain($0) }
    page = PageServer(secrets)
    sounds = try SoundShelf(configuration.soundFiles)
    presence = Presence(configuration.life)
    link = Link(configuration.link, far: rooms)
    channels = ReceivedChannels(link, name: configuration.name)
    let state = link.captureAppState()
    var shown = SurfaceState(timeline: state.timeline)
    configuration.choose(in: &shown)
    exchange = AudioExchange(session: state, settings: shown.heardChoices)
    door = SessionActions(exchange: exchange, state: state)
    link.isStartStopSyncEnabled = configuration.choices.syncsStartStop
    desk = CommandHandler(
      link: link, exchange: exchange, door: door, state: shown, wake: Signals.wake)
    // A session manager's programs inherit its terminal, but no user watches that terminal.
    let isWatched = configuration.wantsView && project == nil
    let own = OwnView(desk: desk, isReachWanted: configuration.surface.osc != .off, secrets: secrets)
    view = isWatched ? LiveView(of: own, keys: configuration.keyMap()) : nil
  }

  func play(until signals: Signals) -> Tactus.Status {
    defer { view?.close() }
    prepareFarewell()
    LastResort.prepare(silence: { [desk] isSilent in
      Console.say(isSilent ? "JACK does not answer" : "JACK answers again")
      if isSilent { desk.tell { $0.jack.isRunning = false } }
    })
    do {
      // Attach Link even without a JACK server: the view then shows a tempo as soon as the user types it.
      link.attach(desk)
      guard let host = try join(until: signals), !configuration.probe else { return .success }
      if host.isSecond(as: configuration.name) {
        return fail(RunningNote.objection(toSecond: configuration.name).text, .failure)
      }
      sounds.put(desk.state, sampleRate: host.server.sampleRate, into: exchange)
      host.wantsTimebase = desk.wantsTimebase
      host.wantedSink = desk.state.choices.sink
      wantConnections(of: host)
      try host.start(at: Link.clock())
      outputs.carry(desk.state.lists.outputs, on: host)
      link.attach(door)
      view?.open()
      Console.neverWait()
      Console.say(host.server.line)
      if host.serverWasStarted { Console.say("tactus started this server; it ends with its last client") }
      // Tell the surface about the server before the surface opens: otherwise its first client would read
      // that there is no server.
      desk.show(host.report, HostView(host, exchange))
      openSurface(configuration)
      note = surface?.endpoints.first.flatMap {
        RunningNote(.init(name: host.server.clientName, port: Int($0.port)))
      }
      startup.greet(inView: view != nil)
      considerPresence(host, host.report)
      link.isEnabled = configuration.choices.isLinkEnabled
      service.ready(serviceStatus(host))
      project?.opened(on: host)
      while !signals.came(withinMilliseconds: Int(host.pollInterval.count / 1000)) { poll(host) }
      leave(host)
      return companion?.hasFailed == true ? .failure : .success
    } catch {
      if configuration.probe, error.isForWantOfServer { return .unavailable }
      return fail(error.description, error.status, advice: error.advice)
    }
  }

  private func leave(_ host: JACKHost) {
    service.stopping()
    note = nil
    withdrawStart(host)
    LastResort.takeLeave()
    channels.farewell()
    link.detach(desk)
    link.detach(door)
    host.close()
  }

  /// Takes back a start that still waits: peers must not start alone on the bar for which tactus made them
  /// wait. Link leaves up to 50 ms between two states, and the goodbye must come after both.
  private func withdrawStart(_ host: JACKHost) {
    if transport.withdrawStart(on: host, host.report, in: link) { usleep(100_000) }
  }

  private func fail(_ words: String, _ status: Tactus.Status, advice: String = "") -> Tactus.Status {
    project?.failed(words)
    view?.close()
    Console.complain(words + advice)
    return status
  }

  private func openSurface(_ configuration: Configuration) {
    desk.connect(nil)
    page.close()
    surface?.close()
    surface = OSCSurface.open(configuration, for: desk)
    page.open(configuration, at: surface)
    lookAtPage()
    prepareFarewell()
  }

  private func lookAtPage() {
    guard let (reach, lacks, isNew) = page.poll(isOpen: desk.state.choices.opensPage, at: Link.clock()) else {
      return
    }
    desk.tell { ($0.page.reach, $0.page.missing) = (reach, lacks) }
    if isNew { say("Page: \(reach == .off ? "closed" : reach.words)") }
  }

  private func prepareFarewell() {
    LastResort.prepare { [view, desk, keeper, link, surface, page, leaveChannels = channels.farewell] in
      let wasBent = desk.bend.release(in: link, at: Link.clock())
      // Save first: the view's or the surface's thread may hang.
      keeper.close(at: Link.clock(), taking: desk.lasting)
      view?.close()
      desk.connect(nil)
      page.close()
      surface?.close()
      // Save the choices that were made while the view and the surface closed.
      keeper.close(at: Link.clock(), taking: desk.lasting)
      leaveChannels()
      // Wait, because Link leaves 50 ms between two states. If a peer got the restored tempo and the
      // goodbye at the same time, it could drop the tempo.
      if wasBent { usleep(100_000) }
      link.isEnabled = false
    }
  }

  private func serviceStatus(_ host: JACKHost) -> String {
    desk.state.serviceStatus(on: host.isRunning ? host.server : nil, peers: news.peers)
  }

  func say(_ line: String) {
    Console.say(line)
    desk.tell { $0.message = line }
    project?.tell(line)
  }

  private func poll(_ host: JACKHost) {
    if Signals.isDue(SIGTSTP) { pause(host) }
    if Signals.isDue(SIGHUP) { reload(host) }
    for event in host.step(at: Link.clock()) {
      if let line = event.line(serverWasStarted: host.serverWasStarted) { say(line) }
    }
    let report = host.report
    let session = link.snapshot
    let addresses = peerList.poll(at: Link.clock(), count: session.peerCount) {
      let diagnostics = link.diagnostics
      return tally(diagnostics.peers.map { ($0.name, $0.count) }, of: diagnostics.peerCount)
    }
    desk.show(report, HostView(host, exchange, transport.song), peers: addresses)
    let state = desk.state
    let sight = sight(of: host, report, session, state, peers: addresses)
    for line in news.lines(sight, at: Link.clock()) { say(line) }
    playNews.lines(state, at: Link.clock(), inView: view != nil).forEach { Console.say($0) }
    if let line = companion?.poll() { say(line) }
    lookAtPage()
    considerPresence(host, report)
    service.show(serviceStatus(host))
    sounds.clear(before: report.outputs.oldestBank)
    sounds.put(state, sampleRate: host.server.sampleRate, into: exchange)
    let isHasty = proposalWatch.expects(
      leading: state.leading, syncsStartStop: state.choices.syncsStartStop,
      tempoRequests: report.tempoRequests, at: Link.clock())
    if door.hasten(isHasty) { link.wake() }
    pollChannels(of: host, state)
    rooms.poll(at: link, state, for: desk).forEach { say($0) }
    outputs.carry(state.lists.outputs, on: host)
    keep(host)
    host.wantedSink = state.choices.sink
    host.shownSession = SessionProperties(
      oscPort: surface?.endpoints.first.map { Int($0.port) }, isLinkEnabled: state.choices.isLinkEnabled,
      peers: session.peerCount)
    host.wantsTimebase = Mastership.isWanted(
      state.choices.lead, isAsked: desk.wantsTimebase, shown: report.master.timebase)
    while let message = exchange.nextControlMessage() { desk.play(message) }
    transport.carryOut(desk, on: host, report, in: link).forEach(say)
  }

  private func pollChannels(of host: JACKHost, _ state: SurfaceState) {
    if channels.poll(at: Link.clock(), state, on: host) { wantConnections(of: host) }
    guard let (shown, news) = channels.figures(at: Link.clock()) else { return }
    desk.tell { $0.audio = shown }
    news.forEach { say($0) }
  }

  func wantConnections(of host: JACKHost) {
    host.want(configuration.standingConnections + channels.connections)
  }

  /// Ctrl-Z: leaves Link and JACK, whose other programs would wait for a stopped tactus, and stops. When
  /// tactus continues, it joins both again.
  private func pause(_ host: JACKHost?) {
    view?.cover()
    if let host { withdrawStart(host) }
    link.isActive = false
    host?.stepOut(at: Link.clock())
    Signals.stopHere()
    view?.uncover()
  }

  /// Takes Link off the network and brings Link back, as `Presence` decides.
  private func considerPresence(_ host: JACKHost, _ report: Report) {
    if presence.life == .always, link.isActive { return }
    let signs = Presence.ActivitySignals(
      isForeground: Foreground.isOurs || desk.hasSubscribers, isMoving: report.isMoving,
      syncsStartStop: desk.state.choices.syncsStartStop, isConnected: host.isConnected)
    let active = presence.judge(signs, at: Link.clock())
    guard active != link.isActive else { return }
    link.isActive = active
    desk.tell { $0.link.isActive = active }
    say(presence.line)
  }

  /// Opens the JACK client; with `--wait`, waits until there is a server. nil: the user asked for the end
  /// first.
  private func join(until signals: Signals) throws(JACKError) -> JACKHost? {
    var announced = false
    var mayStart = configuration.startsServer && !configuration.probe
    while true {
      do throws(JACKError) {
        return try JACKHost(
          name: configuration.name, server: configuration.server, mayStart: mayStart, exchange: exchange)
      } catch {
        if case .noServer = error, !configuration.probe, project == nil {
          PipeWireLibrary.change(server: configuration.server) { [view] in
            view?.close()
            LastResort.takeLeave()
          }
        }
        guard configuration.wait, error.isForWantOfServer else { throw error }
        mayStart = false
        if !announced {
          view?.open()
          Console.complain("\(error.description); waiting for it")
          if view != nil { openSurface(configuration.keysAlone) }
          service.ready("waiting for a JACK server")
        }
        announced = true
        if signals.came(withinMilliseconds: Self.retry) {
          LastResort.takeLeave()
          return nil
        }
        if Signals.isDue(SIGTSTP) { pause(nil) }
      }
    }
  }
}
