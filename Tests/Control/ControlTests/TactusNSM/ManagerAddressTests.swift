// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC
import Testing

@testable import TactusNSM

@Test
func `session managers' addresses are read as liblo writes them`() {
  #expect(ManagerAddress(url: "osc.udp://127.0.0.1:16000/")?.resolve() == Endpoint(.loopback, port: 16_000))
  #expect(ManagerAddress(url: "osc.udp://studio.local:7")?.host == "studio.local")
  #expect(
    ManagerAddress(url: "osc.udp://[::1]:900/")?.resolve()
      == Endpoint(Address.v6(high: 0, low: 1, scope: 0), port: 900))
  #expect(ManagerAddress(url: "osc.udp://nobody.invalid:900/")?.resolve() == nil)
  #expect(ManagerAddress(url: "osc.udp://localhost:900/")?.resolve()?.address.isLoopback == true)
}

@Test(arguments: [
  "", "osc.tcp://127.0.0.1:16000/", "osc.udp://127.0.0.1/", "osc.udp://:16000/", "osc.udp://127.0.0.1:0/",
  "osc.udp://127.0.0.1:70000/", "osc.udp://127.0.0.1:16000/path", "osc.udp://a b:1/", "16000",
  "osc.udp://" + String(repeating: "a", count: 300) + ":1/",
])
func `malformed text is no session manager's address`(url: String) {
  #expect(ManagerAddress(url: url) == nil)
}

@Test
func `the NSM client uses one loopback port, and obeys only its manager`() throws {
  var server = try OSCPort(bindingTo: Endpoint(.loopback, port: 0))
  let stranger = try OSCPort(bindingTo: Endpoint(.loopback, port: 0))
  let session = try ManagedSession(manager: server.endpoint, executable: "tactus", at: .zero)
  let hello = server.receive(atMost: 4)
  #expect(hello.map(\.message.address) == ["/nsm/server/announce"])
  let client = try #require(hello.first?.source)
  #expect(client.address == .loopback)
  stranger.send(Message("/error", .string("/nsm/server/announce"), .int32(-1), .string("no")), to: client)
  #expect(session.step(at: .zero) == [] && session.counters.strangers == 1)
  server.send(
    Message("/reply", .string("/nsm/server/announce"), .string("hi"), .string("fake"), .string("")),
    to: client)
  #expect(session.step(at: .zero) == [.joined(manager: "fake")])
  server.send(Message("/nsm/client/open", .string("/s/a"), .string("a"), .string("t")), to: client)
  let project = try Project(path: "/s/a", displayName: "a", clientID: "t")
  #expect(session.step(at: .zero) == [.open(project)])
  session.opened(.done)
  session.changed(true)
  let answers = server.receive(atMost: 4)
  #expect(answers.map(\.message.address) == ["/reply", "/nsm/client/is_dirty"])
  #expect(answers.allSatisfy { $0.source == client })
}
