// SPDX-License-Identifier: GPL-2.0-or-later
internal import Link
internal import LinkAddresses
internal import LinkAudioLanes
internal import LinkAudioSession
internal import LinkSystem
internal import LinkWire

/// A task from the engine that runs after the engine's lock is released.
enum IOTask: Sendable {
  case send(AudioPacket, AudioRoute)
  case opened(GatewayID, AudioSocket)
  /// Closes the gateway's socket. All its datagrams have left, because the tasks run in order.
  case closed(GatewayID)
  /// Sets the sender's id and the session that audio datagrams contain from now on.
  case become(NodeID, in: SessionID)
  case publish(ChannelID, SendLane)
  case routes([AudioRoute], of: ChannelID)
  case unpublish(ChannelID)
}

/// The socket of a gateway, with the gateway's id in Link.
struct OpenAudioSocket: Sendable {
  let id: GatewayID
  let socket: AudioSocket
}

/// The result of opening a socket.
enum OpenedAudioSocket: Sendable {
  case open(AudioGateway, AudioSocket)
  case refused(SystemFailure)

  init(_ gateway: AudioGateway) {
    do throws(SystemFailure) {
      self = .open(gateway, try AudioSocket(gateway))
    } catch {
      self = .refused(error)
    }
  }
}

/// The sending side of Link Audio: our sockets, and the network ends of our channels. It has a lock of its
/// own.
struct Delivery: Sendable {
  private(set) var sockets: [OpenAudioSocket] = []
  private(set) var failedSends = 0

  private let link: Link
  private var node = NodeID(rawValue: 0)
  private var session = SessionID(rawValue: 0)
  private var sinks: [Outgoing] = []
  private var tasks: [IOTask] = []

  init(_ link: Link) {
    self.link = link
  }

  mutating func adopt(_ engine: inout AudioEngine) { engine.takeTasks(&tasks) }

  mutating func carryOut() {
    for errand in tasks { carryOut(errand) }
    tasks.removeAll(keepingCapacity: true)
  }

  /// Sends all waiting audio to all subscribers.
  mutating func sendAudio() {
    let (sockets, node, session) = (sockets, node, session)
    var failures = 0
    for place in sinks.indices where !sinks[place].routes.isEmpty {
      sinks[place].send(from: node, in: session) { bytes, route in
        if !Self.send(bytes, to: route, through: sockets) { failures += 1 }
      }
    }
    failedSends += failures
  }

  private mutating func carryOut(_ errand: IOTask) {
    switch errand {
    case .send(let packet, let route):
      if !packet.withUnsafeBytes({ Self.send($0, to: route, through: sockets) }) { failedSends += 1 }
    case .opened(let id, let socket):
      sockets.append(OpenAudioSocket(id: id, socket: socket))
      link.setAudioSocket(socket.endpoint, on: id)
    case .closed(let id):
      sockets.removeAll { $0.id == id }
      link.setAudioSocket(nil, on: id)
    case .become(let node, let session): (self.node, self.session) = (node, session)
    case .publish(let id, let lane): sinks.append(Outgoing(id: id, lane: lane))
    case .routes(let routes, let id):
      if let place = sinks.firstIndex(where: { $0.id == id }) { sinks[place].update(routes) }
    case .unpublish(let id): sinks.removeAll { $0.id == id }
    }
  }

  /// Sends a datagram. Returns false if the system refused it. Returns true if the socket was closed
  /// meanwhile.
  private static func send(
    _ bytes: UnsafeRawBufferPointer, to route: AudioRoute, through sockets: [OpenAudioSocket]
  ) -> Bool {
    guard let open = sockets.first(where: { $0.id == route.gateway }) else { return true }
    return open.socket.send(bytes, to: route.endpoint)
  }
}
