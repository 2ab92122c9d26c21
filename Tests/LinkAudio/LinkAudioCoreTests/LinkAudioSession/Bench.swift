// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

@testable import LinkAudioSession

/// One `LinkAudioSession` under test. Only the test moves time, and all outputs are kept.
struct Bench {
  struct Sent {
    let packet: AudioPacket
    let endpoint: Endpoint
    let gateway: GatewayID
    let at: Micros
  }

  var machine: LinkAudioSession
  var now: Micros
  var sent: [Sent] = []
  var routes: [ChannelID: [AudioRoute]] = [:]
  var routeChanges = 0
  var senders: [SourceID: [AudioRoute]] = [:]
  var channels: [AudioChannel] = []
  var listChanges = 0
  var deadline: Micros?
  var answered = Set<AudioEcho>()

  static let node = NodeID(rawValue: 0x6f75_7273)
  static let session = NodeID(rawValue: 0x7365_7373)
  static let gateway = GatewayID(rawValue: 1)
  static let secondGateway = GatewayID(rawValue: 2)

  init(at now: Micros = Micros(50_000_000), secret: (UInt64, UInt64) = (1, 2), isEnabled: Bool = true) {
    machine = LinkAudioSession(secret: secret, node: Bench.node, session: Bench.session, at: now)
    self.now = now
    drain()
    handle(.name("here"))
    if isEnabled {
      handle(.enable(true))
      handle(.gatewayOpened(Bench.gateway, .v4(0x0a00_0001)))
    }
  }

  mutating func handle(_ input: LinkAudioSession.Input) {
    machine.handle(input, at: now)
    drain()
  }

  mutating func drain() {
    while true {
      switch machine.nextOutput() {
      case .send(let packet, let endpoint, let gateway):
        sent.append(Sent(packet: packet, endpoint: endpoint, gateway: gateway, at: now))
      case .routes(let list, let channel):
        routes[channel] = list
        routeChanges += 1
      case .senders(let list, let source): senders[source] = list
      case .channels(let list):
        channels = list
        listChanges += 1
      case .sleep(let until):
        deadline = until
        return
      }
    }
  }

  /// Lets time pass, and calls the session at every deadline. The peers in `listeners` answer our pings.
  mutating func wait(_ micros: Int64, with listeners: [Stranger] = []) {
    let end = now + Micros(micros)
    for listener in listeners { answerPings(as: listener) }
    while let deadline, deadline - end <= .zero {
      now = deadline - now > .zero ? deadline : now
      handle(.deadline)
      for listener in listeners { answerPings(as: listener) }
    }
    now = end
  }

  @discardableResult
  mutating func receive(_ bytes: [UInt8], from source: Endpoint, on gateway: GatewayID = Bench.gateway)
    -> SourceID?
  {
    let audio = bytes.withUnsafeBytes { machine.receive($0, from: source, on: gateway, at: now)?.source }
    drain()
    return audio
  }

  @discardableResult
  mutating func receive(
    _ packet: AudioPacket, from source: Endpoint, on gateway: GatewayID = Bench.gateway
  ) -> SourceID? {
    receive(packet.array, from: source, on: gateway)
  }

  mutating func addSink(_ name: String) -> ChannelID {
    defer { drain() }
    return machine.addSink(named: name, at: now) ?? NodeID(rawValue: 0)
  }

  mutating func subscribe(_ channel: ChannelID) -> SourceID {
    defer { drain() }
    return machine.subscribe(to: channel, at: now) ?? SourceID(rawValue: -1)
  }

  mutating func release(_ source: SourceID) {
    machine.release(source, at: now)
    drain()
  }

  /// Returns the datagrams that were sent since the last call.
  mutating func takeSent(to endpoint: Endpoint? = nil) -> [Sent] {
    defer { sent = [] }
    return sent.filter { endpoint == nil || $0.endpoint == endpoint }
  }
}

/// Datagrams as tests compare them.
enum Said: Equatable {
  case announcement([String], pings: Bool)
  case byes([ChannelID])
  case pong(UInt64)
  case request(ChannelID, ttl: UInt8)
  case stop(ChannelID)
  case other
}

extension AudioPacket {
  var array: [UInt8] { withUnsafeBytes { Array($0) } }

  func read<Result>(_ look: (AudioMessage?) -> Result) -> Result {
    withUnsafeBytes { look(try? decodeAudio($0)) }
  }

  var said: Said {
    read { datagram in
      guard let datagram else { return .other }
      switch datagram.body {
      case .announcement(let announcement):
        return .announcement(
          announcement.channels.map { String(decoding: $0.name, as: UTF8.self) },
          pings: announcement.ping != nil)
      case .byes(let ids): return .byes((0..<ids.count).map { ids[$0] })
      case .pong(let echo): return .pong(echo.rawValue)
      case .request(let channel): return .request(channel, ttl: datagram.timeToLive)
      case .stop(let channel): return .stop(channel)
      case .audio: return .other
      }
    }
  }

  var ping: AudioEcho? {
    read { datagram in
      guard case .announcement(let announcement)? = datagram?.body else { return nil }
      return announcement.ping
    }
  }
}

extension Bench.Sent {
  var said: Said { packet.said }
}

/// A peer whose part the test plays. The peer answers pings only if the test makes it.
struct Stranger {
  var node: NodeID
  var session = Bench.session
  var name: String
  var endpoint: Endpoint
  var channels: [(id: ChannelID, name: String)] = []

  init(_ number: UInt64, named name: String = "there", port: UInt16 = 4_000) {
    node = NodeID(rawValue: 0x1000 + number)
    self.name = name
    endpoint = Endpoint(.v4(0x0a00_0100 | UInt32(truncatingIfNeeded: number)), port: port)
  }

  mutating func add(_ name: String, id: UInt64) -> ChannelID {
    channels.append((NodeID(rawValue: id), name))
    return NodeID(rawValue: id)
  }

  func announcement(ping: AudioEcho? = nil) -> AudioPacket {
    var name = name
    var writer = name.withUTF8 {
      AnnouncementWriter(from: node, in: session, named: UnsafeRawBufferPointer($0), ping: ping)
    }
    for channel in channels {
      var name = channel.name
      _ = name.withUTF8 { writer.add(channel.id, named: UnsafeRawBufferPointer($0)) }
    }
    return writer.finish()
  }

  func audio(_ channel: ChannelID, session: SessionID? = nil) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 1200)
    let chunk = [AudioBuffer.Chunk(number: 1, frames: 4, begin: Beats(1), tempo: Tempo(120))]
    let format = AudioFormat(
      channel: channel, session: session ?? self.session, sampleRate: 48_000, channelCount: 1)
    let size = bytes.withUnsafeMutableBytes { memory in
      chunk.withUnsafeBufferPointer {
        encodeAudioBuffer(format, from: node, chunks: $0, into: memory)?.count ?? 0
      }
    }
    return Array(bytes[..<(74 + size)])
  }
}

extension Bench {
  mutating func see(_ stranger: Stranger, on gateway: GatewayID = Bench.gateway) {
    handle(.peerSeen(stranger.node, session: stranger.session, audio: stranger.endpoint, on: gateway))
  }

  /// Answers each ping to this peer once.
  mutating func answerPings(as stranger: Stranger, sentBefore time: Micros = Micros(.max)) {
    for said in sent where said.endpoint == stranger.endpoint && said.at <= time {
      guard let ping = said.packet.ping, answered.insert(ping).inserted else { continue }
      receive(.pong(ping, from: stranger.node), from: stranger.endpoint, on: said.gateway)
    }
  }

  /// Discovers the peer, answers its pings, and hears its announcement.
  mutating func meet(_ stranger: Stranger, on gateway: GatewayID = Bench.gateway) {
    see(stranger, on: gateway)
    answerPings(as: stranger)
    receive(stranger.announcement(), from: stranger.endpoint, on: gateway)
  }

  /// Meets a peer and subscribes to its channel.
  mutating func takeChannel() -> (peer: Stranger, channel: ChannelID, source: SourceID) {
    var peer = Stranger(1)
    let channel = peer.add("a", id: 1)
    let source = subscribe(channel)
    meet(peer)
    return (peer, channel, source)
  }
}
