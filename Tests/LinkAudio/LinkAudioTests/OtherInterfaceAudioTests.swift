// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkAudioSession
import LinkWire
import TactusTestSupport
import Testing

@testable import Link
@testable import LinkAudio

/// A machine on two networks, of which Link uses one.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct OtherInterfaceAudioTests {
  static let stage: Address = .v4(0xc0a8_0702)

  @Test func `audio through an interface that Link does not use is refused`() throws {
    let (home, venue, band) = (try PrivateNetwork(), try PrivateNetwork(), try PrivateNetwork())
    try home.cable("stage0", to: band, "cable")
    try home.cable("wifi0", to: venue, "cable")
    for words in ["addr add 192.168.7.2/24 dev stage0", "link set stage0 up"] { try home.ip(words) }
    for words in ["addr add 10.50.0.1/24 dev wifi0", "link set wifi0 up"] { try home.ip(words) }
    for words in ["addr add 192.168.7.20/24 dev cable", "link set cable up"] { try band.ip(words) }
    for words in [
      "addr add 10.50.0.66/24 dev cable", "link set cable up", "route add 192.168.7.2/32 via 10.50.0.1",
    ] {
      try venue.ip(words)
    }
    let (gateway, socket, neighbours, wifi) = try home.perform {
      let local = LocalAddress(address: Self.stage, interface: if_nametoindex("stage0"))
      let gateway = AudioGateway(id: GatewayID(rawValue: 1), local: local)
      let found = try AddressScan.scan(on: ["stage0"])
      return (gateway, try AudioSocket(gateway), found.neighbours, if_nametoindex("wifi0"))
    }
    var engine = AudioEngine(
      node: NodeID(rawValue: 1), session: SessionID(rawValue: 7), peerName: "Rack", at: Link.clock())
    engine.want(true, at: Link.clock())
    _ = engine.work(
      AudioMail.Letters(gateways: [gateway], neighbours: neighbours, sightings: []), at: Link.clock())
    for (network, address, isAdmitted) in [
      (venue, Address.v4(0x0a32_0042), false), (band, .v4(0xc0a8_0714), true),
    ] {
      try network.perform {
        let local = LocalAddress(address: address, interface: if_nametoindex("cable"))
        let speaker = try UDPSocket.forAudio(on: local)
        let code = AudioPacket.pong(AudioEcho(rawValue: 3), from: NodeID(rawValue: 2)).withUnsafeBytes {
          speaker.send($0, to: socket.endpoint)
        }
        #expect(code == 0)
      }
      let arrival = try #require(next(of: socket))
      #expect(arrival.from.address == address && (arrival.interface == wifi) == !isAdmitted)
      #expect({ engine.admits(arrival.from.address, through: arrival.interface) }() == isAdmitted)
    }
    #expect(engine.strangers == 1)
  }

  private func next(of socket: AudioSocket) -> (from: Endpoint, interface: UInt32)? {
    withUnsafeTemporaryAllocation(byteCount: 600, alignment: 8) { buffer in
      for _ in 0..<5_000 {
        if let arrival = socket.receive(into: buffer) { return (arrival.from, arrival.interface) }
        usleep(1_000)
      }
      return nil
    }
  }
}
