// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

@testable import LinkSession

/// One `LinkSession` under test: only the test moves time, and every output is kept.
struct Bench {
  struct Sent {
    let packet: Packet
    let destination: LinkSession.Destination
    let gateway: GatewayID
    let channel: Channel
    let at: Micros
  }

  var machine: LinkSession
  var now: Micros
  var sent: [Sent] = []
  var events: [LinkSession.Event] = []
  var published: [SessionSnapshot] = []
  var audioPeers: [AudioSighting] = []
  var deadline: Micros?

  static let gateway = Gateway(
    id: GatewayID(rawValue: 1), address: .v4(0x0a00_0001),
    measurement: Endpoint(.v4(0x0a00_0001), port: 50_000))
  static let secondGateway = Gateway(
    id: GatewayID(rawValue: 2), address: .v4(0x0a00_0101),
    measurement: Endpoint(.v4(0x0a00_0101), port: 50_000))

  /// Makes a machine. By default it is enabled and has a gateway.
  init(
    tempo: Double = 120, at now: Micros = Micros(50_000_000), seed: UInt64 = 1, isEnabled: Bool = true
  ) {
    machine = LinkSession(tempo: Tempo(tempo), seed: seed, at: now)
    self.now = now
    drain()
    if isEnabled {
      handle(.enable(true))
      handle(.gatewayOpened(Bench.gateway))
    }
  }

  var snapshot: SessionSnapshot { machine.snapshot }

  mutating func handle(_ input: LinkSession.Input) {
    machine.handle(input, at: now)
    drain()
  }

  mutating func drain() {
    while true {
      switch machine.nextOutput() {
      case .send(let packet, let destination, let gateway, let channel):
        sent.append(
          Sent(packet: packet, destination: destination, gateway: gateway, channel: channel, at: now))
      case .publish(let snapshot): published.append(snapshot)
      case .event(let event): events.append(event)
      case .audioPeer(let sighting): audioPeers.append(sighting)
      case .sleep(let until):
        deadline = until
        return
      }
    }
  }

  /// Lets time pass. The machine is called at every deadline, exactly on time.
  mutating func wait(_ micros: Int64, answering stranger: Stranger? = nil) {
    let end = now + Micros(micros)
    while let deadline, deadline <= end {
      now = max(deadline, now)
      handle(.deadline)
      if let stranger { answerPings(as: stranger) }
    }
    now = end
  }

  mutating func receive(
    _ packet: Packet, from source: Endpoint, on gateway: Gateway = Bench.gateway,
    via channel: Channel = .discovery, waited: Micros = .zero
  ) {
    packet.withUnsafeBytes {
      machine.receive($0, from: source, on: gateway.id, via: channel, waited: waited, at: now)
    }
    drain()
  }

  mutating func receive(
    bytes: [UInt8], from source: Endpoint, on gateway: Gateway = Bench.gateway,
    via channel: Channel = .discovery, waited: Micros = .zero
  ) {
    bytes.withUnsafeBytes {
      machine.receive($0, from: source, on: gateway.id, via: channel, waited: waited, at: now)
    }
    drain()
  }

  /// Returns the datagrams sent since the last call.
  mutating func takeSent() -> [Sent] {
    defer { sent = [] }
    return sent
  }

  mutating func takeAlives() -> [PeerState] { takeSent().compactMap(\.alive) }

  mutating func takeEvents() -> [LinkSession.Event] {
    defer { events = [] }
    return events
  }
}

extension Bench.Sent {
  var message: DiscoveryMessage? {
    guard channel == .discovery else { return nil }
    return packet.withUnsafeBytes { try? decodeDiscovery($0) }
  }

  var alive: PeerState? {
    guard case .alive(let state, _) = message else { return nil }
    return state
  }

  var response: PeerState? {
    guard case .response(let state, _) = message else { return nil }
    return state
  }

  var farewell: NodeID? {
    guard case .byeBye(let node) = message else { return nil }
    return node
  }

  /// The host time and the previous ghost time of a ping.
  var pong: Pong? {
    guard channel == .measurement, case .pong(let pong)? = try? packet.withUnsafeBytes(decodeMeasurement)
    else {
      return nil
    }
    return pong
  }

  var ping: (host: Micros, previousGhost: Micros)? {
    guard channel == .measurement else { return nil }
    return packet.withUnsafeBytes { bytes in
      guard case .ping(let echo)? = try? decodeMeasurement(bytes) else { return nil }
      func number(at start: Int) -> Micros {
        Micros((start..<start + 8).reduce(Int64(0)) { $0 << 8 | Int64(echo.byte(at: $1)) })
      }
      return (number(at: 8), echo.count > 16 ? number(at: 24) : .zero)
    }
  }
}

/// A peer whose part the test plays.
struct Stranger {
  var state: PeerState
  var source: Endpoint
  /// The map from the bench's host time to the stranger's ghost time.
  var ghost: GhostMap

  init(
    _ name: UInt64, session: UInt64? = nil, tempo: Double = 126, beat: Int64 = 64_000_000,
    ghostOrigin: Int64 = 90_000_000, intercept: Int64 = 12_345_678
  ) {
    let address = Address.v4(0x0a00_0200 | UInt32(truncatingIfNeeded: name % 200 + 1))
    source = Endpoint(address, port: 40_000)
    state = PeerState(
      node: NodeID(rawValue: name), session: NodeID(rawValue: session ?? name),
      timeline: Timeline(
        tempo: Tempo(microsPerBeat: Tempo(tempo).microsPerBeat), beatOrigin: Beats(millionths: beat),
        timeOrigin: Micros(ghostOrigin)),
      startStop: .unset, measurement: Endpoint(address, port: 50_000))
    ghost = GhostMap(intercept: Micros(intercept))
  }

  /// Makes a member of the machine's own session that announces the same state.
  init(_ name: UInt64, memberOf bench: Bench) {
    self.init(name)
    state.session = bench.snapshot.session
    state.timeline = bench.machine.timeline
    ghost = bench.machine.ghost
  }

  var alive: Packet { encodeAlive(state) }
  var response: Packet { encodeResponse(state) }
  var byeBye: Packet { encodeByeBye(state.node) }
}

extension Bench {
  mutating func meet(_ stranger: Stranger, on gateway: Gateway = Bench.gateway) {
    receive(stranger.alive, from: stranger.source, on: gateway)
  }

  /// The pong that the stranger sends now for a ping.
  mutating func pong(
    _ ping: (host: Micros, previousGhost: Micros), from stranger: Stranger,
    on gateway: Gateway = Bench.gateway
  ) {
    let packet = makePong(
      session: stranger.state.session, ghost: stranger.ghost.ghost(atHost: now), host: ping.host,
      previousGhost: ping.previousGhost)
    receive(bytes: packet, from: stranger.state.measurement!, on: gateway, via: .measurement)
  }

  /// Answers all pings to the stranger, and also the pings that follow from these answers; no time passes.
  mutating func answerPings(
    as stranger: Stranger, atMost limit: Int = 200, on gateway: Gateway = Bench.gateway
  ) {
    var answered = 0
    while answered < limit {
      let pings = sent.filter {
        $0.destination == .endpoint(stranger.state.measurement!) && $0.ping != nil
      }
      guard !pings.isEmpty else { return }
      sent.removeAll { $0.destination == .endpoint(stranger.state.measurement!) && $0.ping != nil }
      for ping in pings {
        pong(ping.ping!, from: stranger, on: gateway)
        answered += 1
      }
    }
  }
}

/// A pong as bytes: session, ghost time, and the echo of our own entries.
func makePong(session: SessionID, ghost: Micros, host: Micros, previousGhost: Micros) -> [UInt8] {
  func entry(_ key: String, _ value: UInt64) -> [UInt8] {
    Array(key.utf8) + [0, 0, 0, 8] + (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * UInt64($0))) }
  }
  var bytes: [UInt8] = Array("_link_v".utf8) + [1, 2]
  bytes += entry("sess", session.rawValue) + entry("__gt", UInt64(bitPattern: ghost.count))
  bytes += entry("__ht", UInt64(bitPattern: host.count))
  if previousGhost != .zero { bytes += entry("_pgt", UInt64(bitPattern: previousGhost.count)) }
  return bytes
}

extension Source {
  init(_ stranger: Stranger) {
    self.init(
      PeerRecord(
        gateway: Bench.gateway.id, source: stranger.source.address, state: stranger.state,
        claim: stranger.state.timeline, heard: .zero, expiry: .zero))
  }
}
