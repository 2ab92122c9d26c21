// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusChoices
public import TactusSync

/// tactus as a client of a JACK server: its ports, and how it survives servers that restart, hang or go away.
///
/// This class decides nothing: `HostSync` decides what sounds in a cycle, and gets times and buffers from
/// here. The class knows nothing of networks. The only thread that it starts is that of a `Departure`.
///
/// The invariant: the audio thread touches only `AudioCycle` and `SharedState`, the control thread all the
/// rest, and `SharedState` outlives every client.
///
/// Call `init` and `start`, then `step` every 20 ms or so, all from one thread. Other threads exchange data
/// with the audio thread through `AudioExchange`. [control]
public final class JACKHost {
  private enum State {
    case open(JACKClient)
    case running(RunningClient)
    case lost(nextTry: Micros)
    case closed
  }

  private static let retryInterval = Micros(200_000)
  /// How long `close` and `stepOut` wait for a server to release us.
  private static let partingTime = Micros(2_000_000)

  private let serverName: String?
  private let clientName: String
  let exchange: AudioExchange
  private var state: State
  /// The departure from the last server, which may still be under way.
  private var departure: Departure?
  var patchbay = Patchbay()
  private var channels: [AudioChannelPorts] = []
  private var areChannelsDue = false
  private var outputs: [OwnOutput] = []
  private var areOutputsDue = false
  private var standing = Mastership.MasterState.uninvolved
  /// Whether we want to be timebase master. Takes effect in the next step.
  public var wantsTimebase = false
  /// The sink at which other programs are heard. Takes effect in the next step.
  public var wantedSink = ChosenName()
  /// The properties that other programs see beside the tempo. Takes effect in the next step.
  public var shownSession = SessionProperties()
  private var transport = TransportDriver()
  private var guess = MasterGuess()
  /// The server of our client, or the last server if none runs now.
  public private(set) var server: ServerDescription
  /// Whether libjack started the server for this client.
  public private(set) var serverWasStarted: Bool
  /// Whether we may start the server when we rejoin it: it may have ended because we left (`stepOut`).
  private var mayStart = false

  /// Joins a running server. `server` nil is JACK's default. `mayStart`: if no server runs, start one. A
  /// server that is lost later is not restarted: it ended for a reason.
  public init(
    name: String, server: String?, mayStart: Bool = false, exchange: AudioExchange
  ) throws(JACKError) {
    let client = try JACKClient(name: name, server: server, mayStart: mayStart)
    serverWasStarted = client.serverWasStarted
    serverName = server
    clientName = client.name
    self.exchange = exchange
    self.server = client.description
    state = .open(client)
  }

  /// Whether another tactus has `name`, the name that we asked for. Call this before `start`.
  public func isSecond(as name: String) -> Bool {
    if case .open(let client) = state { client.neighbours.contains(name) } else { false }
  }

  /// Registers the ports and lets the audio thread run.
  public func start(at now: Micros) throws(JACKError) {
    guard case .open(let client) = state else { return }
    state = .running(
      try Question.ask { () throws(JACKError) in
        try RunningClient(client: client, shared: exchange.shared, at: now)
      })
  }

  /// Leaves the server for good. Waits at most two seconds for the server, or 0.2 s if the server is silent
  /// already.
  public func close() {
    if case .closed = state { return }
    let closeTimeout = isRunning ? Self.partingTime : Self.retryInterval
    if case .running(let running) = state { leave(running, whichGoesOn: true) }
    state = .closed
    Question.ask { departure?.wait(atMost: closeTimeout) }
  }

  deinit {
    close()
  }
}

extension JACKHost {
  var running: RunningClient? { if case .running(let running) = state { running } else { nil } }

  /// Whether there is an active client on a server that answers now.
  public var isRunning: Bool { running.map { !$0.watchdog.isSilent } ?? false }

  /// The last cycle's report. Before the first cycle on this server, and while the server is silent, this
  /// report shows the transport at rest.
  public var report: Report {
    let hasCycled = running?.watchdog.hasCycled ?? false
    return isRunning && hasCycled ? exchange.report() : exchange.report().atRest
  }

  var isLeaving: Bool { departure.map { !$0.isDone } ?? false }

  /// Whether any of our ports is connected. nil without a server.
  public var isConnected: Bool? { running?.isConnected }

  /// The plan for the transport.
  public var plan: TransportPlan {
    get { transport.plan }
    set { transport.plan = newValue }
  }

  /// The other client that is probably timebase master; nil: none, or we cannot tell which.
  public var probableMaster: String? { guess.name }

  private func next(_ event: TransportPlan.Event) {
    guard case .running(let running) = state, isRunning else { return }
    transport.next(event, on: running, exchange.report(), sampleRate: server.sampleRate)
  }

  /// Carries out a transport command. Does nothing without a server that answers.
  public func command(_ command: TransportCommand) { next(.command(command)) }

  /// Starts or stops the transport when the session does, once for each change of the session.
  public func follow(_ session: SessionCommand) {
    if isRunning { next(.session(session)) } else { transport.plan.ignore(session) }
  }

  /// The time after which `step` must be called again.
  public var pollInterval: Micros {
    let isHolding = report.launch.isHolding
    if isHolding || plan.isBusy { return Micros(2_000) }
    // No callback wakes this thread when a MIDI key or pedal is pressed.
    if case .running(let running) = state, running.isPlayed { return Micros(4_000) }
    return Micros(20_000)
  }

  /// Becomes timebase master. `conditionally`: only if no other client is; if false, replaces another master.
  public func askForTimebase(conditionally: Bool, at now: Micros) {
    wantsTimebase = true
    if case .running(let running) = state, running.watchdog.isPrompt {
      Question.ask { running.askForTimebase(conditionally: conditionally, at: now) }
    }
  }

  /// Makes each of these connections once, as soon as both of its ports exist. A connection that the user
  /// cuts later stays cut. Returns false if there are too many connections to remember.
  @discardableResult
  public func wish(for connections: Set<Connection>) -> Bool { patchbay.wish(for: connections) }

  /// Registers ports for exactly these channels, on this server and on the next.
  public func carry(_ channels: [AudioChannelPorts]) {
    self.channels = channels
    if case .running(let running) = state, running.watchdog.isPrompt {
      Question.ask { running.carry(channels) }
    } else {
      areChannelsDue = true
    }
  }

  /// Registers ports for exactly these outputs of the user, on this server and on the next.
  public func carry(outputs: [OwnOutput]) {
    self.outputs = outputs
    if case .running(let running) = state, running.watchdog.isPrompt {
      Question.ask { running.carry(outputs: outputs) }
    } else {
      areOutputsDue = true
    }
  }

  /// The user's outputs that have a port, by name.
  public var outputPorts: [String: OwnOutputPort] { running?.outputPorts ?? [:] }

  /// Sets the standing connections, which are made whenever both ports appear, on any server.
  public func want(_ connections: [StandingConnection]) { patchbay.want(connections) }

  /// Our ports' connections: the present ones, remembered ones whose other port is gone, and wished ones.
  public var connections: Set<Connection> { patchbay.known }

  /// The map from JACK's clock to Link's, as the audio thread uses it.
  package var clockMap: ClockMap { running?.clocks.map ?? .identity }

  /// Looks at everything that changes slowly, and returns the changes as events. May wait for JACK.
  public func step(at now: Micros) -> [JACKEvent] {
    switch state {
    case .open, .closed:
      return []
    case .lost(let nextTry):
      if isLeaving { return departure?.hasBecomeSlow() == true ? [.serverSilent] : [] }
      return now >= nextTry ? tryToReturn(at: now) : []
    case .running(let running):
      if exchange.shared.pointee.board.isShutDown { return lose(running, at: now) }
      return watch(running, at: now)
    }
  }

  /// Polls the server, unless it has run no cycle lately: in that case the call might never return.
  private func watch(_ running: RunningClient, at now: Micros) -> [JACKEvent] {
    switch running.watch(exchange.report(), at: now) {
    case .nothing: break
    case .silence:
      transport.plan.forget()
      return [.serverSilent]
    case .answer: return [.serverAnswers]
    case .standstill(let gap):
      leave(running, whichGoesOn: true)
      state = .lost(nextTry: now)
      return [.stoodStill(gap)]
    }
    guard running.watchdog.isPrompt else { return [] }
    return Question.ask { poll(running, exchange.shared.pointee.board.drain(), at: now) }
  }

  private func poll(_ running: RunningClient, _ notices: Notices, at now: Micros) -> [JACKEvent] {
    var events: [JACKEvent] = []
    running.step(at: now, notices: notices, sink: wantedSink, shown: shownSession)
    if areChannelsDue {
      areChannelsDue = false
      running.carry(channels)
    }
    if areOutputsDue {
      areOutputsDue = false
      running.carry(outputs: outputs)
    }
    patchbay.step(on: running, graphChanged: notices.contains(.graph), at: now)
    let report = exchange.report()
    running.lookAfterTimebase(isWanted: wantsTimebase, report, at: now)
    guess.poll(at: running, report, graphChanged: !notices.isDisjoint(with: [.graph, .clients]))
    transport.next(.observe, on: running, report, sampleRate: server.sampleRate)
    // The steps before may have taken many milliseconds; the event `tick` reads the clock itself.
    transport.next(.tick, on: running, report, sampleRate: server.sampleRate)
    if running.standing != standing {
      standing = running.standing
      events.append(.timebase(standing))
    }
    guard !notices.isDisjoint(with: [.period, .sampleRate, .freewheel]) else { return events }
    events += running.description.changes(since: server)
    server = running.description
    if notices.contains(.freewheel) { events.append(.freewheel(exchange.isFreewheeling)) }
    return events
  }

  private func lose(_ running: RunningClient, at now: Micros) -> [JACKEvent] {
    leave(running)
    state = .lost(nextTry: now)
    return [.serverLost(reason: exchange.shared.pointee.board.reason)]
  }

  private func leave(_ running: RunningClient, whichGoesOn: Bool = false) {
    if whichGoesOn { next(.leave) }
    patchbay.serverLost()
    transport.plan.forget()
    standing = .uninvolved
    departure = Departure(running, exchange: exchange)
  }

  /// Leaves the server; the next step returns to it and restores the connections. Call it before this process
  /// is stopped: jackd 1.9.21 may wait for a stopped client for ever, and all other clients with it.
  public func stepOut(at now: Micros) {
    guard case .running(let running) = state else { return }
    // Look at the connections once more, so that a connection made just now is restored, too.
    Question.ask { patchbay.step(on: running, graphChanged: true, at: now) }
    leave(running, whichGoesOn: true)
    departure?.wait(atMost: Self.partingTime)
    // A server that libjack started for us ends with its last client, and we may have been that client.
    mayStart = serverWasStarted
    state = .lost(nextTry: now)
  }

  private func tryToReturn(at now: Micros) -> [JACKEvent] {
    state = .lost(nextTry: now + Self.retryInterval)
    departure = nil
    defer { mayStart = false }
    let client: JACKClient
    do throws(JACKError) {
      client = try JACKClient(name: clientName, server: serverName, mayStart: mayStart)
    } catch {
      return mayStart ? [.serverNotStarted(error)] : []
    }
    let running = try? Question.ask { try RunningClient(client: client, shared: exchange.shared, at: now) }
    guard let running else { return [] }
    state = .running(running)
    server = client.description
    serverWasStarted = client.serverWasStarted
    areChannelsDue = !channels.isEmpty
    areOutputsDue = !outputs.isEmpty
    patchbay.serverReturned(at: now)
    Question.ask { patchbay.step(on: running, graphChanged: true, at: now) }
    return [.serverReturned(server)]
  }
}
