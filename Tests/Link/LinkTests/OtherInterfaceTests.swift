// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import TactusTestSupport
import Testing

@testable import Link

/// A machine on two networks, of which Link uses one. Linux accepts packets for the used network's address
/// from the other network, too.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct OtherInterfaceTests {
  static let stage: Address = .v4(0xc0a8_0702)
  static let guest: Address = .v4(0x0a32_0042)
  static let neighbour: Address = .v4(0xc0a8_0714)

  let home: PrivateNetwork, venue: PrivateNetwork, band: PrivateNetwork

  init() throws {
    (home, venue, band) = (try PrivateNetwork(), try PrivateNetwork(), try PrivateNetwork())
    try home.cable("stage0", to: band, "cable")
    try home.cable("wifi0", to: venue, "cable")
    for words in [
      "addr add 192.168.7.2/24 dev stage0", "addr add 10.50.0.1/24 dev wifi0", "link set stage0 up",
      "link set wifi0 up",
    ] {
      try home.ip(words)
    }
    for words in [
      "addr add 10.50.0.66/24 dev cable", "link set cable up", "route add 192.168.7.2/32 via 10.50.0.1",
    ] {
      try venue.ip(words)
    }
    for words in ["addr add 192.168.7.20/24 dev cable", "link set cable up"] { try band.ip(words) }
  }

  func alive(_ node: UInt64, in session: SessionID, from address: Address) -> Packet {
    encodeAlive(
      PeerState(
        node: NodeID(rawValue: node), session: session,
        timeline: Timeline(tempo: Tempo(200), beatOrigin: Beats(1_000), timeOrigin: Micros(1_000_000)),
        startStop: .unset, measurement: Endpoint(address, port: 9)))
  }

  @Test func `datagrams through an interface that was not chosen are ignored`() throws {
    let link = try home.perform { try Link(configuration: Link.Configuration(interfaces: ["stage0"])) }
    link.isEnabled = true
    #expect(eventually { link.diagnostics.addresses.contains("192.168.7.2") })
    let ports = try home.ports(of: Self.stage)
    #expect(ports.count == 2, "one for Responses, one for pings")
    let session = link.snapshot.session
    let ping = encodePing(host: Micros(7), previousGhost: nil)
    try venue.perform {
      let guest = try Speaker(Self.guest)
      for port in ports {
        for packet in [self.alive(1, in: session, from: Self.guest), ping] {
          guest.send(packet, to: Endpoint(Self.stage, port: port))
        }
      }
      #expect(eventually { link.diagnostics.strangers == 4 })
      #expect(guest.heard == 0)
    }
    #expect(link.peerCount == 0 && link.captureAppState().tempo == 120)
    // The same datagrams are accepted from the chosen network.
    try band.perform {
      let near = try Speaker(Self.neighbour)
      for port in ports {
        for packet in [self.alive(2, in: session, from: Self.neighbour), ping] {
          near.send(packet, to: Endpoint(Self.stage, port: port))
        }
      }
      #expect(eventually { near.heard == 2 }, "a Response and a pong")
      #expect(eventually { link.peerCount == 1 })
    }
  }
}
