// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

@testable import LinkAudioSession

/// Peers on a simulated network that loses, delays and reorders. Each has a channel and subscribes to all
/// others.
struct World {
  enum Kind { case ours, oursListener, reference, referenceListener, firstBeta }

  struct Wire {
    var loss = 0.0
    var delay: ClosedRange<Int64> = 300...2_000
  }

  private enum Event {
    case join(Int)
    case sight(by: Int, of: Int)
    case datagram([UInt8], from: Int, to: Int)
    case wake(Int, Int)
    case tick(Int)
  }

  private struct Party {
    let kind: Kind
    let endpoint: Endpoint
    let node: NodeID
    var machine: LinkAudioSession
    var reference: ReferencePeer
    var sink: ChannelID
    var routes: [AudioRoute] = []
    var sources: [ChannelID: SourceID] = [:]
    var wakes = 0
    var isMuted = false
    var offset: Int64
  }

  private var parties: [Party] = []
  private var events: [(at: Int64, event: Event)] = []
  private var dice: SecretDice
  private let wire: Wire
  private var now: Int64 = 0
  /// For each listener and sender: when the listener discovered the sender, and when it first heard the
  /// sender's sound.
  private var seen: [[Int64?]]
  private(set) var heard: [[Int64?]]
  private(set) var lastHeard: [[Int64]]
  /// Datagrams that would break a peer of the reference (facts: link-audio 7.3).
  private(set) var broken = 0

  private static let session = NodeID(rawValue: 0x7365_7373)

  init(_ kinds: [Kind], over wire: Wire, seed: UInt64, joiningWithin spread: Int64 = 2_000_000) {
    dice = SecretDice((seed, 0x776f_726c_64))
    self.wire = wire
    seen = kinds.map { _ in kinds.map { _ in nil } }
    heard = seen
    lastHeard = kinds.map { _ in kinds.map { _ in 0 } }
    for (index, kind) in kinds.enumerated() {
      let node = NodeID(using: &dice)
      let endpoint = Endpoint(.v4(0x0a00_0001 + UInt32(index)), port: 5_000 + UInt16(index))
      let channel = kind == .referenceListener || kind == .oursListener ? nil : NodeID(using: &dice)
      let offset = Int64.random(in: -(1 << 50)...(1 << 50), using: &dice)
      var machine = LinkAudioSession(
        secret: (dice.next(), dice.next()), node: node, session: World.session, at: Micros(offset))
      machine.handle(.enable(true), at: Micros(offset))
      machine.handle(.gatewayOpened(GatewayID(rawValue: 1), endpoint.address), at: Micros(offset))
      let sink = kind == .oursListener ? nil : machine.addSink(named: "channel \(index)", at: Micros(offset))
      parties.append(
        Party(
          kind: kind, endpoint: endpoint, node: node, machine: machine,
          reference: ReferencePeer(
            node: node, session: World.session, name: "peer \(index)", channel: channel,
            isFirstBeta: kind == .firstBeta),
          sink: (kind == .ours ? sink : channel) ?? NodeID(rawValue: 0), offset: offset))
      schedule(.join(index), in: Int64.random(in: 0...spread, using: &dice))
    }
  }

  private mutating func schedule(_ event: Event, in delay: Int64) {
    let at = now + delay
    var place = events.endIndex
    while place > 0 && events[place - 1].at < at { place -= 1 }
    events.insert((at, event), at: place)
  }

  /// Runs all events until this time.
  mutating func run(until end: Int64) {
    while let next = events.last, next.at <= end {
      events.removeLast()
      now = next.at
      play(next.event)
    }
    now = end
  }

  private mutating func play(_ event: Event) {
    switch event {
    case .join(let index):
      for other in parties.indices where other != index && joined.contains(other) {
        // Discovery reports each of the two peers to the other. If a message is lost, the report comes 250 ms
        // later.
        for (viewer, viewed) in [(index, other), (other, index)] {
          var delay = Int64.random(in: wire.delay, using: &dice)
          while isLost { delay += 250_000 }
          schedule(.sight(by: viewer, of: viewed), in: delay)
        }
      }
      joined.append(index)
      schedule(.tick(index), in: Int64.random(in: 0...5_000, using: &dice))
    case .sight(let viewer, let viewed):
      let peer = parties[viewed]
      seen[viewer][viewed] = now
      if isOurs(viewer) {
        parties[viewer].machine.handle(
          .peerSeen(peer.node, session: World.session, audio: peer.endpoint, on: GatewayID(rawValue: 1)),
          at: host(viewer))
      } else {
        parties[viewer].reference.see(peer.node, at: peer.endpoint, now: now)
      }
      drain(viewer)
    case .datagram(let bytes, let from, let to): receive(bytes, from: from, to: to)
    case .wake(let index, let number):
      guard parties[index].wakes == number else { return }
      parties[index].machine.handle(.deadline, at: host(index))
      drain(index)
    case .tick(let index): tick(index)
    }
  }

  private var joined: [Int] = []
  private var isLost: Bool { mutating get { Double.random(in: 0..<1, using: &dice) < wire.loss } }
  private func isOurs(_ index: Int) -> Bool {
    parties[index].kind == .ours || parties[index].kind == .oursListener
  }
  private func host(_ index: Int) -> Micros { Micros(now &+ parties[index].offset) }

  /// Sends five milliseconds of audio to each subscriber, and runs a reference's timers.
  private mutating func tick(_ index: Int) {
    schedule(.tick(index), in: 5_229)
    var party = parties[index]
    var listeners = party.routes.map(\.endpoint)
    if !isOurs(index) {
      parties[index].reference.run(at: now)
      drain(index)
      party = parties[index]
      listeners = party.reference.entries.sorted { $0.key < $1.key }.compactMap(\.value.endpoint)
    }
    guard !listeners.isEmpty, !party.isMuted else { return }
    var stranger = Stranger(1)
    stranger.node = party.node
    stranger.session = World.session
    let audio = stranger.audio(party.sink)
    for endpoint in listeners { send(audio, from: index, to: endpoint) }
  }

  private mutating func send(_ bytes: [UInt8], from: Int, to endpoint: Endpoint) {
    if bytes.withUnsafeBytes({ try? decodeAudio($0) }) == nil { broken += 1 }
    guard let to = parties.firstIndex(where: { $0.endpoint == endpoint }), !isLost else { return }
    schedule(.datagram(bytes, from: from, to: to), in: Int64.random(in: wire.delay, using: &dice))
  }

  private mutating func receive(_ bytes: [UInt8], from: Int, to: Int) {
    let source = parties[from].endpoint
    let isHeard: Bool
    if isOurs(to) {
      let host = host(to)
      isHeard = bytes.withUnsafeBytes {
        parties[to].machine.receive($0, from: source, on: GatewayID(rawValue: 1), at: host) != nil
      }
    } else {
      let time = now
      isHeard = bytes.withUnsafeBytes { parties[to].reference.receive($0, from: source, at: time) != nil }
    }
    if isHeard {
      if heard[to][from] == nil { heard[to][from] = now }
      lastHeard[to][from] = now
    }
    drain(to)
  }

  private mutating func drain(_ index: Int) {
    guard isOurs(index) else {
      let out = parties[index].reference.out
      parties[index].reference.out = []
      for (packet, endpoint) in out { send(packet.array, from: index, to: endpoint) }
      return
    }
    while true {
      switch parties[index].machine.nextOutput() {
      case .send(let packet, let endpoint, _): send(packet.array, from: index, to: endpoint)
      case .routes(let routes, let channel):
        if channel == parties[index].sink { parties[index].routes = routes }
      case .senders: break
      case .channels(let list):
        // Subscribe to every channel that appears; the loop then takes the new outputs.
        for channel in list where parties[index].sources[channel.id] == nil {
          parties[index].sources[channel.id] = parties[index].machine.subscribe(
            to: channel.id, at: host(index))
        }
      case .sleep(let until):
        parties[index].wakes += 1
        guard let until else { return }
        schedule(.wake(index, parties[index].wakes), in: max(0, (until - host(index)).count))
        return
      }
    }
  }

  /// The channels that were announced to each peer of the reference and that no peer sends.
  var phantoms: [Int] {
    let sinks = Set(parties.map(\.sink))
    return parties.map { $0.reference.shown.subtracting(sinks).count }
  }

  /// Whether a peer of the reference knows any channel now.
  func isShownAChannel(_ index: Int) -> Bool { !parties[index].reference.channels.isEmpty }

  /// Turns the audio of a peer's channel on or off. The peer's announcements continue.
  mutating func mute(_ index: Int, _ isMuted: Bool) { parties[index].isMuted = isMuted }

  /// Ends all subscriptions of a peer of ours.
  mutating func release(_ index: Int) {
    for source in parties[index].sources.values { parties[index].machine.release(source, at: host(index)) }
    drain(index)
  }

  /// The time from mutual discovery to the first sound, for each ordered pair of peers; nil if there was no
  /// sound.
  func waits(of kind: Kind? = nil, for other: Kind? = nil) -> [Int64?] {
    var waits: [Int64?] = []
    for listener in parties.indices where kind == nil || parties[listener].kind == kind {
      for sender in parties.indices
      where listener != sender && parties[sender].sink.rawValue != 0
        && (other == nil || parties[sender].kind == other)
      {
        guard let there = seen[listener][sender], let here = seen[sender][listener] else { continue }
        waits.append(heard[listener][sender].map { max(0, $0 - max(there, here)) })
      }
    }
    return waits
  }
}
