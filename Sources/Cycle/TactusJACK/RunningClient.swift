// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc
import LinkBeatMath
import TactusChoices
import TactusSync

/// One client on one server, from its activation to its end: its ports, the state of its audio thread, and
/// all that the control thread must watch as long as the client runs. [control]
final class RunningClient {
  private let client: JACKClient
  private let ports: PortHandles
  private let channels: ChannelPorts
  private let outputs: OutputPorts
  private var properties: ClientProperties
  var syncLimit: SyncLimit
  private let shared: UnsafePointer<SharedState>
  private let cycle: UnsafeMutablePointer<AudioCycle>
  private let reader: LatencyReader
  private var watch = LatencyWatch()
  private var mastership: Mastership
  /// The other clients that have the same ports as our client: each of them is a tactus.
  private var neighbours: Set<String> = []
  private(set) var watchdog = Watchdog()
  private var actionNumber: UInt32
  /// The delay of the last xrun as JACK reports it, in microseconds.
  private var lastDelay: Float
  /// The time until which a late wake-up that the audio thread noticed belongs to an xrun that is counted
  /// already.
  private var nextLateness = Micros.zero
  private static let latenessSpacing = Micros(60_000)
  private var hasLeft = false
  private(set) var clocks = ClockComparison()
  private var nextClockPair: Micros

  /// Registers the ports and activates the client. From the activation on the audio thread runs.
  init(client: JACKClient, shared: UnsafePointer<SharedState>, at now: Micros) throws(JACKError) {
    self.client = client
    self.shared = shared
    ports = try PortHandles(registeringOn: client.handle)
    reader = LatencyReader(client: client.handle, shared: shared, implementation: .loaded)
    channels = ChannelPorts(client: client.handle, shared: shared, reader: reader)
    outputs = OutputPorts(client: client.handle, shared: shared, reader: reader)
    properties = ClientProperties(client: client)
    syncLimit = SyncLimit(client: client.handle)
    nextClockPair = now
    lastDelay = jack_get_xrun_delayed_usecs(client.handle)
    cycle = .allocate(capacity: 1)
    let rate = jack_get_sample_rate(client.handle)
    shared.pointee.board.clear(sampleRate: rate)
    mastership = Mastership(calls: shared.pointee.timebaseCalls.load(ordering: .relaxed))
    let before = shared.pointee.report.read()
    actionNumber = before.launch.action.number
    cycle.initialize(
      to: AudioCycle(
        client: client.handle, ports: ports, shared: shared, sampleRate: rate, after: before))
    // The audio thread touches this memory, and libjack locks only its own. If RLIMIT_MEMLOCK is small, the
    // system refuses the lock. Then a machine that is short of memory may page this memory out.
    mlock(cycle, MemoryLayout<AudioCycle>.size)
    try activate(at: now)
  }

  deinit {
    leave()
    cycle.deinitialize(count: 1)
    cycle.deallocate()
  }

  /// Leaves the server. Further calls do nothing, and the client cannot be used again. Blocks while the
  /// server does not answer. [any]
  func leave() {
    guard !hasLeft else { return }
    hasLeft = true
    if !shared.pointee.board.isShutDown {
      // Remove the metadata before the ports go.
      ports.forget(on: client.handle)
      channels.forget()
      outputs.forget()
      properties.forget()
      syncLimit.giveBack()
      outputs.stopMachines()
    }
    jack_deactivate(client.handle)
    NoticeBoard.detach(from: client.handle)
    // From here on jackd sends us no new notification, but an earlier notification may be on its way. If we
    // closed the client now, we would not read it, and jackd would wait for ever.
    client.awaitAnswer()
    client.close()
  }

  private func activate(at now: Micros) throws(JACKError) {
    NoticeBoard.attach(shared, to: client.handle)
    jack_set_process_callback(client.handle, runAudioCycle, cycle)
    // Set the sync callback before the activation. If the callback is set later, jack2 omits its first call
    // (facts: jack 3).
    jack_set_sync_callback(client.handle, askAudioCycle, cycle)
    ports.describe(on: client.handle)
    compareClocks(at: now)
    let code = jack_activate(client.handle)
    guard code == 0 else { throw .activationRefused(code: code) }
    readLatencies(ChosenName(), [], at: now)
    neighbours = client.neighbours
  }

  private func watchNeighbours(at now: Micros) {
    let there = client.neighbours
    if !there.isSuperset(of: neighbours) { mastership.neighbourLeft(at: now) }
    neighbours = there
  }

  func carry(_ wanted: [AudioChannelPorts]) { channels.carry(wanted) }

  func carry(outputs wanted: [OwnOutput]) { outputs.carry(wanted) }

  var outputPorts: [String: OwnOutputPort] { outputs.shown }

  var latencies: PortLatencies { watch.latencies }

  var sinks: SinkChoice { watch.sinks }

  /// Compares the clocks, counts xruns, and reads the latencies if they may have changed.
  func step(at now: Micros, notices: Notices, sink: ChosenName, shown: SessionProperties) {
    channels.step()
    outputs.step(clock: ports[.clock], at: now)
    properties.tell(shared.pointee.report.read().tempo, shown, at: now)
    if now >= nextClockPair { compareClocks(at: now) }
    countXruns(at: now, wasLate: notices.contains(.lateness))
    if notices.contains(.clients) {
      syncLimit.tellAgain()
      watchNeighbours(at: now)
    }
    readLatencies(sink, notices, at: now)
  }

  /// Counts an xrun that jackd reports. jackd reports only the last xrun's delay, in whole microseconds, so
  /// two xruns with equal delays look like one. The lateness that the audio thread noticed then shows the
  /// second xrun.
  private func countXruns(at now: Micros, wasLate: Bool) {
    let delay = jack_get_xrun_delayed_usecs(client.handle)
    guard delay != lastDelay || wasLate && now >= nextLateness else { return }
    nextLateness = now + Self.latenessSpacing
    lastDelay = delay
    shared.pointee.board.countXrun()
  }

  private func readLatencies(_ sink: ChosenName, _ notices: Notices, at now: Micros) {
    let clicks = [Port.click1, .click2].map(\.name) + outputs.clicks
    let wish = LatencyWatch.Wish(
      sink: sink, clicks: clicks.map { "\(client.name):\($0)" },
      isMoving: shared.pointee.report.read().isMoving)
    if watch.step(on: client, ports, wish, notices: notices, by: reader, at: now) {
      shared.pointee.latencies.publish(latencies.frames)
    }
  }

  private func compareClocks(at now: Micros) {
    clocks.add(.read())
    shared.pointee.clockMap.publish(clocks.map)
    nextClockPair = now + ClockComparison.interval
  }
}

extension RunningClient {
  func watch(_ report: Report, at now: Micros) -> Watchdog.Finding {
    watchdog.poll(
      cycles: shared.pointee.cycles.load(ordering: .relaxed), of: report.moment.cycleMicros, at: now,
      waited: Question.totalWait)
  }

  var standing: Mastership.MasterState { mastership.standing }

  /// Asks JACK for the timebase, gives the timebase up or refreshes it, as the user's wish and the report
  /// demand.
  func lookAfterTimebase(isWanted: Bool, _ report: Report, at now: Micros) {
    let action = mastership.step(
      isWanted: isWanted, report, calls: shared.pointee.timebaseCalls.load(ordering: .relaxed),
      cycles: shared.pointee.cycles.load(ordering: .relaxed), at: now)
    switch action {
    case .nothing: break
    case .ask(let conditionally): askForTimebase(conditionally: conditionally, at: now)
    case .release: jack_release_timebase(client.handle)
    }
  }

  /// - Parameter conditionally: true: only if no other client is timebase master; false: replaces another
  ///   master.
  func askForTimebase(conditionally: Bool, at now: Micros) {
    let code = jack_set_timebase_callback(client.handle, conditionally ? 1 : 0, writeTimebase, cycle)
    mastership.asked(wasRefused: code != 0, at: now)
  }

  /// Starts the transport. Never call this on the audio thread: PipeWire takes a lock in this call (facts:
  /// jack 3).
  func play() { jack_transport_start(client.handle) }

  /// Stops the transport. Never call this on the audio thread: as in `play`, PipeWire takes a lock.
  func stop() { jack_transport_stop(client.handle) }

  /// Restarts the server's timeout for a held start: on PipeWire by another request to start, on jackd by a
  /// locate to the frame where the transport stands. Does nothing if the transport has stopped or rolls
  /// meanwhile.
  func holdOn() {
    var position = jack_position_t()
    let state = jack_transport_query(client.handle, &position)
    guard state == JackTransportStarting else { return }
    if syncLimit.implementation.longestHold != nil { return play() }
    locate(position.frame, showing: Transport(state: state, position: position).bbt)
  }

  /// Locates by `jack_transport_reposition`, because `jack_transport_locate` sends uninitialized memory,
  /// which jack2 shows to all clients for a cycle (facts: jack 6). Only the BBT bit is set: with more bits,
  /// jack2 drops the request and reports success.
  func locate(_ frame: UInt32, showing bbt: BBT? = nil) {
    var position = jack_position_t()
    position.frame_rate = jack_get_sample_rate(client.handle)
    position.frame = frame
    if let bbt {
      position.valid = JackPositionBBT
      position.set(bbt)
    }
    jack_transport_reposition(client.handle, &position)
  }

  /// Carries out a locate that the audio thread wants. Does so once, and only if the action is still open:
  /// the transport must not have moved meanwhile. JACK shows `bbt`, or else the present bar and beat, for the
  /// one cycle until the timebase master has answered.
  func locate(ifOpen action: LocateAction, showing bbt: BBT?) {
    guard action.number != actionNumber else { return }
    var position = jack_position_t()
    let state = jack_transport_query(client.handle, &position)
    let transport = Transport(state: state, position: position)
    guard action.isOpen(transport.state, at: transport.frame) else { return }
    actionNumber = action.number
    locate(action.place.frame, showing: bbt ?? transport.bbt)
  }

  /// Locates the rolling transport. Tells the audio thread of the locate before asking JACK.
  func relocate(_ relocation: Relocation, showing bbt: BBT?) {
    shared.pointee.relocation.publish(relocation)
    locate(relocation.place.frame, showing: bbt)
  }

  var name: String { client.name }

  var description: ServerDescription { client.description }

  var connections: Set<Connection> {
    var found: Set<Connection> = []
    for (name, handle) in Port.registered.map({ ($0.name, ports[$0]) }) + channels.named + outputs.named {
      for other in portNames(jack_port_get_all_connections(client.handle, handle)) {
        found.insert(Connection(port: name, other: other))
      }
    }
    return found
  }

  /// Whether any of our ports is connected. Reads only the server's shared memory, so it may be called often.
  var isConnected: Bool { Port.registered.contains(where: isConnected) || outputs.isConnected }

  func isConnected(_ port: Port) -> Bool { jack_port_connected(ports[port]) > 0 }

  /// The ports of all clients.
  var portsSeen: StandingConnections.Seen {
    .init(
      outputs: client.ports(JackPortIsOutput), inputs: client.ports(JackPortIsInput),
      speakers: client.ports(JackPortIsInput, JackPortIsPhysical, type: JACK_DEFAULT_AUDIO_TYPE))
  }

  /// The other client that is probably timebase master; nil: there is none, or we cannot tell which client it
  /// is.
  var probableMaster: String? {
    ProbableMaster.name(
      ofPorts: client.ports(JackPortIsOutput) + client.ports(JackPortIsInput), neighbours: neighbours)
  }

  /// Whether the port `control` has a connection, through which messages of keys and pedals may come.
  var isPlayed: Bool { jack_port_connected(ports[.control]) > 0 }

  func connect(from output: String, to input: String) -> Bool {
    let result = jack_connect(client.handle, output, input)
    return result == 0 || result == EEXIST
  }

  /// Returns true if both ports exist and are connected afterwards.
  func connect(_ connection: Connection) -> Bool {
    let ours = fullName(of: connection.port)
    guard client.exists(port: connection.other), let handle = jack_port_by_name(client.handle, ours) else {
      return false
    }
    let isOutput = UInt32(jack_port_flags(handle)) & JackPortIsOutput.rawValue != 0
    return isOutput ? connect(from: ours, to: connection.other) : connect(from: connection.other, to: ours)
  }

  /// Whether this port exists. A name without a colon is a port of ours.
  func exists(port name: String) -> Bool { client.exists(port: fullName(of: name)) }

  private func fullName(of port: String) -> String { port.contains(":") ? port : client.name + ":" + port }
}
