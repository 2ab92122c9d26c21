// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkSystem
import TactusOSC
import TactusTestSupport
import Testing

@testable import TactusSurface

/// A machine at the other end of the cable. It also sends with the address of a distant machine, like packets
/// that a router forwards, and with addresses of neighbours that do not exist.
@Suite("A hostile neighbour", .enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct NeighbourTests {
  static let ownAddress = Address.v4(0x0a32_0001)
  static let near = Address.v4(0x0a32_0002)
  static let far = Address.v4(0xcb00_7107)

  let home: PrivateNetwork, other: PrivateNetwork
  let studio: Studio
  let port: UInt16

  init() throws {
    (home, other) = (try PrivateNetwork(), try PrivateNetwork())
    try home.cable("wire", to: other, "cable")
    for words in ["addr add 10.50.0.1/24 dev wire", "link set wire up", "route add 203.0.113.0/24 dev wire"] {
      try home.ip(words)
    }
    for words in [
      "addr add 10.50.0.2/24 dev cable", "addr add 203.0.113.7/32 dev cable", "link set cable up",
    ] {
      try other.ip(words)
    }
    var settings = SurfaceSettings.loopback
    settings.listen = [Endpoint(.v4(0), port: 0)]
    studio = try home.perform { [settings] in try Studio(settings) }
    port = studio.surface.endpoints[0].port
  }

  private func packet(_ address: String, _ arguments: Argument...) -> [UInt8] {
    LibloCodec.encode(Message(address, arguments: arguments))
  }

  @Test
  func `an OSC sender in our network is obeyed, one in another network is not`() throws {
    defer { studio.close() }
    let packets = [
      packet("/tactus/ping"), packet("/tactus/tempo", .float32(99)), packet("/tactus/query"), packet("//*"),
      packet("/tactus/subscribe", .string("all")), packet("/tactus/start"), packet("/tactus/quit"),
    ]
    try other.perform { [studio, port] in
      let far = try Speaker(Self.far)
      for packet in packets { far.send(packet, to: Endpoint(Self.ownAddress, port: port)) }
      let near = try Speaker(Self.near)
      near.send(packets[0], to: Endpoint(Self.ownAddress, port: port))
      #expect(near.receives("/tactus/pong"))
      #expect(studio.wait { studio.surface.counters.strangers == packets.count })
      #expect(!far.receives("", withinSeconds: 0) && studio.commands.isEmpty)
      #expect(studio.notices == [.stranger(Self.far, areNamed: false)])
    }
  }

  @Test
  func `packets from forged neighbours do not cost other peers their answers`()
    throws
  {
    defer { studio.close() }
    let ping = packet("/tactus/ping"), subscribe = packet("/tactus/subscribe", .string("heartbeat"))
    let lost = try other.perform { [home, studio, port] in
      let near = try Speaker(Self.near)
      near.send(subscribe, to: Endpoint(Self.ownAddress, port: port))
      #expect(near.receives("/tactus/subscribed"))
      let raw = socket(AF_INET, Int32(SOCK_RAW.rawValue), Int32(IPPROTO_RAW))
      defer { close(raw) }
      var lost = 0
      for turn in 0..<20 {
        for number in 0..<100 {
          forge(
            raw, ping, from: Endpoint(.v4(0x0a32_000a + UInt32(number * 2)), port: UInt16(1024 + turn)),
            to: Endpoint(Self.ownAddress, port: port))
          if number % 20 == 0 { usleep(10_000) }
        }
        near.send(ping, to: Endpoint(Self.ownAddress, port: port))
        if !near.receives("/tactus/pong", withinSeconds: 1) { lost += 1 }
        lost += try home.perform {
          let local = try Speaker(.loopback)
          local.send(ping, to: Endpoint(.loopback, port: port))
          return local.receives("/tactus/pong", withinSeconds: 1) ? 0 : 1
        }
      }
      #expect(studio.surface.counters.datagrams > 300, "too few forged packets arrived")
      return lost
    }
    #expect(lost == 0, "of 40")
  }
}

private func forge(_ raw: Int32, _ payload: [UInt8], from source: Endpoint, to target: Endpoint) {
  func word(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }
  func bytes(_ address: Address) -> [UInt8] { withUnsafeBytes(of: address.v4Bits.bigEndian) { Array($0) } }
  let length = 8 + payload.count
  let packet =
    [0x45, 0] + word(20 + length) + [0, 1, 0, 0, 64, UInt8(IPPROTO_UDP), 0, 0] + bytes(source.address)
    + bytes(target.address) + word(Int(source.port)) + word(Int(target.port)) + word(length) + [0, 0]
    + payload
  let sent = target.withSocketAddress { sendto(raw, packet, packet.count, 0, $0, $1) }
  #expect(sent == packet.count)
}

private func setReceiveTimeout(_ descriptor: Int32, seconds: Int) {
  var limit = timeval(tv_sec: seconds, tv_usec: 0)
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
}

private final class Speaker {
  private let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)

  init(_ address: Address) throws { _ = try bindSocket(descriptor, to: Endpoint(address, port: 0)) }
  deinit { close(descriptor) }

  func send(_ packet: [UInt8], to target: Endpoint) {
    #expect(target.withSocketAddress { sendto(descriptor, packet, packet.count, 0, $0, $1) } == packet.count)
  }

  /// Waits for a packet that begins with this text; skips other packets.
  func receives(_ beginning: String, withinSeconds seconds: Int = 20) -> Bool {
    setReceiveTimeout(descriptor, seconds: max(1, seconds))
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, seconds == 0 ? Int32(MSG_DONTWAIT) : 0)
      guard count >= 0 else { return false }
      if chunk.prefix(count).starts(with: beginning.utf8) { return true }
    }
  }
}
