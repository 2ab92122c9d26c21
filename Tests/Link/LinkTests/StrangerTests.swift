// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import LinkWire
import Synchronization
import TactusTestSupport
import Testing

@testable import Link

/// A machine at the other end of the cable. It also sends from a distant address, as if a router had
/// forwarded the packets.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct StrangerTests {
  static let here: Address = .v4(0x0a32_0001)
  static let near: Address = .v4(0x0a32_0002)
  static let nearIPv6 = Address.v6(high: 0xfe80 << 48, low: 0x50_0002, scope: 0)
  static let far: Address = .v4(0xcb00_7107)

  let home: PrivateNetwork, other: PrivateNetwork

  init() throws {
    (home, other) = (try PrivateNetwork(), try PrivateNetwork())
    try home.cable("wire", to: other, "cable")
    for words in [
      "link set wire addrgenmode none", "addr add 10.50.0.1/24 dev wire", "link set wire up",
      "addr add fe80::50:1/64 dev wire nodad", "route add 203.0.113.0/24 dev wire",
    ] {
      try home.ip(words)
    }
    for words in [
      "link set cable addrgenmode none", "addr add 10.50.0.2/24 dev cable",
      "addr add 203.0.113.7/32 dev cable",
      "link set cable up", "addr add fe80::50:2/64 dev cable nodad",
      "route del 224.0.0.0/4 dev lo", "route add 224.0.0.0/4 dev cable",
    ] {
      try other.ip(words)
    }
  }

  /// An Alive with a tempo of 200 BPM, whose timeline is later than any other change.
  func alive(_ node: UInt64, in session: SessionID, from address: Address) -> Packet {
    encodeAlive(
      PeerState(
        node: NodeID(rawValue: node), session: session,
        timeline: Timeline(tempo: Tempo(200), beatOrigin: Beats(1_000), timeOrigin: Micros(1_000_000)),
        startStop: .unset, measurement: Endpoint(address, port: 9)))
  }

  @Test func `datagrams from another network are ignored at every socket`() throws {
    let link = try home.link(tempo: 120)
    link.isEnabled = true
    #expect(eventually { link.diagnostics.addresses.contains("10.50.0.1") })
    let ports = try home.ports(of: Self.here)
    #expect(ports.count == 2, "one for Responses, one for pings")
    let session = link.snapshot.session
    let ping = encodePing(host: Micros(7), previousGhost: nil)
    try other.perform {
      let far = try Speaker(Self.far), near = try Speaker(Self.near)
      let forged = self.alive(1, in: session, from: Self.far),
        known = self.alive(2, in: session, from: Self.near)
      for port in ports + [Endpoint.discoveryPort] {
        for packet in [forged, ping] { far.send(packet, to: Endpoint(Self.here, port: port)) }
      }
      far.send(forged, to: Endpoint.discoveryGroupV4)
      // This datagram comes from a neighbour, but to our own address at the port where only datagrams to the
      // group are accepted.
      near.send(known, to: Endpoint(Self.here, port: Endpoint.discoveryPort))
      // A malformed datagram, which is received after all the datagrams before it.
      near.send(ping, to: Endpoint.discoveryGroupV4)
      #expect(eventually { link.diagnostics.counters.malformed == 1 })
      #expect(far.heard == 0 && near.heard == 0)
      #expect(link.diagnostics.strangers == 5)
      #expect(link.peerCount == 0 && link.captureAppState().tempo == 120)
      // From a neighbour, and to the right ports, all these datagrams are accepted.
      for port in ports {
        for packet in [known, ping] { near.send(packet, to: Endpoint(Self.here, port: port)) }
      }
      #expect(eventually { near.heard == 2 }, "a Response and a pong")
      #expect(eventually { link.peerCount == 1 })
      near.send(known, to: Endpoint.discoveryGroupV4)
      #expect(eventually { near.heard == 3 })
      #expect(link.diagnostics.strangers == 5)
    }
  }

  /// Numbers at, just below and just above every limit, and far beyond.
  static let edges: [Int64] = {
    let limits: [Int64] = [
      1, 500_000, 5_000_000, 120_000_000, 100_000_000_000_000, 1 << 54, 1 << 61, 1 << 62, .max - 1 << 51,
    ]
    return [0, .min, .max] + limits.flatMap { limit in [limit - 1, limit, limit + 1, -limit] }
  }()

  /// The worst packets that a neighbour can send: states of our session and of other sessions, jumps of the
  /// beat to anywhere, forged goodbyes, and damaged packets.
  func forgery(_ dice: inout Dice, _ session: SessionID, _ names: [NodeID]) -> Packet {
    func edge() -> Int64 { Self.edges.randomElement(using: &dice)! }
    let now = Link.clock().count
    func moment() -> Micros { Micros(Bool.random(using: &dice) ? edge() : now &+ edge()) }
    if Int.random(in: 0..<20, using: &dice) == 0 { return encodeByeBye(names.randomElement(using: &dice)!) }
    let state = PeerState(
      node: NodeID(rawValue: UInt64.random(in: 1...300, using: &dice)),
      session: Int.random(in: 0..<4, using: &dice) > 0
        ? session : NodeID(rawValue: UInt64.random(in: 1...20, using: &dice)),
      timeline: Timeline(
        tempo: Tempo(microsPerBeat: Bool.random(using: &dice) ? 400_000 : edge()),
        beatOrigin: Beats(millionths: edge()),
        timeOrigin: moment()),
      startStop: SessionStartStop(
        isPlaying: Bool.random(using: &dice), beats: Beats(millionths: edge()), timestamp: moment()),
      measurement: Endpoint(Self.near, port: 9))
    return encodeAlive(state, ttl: [0, 5, 255].randomElement(using: &dice)!)
  }

  @Test(arguments: [false, true])
  func `after thousands of forged datagrams in 2 s a new tempo holds`(isIPv6: Bool) throws {
    let seed = UInt64.random(in: 1...999_999)
    let link = try home.link(tempo: 120), friend = try home.link(tempo: 120)
    #expect(connected(link, friend))
    link.isStartStopSyncEnabled = true
    #expect(eventually { link.diagnostics.addresses.contains { $0.hasPrefix("fe80::50:1%") } })
    let before = link.diagnostics.counters.received
    try other.perform {
      let near = try Speaker(isIPv6 ? Self.nearIPv6 : Self.near)
      var dice = Dice(seed: seed)
      for turn in 0..<400 {
        let session = link.snapshot.session
        for _ in 0..<20 {
          near.send(
            self.forgery(&dice, session, [link.snapshot.node, friend.snapshot.node]), to: near.group)
        }
        if turn % 10 == 0 { _ = near.heard }
        usleep(4_000)
      }
    }
    #expect(link.diagnostics.counters.received - before > 4_000, "they must have come")
    // Whatever the peers believed, within ten seconds a musician's tempo must hold again.
    let wanted = 60e6 / 539_326
    func agreed() -> Bool {
      [link, friend].allSatisfy { abs($0.captureAppState().tempo - wanted) < 0.001 }
    }
    var holds = false
    for _ in 0..<10 where !holds {
      link.updateAppState { $0.setTempo(wanted, at: Link.clock()) }
      holds = eventually(within: 500, agreed)
      pause(milliseconds: 500)
      holds = holds && agreed()
    }
    #expect(holds, "seed \(seed): \(link.captureAppState().tempo), \(friend.captureAppState().tempo)")
    link.updateAppState { $0.setPlaying(true, at: Link.clock()) }
    #expect(link.captureAppState().isPlaying)
    let now = Link.clock()
    let passed =
      link.captureAppState().beat(at: now + Micros(5_393_260), quantum: 0)
      - link.captureAppState().beat(at: now, quantum: 0)
    #expect(abs(passed - 10) < 0.001)
  }
}

/// A socket at one address that counts the datagrams it receives.
final class Speaker: Sendable {
  let group: Endpoint
  private let socket: UDPSocket
  private let count = Mutex(0)

  init(_ address: Address) throws {
    let cable = if_nametoindex("cable")
    group = .discoveryGroup(for: address.scoped(cable))
    socket = try UDPSocket.sending(from: LocalAddress(address: address.scoped(cable), interface: cable))
  }

  func send(_ packet: Packet, to endpoint: Endpoint) {
    let code = socket.send(packet, to: endpoint)
    #expect(code == 0, "\(endpoint): \(String(cString: strerror(code)))")
  }

  var heard: Int {
    withUnsafeTemporaryAllocation(byteCount: 600, alignment: 8) { buffer in
      count.withLock { count in
        while socket.receive(into: buffer) != nil { count += 1 }
        return count
      }
    }
  }
}
