// SPDX-License-Identifier: GPL-2.0-or-later
internal import Link
internal import LinkAddresses
internal import LinkAudioLanes
internal import LinkAudioSession
internal import LinkBeatMath
internal import LinkSession
internal import LinkSystem
internal import LinkWire

/// The session of Link Audio and all calls on it: everything behind the lock for which app threads wait.
///
/// App threads and Link Audio's thread take turns. While holding the lock, no thread reads a socket, sends,
/// opens, closes or calls Link: input is read before, and output waits in `tasks` (see
/// `AudioThread.deliver`).
struct AudioEngine: Sendable {
  private(set) var machine: LinkAudioSession
  /// Whether the user wants Link Audio.
  private(set) var isWanted = false
  private(set) var peerName: String
  /// The list of channels that the callbacks got last.
  private(set) var channels: [AudioChannel] = []
  /// The reason why the socket of a gateway could not be opened; nil if all were opened.
  private(set) var failure: SystemFailure?
  private(set) var overflows = 0
  /// The number of datagrams from outside the networks that Link uses. They are ignored.
  private(set) var strangers = 0

  /// The gateways that Link has at present.
  private var known: [AudioGateway] = []
  private var neighbours = Neighbourhood()
  /// The gateways on which we have a socket.
  private var open: [GatewayID] = []
  /// The number of peers that receive each sink's channel.
  private var listeners: [ChannelID: Int] = [:]
  /// The sources, indexed by `SourceID`.
  private var sources: [Incoming] = []
  private var hasNews = false
  private var deadline: Micros?
  /// The time at which we try again to open the missing sockets.
  private var nextTry: Micros?
  /// The tasks that wait until the lock is released, in order.
  private var tasks: [IOTask] = []

  private static let repairSpacing = Micros(1_000_000)
  /// If more tasks than this wait, the calling thread runs them itself. This happens only while a callback of
  /// the user blocks our thread.
  static let errandLimit = 256

  init(node: NodeID, session: SessionID, peerName: String, at now: Micros) {
    self.peerName = peerName
    var generator = SystemRandomNumberGenerator()
    machine = LinkAudioSession(
      secret: (generator.next(), generator.next()), node: node, session: session, at: now)
    tasks.append(.become(node, in: session))
    feed(.name(peerName), at: now)
  }

  var errandCount: Int { tasks.count }

  /// Swaps the list of pending tasks for an empty one.
  mutating func takeTasks(_ list: inout [IOTask]) { swap(&tasks, &list) }
}

// Functions that app threads call.
extension AudioEngine {
  /// Turns Link Audio on or off. Turning it off adds tasks that send goodbyes; the caller must run these
  /// tasks.
  mutating func want(_ isWanted: Bool, at now: Micros) {
    guard isWanted != self.isWanted else { return }
    self.isWanted = isWanted
    if isWanted { feed(.enable(true), at: now) }
    considerGateways(at: now)
    if !isWanted { feed(.enable(false), at: now) }
  }

  mutating func rename(to name: String, at now: Micros) {
    peerName = name
    feed(.name(name), at: now)
  }

  mutating func publish(_ lane: SendLane, as name: String, at now: Micros) -> ChannelID? {
    defer { drain() }
    guard let id = machine.addSink(named: name, at: now) else { return nil }
    tasks.append(.publish(id, lane))
    return id
  }

  mutating func rename(_ sink: ChannelID, to name: String, at now: Micros) {
    machine.renameSink(sink, to: name, at: now)
    drain()
  }

  mutating func unpublish(_ sink: ChannelID, at now: Micros) {
    machine.removeSink(sink, at: now)
    drain()
    tasks.append(.unpublish(sink))
    listeners[sink] = nil
  }

  func listenerCount(of sink: ChannelID) -> Int { listeners[sink] ?? 0 }

  mutating func subscribe(
    _ lane: ReceiveLane, to channel: ChannelID, at now: Micros
  ) -> Result<SourceID, LinkAudio.RequestError> {
    guard !machine.isOurs(channel) else { return .failure(.ownChannel) }
    guard sources.reduce(0, { $0 + $1.lanes.count }) < AudioLimits.lanes else {
      return .failure(.tooManySources(limit: AudioLimits.lanes))
    }
    defer { drain() }
    guard let id = machine.subscribe(to: channel, at: now) else {
      return .failure(.tooManyChannels(limit: AudioLimits.sources))
    }
    while sources.count <= id.rawValue { sources.append(Incoming()) }
    sources[id.rawValue].lanes.append(lane)
    return .success(id)
  }

  mutating func release(_ source: SourceID, _ lane: ReceiveLane, at now: Micros) {
    sources[source.rawValue].lanes.removeAll { $0 === lane }
    guard sources[source.rawValue].lanes.isEmpty else { return }
    machine.release(source, at: now)
    drain()
    sources[source.rawValue].isConnected = false
  }

  func isConnected(_ source: SourceID) -> Bool { sources[source.rawValue].isConnected }
}

// Functions that Link Audio's thread calls.
extension AudioEngine {
  var isSending: Bool { listeners.contains { $0.value > 0 } }

  var nextWake: Micros? { [deadline, nextTry].compactMap(\.self).min() }

  /// Whether Link uses the interface through which a datagram came, and the datagram's sender is in a network
  /// of that interface. A socket is bound to an address, but Linux accepts packets for an address through any
  /// interface.
  mutating func admits(_ sender: Address, through interface: UInt32) -> Bool {
    if neighbours.contains(sender, through: interface) { return true }
    strangers += 1
    return false
  }

  /// Handles a datagram that was read at the host time `read`. Returns whether tasks wait now.
  mutating func receive(
    _ bytes: UnsafeRawBufferPointer, from source: Endpoint, on gateway: GatewayID, waited: Micros,
    read: Micros
  ) -> Bool {
    let taken = machine.receive(bytes, from: source, on: gateway, at: HostClock.micros())
    guard let taken else {
      drain()
      return !tasks.isEmpty
    }
    overflows += sources[taken.source.rawValue].accept(taken.buffer, arrivedAt: read - waited)
    return false
  }

  /// Does the part of a turn that comes after all input was read. Returns the gateways whose sockets the
  /// caller should open now.
  mutating func work(_ letters: AudioMail.Letters, at now: Micros) -> [AudioGateway] {
    apply(letters, at: now)
    if let deadline, deadline <= now { feed(.deadline, at: now) }
    guard let due = nextTry, due <= now else { return [] }
    nextTry = nil
    return missing
  }

  /// Takes over opened sockets. A socket that is no longer needed closes when its value is released.
  mutating func adopt(_ opened: [OpenedAudioSocket], at now: Micros) {
    failure = nil
    for one in opened {
      switch one {
      case .open(let gateway, let socket):
        guard missing.contains(gateway) else { continue }
        open.append(gateway.id)
        tasks.append(.opened(gateway.id, socket))
        feed(.gatewayOpened(gateway.id, gateway.address), at: now)
      case .refused(let reason):
        failure = reason
        nextTry = nextTry ?? now + Self.repairSpacing
      }
    }
  }

  /// Returns the list of channels, or nil if the list has not changed since the last call.
  mutating func takeNews() -> [AudioChannel]? {
    guard hasNews else { return nil }
    hasNews = false
    return channels
  }

  private mutating func apply(_ letters: AudioMail.Letters, at now: Micros) {
    if let identity = letters.identity {
      tasks.append(.become(identity.node, in: identity.session))
      feed(.identity(node: identity.node, session: identity.session), at: now)
    }
    if letters.isOverrun {
      // If the sockets are closed and opened again, Link reports all sightings again.
      let gateways = known
      known.removeAll()
      considerGateways(at: now)
      known = gateways
      considerGateways(at: now)
    }
    if let gateways = letters.gateways {
      (known, neighbours) = (gateways, letters.neighbours)
      considerGateways(at: now)
    }
    for sighting in letters.sightings {
      feed(
        .peerSeen(
          sighting.node, session: sighting.session, audio: sighting.endpoint, on: sighting.gateway), at: now)
    }
  }

  private var missing: [AudioGateway] {
    isWanted ? known.filter { !open.contains($0.id) } : []
  }

  /// Closes sockets that are no longer wanted, and schedules the opening of missing sockets.
  private mutating func considerGateways(at now: Micros) {
    let wanted = isWanted ? known : []
    for gateway in open where !wanted.contains(where: { $0.id == gateway }) {
      // The session learns of the closing first, so that its goodbyes still leave through the gateway.
      feed(.gatewayClosed(gateway), at: now)
      tasks.append(.closed(gateway))
      open.removeAll { $0 == gateway }
    }
    (failure, nextTry) = (nil, missing.isEmpty ? nil : now)
  }

  private mutating func feed(_ input: LinkAudioSession.Input, at now: Micros) {
    machine.handle(input, at: now)
    drain()
  }

  /// Turns the session's outputs, such as packets to send, into tasks. Call this function after each input.
  private mutating func drain() {
    while true {
      switch machine.nextOutput() {
      case .send(let packet, let endpoint, let gateway):
        tasks.append(.send(packet, AudioRoute(gateway, endpoint)))
      case .routes(let routes, let id):
        listeners[id] = routes.count
        tasks.append(.routes(routes, of: id))
      case .senders(let routes, let source): sources[source.rawValue].isConnected = !routes.isEmpty
      case .channels(let list):
        channels = list
        hasNews = true
      case .sleep(let until):
        deadline = until
        return
      }
    }
  }
}
