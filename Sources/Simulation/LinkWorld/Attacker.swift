// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import LinkWire

/// An attacker on every network: it floods, forges, replays and corrupts datagrams, and lies about the time.
///
/// The attacker knows the limits in our source, but has its own constants, not those of our code. It hears
/// everything that is sent, so it knows sessions, timelines and clocks as any peer can.
final class Attacker: Guest {
  private var dice: Dice
  private let end: Micros
  private var heard: [(bytes: [UInt8], source: Int, channel: Channel)] = []
  /// The attacker's own interfaces, one on each network.
  private var interfaces: [Int] = []
  /// For each interface, the peer that the attacker claims to be, and that peer's clock.
  private var claims: [Int: (state: PeerState, ghost: GhostMap)] = [:]

  private static let memory = 200

  init(seed: UInt64, until end: Micros) {
    dice = Dice(seed: seed)
    self.end = end
  }

  func listen(to world: LinkWorld) {
    let wires = Set(world.interfaces.map(\.segment)).sorted()
    interfaces = wires.map { world.plug(self, intoSegment: $0) }
    let before = world.onSend
    world.onSend = { [self] packet, sender, destination, channel in
      before?(packet, sender, destination, channel)
      guard !interfaces.contains(sender) else { return }
      let place = Int(truncatingIfNeeded: dice.next() % UInt64(Attacker.memory))
      let entry = (packet.withUnsafeBytes(Array.init), sender, channel)
      if heard.count < Attacker.memory { heard.append(entry) } else { heard[place] = entry }
    }
  }

  /// Answers a peer's ping with a false time.
  func receive(
    _ packet: Packet, from source: Endpoint, on interface: Int, via channel: Channel, in world: LinkWorld
  ) {
    guard world.now < end, channel == .measurement, let claim = claims[interface] else { return }
    packet.withUnsafeBytes { bytes in
      guard case .ping(let echo)? = try? decodeMeasurement(bytes) else { return }
      let pong = encodePong(
        session: claim.state.session, ghost: claim.ghost.ghost(atHost: world.now), echoing: echo)
      world.send(pong, from: interface, to: .endpoint(source), via: .measurement)
    }
  }

  func strike(_ world: LinkWorld) {
    let victims = world.interfaces.indices.filter { world.interfaces[$0].peer >= 0 }
    guard !heard.isEmpty, let victim = victims.randomElement(using: &dice) else { return }
    switch Int.random(in: 0..<9, using: &dice) {
    case 0: flood(victim, in: world)
    case 1: replay(victim, in: world)
    case 2: wound(victim, in: world)
    case 3: sayGoodbyeForOthers(victim, in: world)
    case 4: borrowName(victim, in: world)
    case 5: claim(lie(about: member(victim, in: world)), in: world)
    case 6: claim(ancient(victim, in: world), in: world)
    default: forge(victim, in: world)
    }
  }

  private func stranger() -> Endpoint {
    let address = Address.v4(0x0b00_0000 | UInt32.random(in: 1...0xffff, using: &dice))
    return Endpoint(address, port: 40_000)
  }

  private func inject(_ packet: Packet, from source: Endpoint, into victim: Int, _ world: LinkWorld) {
    world.inject(packet.withUnsafeBytes(Array.init), from: source, into: victim, via: .discovery)
  }
}

// Attacks with floods, replays and damaged packets.
extension Attacker {
  private func flood(_ victim: Int, in world: LinkWorld) {
    let session = world.peers[world.interfaces[victim].peer].snapshot.session
    for _ in 0..<100 {
      let source = stranger()
      let node = NodeID(using: &dice)
      let state = PeerState(
        node: node, session: dice.chance(0.5) ? session : node,
        timeline: Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: .zero), startStop: .unset,
        measurement: Endpoint(source.address, port: 50_000))
      inject(encodeAlive(state, ttl: dice.chance(0.2) ? 255 : 5), from: source, into: victim, world)
    }
  }

  private func replay(_ victim: Int, in world: LinkWorld) {
    for packet in heard.prefix(50) {
      let interface = world.interfaces[packet.source]
      let source = packet.channel == .discovery ? interface.discovery : interface.measurement
      world.inject(
        packet.bytes, from: dice.chance(0.5) ? source : stranger(), into: victim, via: packet.channel)
    }
  }

  private func wound(_ victim: Int, in world: LinkWorld) {
    for packet in heard.shuffled(using: &dice).prefix(20) {
      var bytes = packet.bytes
      for _ in 0..<Int.random(in: 1...4, using: &dice) {
        bytes[Int.random(in: 0..<bytes.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
      }
      let source = world.interfaces[packet.source]
      world.inject(
        bytes, from: packet.channel == .discovery ? source.discovery : source.measurement, into: victim,
        via: packet.channel)
    }
  }

  private func sayGoodbyeForOthers(_ victim: Int, in world: LinkWorld) {
    for peer in world.peers {
      inject(encodeByeBye(peer.snapshot.node), from: stranger(), into: victim, world)
    }
  }
}

// Attacks with lies that pass plausibility checks.
extension Attacker {
  /// A value at a limit, just below the limit, or just above it.
  private func near(_ limit: Int64) -> Int64 {
    let step: Int64 = [0, 1, 1_000, 1_000_000, 5_000_000, 60_000_000].randomElement(using: &dice)!
    return limit &+ (dice.chance(0.5) ? step : -step)
  }

  private func either(_ candidates: [Int64]) -> Int64 { candidates.randomElement(using: &dice)! }

  /// The victim's session, with its present time and beat, as any peer knows them.
  private func member(
    _ victim: Int, in world: LinkWorld
  ) -> (snapshot: SessionSnapshot, time: Int64, beat: Int64) {
    let peer = world.interfaces[victim].peer
    let snapshot = world.peers[peer].snapshot
    let time = snapshot.ghost.ghost(atHost: world.host(of: peer))
    return (snapshot, time.count, snapshot.sessionTimeline.beats(at: time).millionths)
  }

  private typealias Session = (snapshot: SessionSnapshot, time: Int64, beat: Int64)

  private func timeline(at session: Session) -> Timeline {
    let tempo = either([60_060, 60_059, 60_000, 500_000, 3_000_000, 3_000_001, 1, .max >> 8])
    let time = either([
      0, session.time, near(session.time), near(session.time &+ 120_000_000), near(-120_000_000),
      near(session.time &+ 64 &* min(tempo, 3_000_000)), near(100_000_000_000_000), near(1 << 62), .max, .min,
    ])
    let farthest = .max - 1 << 51 &+ session.time / 60_000 &* 1_000_000
    let beat = either([
      near(farthest), near(.max - 1 << 51), near(.max - 1 << 52), near(1 << 62), near(1 << 54),
      near(-(1 << 62)),
      near(farthest &- (session.time &- time) / 60_060 &* 1_000_000), near(session.beat),
      near(session.beat &+ 64_000_000), near(session.beat &+ 1 << 61),
      near(session.snapshot.sessionTimeline.beatOrigin.millionths), .max, .min,
    ])
    return Timeline(
      tempo: Tempo(microsPerBeat: tempo), beatOrigin: Beats(millionths: beat), timeOrigin: Micros(time))
  }

  /// An entry of our own protocol extension, which names the origin of a clock; peers of Ableton's library
  /// ignore it.
  private func origin(in session: Session) -> ClockOrigin? {
    guard dice.chance(0.5) else { return nil }
    let roots = [
      session.snapshot.session, session.snapshot.node, NodeID(rawValue: dice.next() >> 40),
      NodeID(rawValue: 0), NodeID(rawValue: .max),
    ]
    return ClockOrigin(
      root: roots.randomElement(using: &dice)!,
      steps: [0, 1, 4, 5, 6, 254, 255].randomElement(using: &dice)!,
      jumps: UInt32.random(in: 0...255, using: &dice), isInferred: dice.chance(0.3))
  }

  private func startStop(at session: Session) -> SessionStartStop {
    let stamp = either([
      session.time, near(session.time &+ 5_000_000), near(100_000_000_000_000), -100_000_000_000_000, .max,
      .min,
    ])
    let beat = either([session.beat, near(.max - 1 << 51), -1 << 62, .max, .min])
    return SessionStartStop(
      isPlaying: dice.chance(0.5), beats: Beats(millionths: beat), timestamp: Micros(stamp))
  }

  /// Forges the datagrams of an invented member, or of a real member from that member's own address.
  private func forge(_ victim: Int, in world: LinkWorld) {
    let session = member(victim, in: world)
    let isSpoofed = dice.chance(0.3)
    let other = world.peers.randomElement(using: &dice)!
    let source =
      isSpoofed ? other.interfaces.first.map { world.interfaces[$0].discovery } ?? stranger() : stranger()
    let state = PeerState(
      node: isSpoofed ? other.snapshot.node : NodeID(using: &dice), session: session.snapshot.session,
      timeline: timeline(at: session), startStop: startStop(at: session),
      measurement: Endpoint(source.address, port: 50_000), clock: origin(in: session))
    inject(encodeAlive(state, ttl: dice.chance(0.3) ? 255 : 5), from: source, into: victim, world)
  }

  /// Claims that a real peer has moved to another session. The claim comes from a strange address, or from
  /// the peer's own address.
  private func borrowName(_ victim: Int, in world: LinkWorld) {
    let session = member(victim, in: world)
    let other = world.peers.randomElement(using: &dice)!
    let isSpoofed = dice.chance(0.3)
    let source =
      isSpoofed ? other.interfaces.first.map { world.interfaces[$0].discovery } ?? stranger() : stranger()
    for target in [session.snapshot.session, NodeID(using: &dice)] {
      let state = PeerState(
        node: other.snapshot.node, session: target, timeline: session.snapshot.sessionTimeline,
        startStop: .unset,
        measurement: Endpoint(source.address, port: dice.chance(0.5) ? 50_000 : 9), clock: origin(in: session)
      )
      inject(encodeAlive(state, ttl: 255), from: source, into: victim, world)
    }
  }

  /// Invents a member that all peers ask for the time, and that answers with a wrong time.
  private func lie(about session: Session) -> (state: PeerState, ghost: Int64) {
    let lowest = NodeID(rawValue: dice.next() >> 40)
    let state = PeerState(
      node: dice.chance(0.5) ? lowest : session.snapshot.session, session: session.snapshot.session,
      timeline: dice.chance(0.5) ? timeline(at: session) : session.snapshot.sessionTimeline,
      startStop: startStop(at: session), measurement: nil, clock: origin(in: session))
    let origin = session.snapshot.sessionTimeline.timeOrigin.count
    let microsPerBeat = session.snapshot.sessionTimeline.tempo.microsPerBeat
    let time = either([
      near(session.time), session.time &+ 3_600_000_000, session.time &- 3_600_000_000,
      near(origin &- 64 &* microsPerBeat), near(-120_000_000), near(100_000_000_000_000), 0,
      1 << 60,
    ])
    return (state, time)
  }

  /// Invents a session of the greatest possible age, or older.
  private func ancient(_ victim: Int, in world: LinkWorld) -> (state: PeerState, ghost: Int64) {
    let session = member(victim, in: world)
    let node = dice.chance(0.5) ? NodeID(using: &dice) : NodeID(rawValue: 1)
    let time = either([
      near(100_000_000_000_000), near(100_000_000_000_000), 99_999_000_000_000, 1 << 55, 1 << 62,
      session.time &+ 3_600_000_000, session.time &+ 500_000, session.time &+ 500_001,
    ])
    let own = timeline(at: (session.snapshot, time, session.beat))
    let honest = Timeline(
      tempo: Tempo(120), beatOrigin: .zero, timeOrigin: Micros(dice.chance(0.5) ? 0 : time))
    let state = PeerState(
      node: node, session: node, timeline: dice.chance(0.5) ? own : honest, startStop: .unset,
      measurement: nil, clock: origin(in: session))
    return (state, time)
  }

  /// Announces the invented member on a network for two seconds, and answers pings to it from then on.
  private func claim(_ lie: (state: PeerState, ghost: Int64), in world: LinkWorld) {
    guard let interface = interfaces.randomElement(using: &dice) else { return }
    var state = lie.state
    state.measurement = world.interfaces[interface].measurement
    claims[interface] = (state, GhostMap(intercept: Micros(lie.ghost) - world.now))
    let packet = encodeAlive(state, ttl: dice.chance(0.3) ? 255 : 5)
    for turn in 0..<8 {
      let time = world.now + Micros(Int64(turn) * 250_000)
      guard time < end else { return }
      world.plan(at: time) { $0.send(packet, from: interface, to: .group, via: .discovery) }
    }
  }
}
