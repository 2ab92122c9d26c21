// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkSystem
import TactusOSC
import TactusTestSupport
import Testing

@testable import TactusSurface

/// A host with several addresses. The controller sends to one of them, and the host's kernel would choose
/// another one as the source of the answer. The controller's socket is connected, so its kernel accepts
/// only packets from the asked address.
@Suite("The address that answers", .enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct AnswerAddressTests {
  @Test(arguments: [("192.168.7.2", "10.50.0.2"), ("fd07::2", "fd50::2")])
  func `OSC answers and later values leave from the address first asked`(asked: String, asker: String) throws
  {
    let (home, other) = (try PrivateNetwork(), try PrivateNetwork())
    try home.cable("wire", to: other, "cable")
    for words in [
      "addr add 10.50.0.1/24 dev wire", "addr add fd50::1/64 dev wire nodad", "link set wire up",
      "link set lo up", "addr add 192.168.7.2/32 dev lo", "addr add fd07::2/128 dev lo nodad",
    ] {
      try home.ip(words)
    }
    for words in [
      "addr add 10.50.0.2/24 dev cable", "addr add fd50::2/64 dev cable nodad", "link set cable up",
      "route add 192.168.7.2/32 via 10.50.0.1", "route add fd07::2/128 via fd50::1",
    ] {
      try other.ip(words)
    }
    var settings = SurfaceSettings.loopback
    settings.listen = [Endpoint(.v4(0), port: 0), Endpoint(.v6(high: 0, low: 0, scope: 0), port: 0)]
    let studio = try home.perform { [settings] in try Studio(settings) }
    defer { studio.close() }
    let listener = Endpoint(try #require(Address(asked)), port: UInt16(studio.port))
    let answers = try other.perform { [listener] in
      let controller = try DatagramSocket(connectingTo: listener)
      var buffer = [UInt8](repeating: 0, count: 65_536)
      return ["/tactus/ping", "/tactus/subscribe"].map { address in
        let bytes = LibloCodec.encode(Message(address))
        guard send(controller.descriptor, bytes, bytes.count, 0) == bytes.count else { return "" }
        var wait = pollfd(fd: controller.descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, 20_000) > 0 else { return "" }
        let count = recv(controller.descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)).prefix { $0 != 0 }, as: UTF8.self)
      }
    }
    #expect(answers == ["/tactus/pong", "/tactus/subscribed"])
  }
}
