// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
import AudioLanes
import BeatMath
import Link
import LinkAudioSession
import LinkSession
import LinkWire
import Linux

/// The machine and what is asked of it: everything that callers wait for.
///
/// App threads and Link Audio's own take turns with it, and none of them reads a socket, sends, opens, closes or calls Link
/// meanwhile: what comes in is read before, and what comes of it waits in `errands` (see `AudioThread.deliver`).
struct AudioEngine: Sendable {
  private(set) var machine: LinkAudioSession
  /// What the user wants.
  private(set) var isWanted = false
  private(set) var peerName: String
  /// As told last.
  private(set) var channels: [AudioChannel] = []
  /// Why a gateway has no socket.
  private(set) var failure: SystemFailure?
  private(set) var overflows = 0
  /// Datagrams from outside of the networks that Link uses: not looked at.
  private(set) var strangers = 0

  /// Where Link is.
  private var known: [AudioGateway] = []
  private var neighbours = Neighbourhood()
  /// Where we have a socket.
  private var open: [GatewayID] = []
  /// To how many each is sent.
  private var listeners: [ChannelID: Int] = [:]
  /// By number of the source.
  private var sources: [Incoming] = []
  private var hasNews = false
  private var deadline: Micros?
  /// When sockets that are missing are opened.
  private var nextTry: Micros?
  /// In their order.
  private var errands: [Errand] = []

  private static let repairSpacing = Micros(1_000_000)
  /// Of more, who made them does them: a callback that takes its time keeps the thread from it.
  static let errandLimit = 256

  init(node: NodeID, session: SessionID, peerName: String, at now: Micros) {
    self.peerName = peerName
    var generator = SystemRandomNumberGenerator()
    machine = LinkAudioSession(
      secret: (generator.next(), generator.next()), node: node, session: session, at: now)
    errands.append(.become(node, in: session))
    feed(.name(peerName), at: now)
  }

  var errandCount: Int { errands.count }

  /// What is to be done, once, in exchange for an empty list.
  mutating func takeErrands(_ list: inout [Errand]) { swap(&errands, &list) }
}

// What app threads do.
extension AudioEngine {
  /// Off leaves the goodbyes to be sent.
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
    errands.append(.publish(id, lane))
    return id
  }

  mutating func rename(_ sink: ChannelID, to name: String, at now: Micros) {
    machine.renameSink(sink, to: name, at: now)
    drain()
  }

  mutating func unpublish(_ sink: ChannelID, at now: Micros) {
    machine.removeSink(sink, at: now)
    drain()
    errands.append(.unpublish(sink))
    listeners[sink] = nil
  }

  func listenerCount(of sink: ChannelID) -> Int { listeners[sink] ?? 0 }

  mutating func subscribe(_ lane: ReceiveLane, to channel: ChannelID, at now: Micros) -> SourceID? {
    defer { drain() }
    guard let id = machine.subscribe(to: channel, at: now) else { return nil }
    while sources.count <= id.rawValue { sources.append(Incoming()) }
    sources[id.rawValue].lanes.append(lane)
    return id
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

// What the thread does.
extension AudioEngine {
  var isSending: Bool { listeners.contains { $0.value > 0 } }

  var nextWake: Micros? { [deadline, nextTry].compactMap(\.self).min() }

  /// Whether a datagram's sender is on the network of the interface that it came by, and Link uses that
  /// interface. A socket is bound to an address, and Linux takes packets for that from every interface.
  mutating func admits(_ sender: Address, through interface: UInt32) -> Bool {
    if neighbours.contains(sender, through: interface) { return true }
    strangers += 1
    return false
  }

  /// A datagram that was read at `read`. Whether there is something to be done for it.
  mutating func hear(
    _ bytes: UnsafeRawBufferPointer, from source: Endpoint, on gateway: GatewayID, waited: Micros,
    read: Micros
  ) -> Bool {
    let taken = machine.receive(bytes, from: source, on: gateway, at: HostClock.micros())
    guard let taken else {
      drain()
      return !errands.isEmpty
    }
    overflows += sources[taken.source.rawValue].take(taken.buffer, arrivedAt: read - waited)
    return false
  }

  /// In each turn, when all that came in is heard. Where sockets are to be opened now.
  mutating func work(_ letters: AudioMail.Letters, at now: Micros) -> [AudioGateway] {
    take(letters, at: now)
    if let deadline, deadline <= now { feed(.deadline, at: now) }
    guard let due = nextTry, due <= now else { return [] }
    nextTry = nil
    return missing
  }

  /// What became of `work`'s. What nobody wants any more closes with the value.
  mutating func take(_ opened: [OpenedAudioSocket], at now: Micros) {
    failure = nil
    for one in opened {
      switch one {
      case .open(let gateway, let socket):
        guard missing.contains(gateway) else { continue }
        open.append(gateway.id)
        errands.append(.opened(gateway.id, socket))
        feed(.gatewayOpened(gateway.id, gateway.address), at: now)
      case .refused(let reason):
        failure = reason
        nextTry = nextTry ?? now + Self.repairSpacing
      }
    }
  }

  /// The list of channels, if it has changed since this was asked last.
  mutating func takeNews() -> [AudioChannel]? {
    guard hasNews else { return nil }
    hasNews = false
    return channels
  }

  private mutating func take(_ letters: AudioMail.Letters, at now: Micros) {
    if let identity = letters.identity {
      errands.append(.become(identity.node, in: identity.session))
      feed(.identity(node: identity.node, session: identity.session), at: now)
    }
    if letters.isOverrun {
      // Of sockets that close and open again Link tells everything once more.
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

  /// Gives up sockets that are not wanted any more, and asks for those that are missing.
  private mutating func considerGateways(at now: Micros) {
    let wanted = isWanted ? known : []
    for gateway in open where !wanted.contains(where: { $0.id == gateway }) {
      // First, so that it says goodbye.
      feed(.gatewayClosed(gateway), at: now)
      errands.append(.closed(gateway))
      open.removeAll { $0 == gateway }
    }
    (failure, nextTry) = (nil, missing.isEmpty ? nil : now)
  }

  private mutating func feed(_ input: LinkAudioSession.Input, at now: Micros) {
    machine.handle(input, at: now)
    drain()
  }

  /// To be called after each thing that happens to the machine.
  private mutating func drain() {
    while true {
      switch machine.nextOutput() {
      case .send(let packet, let endpoint, let gateway):
        errands.append(.send(packet, AudioRoute(gateway, endpoint)))
      case .routes(let routes, let id):
        listeners[id] = routes.count
        errands.append(.routes(routes, of: id))
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
