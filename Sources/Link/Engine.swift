// SPDX-License-Identifier: GPL-2.0-or-later
internal import Addresses
internal import BeatMath
import Glibc
internal import LinkSession
internal import LinkWire
internal import Linux

/// The machine, its sockets and who listens to it: everything that is behind the lock.
///
/// App threads and the network thread take turns with it, and none of them reads, opens or closes a socket or sends meanwhile: what comes
/// in is read before, and what is to be sent and closed waits in `outgoing` (see `NetworkThread.act`). Only the network thread opens and
/// closes sockets and waits on them. Events wait here for it to deliver them without the lock.
struct Engine: Sendable {
  var session: LinkSession
  var gateways: Gateways
  /// To other rooms; nil: nobody wants any.
  var far: FarWires?
  /// Datagrams from outside of our networks: not looked at.
  private(set) var strangers = 0
  private(set) var events: [LinkSession.Event] = []
  private(set) var deadline: Micros?
  private(set) var snapshot: SessionSnapshot
  /// Enabled and active: on the network, as far as our user is concerned.
  private(set) var isWanted = false

  private var doors: [Door] = []
  /// Who takes part in Link Audio, and what it was told last.
  private var audio: (any AudioListener)?
  private var toldGateways: [AudioGateway] = []
  private var toldNeighbours = Neighbourhood()
  private var toldIdentity: (node: NodeID, session: SessionID)?
  private var look = CommitLook()
  private let status: LinkStatus
  private var slept: Int64
  /// In their order. As many as the session gives at once, from each thread that is here before they are taken.
  private var outgoing: [Outgoing] = []

  /// A part with an audio thread of its own, and how many of its changes are worked in.
  private struct Door {
    let door: any AudioDoor
    var workedIn: UInt64 = 0
  }

  /// At most so many datagrams are taken from a socket in one turn, so that no flood keeps the others waiting.
  static var datagramsPerTurn: Int { 64 }
  static var changesPerTurn: Int { 1024 }
  /// Waiting events; nobody fetches them only while a callback blocks. Of more, each kind's newest is told.
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
    drain()
  }
}

// What app threads do.
extension Engine {
  /// Off takes effect here and now, goodbye included, so that a program may end right after it: what the audio
  /// thread committed before is told before. The network thread then closes the sockets; on is its work altogether.
  mutating func want(_ isWanted: Bool, at now: Micros) {
    self.isWanted = isWanted
    guard !isWanted && session.isEnabled else { return }
    collectAudioChanges(at: now)
    feed(.enable(false), at: now)
    far?.hangUp(at: now)
    tellAudio()
  }

  /// Whether the network thread has something to do that no deadline and no datagram tells it.
  var needsTurn: Bool {
    !events.isEmpty || isWanted != session.isEnabled
      || (!session.isEnabled && (!gateways.all.isEmpty || far?.isOpen == true))
  }

  mutating func commit(_ change: SessionChange, at now: Micros) {
    feed(.commit(change), at: now)
  }

  /// What the audio thread committed before is told, or not, as it was before.
  mutating func enableStartStopSync(_ isOn: Bool, at now: Micros) {
    collectAudioChanges(at: now)
    feed(.enableStartStopSync(isOn), at: now)
  }

  mutating func attach(_ door: any AudioDoor) {
    doors.append(Door(door: door))
    door.publish(snapshot)
  }

  mutating func detach(_ door: any AudioDoor, at now: Micros) {
    collectAudioChanges(at: now)
    doors.removeAll { $0.door === door }
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

  /// Where our audio socket of a gateway is, now; of one that has gone meanwhile it means nothing.
  mutating func setAudioSocket(_ endpoint: Endpoint?, on gateway: GatewayID, at now: Micros) {
    feed(.audioSocket(endpoint, on: gateway), at: now)
  }

  /// What has changed for who takes part in Link Audio.
  mutating func tellAudio() {
    guard let audio else { return }
    let identity = (snapshot.node, snapshot.session)
    if toldIdentity.map({ $0 != identity }) ?? true {
      toldIdentity = identity
      audio.hear(node: identity.0, session: identity.1)
    }
    let gateways = session.isEnabled ? gateways.all.map { AudioGateway(id: $0.id, local: $0.local) } : []
    let neighbours = self.gateways.neighbours
    if gateways != toldGateways || neighbours != toldNeighbours {
      (toldGateways, toldNeighbours) = (gateways, neighbours)
      audio.hear(gateways, neighbours)
    }
  }

  /// Works in what audio threads have committed since; then `snapshot` is all there is to know.
  mutating func collectAudioChanges(at now: Micros) {
    for index in doors.indices {
      var collected = 0
      while collected < Self.changesPerTurn, let change = doors[index].door.nextChange() {
        doors[index].workedIn = change.sequence
        session.handle(.commit(change), at: now)
        collected += 1
      }
      if collected > 0 {
        drain()
        publish(to: doors[index])  // that they are worked in, even if they changed nothing
      }
    }
  }
}

// What the network thread does.
extension Engine {
  /// The gateways' sockets, then those to other rooms.
  var inlets: [Inlet] {
    gateways.all.flatMap { gateway in (0..<GatewaySockets.socketCount).map { .near(gateway, socket: $0) } }
      + (far?.inlets ?? [])
  }

  /// When to wake up without being woken; nil for never.
  mutating func nextWake(at now: Micros) -> Micros? {
    let nextLook = look.next(doors.map(\.door.pace), hasPeers: snapshot.peerCount > 0, at: now)
    return [deadline, gateways.nextScan, nextLook, far?.nextWake].compactMap(\.self).min()
  }

  /// What the network thread does in each turn when all that came in is heard.
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

  /// Says goodbye and closes everything.
  mutating func shutDown(at now: Micros) {
    want(false, at: now)
    tellAudio()
    closeAll()
    doors.removeAll()
    events.removeAll()
  }

  /// A datagram, with its own time: pings are measurements. It was read at `read`.
  mutating func hear(
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
    case .far: hearRooms(bytes, arrival)
    case .names: break
    }
  }

  /// What is to be sent, once, in exchange for an empty list.
  mutating func takeOutgoing(_ list: inout [Outgoing]) {
    swap(&outgoing, &list)
    far?.takeOutgoing(&list)
  }

  /// Behind what is still to be sent through it.
  mutating func close(_ gateway: GatewaySockets) {
    gateways.close(gateway)
    outgoing.append(.closed(gateway))
  }

  private mutating func closeAll() {
    outgoing += gateways.all.map { .closed($0) }
    gateways.closeAll()
    far?.close()
  }

  /// How much waits to be sent.
  var outgoingCount: Int { outgoing.count + (far?.outgoingCount ?? 0) }

  /// The host clock stands still in sleep and the session does not: its clock must be measured again.
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

  /// To be called after each thing that happens to the session.
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
        for door in doors { publish(to: door) }
        tellAudio()
      case .event(let event):
        events.append(event)
        if events.count > Self.eventLimit { events = events.newestOfEachKind }
      case .audioPeer(let sighting): audio?.hear(sighting)
      case .sleep(let until):
        deadline = until
        return
      }
    }
  }

  private func publish(to door: Door) {
    var snapshot = snapshot
    snapshot.audioSequence = door.workedIn
    door.door.publish(snapshot)
  }
}
