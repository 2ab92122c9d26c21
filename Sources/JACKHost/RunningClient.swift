// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import CJACK
import Choices
import Glibc
import HostSync

/// One stay on one server, from activation to its end: ports, the audio thread's state, and what the control
/// thread has to look after meanwhile. [control]
final class RunningClient {
  private let client: JACKClient
  private let ports: PortHandles
  private let channels: ChannelPorts
  private let outputs: OutputPorts
  private var tempo: TempoProperty
  var syncLimit: SyncLimit
  private let shared: UnsafePointer<SharedState>
  private let cycle: UnsafeMutablePointer<AudioCycle>
  private let reader: LatencyReader
  private var watch = LatencyWatch()
  private var mastership: Mastership
  /// Clients that have our ports: each is a tactus.
  private var neighbours: Set<String> = []
  private(set) var watchdog = Watchdog()
  private var wishNumber: UInt32
  /// How late the driver was at its last xrun.
  private var lastDelay: Float
  /// What the audio thread has seen before this was counted already.
  private var nextLateness = Micros.zero
  private static let latenessSpacing = Micros(60_000)
  private var hasLeft = false
  private(set) var clocks = ClockComparison()
  private var nextClockPair: Micros

  /// Registers the ports and activates the client: from here on the audio thread runs.
  init(client: JACKClient, shared: UnsafePointer<SharedState>, at now: Micros) throws(JACKError) {
    self.client = client
    self.shared = shared
    ports = try PortHandles(registeringOn: client.handle)
    reader = LatencyReader(client: client.handle, shared: shared, implementation: .loaded)
    channels = ChannelPorts(client: client.handle, shared: shared, reader: reader)
    outputs = OutputPorts(client: client.handle, shared: shared, reader: reader)
    tempo = TempoProperty(client: client)
    syncLimit = SyncLimit(client: client.handle)
    nextClockPair = now
    lastDelay = jack_get_xrun_delayed_usecs(client.handle)
    cycle = .allocate(capacity: 1)
    let rate = jack_get_sample_rate(client.handle)
    shared.pointee.board.clear(sampleRate: rate)
    mastership = Mastership(calls: shared.pointee.timebaseCalls.load(ordering: .relaxed))
    let before = shared.pointee.report.read()
    wishNumber = before.wish.number
    cycle.initialize(
      to: AudioCycle(
        client: client.handle, ports: ports, shared: shared, sampleRate: rate, after: before))
    // Pages of ours that the audio thread touches; libjack locks only its own. Refused under a small
    // RLIMIT_MEMLOCK, and then a machine under memory pressure may page them.
    mlock(cycle, MemoryLayout<AudioCycle>.size)
    try activate(at: now)
  }

  deinit {
    leave()
    cycle.deinitialize(count: 1)
    cycle.deallocate()
  }

  /// Once. Nothing of it is of any use afterwards; a server that does not answer keeps the caller waiting. [any]
  func leave() {
    guard !hasLeft else { return }
    hasLeft = true
    if !shared.pointee.board.isShutDown {
      // What patchbays were told goes before the ports do.
      ports.forget(on: client.handle)
      channels.forget()
      outputs.forget()
      tempo.forget()
      syncLimit.giveBack()
      outputs.stopMachines()
    }
    jack_deactivate(client.handle)
    NoticeBoard.detach(from: client.handle)
    // From here on nothing is written to us, but something may just be: nobody reads it once we close, and jackd would
    // wait for ever.
    client.awaitAnswer()
    client.close()
  }

  private func activate(at now: Micros) throws(JACKError) {
    NoticeBoard.attach(shared, to: client.handle)
    jack_set_process_callback(client.handle, runAudioCycle, cycle)
    // Before activation: afterwards jack2 does not ask until the next time (facts: jack 3).
    jack_set_sync_callback(client.handle, askAudioCycle, cycle)
    ports.describe(on: client.handle)
    compareClocks(at: now)
    let code = jack_activate(client.handle)
    guard code == 0 else { throw .activationRefused(code: code) }
    readLatencies(SinkName(), [], at: now)
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

  /// Clocks, and latencies if anything may have moved them.
  func step(at now: Micros, notices: Notices, sink: SinkName) {
    channels.step()
    outputs.step(clock: ports[.clock], at: now)
    tempo.tell(shared.pointee.report.read().tempo, at: now)
    if now >= nextClockPair { compareClocks(at: now) }
    countXruns(at: now, wasLate: notices.contains(.lateness))
    if notices.contains(.clients) {
      syncLimit.tellAgain()
      watchNeighbours(at: now)
    }
    readLatencies(sink, notices, at: now)
  }

  /// jackd tells of the last one in whole microseconds, so that two may look like one; then the audio thread has seen it.
  private func countXruns(at now: Micros, wasLate: Bool) {
    let delay = jack_get_xrun_delayed_usecs(client.handle)
    guard delay != lastDelay || wasLate && now >= nextLateness else { return }
    nextLateness = now + Self.latenessSpacing
    lastDelay = delay
    shared.pointee.board.countXrun()
  }

  private func readLatencies(_ sink: SinkName, _ notices: Notices, at now: Micros) {
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
    watchdog.look(
      cycles: shared.pointee.cycles.load(ordering: .relaxed), of: report.moment.cycleMicros, at: now,
      waited: Question.totalWait)
  }

  var standing: Mastership.Standing { mastership.standing }

  /// Asks for the timebase, gives it up or refreshes it, as the user and the observations demand.
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

  /// - Parameter conditionally: else in place of any other master.
  func askForTimebase(conditionally: Bool, at now: Micros) {
    let code = jack_set_timebase_callback(client.handle, conditionally ? 1 : 0, writeTimebase, cycle)
    mastership.asked(wasRefused: code != 0, at: now)
  }

  /// Never from the audio thread: PipeWire takes a lock for it (facts: jack 3).
  func command(_ command: TransportCommand) {
    switch command {
    case .play: jack_transport_start(client.handle)
    case .stop, .stopOn: jack_transport_stop(client.handle)
    case .locate(let frame), .jump(let frame, _, _): locate(frame)
    }
  }

  /// Begins the server's time for a held start again. A transport that stands or rolls meanwhile is left alone.
  func holdOn() {
    guard jack_transport_query(client.handle, nil) == JackTransportStarting else { return }
    jack_transport_start(client.handle)
  }

  /// Not `jack_transport_locate`: that sends memory that nobody has written, and jack2 shows it to everybody for a cycle
  /// (facts: jack 6). Only the BBT bit: with more jack2 drops the request and says yes.
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

  /// What the audio thread cannot ask of JACK itself; once, and only if nobody was faster. JACK shows what comes with it
  /// for a cycle, until the master has spoken: `showing`, or without it what is there.
  func fulfil(_ wish: TransportWish, showing bbt: BBT?) {
    guard wish.number != wishNumber else { return }
    var position = jack_position_t()
    let state = jack_transport_query(client.handle, &position)
    let transport = Transport(state: state, position: position)
    guard wish.isOpen(transport.state, at: transport.frame) else { return }
    wishNumber = wish.number
    locate(wish.place.frame, showing: bbt ?? transport.bbt)
  }

  /// Sends the rolling transport; the audio thread knows of it first.
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

  /// Looked up in what the server shares with us, so it may be asked often.
  var isConnected: Bool { Port.registered.contains(where: isConnected) || outputs.isConnected }

  func isConnected(_ port: Port) -> Bool { jack_port_connected(ports[port]) > 0 }

  /// Everybody's ports.
  var portsSeen: StandingConnections.Seen {
    .init(
      outputs: client.ports(JackPortIsOutput), inputs: client.ports(JackPortIsInput),
      speakers: client.ports(JackPortIsInput, JackPortIsPhysical, type: JACK_DEFAULT_AUDIO_TYPE))
  }

  /// Of a timebase that is not ours.
  var probableMaster: String? {
    ProbableMaster.name(
      ofPorts: client.ports(JackPortIsOutput) + client.ports(JackPortIsInput), neighbours: neighbours)
  }

  /// Something is connected that may send keys and pedals.
  var isPlayed: Bool { jack_port_connected(ports[.control]) > 0 }

  func connect(from output: String, to input: String) -> Bool {
    let result = jack_connect(client.handle, output, input)
    return result == 0 || result == EEXIST
  }

  /// True if the two are there, and connected afterwards.
  func connect(_ connection: Connection) -> Bool {
    let ours = fullName(of: connection.port)
    guard client.exists(port: connection.other), let handle = jack_port_by_name(client.handle, ours) else {
      return false
    }
    let isOutput = UInt32(jack_port_flags(handle)) & JackPortIsOutput.rawValue != 0
    return isOutput ? connect(from: ours, to: connection.other) : connect(from: connection.other, to: ours)
  }

  /// Without a colon it is one of ours.
  func exists(port name: String) -> Bool { client.exists(port: fullName(of: name)) }

  private func fullName(of port: String) -> String { port.contains(":") ? port : client.name + ":" + port }
}
