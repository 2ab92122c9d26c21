// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkSystem
import TactusOSC
import TactusTestSupport
import Testing

@testable import TactusSurface

/// A machine in two networks, the stage's and the venue's. Some packets come through one network with a
/// forged source address of the other network.
@Suite("The network through which a packet comes")
struct WayTests {
  static let lo: UInt32 = 1, stage: UInt32 = 2, venue: UInt32 = 3, second: UInt32 = 4
  static let onStage = Address.v4(0xc0a8_0702), onVenue = Address.v4(0x0a32_0001)
  static let tablet = Address.v4(0xc0a8_0714), guest = Address.v4(0x0a32_0042)
  static let distant = Address.v4(0xcb00_7107)

  private static let near: Neighbourhood = {
    func network(_ text: String) -> [AddressRange] { [AddressRange(text)].compactMap { $0 } }
    var loop = Interface(index: lo, addresses: [.loopback], networks: network("127.0.0.0/8"))
    loop.isLoopback = true
    return Neighbourhood([
      loop, Interface(index: stage, addresses: [onStage], networks: network("192.168.7.0/24")),
      Interface(index: venue, addresses: [onVenue], networks: network("10.50.0.0/24")),
      Interface(index: second, addresses: [.v4(0xc0a8_0703)], networks: network("192.168.7.0/24")),
    ])
  }()

  private func obeys(_ source: Address, _ listening: Address?, _ way: UInt32, allow: String? = nil) -> Bool {
    var settings = SurfaceSettings()
    settings.allow = [allow].compactMap { $0.flatMap { AddressRange($0) } }
    return settings.obeys(source, at: listening, by: way, near: Self.near)
  }

  @Test
  func `a neighbour is obeyed only through its own network's interface`() {
    for listening in [Address.v4(0), Self.onStage] {
      #expect(obeys(Self.tablet, listening, Self.stage))
      // A second interface in the same network counts as well.
      #expect(obeys(Self.tablet, listening, Self.second))
      #expect(!obeys(Self.tablet, listening, Self.venue), "forged")
      #expect(!obeys(Self.distant, listening, Self.stage) && !obeys(Self.guest, listening, Self.stage))
      #expect(!obeys(Self.tablet, listening, 99), "an interface that nobody knows")
      for own in [Self.onStage, .loopback] { #expect(obeys(own, listening, Self.lo)) }
    }
    #expect(obeys(Self.guest, .v4(0), Self.venue))
    #expect(
      !obeys(Self.guest, Self.onStage, Self.venue), "the stage's address answers on the venue's network")
  }

  @Test
  func `a neighbour in --osc-allow is obeyed only through its own network`() {
    #expect(obeys(Self.tablet, .v4(0), Self.stage, allow: "192.168.7.20/32"))
    #expect(!obeys(Self.tablet, .v4(0), Self.venue, allow: "192.168.7.20/32"), "forged")
    #expect(!obeys(Self.guest, .v4(0), Self.venue, allow: "192.168.7.20/32"))
    #expect(obeys(Self.distant, .v4(0), Self.venue, allow: "203.0.113.0/24"))
    #expect(obeys(Self.distant, Self.onStage, Self.stage, allow: "203.0.113.0/24"))
    #expect(!obeys(Self.distant, Self.onStage, Self.venue, allow: "203.0.113.0/24"))
    // Here the packet arrives at the socket that tactus has for one target of --osc-send.
    #expect(obeys(Self.distant, nil, Self.venue) && obeys(Self.tablet, nil, Self.stage))
    #expect(!obeys(Self.tablet, nil, Self.venue), "forged")
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `a listen address obeys only its own network, also with forged sources`() throws {
    let (home, stage, venue) = (try PrivateNetwork(), try PrivateNetwork(), try PrivateNetwork())
    try home.cable("stage0", to: stage, "stage1")
    try home.cable("wifi0", to: venue, "venue0")
    try home.ip("addr add 192.168.7.2/24 dev stage0")
    try home.ip("addr add 10.50.0.1/24 dev wifi0")
    for cable in ["stage0", "wifi0"] { try home.ip("link set \(cable) up") }
    try stage.ip("addr add 192.168.7.20/24 dev stage1")
    try venue.ip("addr add 10.50.0.66/24 dev venue0")
    try venue.ip("addr add 192.168.7.20/32 dev venue0")
    try stage.ip("link set stage1 up")
    try venue.ip("link set venue0 up")
    try venue.ip("route add 192.168.7.2/32 via 10.50.0.1 dev venue0")
    for allow in [[], [AddressRange(Self.tablet)]] {
      var settings = SurfaceSettings.loopback
      settings.listen = [Endpoint(Self.onStage, port: 0)]
      settings.allow = allow
      let studio = try home.perform { [settings] in try Studio(settings) }
      defer { studio.close() }
      let target = Endpoint(Self.onStage, port: studio.surface.endpoints[0].port)
      let order = LibloCodec.encode(Message("/tactus/tempo", .float32(142)))
      try venue.perform {
        for source in [Self.guest, Self.tablet] { try sendPacket(order, from: source, to: target) }
      }
      #expect(studio.wait { studio.surface.counters.strangers == 2 })
      #expect(studio.commands.isEmpty)
      try stage.perform { try sendPacket(order, from: Self.tablet, to: target) }
      #expect(studio.wait { studio.commands.count == 1 })
    }
  }
}

private func sendPacket(_ packet: [UInt8], from source: Address, to target: Endpoint) throws {
  let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
  defer { close(descriptor) }
  _ = try bindSocket(descriptor, to: Endpoint(source, port: 0))
  let sent = target.withSocketAddress { sendto(descriptor, packet, packet.count, 0, $0, $1) }
  try #require(sent == packet.count)
}
