// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
import AudioLanes
import BeatMath
import Glibc
import Link
import LinkAudioSession
import LinkSession
import LinkWire
import Linux

/// The machine, its sockets and the lanes: everything that is behind the lock.
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

  private let link: Link
  /// Where Link is.
  private var known: [AudioGateway] = []
  private var sockets = AudioSockets()
  private var sinks: [Outgoing] = []
  /// By number of the source.
  private var sources: [Incoming] = []
  private var hasNews = false
  private var deadline: Micros?
  private var nextTry: Micros?
  private var buffer = [UInt8](repeating: 0, count: Wire.maximumAudioMessageSize + 1)

  /// At most so many datagrams are taken from a socket in one turn, so that no flood keeps the others, and what we send, waiting.
  private static let datagramsPerTurn = 128
  private static let repairSpacing = Micros(1_000_000)

  init(_ link: Link, peerName: String, at now: Micros) {
    self.link = link
    self.peerName = peerName
    var generator = SystemRandomNumberGenerator()
    let snapshot = link.snapshot
    machine = LinkAudioSession(
      secret: (generator.next(), generator.next()), node: snapshot.node, session: snapshot.session, at: now)
    (sockets.node, sockets.session) = (snapshot.node, snapshot.session)
    feed(.name(peerName), at: now)
  }

  var failedSends: Int { sockets.failedSends }
}

// What app threads do.
extension AudioEngine {
  /// Off takes effect here and now, goodbyes included.
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
    sinks.append(Outgoing(id: id, lane: lane))
    return id
  }

  mutating func rename(_ sink: ChannelID, to name: String, at now: Micros) {
    machine.renameSink(sink, to: name, at: now)
    drain()
  }

  mutating func unpublish(_ sink: ChannelID, at now: Micros) {
    machine.removeSink(sink, at: now)
    drain()
    sinks.removeAll { $0.id == sink }
  }

  func listenerCount(of sink: ChannelID) -> Int {
    sinks.first { $0.id == sink }?.routes.count ?? 0
  }

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
  var isSending: Bool { sinks.contains { !$0.routes.isEmpty } }

  var nextWake: Micros? { [deadline, nextTry].compactMap(\.self).min() }

  /// What to wait for: the wake-up, then each gateway's socket.
  func waitList(wakeUp: Int32) -> [pollfd] {
    ([wakeUp] + sockets.all.map(\.socket.descriptor)).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
  }

  /// One turn of the thread. `ready` is `waitList` after the wait.
  mutating func work(_ ready: [pollfd], _ letters: AudioMail.Letters) {
    let waited = Set(ready.dropFirst().filter { $0.revents != 0 }.map(\.fd))
    for gateway in sockets.all where waited.contains(gateway.socket.descriptor) { receive(from: gateway) }
    let now = HostClock.micros()
    take(letters, at: now)
    for place in sinks.indices where !sinks[place].routes.isEmpty { sinks[place].send(through: &sockets) }
    if let nextTry, nextTry <= now { considerGateways(at: now) }
    if let deadline, deadline <= now { feed(.deadline, at: now) }
  }

  /// The list of channels, if it has changed since this was asked last.
  mutating func takeNews() -> [AudioChannel]? {
    guard hasNews else { return nil }
    hasNews = false
    return channels
  }

  private mutating func receive(from gateway: OpenAudioSocket) {
    for _ in 0..<Self.datagramsPerTurn {
      guard let arrival = buffer.withUnsafeMutableBytes({ gateway.socket.receive(into: $0) }) else { return }
      let now = HostClock.micros()
      let isAudio = buffer.withUnsafeBytes { bytes in
        let datagram = UnsafeRawBufferPointer(rebasing: bytes[..<arrival.count])
        let taken = machine.receive(datagram, from: arrival.from, on: gateway.id, at: now)
        guard let taken else { return false }
        overflows += sources[taken.source.rawValue].take(taken.buffer, arrivedAt: now - arrival.waited)
        return true
      }
      if !isAudio { drain() }
    }
  }

  private mutating func take(_ letters: AudioMail.Letters, at now: Micros) {
    if let identity = letters.identity {
      (sockets.node, sockets.session) = identity
      feed(.identity(node: identity.node, session: identity.session), at: now)
    }
    if letters.isOverrun {
      // Of sockets that close and open again Link tells everything once more.
      known.removeAll()
      considerGateways(at: now)
    }
    if let gateways = letters.gateways {
      known = gateways
      considerGateways(at: now)
    }
    for sighting in letters.sightings {
      feed(
        .peerSeen(
          sighting.node, session: sighting.session, audio: sighting.endpoint, on: sighting.gateway), at: now)
    }
  }

  /// Closes sockets that are not wanted any more, opens those that are missing.
  private mutating func considerGateways(at now: Micros) {
    let wanted = isWanted ? known : []
    for gateway in sockets.all where !wanted.contains(where: { $0.id == gateway.id }) {
      feed(.gatewayClosed(gateway.id), at: now)
      sockets.all.removeAll { $0.id == gateway.id }
      link.setAudioSocket(nil, on: gateway.id)
    }
    (failure, nextTry) = (nil, nil)
    for gateway in wanted where !sockets.all.contains(where: { $0.id == gateway.id }) {
      do throws(SystemFailure) {
        let socket = try AudioSocket(gateway)
        sockets.all.append(OpenAudioSocket(id: gateway.id, socket: socket))
        feed(.gatewayOpened(gateway.id, gateway.address), at: now)
        link.setAudioSocket(socket.endpoint, on: gateway.id)
      } catch {
        (failure, nextTry) = (error, now + Self.repairSpacing)
      }
    }
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
        packet.withUnsafeBytes { sockets.send($0, to: AudioRoute(gateway, endpoint)) }
      case .routes(let routes, let id):
        if let place = sinks.firstIndex(where: { $0.id == id }) { sinks[place].take(routes) }
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
