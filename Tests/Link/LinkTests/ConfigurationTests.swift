// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import TactusTestSupport
import Testing

@Suite struct ConfigurationTests {
  @Test(arguments: [
    (Link.Configuration(tempo: .nan), "a session has 20 to 999 BPM, not nan"),
    (Link.Configuration(tempo: 19.99), "a session has 20 to 999 BPM, not 19.99"),
    (Link.Configuration(tempo: .infinity), "a session has 20 to 999 BPM, not inf"),
    (Link.Configuration(interfaces: []), "an empty set of interfaces; nil is all of them"),
    (Link.Configuration(interfaces: ["lo", ""]), "no interface can have the name \"\""),
    (Link.Configuration(interfaces: ["a/b"]), "no interface can have the name \"a/b\""),
    (
      Link.Configuration(interfaces: ["sixteenletters__"]),
      "no interface can have the name \"sixteenletters__\""
    ),
  ])
  func `an invalid configuration is refused with a reason`(
    configuration: Link.Configuration, words: String
  ) throws {
    let refusal = #expect(throws: Link.ConfigurationError.self) { try Link(configuration: configuration) }
    #expect(refusal?.description == words)
  }

  @Test func `a peer starts with its configured values`() throws {
    let link = try Link(configuration: Link.Configuration(tempo: 93.5, interfaces: ["wire0"]))
    #expect(link.captureAppState().tempo == 93.5 && !link.isEnabled)
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `a peer uses only its configured interfaces, also if they come later`() throws {
    let (network, neighbour) = (try PrivateNetwork(), try PrivateNetwork())
    let link = try network.perform {
      try Link(configuration: Link.Configuration(interfaces: ["wire0"]))
    }
    let beside = try network.link(tempo: 120)
    let far = try neighbour.link(tempo: 120)
    for peer in [link, beside, far] { peer.isEnabled = true }
    #expect(eventually { beside.diagnostics.addresses == ["127.0.0.1"] })
    // The diagnostics say why Link is not on the network.
    #expect(eventually { link.diagnostics.failure == .noChosenInterface })
    try network.cable("wire0", to: neighbour, "wire0")
    try network.ip("addr add 10.9.0.1/24 dev wire0")
    try neighbour.ip("addr add 10.9.0.2/24 dev wire0")
    try network.ip("link set wire0 up")
    try neighbour.ip("link set wire0 up")
    #expect(eventually { link.diagnostics.addresses.first == "10.9.0.1" && link.peerCount == 1 })
    #expect(link.diagnostics.failure == nil)
    // The peer on loopback does not reach this Link: its loopback interface is not configured, and a cable
    // does not lead back to its own machine.
    #expect(
      !link.diagnostics.addresses.contains("127.0.0.1") && link.diagnostics.peers.map(\.name) == ["10.9.0.2"])
    #expect(eventually { far.peerCount == 2 } && beside.peerCount == 1)
  }
}
