// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import Choices
public import HostSync

/// tactus on a JACK server: the client, its ports, and its stay there through everything that servers do.
///
/// What it lacks: decisions. What sounds in a cycle is `HostSync`'s; here it is given its times and buffers.
/// It knows nothing of networks, and starts no thread of its own: besides libjack's there is the one that
/// calls `step`.
///
/// The invariant: the audio thread touches `AudioCycle` and `SharedState`, the control thread all the rest,
/// and `SharedState` outlives every client.
///
/// The way in: `init`, `start`, then `step` every 20 ms or so, all from one thread; other threads reach the
/// audio through `AudioExchange`. [control]
public final class JACKHost {
  private enum State {
    case open(JACKClient)
    case running(RunningClient)
    case lost(nextTry: Micros)
    case closed
  }

  private static let retryInterval = Micros(200_000)
  private static let hastySteps = 20
  /// So long a server may take to let us go, where somebody waits for it.
  private static let partingTime = Micros(2_000_000)

  private let serverName: String?
  private let clientName: String
  private let exchange: AudioExchange
  private var state: State
  /// We are leaving a server, which may take its time.
  private var departure: Departure?
  private var patchbay = Patchbay()
  private var channels: [AudioChannelPorts] = []
  private var areChannelsDue = false
  private var outputs: [OwnOutput] = []
  private var areOutputsDue = false
  private var standing = Mastership.Standing.uninvolved
  /// Whether we want to be timebase master. Takes effect in the next step.
  public var wantsTimebase = false
  /// Where other programs are heard. Takes effect in the next step.
  public var wantedSink = SinkName()
  var transport = TransportControl()
  /// So many more steps soon: a start may need something of JACK before the report says that it waits.
  private var haste = 0
  private var guess = MasterGuess()
  /// The server as it is, or was when it was last there.
  public private(set) var server: ServerDescription
  /// It was started for us.
  public private(set) var serverWasStarted: Bool
  /// The server ended when we stepped out, and is to be started again when we go on.
  private var mayStart = false

  /// Joins a running server. `server` nil is JACK's default; `mayStart`: if none runs, one may be started, now and not
  /// when it is lost: a server that ends has a reason.
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

  /// Another tactus has the name that this one asked for. Before `start`.
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

  /// Leaves the server. Nothing brings it back. One that does not answer is left to itself after two seconds, and at once
  /// if that is known.
  public func close() {
    if case .closed = state { return }
    let patience = isRunning ? Self.partingTime : Self.retryInterval
    if case .running(let running) = state { leave(running) }
    state = .closed
    Question.ask { departure?.wait(atMost: patience) }
  }

  deinit {
    close()
  }
}

extension JACKHost {
  var running: RunningClient? { if case .running(let running) = state { running } else { nil } }

  /// Whether there is an active client on a server that answers now.
  public var isRunning: Bool { running.map { !$0.watchdog.isSilent } ?? false }

  /// What the last cycle told; without one of this server, that nothing rolls: the last server's may have been rolling.
  public var report: Report {
    let hasCycled = running?.watchdog.hasCycled ?? false
    return isRunning && hasCycled ? exchange.report() : exchange.report().atRest
  }

  /// A server that was to be left has not let us go yet.
  var isLeaving: Bool { departure.map { !$0.isDone } ?? false }

  /// Whether any of our ports is connected with anything. nil without a server: then nobody can say.
  public var isConnected: Bool? { running?.isConnected }

  /// What is done about a host that drifts.
  public var relocator: Relocator {
    get { transport.relocator }
    set { transport.relocator = newValue }
  }

  /// Who may have the timebase that is not ours; nil where that can't be guessed.
  public var probableMaster: String? { guess.name }

  /// A stop waits for its beat.
  public var isStopping: Bool { relocator.isStopping }

  /// Without a server that answers there is no transport, and this does nothing.
  public func command(_ command: TransportCommand) {
    guard case .running(let running) = state, isRunning else { return }
    transport.command(command, on: running, exchange.report(), sampleRate: server.sampleRate)
    haste = Self.hastySteps
  }

  /// How soon `step` wants to be called again.
  public var patience: Micros {
    let isHolding = report.isHolding
    if isHolding || relocator.isBusy || haste > 0 { return Micros(2_000) }
    // Nobody can wake us when a key or a pedal is pressed.
    if case .running(let running) = state, running.isPlayed { return Micros(4_000) }
    return Micros(20_000)
  }

  /// Becomes timebase master, where one left it, too; or else in place of any other.
  public func askForTimebase(conditionally: Bool, at now: Micros) {
    wantsTimebase = true
    if case .running(let running) = state, running.watchdog.isPrompt {
      Question.ask { running.askForTimebase(conditionally: conditionally, at: now) }
    }
  }

  /// Connects these as soon as both ports are there, each once: what is cut after that stays cut. False if they are
  /// more than can be kept in mind.
  @discardableResult
  public func wish(for connections: Set<Connection>) -> Bool { patchbay.wish(for: connections) }

  /// Ports for these channels and no others, on this server and on the next.
  public func carry(_ channels: [AudioChannelPorts]) {
    self.channels = channels
    if case .running(let running) = state, running.watchdog.isPrompt {
      Question.ask { running.carry(channels) }
    } else {
      areChannelsDue = true
    }
  }

  /// Ports for these outputs of the user's own and no others, on this server and on the next.
  public func carry(outputs: [OwnOutput]) {
    self.outputs = outputs
    if case .running(let running) = state, running.watchdog.isPrompt {
      Question.ask { running.carry(outputs: outputs) }
    } else {
      areOutputsDue = true
    }
  }

  /// Those of them that have a port, by their names.
  public var outputPorts: [String: OwnOutputPort] { running?.outputPorts ?? [:] }

  /// Keeps these up: made whenever both ports have come, also with another server.
  public func want(_ connections: [StandingConnection]) { patchbay.want(connections) }

  /// Our ports' connections: those there are, those whose other side is gone for now, and those still wished for.
  public var connections: Set<Connection> { patchbay.known }

  /// From JACK's clock to Link's, as the audio thread has it.
  public var clockMap: ClockMap { running?.clocks.map ?? .identity }

  /// One look at everything that changes slowly, and what came of it. `now` is on Link's clock. Never blocks
  /// for longer than the server takes to answer.
  public func step(at now: Micros) -> [JACKEvent] {
    haste = max(0, haste - 1)
    switch state {
    case .open, .closed:
      return []
    case .lost(let nextTry):
      return now >= nextTry && !isLeaving ? tryToReturn(at: now) : []
    case .running(let running):
      if exchange.shared.pointee.board.isShutDown { return lose(running, at: now) }
      return watch(running, at: now)
    }
  }

  /// Of a server that hesitates nothing is asked: it might never answer, and we would wait.
  private func watch(_ running: RunningClient, at now: Micros) -> [JACKEvent] {
    switch running.watch(exchange.report(), at: now) {
    case .nothing: break
    case .silence:
      transport.forget()
      return [.serverSilent]
    case .answer:
      return [.serverAnswers]
    case .standstill(let gap):
      leave(running)
      state = .lost(nextTry: now)
      return [.stoodStill(gap)]
    }
    guard running.watchdog.isPrompt else { return [] }
    return Question.ask { look(after: running, exchange.shared.pointee.board.take(), at: now) }
  }

  private func look(after running: RunningClient, _ notices: Notices, at now: Micros) -> [JACKEvent] {
    var events: [JACKEvent] = []
    running.step(at: now, notices: notices, sink: wantedSink)
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
    guess.look(at: running, report, graphChanged: !notices.isDisjoint(with: [.graph, .clients]))
    transport.step(on: running, report, sampleRate: server.sampleRate)
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

  private func leave(_ running: RunningClient) {
    patchbay.serverLost()
    transport.forget()
    standing = .uninvolved
    departure = Departure(running, exchange: exchange)
  }

  /// Leaves the server; the next step comes back, connections and all. For a process that is about to be stopped:
  /// jackd 1.9.21 may wait for a stopped client for ever, and then everybody waits for jackd.
  public func stepOut(at now: Micros) {
    guard case .running(let running) = state else { return }
    // A cable that has just been plugged in is found again, too.
    Question.ask { patchbay.step(on: running, graphChanged: true, at: now) }
    leave(running)
    departure?.wait(atMost: Self.partingTime)
    // It ended with us, if nobody else was there.
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
