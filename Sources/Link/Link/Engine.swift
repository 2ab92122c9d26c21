// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
internal import LinkAddresses
internal import LinkBeatMath
internal import LinkSession
internal import LinkSystem
internal import LinkWire

/// The session, its sockets and its listeners: everything behind the lock.
///
/// App threads and the network thread take turns. No thread reads, opens or closes a socket, or sends, while
/// holding the lock: input is read before, and output waits in `outgoing` (see `NetworkThread.act`). Only the
/// network thread opens and closes sockets and polls them. It also delivers the events, without the lock.
struct Engine: Sendable {
  var session: LinkSession
  var gateways: Gateways
  /// The connection to other rooms; nil if none is configured.
  var far: FarWires?
  /// The number of datagrams from outside our networks. They are ignored.
  private(set) var strangers = 0
  private(set) var events: [LinkSession.Event] = []
  private(set) var deadline: Micros?
  private(set) var snapshot: SessionSnapshot
  /// Whether the user wants Link on the network: enabled and active.
  private(set) var isWanted = false

  private var observers: [Observer] = []
  /// The receiver for Link Audio, and the values that it was given last.
  private var audio: (any AudioListener)?
  private var toldGateways: [AudioGateway] = []
  private var toldNeighbours = Neighbourhood()
  private var toldIdentity: (node: NodeID, session: SessionID)?
  private var look = CommitLook()
  private let status: LinkStatus
  private var slept: Int64
  /// The unsent datagrams, in order. There are at most `Limits.outputs` of them for each thread that works in
  /// the engine.
  private var outgoing: [Outgoing] = []

  /// A part of the program with its own audio thread, and the number of its last change that is in the
  /// session.
  private struct Observer {
    let lane: any SessionObserver
    var workedIn: UInt64 = 0
  }

  /// The most datagrams that are read from a socket in one turn. The limit exists so that a flood does not
  /// delay the other sockets.
  static var datagramsPerTurn: Int { 64 }
  static var changesPerTurn: Int { 1024 }
  /// The most events that wait to be delivered. More come only while a callback blocks; then only the newest
  /// event of each kind is kept.
  static var eventLimit: Int { 64 }

  init(
    _ configuration: Link.Configuration, seed: UInt64, far: FarSettings?, at now: Micros, status: LinkStatus
  ) {
    session = LinkSession(tempo: Tempo(configuration.tempo), seed: seed, isRelay: far != nil, at: now)
    self.far = far.map { FarWires($0) }
    snapshot = session.snapshot
    gateways = Gateways(status, interfaces: configuration.interfaces)
    self.status = status
    slept = HostClock.sleptMicros()
    status.update(snapshot)
    drain()
  }
}

// Functions that app threads call.
extension Engine {
  /// Turns Link on or off. Turning off sends the changes that an audio thread has committed, and then the
  /// goodbye, without waiting for the network thread. So a program may end right afterwards. The network
  /// thread closes the sockets, and does all that turning on needs.
  mutating func want(_ isWanted: Bool, at now: Micros) {
    self.isWanted = isWanted
    guard !isWanted && session.isEnabled else { return }
    collectAudioChanges(at: now)
    feed(.enable(false), at: now)
    far?.hangUp(at: now)
    tellAudio()
  }

  /// Whether the network thread has work that no deadline or datagram announces.
  var needsTurn: Bool {
    !events.isEmpty || isWanted != session.isEnabled
      || (!session.isEnabled && (!gateways.all.isEmpty || far?.isOpen == true))
  }

  mutating func commit(_ change: SessionChange, at now: Micros) {
    feed(.commit(change), at: now)
  }

  /// Switches start/stop sync or song sync. Changes that an audio thread committed before are applied under
  /// the old setting.
  mutating func switchSync(_ input: LinkSession.Input, at now: Micros) {
    collectAudioChanges(at: now)
    feed(input, at: now)
  }

  mutating func attach(_ lane: any SessionObserver) {
    observers.append(Observer(lane: lane))
    lane.publish(snapshot)
  }

  mutating func detach(_ lane: any SessionObserver, at now: Micros) {
    collectAudioChanges(at: now)
    observers.removeAll { $0.lane === lane }
  }

  mutating func listen(_ listener: any AudioListener) {
    audio = listener
    (toldGateways, toldNeighbours, toldIdentity) = ([], Neighbourhood(), nil)
    tellAudio()
  }

  mutating func stopListening(at now: Micros) {
    audio = nil
    for gateway in gateways.all { feed(.audioSocket(nil, on: gateway.id), at: now) }
  }

  /// Sets the endpoint of our audio socket on a gateway. Has no effect if the gateway is closed.
  mutating func setAudioSocket(_ endpoint: Endpoint?, on gateway: GatewayID, at now: Micros) {
    feed(.audioSocket(endpoint, on: gateway), at: now)
  }

  /// Gives changes of the gateways, the networks and the session to Link Audio.
  mutating func tellAudio() {
    guard let audio else { return }
    let identity = (snapshot.node, snapshot.session)
    if toldIdentity.map({ $0 != identity }) ?? true {
      toldIdentity = identity
      audio.receive(node: identity.0, session: identity.1)
    }
    let gateways = session.isEnabled ? gateways.all.map { AudioGateway(id: $0.id, local: $0.local) } : []
    let neighbours = self.gateways.neighbours
    if gateways != toldGateways || neighbours != toldNeighbours {
      (toldGateways, toldNeighbours) = (gateways, neighbours)
      audio.receive(gateways, neighbours)
    }
  }

  /// Takes over the commits of audio threads, so that `snapshot` is complete.
  mutating func collectAudioChanges(at now: Micros) {
    for index in observers.indices {
      var collected = 0
      while collected < Self.changesPerTurn, let change = observers[index].lane.nextChange() {
        observers[index].workedIn = change.sequence
        session.handle(.commit(change), at: now)
        collected += 1
      }
      if collected > 0 {
        drain()
        publish(to: observers[index])  // acknowledges the changes, even if the state is the same
      }
    }
  }
}

// Functions that the network thread calls.
extension Engine {
  /// The sockets of the gateways, then the sockets to other rooms.
  var inlets: [Inlet] {
    gateways.all.flatMap { gateway in (0..<GatewaySockets.socketCount).map { .near(gateway, socket: $0) } }
      + (far?.inlets ?? [])
  }

  /// The time at which the network thread must wake up; nil for never.
  mutating func nextWake(at now: Micros) -> Micros? {
    let nextLook = look.next(observers.map(\.lane.pace), hasPeers: snapshot.peerCount > 0, at: now)
    return [deadline, gateways.nextScan, nextLook, far?.nextWake].compactMap(\.self).min()
  }

  /// Does the part of the network thread's turn that comes after all input was read.
  mutating func work(at now: Micros) {
    noticeSleep(at: now)
    collectAudioChanges(at: now)
    if !session.isEnabled { closeAll() }
    if isWanted && !session.isEnabled {
      feed(.enable(true), at: now)
      gateways.begin(at: now)
    }
    if let deadline, deadline <= now { feed(.deadline, at: now) }
    if session.isEnabled { lookAfterFar(at: now) }
    tellAudio()
  }

  mutating func takeEvents() -> [LinkSession.Event] {
    defer { events.removeAll(keepingCapacity: true) }
    return events
  }

  /// Says goodbye to the peers and closes all sockets.
  mutating func shutDown(at now: Micros) {
    want(false, at: now)
    tellAudio()
    closeAll()
    observers.removeAll()
    events.removeAll()
  }

  /// Handles a datagram that was read at the host time `read`. Each datagram has its own time, because pings
  /// measure time.
  mutating func receive(
    _ bytes: UnsafeRawBufferPointer, _ arrival: UDPSocket.Arrival, by inlet: Inlet, read: Micros
  ) {
    let now = HostClock.micros()
    var arrival = arrival
    arrival.waited = arrival.waited + (now - read)
    switch inlet {
    case .near(let gateway, let socket):
      guard gateways.neighbours.contains(arrival.from.address, through: arrival.interface) else {
        strangers += 1
        return
      }
      session.receive(
        bytes, from: arrival.from, on: gateway.id, via: GatewaySockets.channel(at: socket),
        waited: arrival.waited, at: now)
      drain()
    case .far: receiveRooms(bytes, arrival)
    case .names: break
    }
  }

  /// Swaps the list of unsent datagrams for an empty one.
  mutating func takeOutgoing(_ list: inout [Outgoing]) {
    swap(&outgoing, &list)
    far?.takeOutgoing(&list)
  }

  /// Closes a gateway after its unsent datagrams have left.
  mutating func close(_ gateway: GatewaySockets) {
    gateways.close(gateway)
    outgoing.append(.closed(gateway))
  }

  private mutating func closeAll() {
    outgoing += gateways.all.map { .closed($0) }
    gateways.closeAll()
    far?.close()
  }

  /// The number of unsent datagrams.
  var outgoingCount: Int { outgoing.count + (far?.outgoingCount ?? 0) }

  /// If the machine was suspended, its host clock stood still while the session's time went on. So the offset
  /// between the two must be measured again.
  private mutating func noticeSleep(at now: Micros) {
    let total = HostClock.sleptMicros()
    defer { slept = total }
    if total - slept > 100_000 {
      feed(.clockDisturbed, at: now)
      gateways.hastenScan(at: now)
    }
  }

  mutating func feed(_ input: LinkSession.Input, at now: Micros) {
    session.handle(input, at: now)
    drain()
  }

  /// Takes the session's outputs; call it after each input.
  mutating func drain() {
    while true {
      switch session.nextOutput() {
      case .send(let packet, let destination, let id, let channel):
        if far?.owns(id) == true {
          far?.send(packet, on: id, via: channel, at: HostClock.micros())
        } else {
          guard let gateway = gateways.all.first(where: { $0.id == id }) else { continue }
          outgoing.append(.near(packet, to: destination, via: channel, on: gateway))
        }
      case .publish(let snapshot):
        self.snapshot = snapshot
        status.update(snapshot)
        for lane in observers { publish(to: lane) }
        tellAudio()
      case .event(let event):
        events.append(event)
        if events.count > Self.eventLimit { events = events.newestOfEachKind }
      case .audioPeer(let sighting): audio?.receive(sighting)
      case .sleep(let until):
        deadline = until
        return
      }
    }
  }

  private func publish(to lane: Observer) {
    var snapshot = snapshot
    snapshot.audioSequence = lane.workedIn
    lane.lane.publish(snapshot)
  }
}
